"""From what was seen to what is stored: the way into the corpus that all sources share.

The proxy's recorder and every importer hand a URL, and the page when they have it; what comes out
holds no secret, no deed and no host that the user wants left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from miqps import eligibility, harvest, urls
from miqps.observation import Answer, Document, Observation
from miqps.privacy import Privacy
from miqps.redaction import is_secret, redact

IGNORED = "ignored host"
SECRET_NAME = "secret in a name"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A URL as it came, how often, and what it showed."""

    url: str
    visited: bool = True
    hits: int = 1
    seen: str = ""
    """ISO 8601 in UTC; empty for now."""

    document: Document | None = None
    is_fit: bool = False
    """Whether `eligibility.unfit` was asked already."""


def sift(sighting: Sighting, privacy: Privacy, passed_over: Counter[str]) -> Iterator[Observation]:
    """What may be stored of a sighting: the URL itself, then the links of its page.

    Adds to `passed_over` why the URL itself may not; links that may not are not counted.
    """
    site = urls.site(sighting.url)
    if site is not None and not privacy.allows(site):
        passed_over[IGNORED] += sighting.hits
        return
    answer, links = _read(sighting, privacy)
    reason = None if sighting.is_fit else eligibility.unfit(sighting.url, privacy.off)
    observation = None if reason else _observation(sighting, answer)
    if observation is None:
        passed_over[reason or SECRET_NAME] += sighting.hits
    else:
        yield observation
    for link in links:
        found = _observation(Sighting(link, False, 0, sighting.seen), None)
        if found is not None and privacy.allows(urls.site(link) or ""):
            yield found


def _read(sighting: Sighting, privacy: Privacy) -> tuple[Answer | None, tuple[str, ...]]:
    if sighting.document is None:
        return None, ()
    page = harvest.read(sighting.document, sighting.url, other_sites=privacy.harvest == "all")
    links = page.links if privacy.reads_links else ()
    answer = page.answer
    title = "" if is_secret(answer.title) else answer.title
    canonical = redact(answer.canonical) or ""
    return replace(answer, title=title, canonical=canonical), links


def _observation(sighting: Sighting, answer: Answer | None) -> Observation | None:
    """What is stored of a URL; None when its names cannot be stored."""
    url = redact(sighting.url)
    if url is None:
        return None
    return Observation(
        url,
        visited=sighting.visited,
        hits=sighting.hits,
        seen=sighting.seen,
        redacted=url != sighting.url,
        answer=answer,
    )
