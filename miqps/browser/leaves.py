"""Reads a page's visible leaves: every run of text, picture, field and drawn box, as one list."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from miqps.page import Leaf

# Runs in a world of its own, where the page's scripts cannot have replaced anything.
SCRIPT = r"""
(most, longest, wide) => {
  const state = globalThis.miqps || (globalThis.miqps = {changes: 0});
  if (state.observer) state.observer.disconnect();
  state.changes = 0;
  state.observer = new MutationObserver((records) => { state.changes += records.length; });
  state.observer.observe(document, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  const out = [];
  let rest = 0, left = 0, passwords = 0;
  const hash = (text, from = 0) => {
    let a = 0xdeadbeef ^ from, b = 0x41c6ce57 ^ from;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      a = Math.imul(a ^ code, 2654435761);
      b = Math.imul(b ^ code, 1597334677);
    }
    a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
    b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
    return 4294967296 * (2097151 & b) + (a >>> 0);
  };
  const short = (text) => {
    const line = text.replace(/\s+/g, " ").trim();
    return line.length <= longest ? line
      : line.slice(0, longest) + " …" + line.length + "#" + hash(line).toString(36);
  };
  // Queries of pictures carry session ids and echoes of the page's own query; what differs shows.
  // Where a part of it is not in the page's picture, the whole address speaks for it.
  const source = (url, cut) => {
    if (!url) return "";
    if (url.startsWith("data:")) return "data#" + hash(url).toString(36);
    if (url.startsWith("blob:")) return "blob";
    return cut ? url : url.replace(/[?#].*$/s, "");
  };
  const add = (path, text, style, x, y, w, h) => {
    if (w < 1 || h < 1 || x + w <= 0 || y + h <= 0) return;
    if (out.length < most) {
      out.push([path, text, style, Math.round(x), Math.round(y), Math.round(w), Math.round(h)]);
    } else {
      left++;
      rest = hash(path + "\n" + text + "\n" + style, rest) % 4294967296;
    }
  };
  const ink = (css, opacity) =>
    `color:${css.color};size:${css.fontSize};weight:${css.fontWeight};slant:${css.fontStyle};` +
    `line:${css.textDecorationLine};case:${css.textTransform};opacity:${+opacity.toFixed(3)};`;
  const clear = (color) => color === "transparent" || /, 0\)$/.test(color);
  const images = (value, cut) =>
    value.replace(/url\("(.*?)"\)/g, (_, url) => `url(${source(url, cut)})`);
  const paint = (css, opacity, cut) => {
    let style = "";
    if (!clear(css.backgroundColor)) style += `ground:${css.backgroundColor};`;
    if (css.backgroundImage !== "none") style += `picture:${images(css.backgroundImage, cut)};`;
    for (const side of css.borderStyle === "none" ? [] : ["Top", "Right", "Bottom", "Left"]) {
      const kind = css[`border${side}Style`];
      if (kind !== "none" && kind !== "hidden" && css[`border${side}Width`] !== "0px") {
        style += `border:${css[`border${side}Width`]} ${kind} ${css[`border${side}Color`]};`;
      }
    }
    if (css.boxShadow !== "none") style += `shadow:${css.boxShadow};`;
    return style && style + `opacity:${+opacity.toFixed(3)};`;
  };
  const field = (el) => {
    switch (el.localName) {
      case "select":
        return [...el.selectedOptions].map((option) => option.label).join(" | ");
      case "progress": case "meter":
        return String(el.value);
      case "textarea":
        return el.value || el.placeholder;
      default:
        if (el.type === "checkbox" || el.type === "radio") return el.checked ? "[x]" : "[ ]";
        if (el.type === "password") { passwords++; return el.placeholder; }
        return el.value || el.placeholder;
    }
  };
  // What a closed list would show.
  const options = (el) => el.localName !== "select" ? "" : `options:${el.options.length}#` +
    hash([...el.options].map((option) => option.label).join("\n")).toString(36) + ";";
  const fields = new Set(["input", "textarea", "select", "progress", "meter"]);
  const pictures = new Set(["img", "video", "canvas", "svg", "iframe", "object", "embed"]);
  const drawn = (el) => {
    try { return hash(el.toDataURL()).toString(36); } catch (error) { return "tainted"; }
  };
  const picture = (el, cut) => {
    switch (el.localName) {
      case "img": return `picture:${source(el.currentSrc || el.src, cut)};`;
      case "video": return `picture:${source(el.poster, cut)};`;
      case "iframe": return `frame:${source(el.src, cut)};`;
      case "object": case "embed": return cut ? `picture:${source(el.data || el.src, cut)};` : "";
      case "canvas": return cut ? `drawn:${drawn(el)};` : "";
      case "svg": return cut ? `drawn:${hash(el.outerHTML).toString(36)};` : "";
      default: return "";
    }
  };
  // What an element's ancestors let through, in the page's px.
  const within = (clip, css, x, y, r) => {
    const [left, top, right, bottom] = clip;
    const hides = (value) => value !== "visible" && value !== "";
    return [
      hides(css.overflowX) ? Math.max(left, x) : left,
      hides(css.overflowY) ? Math.max(top, y) : top,
      hides(css.overflowX) ? Math.min(right, x + r.width) : right,
      hides(css.overflowY) ? Math.min(bottom, y + r.height) : bottom,
    ];
  };
  const isCut = (clip, x, y, r) => x < clip[0] - 2 || y < clip[1] - 2 ||
    x + r.width > clip[2] + 2 || y + r.height > clip[3] + 2;

  const text = (node, path, css, opacity, dx, dy) => {
    const line = short(node.data);
    if (!line) return;
    const range = node.ownerDocument.createRange();
    range.selectNodeContents(node);
    const r = range.getBoundingClientRect();
    add(path, line, ink(css, opacity), r.left + dx, r.top + dy, r.width, r.height);
  };
  const element = (el, path, above, dx, dy, clip) => {
    const css = getComputedStyle(el);
    if (css.display === "none") return;
    const opacity = above * Number(css.opacity);
    if (opacity === 0) return;
    const tag = el.localName, shown = css.visibility === "visible";
    const r = el.getBoundingClientRect(), x = r.left + dx, y = r.top + dy;
    const size = [x, y, r.width, r.height];
    const cut = isCut(clip, x, y, r);
    const painted = paint(css, opacity, cut);
    if (shown && fields.has(tag)) {
      add(path, short(field(el)), ink(css, opacity) + options(el) + painted, ...size);
      return;
    }
    if (shown && pictures.has(tag)) {
      if (r.width >= 3 && r.height >= 3) {
        add(path, "", picture(el, cut) + painted + `opacity:${+opacity.toFixed(3)};`, ...size);
      }
    } else if (shown && painted) add(path, "", painted, ...size);
    if (tag === "iframe") {
      let inner = null;
      try { inner = el.contentDocument; } catch (error) { /* another origin's */ }
      if (shown && inner && inner.documentElement) {
        const view = inner.defaultView;
        element(inner.documentElement, path + "/#document/html", opacity,
          x + el.clientLeft + (parseFloat(css.paddingLeft) || 0),
          y + el.clientTop + (parseFloat(css.paddingTop) || 0),
          [Math.max(clip[0], x), Math.max(clip[1], y),
            Math.min(clip[2], x + r.width), Math.min(clip[3], y + r.height)]);
      }
      return;
    }
    if (tag === "video" || tag === "canvas" || tag === "object") return;
    const pseudo = (which) => {
      const own = getComputedStyle(el, which);
      if (!shown || own.content === "none" || own.content === "normal") return;
      if (own.content === "-moz-alt-content") return;
      if (own.display === "none") return;
      add(path + "/" + which, short(images(own.content, cut)),
        ink(own, opacity) + paint(own, opacity, cut), ...size);
    };
    pseudo("::before");
    // What a body or root element hides goes over to the window, which shows the whole page.
    const inside = el === document.body || el === document.documentElement
      ? clip : within(clip, css, x, y, r);
    let children = el.childNodes;
    if (el.shadowRoot) children = el.shadowRoot.childNodes;
    else if (tag === "slot" && el.assignedNodes().length) children = el.assignedNodes();
    const seen = new Map();
    for (const child of children) {
      if (child.nodeType === 1) {
        const n = (seen.get(child.localName) || 0) + 1;
        seen.set(child.localName, n);
        element(child, `${path}/${child.localName}[${n}]`, opacity, dx, dy, inside);
      } else if (child.nodeType === 3 && shown) {
        const n = (seen.get("#text") || 0) + 1;
        seen.set("#text", n);
        text(child, `${path}/#text[${n}]`, css, opacity, dx, dy);
      }
    }
    pseudo("::after");
  };
  const root = document.documentElement;
  if (root) element(root, "/html", 1, scrollX, scrollY, [0, 0, wide, Infinity]);
  if (left) out.push(["/#rest", `${left} further leaves #${rest.toString(36)}`, "", 0, 0, 1, 1]);
  return JSON.stringify({
    href: location.href, title: document.title, type: document.contentType,
    passwords, leaves: out,
  });
}
"""

STORED = r"""
() => {
  try {
    return JSON.stringify(Object.entries(localStorage).slice(0, 200)
      .map(([name, value]) => [name.slice(0, 200), value.slice(0, 1000)]));
  } catch { return "[]"; }
}
"""
"""What the page keeps for the next visit beside its cookies."""

CHANGES = "() => miqps.changes + miqps.observer.takeRecords().length"
"""How often the document was changed since `SCRIPT` ran, in the same world."""

MOST = 20_000
"""Leaves kept one by one. What is beyond is still read, but kept as a count and a hash."""

LONGEST = 4_000
"""Characters of one leaf kept as they are; longer ones are a beginning, a length and a hash."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the script saw."""

    href: str
    title: str
    type: str
    passwords: int
    """Visible password fields."""
    leaves: tuple[Leaf, ...]


def parse(text: str) -> Reading:
    """What the script saw, from its JSON."""
    data: dict[str, Any] = json.loads(text)
    leaves = tuple(
        Leaf(path, words, style, (x, y, w, h)) for path, words, style, x, y, w, h in data["leaves"]
    )
    return Reading(data["href"], data["title"], data["type"], data["passwords"], leaves)
