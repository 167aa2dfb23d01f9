"""Hard URLs: the table that people read, and strategies for more of them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

TRACKERS = frozenset({"utm_source", "gclid", "fbclid"})
LINES = (
    (Path(__file__).parent / "data" / "tricky_urls.tsv").read_text(encoding="utf-8").splitlines()
)
CASES = [line.split("\t") for line in LINES if not line.startswith("#")]

# Text that is rich in what queries are made of, any character at all among it.
piece = st.sampled_from(["utm_source", "gclid", "a", "b", "%61", "%", "%zz", "%C3", "é", "+", ";"])
mark = st.sampled_from(["&", "&", "=", "=", "?", "#", "/", "&&", "&="])
text = st.lists(piece | mark | st.text(max_size=3), max_size=25).map("".join)
target = text.map(lambda rest: f"https://shop.example/p?{rest}") | text | st.text()
raw_target = target.map(lambda url: url.encode("utf-8", "surrogatepass")) | st.binary()
