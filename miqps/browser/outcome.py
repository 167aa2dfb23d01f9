"""Names what became of a visit, from what was seen of it. Pure: no browser, no clock.

Block pages, log-in pages, consent walls and polite error pages look the same whatever the query
says; taken for content they would make every parameter look useless. A page named so by mistake
costs one sample, so short pages with a marker in a prominent place are named so; long pages never
are, because articles about captchas and shops with a log-in box are ordinary pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import unquote_to_bytes, urlsplit

from miqps.page import Leaf, Outcome

WALL_LENGTH = 1_500
"""Characters of visible text. Walls of all kinds seen in the wild have a few hundred; an ordinary
page of a site with navigation and footer has more."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a visit saw, before anybody says what it means."""

    asked: str
    final_url: str
    status: int | None
    type: str = ""
    """The document's MIME type."""
    failure: str = ""
    """The browser's name for a failed navigation, "net::ERR_CONNECTION_REFUSED"."""
    download: bool = False
    dialog: str = ""
    """The kind of a dialog that opened in spite of everything."""
    title: str = ""
    leaves: tuple[Leaf, ...] = ()
    passwords: int = 0
    uniform: bool = False
    """Whether all pixels have one colour."""


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE)


_CHALLENGE = _any(
    r"\bjust a moment\b",
    r"checking (if the site|your browser)",
    r"verify(ing)? (that )?you are (a )?human",
    r"(are|that) you('re| are)? not a (ro)?bot",
    r"are you a (ro)?bot",
    r"attention required!",
    r"unusual (traffic|activity)",
    r"enable javascript and cookies to continue",
    r"press (&|and) hold",
    r"ddos protection by",
    r"incapsula incident",
    r"pardon our interruption",
    r"access (to this page )?(has been |is )?denied",
    r"(complete|solve|enter) the (security check|captcha)",
    r"you have been blocked",
    r"automated (access|requests|queries)",
    r"sicherheitsüberprüfung",
    r"vérifi(er|cation) que vous êtes (un )?humain",
)
_LOGIN = _any(
    r"\blog[ -]?in\b",
    r"\bsign[ -]?in\b",
    r"\banmeld",
    r"\beinloggen",
    r"se connecter",
    r"\bconnexion\b",
    r"iniciar sesi",
    r"\baccedi\b",
    r"\binloggen\b",
    r"zaloguj",
    r"\bвойти\b|\bвход\b",
    r"ログイン",
    r"登录|登錄",
)
_LOGIN_PATH = re.compile(
    r"/(log-?in|sign-?in|sso|auth|oauth2?|session/new|accounts?/login)\b", re.I
)
_CONSENT = _any(
    r"before you continue",
    r"(cookie|privacy|consent)[ -]*(settings|consent|choices|preferences|notice|wall)?$",
    r"we value your privacy",
    r"bevor sie .{0,40}weiter",
    r"datenschutz-?einstellungen",
    r"avant d.accéder",
)
_ACCEPT = _any(r"accept", r"agree", r"zustimmen", r"akzeptieren", r"accepter", r"aceptar")
_CONSENT_PLACE = re.compile(r"^consent\.|^https?://[^/]*/(.*/)?(cookie-?)?consent\b", re.I)
_MISSING = _any(
    r"\b404\b",
    r"(page|product|item|article|file|document|topic)?\s*(could )?not (be )?found",
    r"(page|product|item|article|listing) (is )?(no longer|not) (available|exist)",
    r"does ?n.t exist",
    r"can.t find (that|the|this) page",
    r"nicht gefunden",
    r"introuvable",
    r"no (se )?encontrad[ao]",
    r"non trovat[ao]",
    r"niet gevonden",
)
# What the browser says of an answer that it did not take as a page.
_ABORTED = ("net::ERR_ABORTED", "navigation failed")
_HEADING = re.compile(r"/h[12]\[\d+\]")


def name(sight: Sight) -> tuple[Outcome, str]:
    """What became of a visit, and why in one line ("" when the page was seen)."""
    if sight.dialog:
        return "dialog", f"a dialog opened: {sight.dialog}"
    if sight.status in (204, 205, 304):
        return "status", f"{sight.status}, an answer without a page"
    if sight.download or (sight.failure in _ABORTED and sight.status == 200):
        return "download", "the answer is a file, not a page"
    if sight.status is None or (sight.failure and sight.status < 400):
        return "unreachable", sight.failure or "no answer"
    if sight.status == 429:
        return "throttled", "429"
    wall = _wall(sight)
    if wall is not None and wall[0] == "challenge":
        return wall
    if sight.status == 503:
        return "throttled", "503"
    if sight.status >= 400:
        return "status", str(sight.status)
    if sight.type == "application/pdf":
        return "download", "the answer is a PDF, which is not drawn"
    if wall is not None:
        return wall
    if not same_place(sight.asked, sight.final_url):
        return "redirected", f"ended at {sight.final_url}"
    if sight.uniform:
        return "blank", "nothing is drawn"
    return "seen", ""


def _wall(sight: Sight) -> tuple[Outcome, str] | None:
    """What stands in the way of the page, when something does."""
    text = " ".join(leaf.text for leaf in sight.leaves)
    if len(text) > WALL_LENGTH:
        return None
    headings = [leaf.text for leaf in sight.leaves if _HEADING.search(leaf.path)]
    prominent = [sight.title, *headings]
    marker = _first(_CHALLENGE, [*prominent, text] if len(text) < WALL_LENGTH // 2 else prominent)
    if marker:
        return "challenge", f'says "{marker}"'
    moved = not same_place(sight.asked, sight.final_url)
    if sight.passwords:
        marker = _first(_LOGIN, prominent)
        if marker:
            return "login", f'asks for a password, says "{marker}"'
        if moved and _LOGIN_PATH.search(urlsplit(sight.final_url).path):
            return "login", f"ended at {sight.final_url}"
    if _ACCEPT.search(text):
        marker = _first(_CONSENT, prominent)
        if marker:
            return "consent", f'says "{marker}"'
        place = urlsplit(sight.final_url)
        if moved and (_CONSENT_PLACE.search(place.netloc) or _CONSENT_PLACE.search(place.geturl())):
            return "consent", f"ended at {sight.final_url}"
    marker = _first(_MISSING, prominent)
    if marker:
        return "not-found", f'says "{marker}"'
    return None


def _first(pattern: re.Pattern[str], lines: list[str]) -> str:
    for line in lines:
        found = pattern.search(line)
        if found:
            return found.group(0).strip()
    return ""


def same_place(asked: str, final: str) -> bool:
    """Whether two URLs name the same host and path.

    A scheme upgrade, "www.", one slash at the end and the spelling of percent-encoding are no
    difference; the query and the fragment are not looked at.
    """
    return _place(asked) == _place(final)


def _place(url: str) -> tuple[str, bytes]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return url, b""
    if port in (80, 443):
        port = None
    host = host.removeprefix("www.")
    return f"{host}:{port}" if port else host, unquote_to_bytes(parts.path).removesuffix(b"/")


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds a Retry-After header asks for; None when it is missing or not understood.

    Args:
        value: the header, seconds or an HTTP date.
        now: seconds since 1970.
    """
    if value is None:
        return None
    if re.fullmatch(r"\d{1,9}", value.strip()):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError):
        return None
