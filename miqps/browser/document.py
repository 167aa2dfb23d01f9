"""Reads what a document says beside what it shows: metadata for machines, and its tree."""

from __future__ import annotations

import json
from typing import Any

from miqps.page import Metadata, Node

MOST_JSON = 400_000
"""Characters of JSON-LD that are read; a block that does not fit any more is left out."""

# Like all that reads, it runs in a world of its own.
METADATA = r"""
(most) => {
  const line = (value) => String(value || "").replace(/\s+/g, " ").trim().slice(0, 2000);
  const all = (what) => [...document.querySelectorAll(what)];
  const link = document.querySelector("link[rel~=canonical i][href]");
  const properties = [];
  for (const meta of all("meta[content]").slice(0, 2000)) {
    const name = meta.getAttribute("property") || meta.getAttribute("name") || "";
    // Open Graph has a prefix before every name: og:, product:, article:, book:.
    if (/^\s*[a-z]+:/i.test(name) && properties.length < 200) {
      properties.push([line(name).toLowerCase(), line(meta.getAttribute("content"))]);
    }
  }
  const blocks = [];
  let room = most;
  for (const script of all("script[type='application/ld+json' i]").slice(0, 200)) {
    const text = script.textContent;
    if (text.length > room) continue;
    room -= text.length;
    blocks.push(text);
  }
  return JSON.stringify({canonical: link ? line(link.href) : "", properties, blocks});
}
"""

MOST_NODES = 30_000
"""Nodes kept one by one. What is beyond is still read, but kept as a count and a hash."""

LONGEST = 4_000
"""Characters of a text or value kept as they are; longer ones: a beginning, a length, a hash."""

DOM = r"""
(most, longest) => {
  const hash = (text, from) => {
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
      : line.slice(0, longest) + " …" + line.length + "#" + hash(line, 0).toString(36);
  };
  // None of these is content, or it says again what other witnesses say better.
  const dropped = new Set(["script", "style", "noscript", "template", "link", "meta", "base"]);
  const attributes = (el) => el.getAttributeNames().filter((name) => name !== "nonce").sort()
    .map((name) => [name, name === "class" ? [...el.classList].sort().join(" ")
      : short(el.getAttribute(name))]);

  const out = [];
  let left = 0, rest = 0;
  const add = (...node) => {
    if (out.length < most) { out.push(node); return; }
    left++;
    rest = hash(JSON.stringify(node), rest) % 4294967296;
  };
  // What is still to be walked, the next one last: documents may be nested deeper than calls.
  const todo = [[document.documentElement, 0]];
  const push = (nodes, depth) => {
    for (let i = nodes.length - 1; i >= 0; i--) todo.push([nodes[i], depth]);
  };
  while (todo.length) {
    const [node, depth] = todo.pop();
    if (!node) continue;
    if (typeof node === "string") { add(depth, node, "", []); continue; }
    if (node.nodeType === 3) {
      const text = short(node.data);
      if (text) add(depth, "#text", text, []);
      continue;
    }
    const tag = node.localName;
    if (node.nodeType !== 1 || dropped.has(tag)) continue;
    if (tag === "head") {
      push([...node.children].filter((child) => child.localName === "title"), depth);
      continue;
    }
    add(depth, tag, "", attributes(node));
    push(node.childNodes, depth + 1);
    if (node.shadowRoot) {
      push(node.shadowRoot.childNodes, depth + 2);
      push(["#shadow"], depth + 1);
    }
    if (tag === "iframe") {
      let inner = null;
      try { inner = node.contentDocument; } catch (error) { /* another origin's */ }
      if (inner) { push([inner.documentElement], depth + 2); push(["#document"], depth + 1); }
    }
  }
  if (left) out.push([0, "#rest", `${left} further nodes #${rest.toString(36)}`, []]);
  return JSON.stringify(out);
}
"""


def parse_metadata(text: str) -> Metadata:
    """What the first script saw, from its JSON."""
    data: dict[str, Any] = json.loads(text)
    properties = tuple((name, value) for name, value in data["properties"])
    return Metadata(data["canonical"], properties, tuple(data["blocks"]))


def parse_dom(text: str) -> tuple[Node, ...]:
    """What the second one saw."""
    return tuple(
        Node(depth, tag, words, tuple((name, value) for name, value in attributes))
        for depth, tag, words, attributes in json.loads(text)
    )
