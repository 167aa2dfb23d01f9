"""What a run is to judge: which contexts are due, by which samples, with which values beside."""

from __future__ import annotations

from collections.abc import Sequence

from miqps import query, urls
from miqps.eligibility import unfit
from miqps.store import Store, StoredContext
from miqps.task import Task

_POOL = 50
"""Values from elsewhere that are kept a name and context: more are never tried."""


def due(stored: StoredContext, content_id: str, *, again: bool) -> bool:
    """Whether a context is to be judged: never judged, or left open and more is known now.

    What another content ID said does not count: it answered another question.
    """
    if not stored.urls:
        return False
    if stored.judged_by not in ("", content_id):
        return True
    news = stored.urls > stored.judged_urls
    return again or not stored.judged_urls or (news and stored.undecided > 0)


def tasks(
    store: Store,
    all_contexts: Sequence[StoredContext],
    chosen: Sequence[StoredContext],
    off: frozenset[str] = frozenset(),
) -> list[tuple[StoredContext, Task]]:
    """The chosen contexts with their samples, and with what the whole site knows of their names.

    `off` holds never-touch classes that do not count.
    """
    samples = {
        stored.id: [url for url in store.corpus.urls_of(stored.id) if not unfit(url, off)]
        for stored in all_contexts
    }
    seen: dict[str, dict[str, dict[str, None]]] = {}
    for stored in all_contexts:
        for url in samples[stored.id]:
            for name in stored.context.names:
                values = seen.setdefault(name, {}).setdefault(stored.context.path, {})
                values.update(dict.fromkeys(query.values(url, name)[:1]))
    return [
        (
            stored,
            Task(
                context=stored.context,
                urls=tuple(samples[stored.id]),
                pool={n: _nearest(seen[n], stored.context.path) for n in stored.context.names},
            ),
        )
        for stored in chosen
        if samples[stored.id]
    ]


def _nearest(by_path: dict[str, dict[str, None]], path: str) -> tuple[str, ...]:
    near = list(by_path.get(path, ()))
    far = [value for other, values in by_path.items() if other != path for value in values]
    return tuple(dict.fromkeys(near + far))[:_POOL]


def known_site(store: Store, host: str) -> str | None:
    """The site of the corpus that a user means by a host name, a site or a URL."""
    sites = store.corpus.sites()
    asked = urls.site(host) or urls.site(f"http://{host}") or host.lower()
    if asked in sites:
        return asked
    matching = [site for site in sites if site.rpartition(":")[0] == asked]
    return matching[0] if len(matching) == 1 else None
