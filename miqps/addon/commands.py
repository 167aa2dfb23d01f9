"""What a person can ask of the addon, or tell it, in mitmproxy's console and in mitmweb."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from mitmproxy import command
from mitmproxy.exceptions import CommandError

from miqps import urls
from miqps.addon.counters import Counters
from miqps.addon.session import Session
from miqps.mapping import MapError, Pin
from miqps.publish import publish_pins
from miqps.store import Store, StoreError

logger = logging.getLogger(__name__)

_ACTIONS = ("keep", "strip")


class Commands:
    """The commands `miqps.*`. What takes time happens on a thread of its own.

    Args:
        session: gives what is at work; None before the first configuration.
        counters: what was counted.
    """

    def __init__(self, session: Callable[[], Session | None], counters: Counters) -> None:
        self._current = session
        self._counters = counters

    @command.command("miqps.status")
    def status(self) -> Sequence[str]:
        """Mode, map, what is paused, and what was counted."""
        session = self._session()
        rewriter = session.rewriter
        paused = ", ".join(sorted(rewriter.paused)).replace("*", "everything") or "nothing"
        return [
            f"mode {rewriter.mode}, scope {rewriter.scope}",
            f"map version {rewriter.normalizer.version}, {rewriter.normalizer.contexts} contexts,"
            f" from {session.place}",
            f"paused: {paused}",
            f"{self._counters}",
        ]

    @command.command("miqps.explain")
    def explain(self, url: str) -> Sequence[str]:
        """What happens to each parameter of a URL, and why."""
        found = self._session().rewriter.normalizer.explain(url)
        return [
            f"-> {found.cleaned}",
            *(
                f"{ruling.name}: {'kept' if ruling.kept else 'goes'}, {ruling.layer}:"
                f" {ruling.reason}"
                for ruling in found.rulings
            ),
        ]

    @command.command("miqps.pause")
    def pause(self, site: str = "") -> None:
        """Leave a site alone, or everything, until it is resumed."""
        rewriter = self._session().rewriter
        rewriter.paused |= {_site(site) if site else "*"}
        logger.info(f"miqps: paused: {site or 'everything'}")

    @command.command("miqps.resume")
    def resume(self, site: str = "") -> None:
        """Go on with a site, or with everything."""
        rewriter = self._session().rewriter
        rewriter.paused = rewriter.paused - {_site(site)} if site else frozenset()
        logger.info(f"miqps: resumed: {site or 'everything'}")

    @command.command("miqps.reload")
    def reload(self) -> None:
        """Look for a new map and edited rules at once."""
        self._session().reload()

    @command.command("miqps.pin")
    def pin(self, site: str, name: str, action: str) -> None:
        """Decide about a parameter of a site: keep or strip, whatever is learned."""
        session, where = self._session(), _site(site)
        if action not in _ACTIONS:
            raise CommandError(f"the action is keep or strip, not {action!r}")
        new = Pin(name, action)  # type: ignore[arg-type]  # looked at above
        work = threading.Thread(
            target=_pin, args=(session, where, new), name="miqps pin", daemon=True
        )
        work.start()

    def _session(self) -> Session:
        session = self._current()
        if session is None:
            raise CommandError("miqps is not configured")
        return session


def _site(text: str) -> str:
    site = urls.site(text) or urls.site(f"http://{text}")
    if site is None:
        raise CommandError(f"{text!r} is no site")
    return site


def _pin(session: Session, site: str, pin: Pin) -> None:
    try:
        with Store.open(session.path) as store:
            store.pins.put(site, pin)
            published = publish_pins(store)
    except (StoreError, MapError) as error:
        logger.warning(f"miqps: not pinned: {error}")
        return
    logger.info(f"miqps: {pin.action} {pin.name} of {site}: map version {published.version}")
    session.reload()
