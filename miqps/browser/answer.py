"""The body of the answer that became the page."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Mapping
from typing import Any

from miqps.browser import bidi
from miqps.browser.tab import Tab
from miqps.page import Body

LARGEST = 8_000_000
"""Bytes. The driver takes some two seconds to hand over so many; of more nobody waits."""

KEPT = 262_144
"""Bytes of a body that go into the page, and with it into the journal."""


def keep(tab: Tab) -> str:
    """Tells the browser, before the first request, that a body will be asked for.

    Returns:
        what `body` wants to know; "" when the browser cannot do it.
    """
    try:
        made = tab.call(
            "network.addDataCollector",
            dataTypes=["response"],
            maxEncodedDataSize=LARGEST,
            contexts=[tab.watch.context],
        )
    except bidi.BidiError:
        return ""
    return str(made["collector"])


def body(tab: Tab, kept: str) -> Body | None:
    """The body of the last document; None when it is too big, or the browser did not keep it.

    Args:
        tab: where it was loaded.
        kept: what `keep` gave.
    """
    if not kept:
        return None
    said: Mapping[str, Any] | None = None
    with contextlib.suppress(bidi.BidiError):
        if tab.watch.size <= LARGEST:
            request = tab.watch.request
            said = tab.call("network.getData", dataType="response", request=request)["bytes"]
    with contextlib.suppress(bidi.BidiError):
        tab.call("network.removeDataCollector", collector=kept)
    if said is None:
        return None
    value = str(said.get("value", ""))
    data = base64.b64decode(value) if said.get("type") == "base64" else _encoded(value)
    return Body(hashlib.sha256(data).hexdigest(), len(data), data[:KEPT])


def _encoded(text: str) -> bytes:
    # Chromium gives text as it decoded it; half a surrogate pair must not be the end.
    return text.encode("utf-8", "surrogatepass")
