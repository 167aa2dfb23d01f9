"""mitmdump -s idle_addon.py: hooks that do nothing, for what an addon costs before it does a thing.

It has the hooks of `miqps.addon.Miqps`.
"""

from mitmproxy import http


class Idle:
    """Leaves every flow alone."""

    def request(self, flow: http.HTTPFlow) -> None: ...

    def responseheaders(self, flow: http.HTTPFlow) -> None: ...

    def response(self, flow: http.HTTPFlow) -> None: ...

    def error(self, flow: http.HTTPFlow) -> None: ...


addons = [Idle()]
