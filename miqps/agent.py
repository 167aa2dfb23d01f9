"""How the prober introduces itself: in the User-Agent of all that it asks for."""

from __future__ import annotations

import re

from miqps import __version__
from miqps.settings import PROBER_TOKEN

_MAIL = re.compile(
    r"[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.IGNORECASE | re.ASCII
)
_PAGE = re.compile(r"https?://[!-'*-~]+", re.IGNORECASE)
_LONGEST = 200


def introduction(contact: str = "") -> str:
    """Who asks and, when there is a contact, whom to write to.

    >>> introduction("ops@shop.example").partition(" ")[2]
    '(+ops@shop.example)'
    """
    name = f"{PROBER_TOKEN}/{__version__}"
    return f"{name} (+{contact})" if contact else name


def check_contact(text: str) -> str:
    """The contact, when it is one; it goes into a header as it stands.

    Raises ValueError: neither a mail address nor the address of a page.
    """
    known = _MAIL.fullmatch(text) or _PAGE.fullmatch(text)
    if known is None or len(text) > _LONGEST:
        raise ValueError(f"{text!r} is neither a mail address nor a URL")
    return text
