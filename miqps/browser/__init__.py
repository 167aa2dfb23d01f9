"""Seeing: a URL becomes a page, in a real browser and a clean profile.

`chromium` is the way in; a visit (`visit`) is made in a tab of its own (`tab`), spoken to over
WebDriver BiDi (`bidi`), watched by its events (`watch`), held still (`deterministic`), captured
(`window`), read (`reading`: `leaves`, `document`, `answer`) and named (`outcome`). `driver` is what
browsers of all kinds are to the rest.
"""

from miqps.browser.chromium import Browser
from miqps.browser.driver import BrowserError

__all__ = ["Browser", "BrowserError"]
