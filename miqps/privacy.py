"""What may be recorded at all: the user's wishes about hosts, links and detail."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

Harvest = Literal["site", "all", "off"]
HARVESTS: tuple[Harvest, ...] = get_args(Harvest)


@dataclass(frozen=True, slots=True)
class Privacy:
    """What may be recorded.

    Hosts are globs over lower-case host names without port; an ignored host is one even when it is
    allowed too.
    """

    allow_hosts: tuple[str, ...] = ()
    """Empty: all."""

    ignore_hosts: tuple[str, ...] = ()
    harvest: Harvest = "site"
    """Which links of recorded pages are taken as samples: those to the same site, all, or none."""

    keeps_urls: bool = True
    """False: only how often each pattern was seen on which path template."""

    retention: float = 0.0
    """Days after which what was not seen again is forgotten; 0: never."""

    off: frozenset[str] = frozenset()
    """Never-touch classes that the user's rules switch off."""

    @property
    def reads_links(self) -> bool:
        """Whether links are taken out of pages."""
        return self.keeps_urls and self.harvest != "off"

    def allows(self, site: str) -> bool:
        """Whether this site may be recorded."""
        host = site.rpartition(":")[0] if site.rpartition(":")[2].isdigit() else site
        host = host.strip("[]")
        if any(fnmatchcase(host, glob) for glob in self.ignore_hosts):
            return False
        return not self.allow_hosts or any(fnmatchcase(host, glob) for glob in self.allow_hosts)
