"""Which URLs may become samples: the one gate in front of the corpus.

A sample is opened again later, by the prober, in a browser without the user's cookies. So it must
be a URL that a browser can open as it stands, that has a parameter to judge, and that does nothing.

>>> unfit("https://shop.example/p?id=7&utm_source=mail") is None
True
>>> unfit("https://shop.example/p")
'no named parameter'
"""

from __future__ import annotations

import re

from miqps import query, rules, settings, urls

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
# Browsers encode these on the way out, so an address that holds one is not what a server was asked.
_CONTROL_OR_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_USER_INFO = re.compile(r"[^/?#]*//[^/?#]*@")


def unfit(url: str, off: frozenset[str] = frozenset()) -> str | None:
    """Why a URL cannot become a sample, in a few words that hold nothing of the URL; None: it can.

    The reason is the same text for all URLs of a kind, so it can be counted. `off` holds
    never-touch classes that do not count.
    """
    # First, and before anything is encoded: what comes in may be a file without line ends.
    if len(url) > settings.CORPUS.url_length:
        return "too long"
    try:
        size = len(url.encode())
    except UnicodeEncodeError:
        return "not text"
    if size > settings.CORPUS.url_length:
        return "too long"
    if _CONTROL_OR_SPACE.search(url):
        return "control character or space"
    if not _SCHEME.match(url):
        return "not http or https"
    if _USER_INFO.match(url):
        return "password in the address"
    if urls.site(url) is None:
        return "no valid host"
    if not query.names(url):
        return "no named parameter"
    never = rules.never_touch(url, off)
    if never:
        # The class; what follows quotes the URL.
        return never.partition(":")[0]
    return "deed" if rules.deed(url) else None
