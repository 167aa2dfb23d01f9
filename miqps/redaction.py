"""Takes what looks like a secret out of a URL before it reaches the disk.

A secret is either one wherever it stands - a signed web token, an e-mail address, the number of a
payment card or a bank account, the key of a well-known service - or one by its name: a password
whatever it is, a `token` or a `key` when its value is long and random, a phone number where the
name says phone. Names are taken by whole words (`apiKey`, `reset_code`), so `monkey` holds no key.

A value or path segment that holds a secret becomes `redacted-0` as a whole, and so do user and
password in front of a host. This folds to `*` in a path template: the context stays, and the visit
counts. But such a URL is never asked for again. That is why session ids (`sid`, `PHPSESSID`,
`;jsessionid=`) and click ids (`gclid`) stay as they are, even though a session id opens a session
while it lasts: they are on every URL of some sites, and that they do not matter is what is to be
learned. Hashes stay too: far more of them name a file than guard something. What reaches the disk
is for its owner's eyes either way.

>>> redact("https://shop.example/p?id=7&email=ada%40mail.example#top")
'https://shop.example/p?id=7&email=redacted-0#top'
>>> redact("https://shop.example/p?ada@mail.example") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal
from urllib.parse import unquote

from stdnum import iban, luhn

from miqps import query, urls
from miqps.trackers import is_tracker

REPLACEMENT = "redacted-0"

_Kind = Literal["password", "token", "key", "phone"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Secret whatever the value is; the second ones at the end of a name only.
_PASSWORDS = _set("password passwd passphrase passcode pwd userpass")
_LAST_WORD = _set("secret cvv cvc ssn")
# Secret when the value is one long word.
_TOKENS = _set("""
    token auth authorization authkey apikey accesskey secretkey privatekey secret jwt bearer
    credential credentials csrf xsrf sig signature hmac assertion samlrequest samlresponse otp
    oobcode
    """)
# Secret when the value is long and random: they name products, countries and documents too.
_KEYS = _set("""
    key code nonce ticket magic invite invitation activation activate verification verify
    confirmation confirm reset unsubscribe sso signed
    """)
_PHONES = _set("phone phonenumber telephone tel telefon mobile msisdn whatsapp")
# `?reset_password=1` asks for a form and holds no password.
_NO_PASSWORD = _set("0 1 true false yes no on off null none undefined") | {"", REPLACEMENT}

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MARKS = (
    *("eyJ", "AKIA", "ASIA", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "xox", "k_live_", "-----BEGIN"),
)
_MARKED = re.compile(
    "|".join(
        (
            # A web token: signed or encrypted, or its header alone.
            r"eyJ[\w-]{8,}\.[\w-]{4,}|eyJ(?:hbGci|0eXAi|raWQi|lbmMi|jdHki)[\w-]*",
            r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])",
            r"AIza[\w-]{30,}",
            r"(?:gh[pousr]|github_pat)_\w{20,}|glpat-[\w-]{20,}|xox[a-z]-[\w-]{10,}",
            r"[sr]k_live_\w{16,}",
            r"-----BEGIN[A-Z +]*PRIVATE[ +]KEY",
        )
    ),
    re.ASCII,
)
# A handle (`@ada@social.example`), a version (`vue@3.4.5.min.js`) and a picture (`logo@2x.png`)
# are no addresses.
_EMAIL = re.compile(r"(?<![@\w.+'-])[\w.+'-]++@(?!v?\d+\.\d|\dx\b)(?:[\w-]++\.)+[^\W\d_]{2,}")
# Begins with a class of characters, so that the search jumps from digit to digit.
_NUMBER = re.compile(
    r"[0-9]{2}(?=[A-Za-z0-9 +-]{11})(?:(?<![\w.]..)(?:[ +-]?[0-9]){12}"
    r"|(?<=[A-Za-z]{2}..)(?<![A-Za-z0-9][A-Za-z]{2}..)(?:[ +-]?[A-Za-z0-9]){11})"
)
# No 13 digits: such Visa cards are long gone, and German bar codes begin with a 4.
_CARD = re.compile(
    r"(?<![\w.])(?:[0-9]{14,19}"
    r"|[0-9]{4}([ +-])[0-9]{4}\1[0-9]{4}\1[0-9]{2,4}(?:\1[0-9]{1,3})?"
    r"|[0-9]{4}([ +-])[0-9]{6}\2[0-9]{4,5})(?!\w|\.[0-9])"
)
_ISSUER = re.compile(
    r"4(?:.{15}|.{18})\Z|(?:5[1-5]|222[1-9]|22[3-9].|2[3-6]..|27[01].|2720|220[0-4]).{12,14}\Z"
    r"|3[47].{13}\Z|3(?:0[0-5]|[689]).{11,16}\Z|(?:35[2-8]|6011|64[4-9]|65|62).{10,17}\Z"
)
_IBAN = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[A-Za-z0-9]{11,30}"
    r"|(?:[ +-][A-Za-z0-9]{4}){2,7}(?:[ +-][A-Za-z0-9]{1,3})?)(?![A-Za-z0-9])"
)
_PHONE = re.compile(r"\s*(?:\+|00)?[ (]*[1-9](?:[ ()./+-]*[0-9]){9,14}\s*")

_NAMES = re.compile(r"""[?&;/#{, "']([^?&;/#{, "'=:]++)(?:=|["']\s*:)""")
_VALUE = re.compile(r"""\s*["']?([^&;#"']{0,1000})""")
_PIECES = re.compile(r"[\s,:|]+")
_SEPARATORS = re.compile(r"[-_.~+/=]")
_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{20,}", re.IGNORECASE)
_CLASS_CHANGE = re.compile(r"(?<=[a-z])(?=[^a-z])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[^0-9])")
_LONG = 16

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_MOST_LAYERS = 5


def redact(url: str) -> str | None:
    """The URL with each value and path segment that holds a secret replaced by `redacted-0`.

    All the rest stays byte for byte; a fragment that holds a secret goes. The same object comes
    back when there is nothing to hide, and what comes back has the same context as before.

    None when the secret is a part of what makes the context, a name (`?ada@mail.example`) or a
    segment of the path that is no variable: then nothing of the URL may be kept.
    """
    if not _is_suspect(url):
        return url
    head, raw, tail = query.split(url)
    clean_head = _clean_head(head)
    if clean_head != head and _template(clean_head) != _template(head):
        return None
    pieces = query.items(raw) if raw else []
    clean_pieces = []
    for piece in pieces:
        clean = _clean_item(piece)
        if clean is None:
            return None
        clean_pieces.append(clean)
    clean_tail = "" if _holds(tail) else tail
    if clean_head == head and clean_pieces == pieces and clean_tail == tail:
        return url
    mark = "" if raw is None else "?"
    return clean_head + mark + "&".join(clean_pieces) + clean_tail


def is_secret(text: str) -> bool:
    """Whether a text, say a title, holds what is a secret wherever it stands."""
    return (
        ("@" in text and _EMAIL.search(text) is not None)
        or (_is_marked(text) and _MARKED.search(text) is not None)
        or (_NUMBER.search(text) is not None and _has_account(text))
    )


def _is_suspect(url: str) -> bool:
    """Whether a closer look is needed; most URLs show in one pass that it is not."""
    if "%" in url:
        url = unquote(url)
        if "%" in url:
            return True
    if "@" in url or _NUMBER.search(url) or _is_marked(url):
        return True
    return any(map(_kind, _NAMES.findall(url)))


def _is_marked(text: str) -> bool:
    # A loop, because a generator costs more than what it looks for.
    for mark in _MARKS:  # noqa: SIM110
        if mark in text:
            return True
    return False


def _template(head: str) -> str:
    return urls.path_template(urls.path(head))


def _clean_head(head: str) -> str:
    match = _ORIGIN.match(head)
    origin = match.group() if match else ""
    segments = head[len(origin) :].split("/")
    account, at, host = origin.rpartition("@")
    if at:
        origin = f"{account.partition('://')[0]}://{REPLACEMENT}@{host}"
    return origin + "/".join(map(_clean_segment, segments))


def _clean_segment(segment: str) -> str:
    if not _holds("/" + segment):
        return segment
    base, *matrix = segment.split(";")
    if _holds("/" + base):
        # An extension is a part of the template.
        folded = urls.path_template("/" + base)
        base = REPLACEMENT + folded[2:] if folded.startswith("/*") else REPLACEMENT
    for index, parameter in enumerate(matrix):
        if _holds(";" + parameter):
            name, equals, _ = parameter.partition("=")
            is_named = equals and not _holds("/" + name)
            matrix[index] = name + equals + REPLACEMENT if is_named else REPLACEMENT
    return ";".join((base, *matrix))


def _clean_item(item: str) -> str | None:
    """A query item without its secret; None when its name is one."""
    if not _holds("&" + item):
        return item
    name, equals, _ = item.partition("=")
    return name + equals + REPLACEMENT if equals and not _holds("&" + name) else None


def _holds(text: str) -> bool:
    """Whether a part of a URL, with the mark in front of it, holds a secret in any encoding."""
    return any(is_secret(layer) or _holds_named(layer) for layer in _layers(text))


def _holds_named(text: str) -> bool:
    for match in _NAMES.finditer(text):
        kind = _kind(match.group(1))
        value = _VALUE.match(text, match.end()) if kind else None
        if kind and value and _is_of_kind(kind, value.group(1)):
            return True
    return False


def _layers(text: str) -> Iterator[str]:
    """The text as it is, decoded once, and so on to the last."""
    yield text
    for _ in range(_MOST_LAYERS):
        decoded = unquote(text) if "%" in text else text
        if decoded == text:
            return
        text = decoded
        yield text


def _is_of_kind(kind: _Kind, value: str) -> bool:
    """Whether a value is what its name promises."""
    if kind == "password":
        return value.strip().lower() not in _NO_PASSWORD
    if kind == "phone":
        return _PHONE.fullmatch(value) is not None
    return any(map(_is_one_word if kind == "token" else _is_random, _PIECES.split(value)))


@lru_cache(maxsize=10_000)
def _kind(name: str) -> _Kind | None:
    """What kind of a secret a name promises."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or is_tracker(name):
        return None
    last = words[-1]
    # `api_key` is an `apikey`.
    words += list(map("".join, pairwise(words)))
    if last in _LAST_WORD or words == ["pass"] or last.endswith("password"):
        return "password"
    if not _PASSWORDS.isdisjoint(words):
        return "password"
    if last.endswith("token") or not _TOKENS.isdisjoint(words):
        return "token"
    if not _KEYS.isdisjoint(words):
        return "key"
    return "phone" if not _PHONES.isdisjoint(words) else None


def _is_one_word(text: str) -> bool:
    """Whether a value is one long word, of letters or of letters and digits."""
    if len(text) < _LONG:
        return False
    core = _SEPARATORS.sub("", text)
    # What is encoded for URLs has few separators, a title has one behind each word.
    is_whole = len(text) - len(core) <= len(text) // 8 + text.endswith("==")
    return is_whole and core.isalnum()


def _is_random(text: str) -> bool:
    """Whether a value is long and looks as if it was drawn, not written."""
    if not _is_one_word(text):
        return False
    core = _SEPARATORS.sub("", text)
    # Drawn ones change between small letters, capitals and digits at every second to fourth
    # character, written ones (`iphone15promaxsilver`) between words.
    changes = len(_CLASS_CHANGE.findall(core))
    return _HEX.fullmatch(core) is not None or changes * 7 >= len(core)


def _has_account(text: str) -> bool:
    """Whether a text holds the number of a payment card or a bank account."""
    return any(map(_is_card, _numbers(_CARD, text))) or any(
        map(iban.is_valid, _numbers(_IBAN, text))
    )


def _numbers(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return (re.sub(r"[ +-]", "", match.group()) for match in pattern.finditer(text))


def _is_card(digits: str) -> bool:
    return _ISSUER.match(digits) is not None and luhn.is_valid(digits)
