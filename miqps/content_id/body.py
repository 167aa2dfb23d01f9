"""Two pages are the same when the server sent the same bytes.

Misses: everything that scripts do to the page, and everything that comes in further requests:
pictures, style sheets, and the whole content of a page that is built in the browser. There all
addresses send the same bytes, and look the same here: use `visual` for such sites.

Sees a difference where there is none whenever the address is written into the page, or anything is
that each answer has anew: a time, a number of the request, a token. Nothing of it can be left out,
because a checksum has no parts; such pages are unstable, and their parameters are kept.
"""

from __future__ import annotations

from miqps.content_id import Identity
from miqps.page import Page, Part


class Body:
    """The content ID of sites that answer with files or with documents that never change."""

    name = "body"
    needs: frozenset[Part] = frozenset({"body"})

    def of(self, page: Page, *repeats: Page) -> Identity:
        """The checksum of what the server sent."""
        for each in (page, *repeats):
            if each.body is None:
                if not each.leaves:
                    return Identity("", f"not seen: {each.outcome} {each.reason}".rstrip())
                return Identity("", "the body is too big, or the browser did not keep it")
        digest = page.body.sha256 if page.body else ""
        if any(each.body and each.body.sha256 != digest for each in repeats):
            return Identity(digest, "the body is another one every time", digest)
        return Identity(digest, outline=digest)

    def same(self, a: Identity, b: Identity) -> bool:
        """Whether the server sent the same."""
        return not a.unstable and not b.unstable and a.digest == b.digest
