"""The window pages are seen through: its size, and the picture it gives."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from miqps.page import Pixels

WIDTH, HEIGHT = 1280, 1024
"""CSS px of the window."""
SCALE = 4
"""CSS px a captured pixel stands for, each way: the coarsest at which one digit still shows."""

MEASURE = r"""
() => {
  const soon = [...document.querySelectorAll('meta[http-equiv="refresh" i]')]
    .some((meta) => parseFloat(meta.content) <= 2);
  const tall = Math.max(document.documentElement ? document.documentElement.scrollHeight : 0,
    document.body ? document.body.scrollHeight : 0, 1);
  return `${soon} ${tall}`;
}
"""
# Lazy pictures are told to load; old loaders that listen for scrolling are told of some.
WAKE = r"""
() => {
  const lazy = document.querySelectorAll("img[loading=lazy], iframe[loading=lazy]");
  for (const each of lazy) each.loading = "eager";
  window.dispatchEvent(new Event("scroll"));
  return lazy.length;
}
"""


def whole(height: int) -> int:
    """The height in whole blocks: half a block would be a blend with what is below the page."""
    return -(-height // SCALE) * SCALE


def decode(data: str, times: int = 1) -> Pixels:
    """The picture in a base64 PNG: (height, width, 3), RGB.

    Args:
        data: the picture.
        times: pixels that become one, each way, by their mean.
    """
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        return np.array(image.convert("RGB").reduce(times), dtype=np.uint8)
