"""mitmdump -s addons/miqps.py -s hook_times.py: how long the hooks of the addon take a flow.

The times go to the file that MIQPS_BENCH_TIMES names, as JSON: nanoseconds by kind of flow. Taking
the time is counted too, three times a flow, at some 0.1 µs each.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

from mitmproxy import ctx, http

Hook = Callable[[http.HTTPFlow], None]
_HOOKS = ("request", "responseheaders", "response")


class HookTimes:
    """Wraps the hooks of the addon, and adds up what they take for each flow."""

    def __init__(self) -> None:
        self._of_flow: defaultdict[str, int] = defaultdict(int)
        self._of_kind: defaultdict[str, list[int]] = defaultdict(list)

    def running(self) -> None:
        addon = ctx.master.addons.get("miqps")
        for name in _HOOKS:
            setattr(addon, name, self._timed(getattr(addon, name), is_last=name == _HOOKS[-1]))

    def done(self) -> None:
        Path(os.environ["MIQPS_BENCH_TIMES"]).write_text(json.dumps(self._of_kind))

    def _timed(self, hook: Hook, *, is_last: bool) -> Hook:
        def timed(flow: http.HTTPFlow) -> None:
            before = perf_counter_ns()
            hook(flow)
            self._of_flow[flow.id] += perf_counter_ns() - before
            if is_last:
                self._of_kind[_kind(flow)].append(self._of_flow.pop(flow.id))

        return timed


def _kind(flow: http.HTTPFlow) -> str:
    is_page = flow.request.headers.get("accept", "").startswith("text/html")
    query = "with a query" if "?" in flow.request.path else "without a query"
    return f"{'page' if is_page else 'other'} {query}"


addons = [HookTimes()]
