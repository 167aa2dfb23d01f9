"""Reads a page that came to rest: what shows, and beside it only the parts that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from miqps.browser import document, leaves, window
from miqps.browser.tab import Tab
from miqps.page import Body, Metadata, Node, Part, Pixels

WORLD = "miqps"
"""Where the scripts that read run, apart from the page's."""


@dataclass(frozen=True, slots=True)
class Found:
    """What there was to read."""

    shown: leaves.Reading
    uniform: bool = False
    """Whether all of the picture has one colour."""
    pixels: Pixels | None = None
    metadata: Metadata | None = None
    dom: tuple[Node, ...] = ()
    body: Body | None = None


def read(tab: Tab, parts: frozenset[Part]) -> Mapping[str, str]:
    """What the scripts say, as JSON by part; "leaves" are always read."""
    numbers: tuple[int, ...] = (leaves.MOST, leaves.LONGEST, window.WIDTH)
    scripts = {"leaves": (leaves.SCRIPT, numbers)}
    if "metadata" in parts:
        scripts["metadata"] = (document.METADATA, (document.MOST_JSON,))
    if "dom" in parts:
        scripts["dom"] = (document.DOM, (document.MOST_NODES, document.LONGEST))
    # In one call, because each costs a round trip; JSON has no line breaks of its own.
    calls = ", ".join(
        f"({script})({', '.join(map(str, numbers))})" for script, numbers in scripts.values()
    )
    said = str(tab.run(f'() => [{calls}].join("\\n")', world=WORLD))
    return dict(zip(scripts, said.split("\n"), strict=True))


def needs_picture(said: Mapping[str, str], parts: frozenset[Part]) -> bool:
    """Whether a picture is to be taken: also where no words show that the page is not blank."""
    return "pixels" in parts or not any(leaf.text for leaf in leaves.parse(said["leaves"]).leaves)


def found(
    said: Mapping[str, str], pixels: Pixels | None, body: Body | None, parts: frozenset[Part]
) -> Found:
    """What there was to read.

    Args:
        said: what `read` gave.
        pixels: the picture, when one was taken.
        body: of the response, when it was asked for.
        parts: what was asked for.
    """
    return Found(
        shown=leaves.parse(said["leaves"]),
        uniform=pixels is not None and bool((pixels == pixels[0, 0]).all()),
        pixels=pixels if "pixels" in parts else None,
        metadata=document.parse_metadata(said["metadata"]) if "metadata" in said else None,
        dom=document.parse_dom(said["dom"]) if "dom" in said else (),
        body=body,
    )
