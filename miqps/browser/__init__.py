"""Seeing: a URL becomes a page, in a real browser and a clean profile.

`renderer` is the way in; a visit (`visit`) is made in a tab of its own (`tab`), spoken to over
WebDriver BiDi (`bidi`), watched by its events (`watch`), held still (`deterministic`), captured
(`window`), read (`reading`: `leaves`, `document`, `answer`) and named (`outcome`). What kinds of
browsers do in a way of their own is behind two protocols: how one is started and ended (`driver`)
and what it does for a tab (`powers`). Chromium and Firefox on this machine, and browsers of a
grid (`grid`), are the three drivers; `choice` understands which one somebody means.
"""

from miqps.browser.driver import BrowserError
from miqps.browser.renderer import Browser

__all__ = ["Browser", "BrowserError"]
