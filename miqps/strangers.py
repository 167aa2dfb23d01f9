"""Addresses that show nothing of what a sample asks for: the controls of a judgement."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from miqps import query, urls
from miqps.urls import Context


@dataclass(frozen=True, slots=True)
class Stranger:
    """A page that shows nothing of what a sample asks for."""

    url: str
    reason: str
    is_front: bool = False

    def may_equal(self, url: str) -> bool:
        """Whether the sample may rightly show the same: the front page is itself."""
        return self.is_front and urls.path(url).partition(".")[0] in ("/", "/index", "/default")


@dataclass(frozen=True, slots=True)
class Strangers:
    """The strangers that are looked at before the first trial, and the one after the last."""

    at_first: tuple[Stranger, ...]
    at_last: Stranger


def strangers(context: Context, sample: str) -> Strangers:
    """Two addresses that do not exist, beside the samples, and the site's front page."""
    bare = query.split(sample)[0]
    scheme, _, rest = bare.partition("://")
    origin = f"{scheme}://{rest.partition('/')[0]}"
    folder = urls.path(bare).rstrip("/").rpartition("/")[0]
    reason = "it looks like an address that does not exist"
    # The first is shared by all contexts of a folder; the last must be new when its turn comes.
    nowhere = Stranger(f"{origin}{folder}/miqps-{_token(origin + folder)}", reason)
    front = Stranger(f"{origin}/", "it looks like the site's front page", is_front=True)
    last = Stranger(f"{origin}{folder}/miqps-{_token(repr(context))}-2", reason)
    return Strangers((nowhere, front), last)


def _token(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
