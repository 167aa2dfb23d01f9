"""The raw query of a URL as a row of items that can be cut out, byte for byte.

Not built on `urllib.parse`: `parse_qsl` and `urlencode` decode and encode again, which changes
`%20`, `+`, `%7E`, bare flags, empty items and bytes that are no UTF-8. Here a query is split at `&`
and joined at `&`; names are decoded for comparing only, and nothing else is ever decoded.

Every function takes `str` (URLs) and `bytes` (request targets) alike and raises for neither.

>>> remove("https://example.com/p?%75tm_source=x&q=a%20b+c", {"utm_source"})
'https://example.com/p?q=a%20b+c'
>>> remove(b"/p?utm_source=x", {"utm_source"})
b'/p'
>>> names("/p?b=1&a&b=2&&%63=3#x=4")
('a', 'b', 'c')
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import AnyStr
from urllib.parse import unquote_to_bytes


def split(target: AnyStr) -> tuple[AnyStr, AnyStr | None, AnyStr]:
    """The parts of a URL or request target: head, raw query, tail.

    Returns what stands before the first `?`; what stands after it, None when there is no `?`; and
    the fragment with its `#`, empty when there is none. Joined again they are the target.
    """
    question, number_sign, _, _ = _marks(target)
    before, sign, fragment = target.partition(number_sign)
    head, mark, query = before.partition(question)
    return head, query if mark else None, sign + fragment


def items(query: AnyStr) -> list[AnyStr]:
    """The raw pieces between the `&`s of a query, empty ones included."""
    return query.split(_marks(query)[2])


def name_of(item: AnyStr) -> str:
    """The percent-decoded name of an item, to compare and to store.

    Bytes that are no UTF-8 become `\\xNN`, so the name can always be encoded. `+` stays a plus:
    whether it stands for a space is the server's affair.
    """
    raw = item.partition(_marks(item)[3])[0]
    if isinstance(raw, str):
        if "%" not in raw and raw.isascii():
            return raw
        return unquote_to_bytes(_encoded(raw)).decode("utf-8", "backslashreplace")
    return unquote_to_bytes(raw).decode("utf-8", "backslashreplace")


def value_of(item: AnyStr) -> AnyStr | None:
    """The raw value of an item; None when it has no `=`."""
    _, equals, value = item.partition(_marks(item)[3])
    return value if equals else None


def names(target: AnyStr) -> tuple[str, ...]:
    """The pattern of a URL or request target: its distinct names, sorted; empty without a query.

    Empty items (`a&&b`) have no name. `=5` has the name ''.
    """
    query = split(target)[1]
    if not query:
        return ()
    return tuple(sorted({name_of(item) for item in items(query) if item}))


def values(target: AnyStr, name: str) -> tuple[AnyStr, ...]:
    """The raw values of one name, in order; a flag without `=` gives an empty value."""
    query = split(target)[1]
    if not query:
        return ()
    found = [value_of(item) for item in items(query) if item and name_of(item) == name]
    return tuple(target[:0] if value is None else value for value in found)


def remove(target: AnyStr, names: Container[str]) -> AnyStr:
    """The target without the items that have one of these names.

    An item takes one separator along, the last one the `?`. Nothing to cut: the same object.
    """
    return _cut(target, lambda name: name in names)


def keep_only(target: AnyStr, names: Container[str]) -> AnyStr:
    """The target without the items that have none of these names; the opposite of `remove`."""
    return _cut(target, lambda name: name not in names)


def replace_value(target: AnyStr, name: str, value: AnyStr) -> AnyStr:
    """The target with another raw value for the first item of this name.

    Further items of that name stay; without any the same object comes back.
    """
    head, query, tail = split(target)
    question, _, ampersand, equals = _marks(target)
    pieces = items(query) if query else []
    for index, item in enumerate(pieces):
        if item and name_of(item) == name:
            pieces[index] = item.partition(equals)[0] + equals + value
            return head + question + ampersand.join(pieces) + tail
    return target


def _cut(target: AnyStr, goes: Callable[[str], bool]) -> AnyStr:
    head, query, tail = split(target)
    if not query:
        return target
    question, _, ampersand, _ = _marks(target)
    pieces = items(query)
    kept = [item for item in pieces if not item or not goes(name_of(item))]
    if len(kept) == len(pieces):
        return target
    # Some servers answer 404 to a bare `?`, so it goes when nothing is left behind it.
    rest = ampersand.join(kept)
    return head + question + rest + tail if rest else head + tail


def _marks(text: AnyStr) -> tuple[AnyStr, AnyStr, AnyStr, AnyStr]:
    if isinstance(text, str):
        return "?", "#", "&", "="
    return b"?", b"#", b"&", b"="


def _encoded(text: str) -> bytes:
    # Raw bytes that came in as surrogate escapes go back to what they were, so that a str and a
    # bytes target name the same thing; any other lone surrogate only has to survive.
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
