"""Every number that steers the program: its default, its unit, and why.

Command-line flags and addon options override these; nothing else in the package holds a number
that somebody may want to change.
"""

from __future__ import annotations

from dataclasses import dataclass

PROBER_TOKEN = "miqps-prober"
"""In the User-Agent of every render: site owners can see who asks, the addon leaves it alone."""

DEFAULT_DB = "data/miqps.db"

JUDGE = 1
"""Which judge this is. Raised when verdicts of before should not be trusted any more; `--stale`
judges them again."""

PAGE_DAYS = 7
"""How long a run that was cut off may use the pages it has seen. Older ones are not compared with
new ones: sites change."""


@dataclass(frozen=True, slots=True)
class Judging:
    """How a context is judged. K, S, T and N are the paper's knobs."""

    top_patterns: int = 200
    """K, contexts a site. Real corpora: the top 1,000 patterns of all sites cover 60 % of the
    URLs; 200 on one site cover practically everything that is seen more than once."""

    samples: int = 10
    """S, sample URLs a parameter is removed from, each with another value."""

    threshold: float = 0.0
    """T, the share of usable samples whose content must change before a parameter is important.
    0 means that one confirmed change is enough: a higher T only hides parameters that matter for
    some of their values, and false alarms are met by rendering again, not by a vote."""

    min_values: int = 3
    """N, distinct values that must have been removed without effect before a parameter is neutral.
    No change in 3, 5, 10, 30 bounds the rate of change at 63, 45, 26, 10 % (95 %): few are enough
    only because S and the joint verification look at every further value there is."""

    verify_samples: int = 20
    """Further samples on which all neutral parameters are removed together. With S, 30 values:
    a parameter that matters for one value in ten slips through in 4 % of the cases, not in 35 %."""

    whole_samples: int = 5
    """Of the S samples, those that are rendered as they are, two renders each. Of further ones the
    values are put into these, one render each."""

    held_back: int = 2
    """Samples that nothing is learned from until all else is done: they verify what was learned,
    and repair it."""

    wire_samples: int = 1
    """Samples on which what may go is also removed as the proxy does it, below the page."""

    wire_only: bool = False
    """Whether a parameter that only page scripts read may go on the wire. The server never misses
    it, and learns less; but a script may ask the server for it later."""

    confidence: float = 0.95
    """Of the bounds below: how sure it is that a name matters no more often than that."""

    tag_rate: float = 0.46
    """Share of its values for which a name that its vendor calls a tag may still matter: 5 values
    without an effect. Its name says more than they do."""

    token_rate: float = 0.26
    """The same where all values are tokens: 10 values. One token is as good as another."""

    word_rate: float = 0.10
    """The same for all other names: 29 values, or all there are. One voucher in ten may work."""

    swap_values: int = 5
    """Values a neutral parameter is tried with where the site shows that many: what a context lacks
    is swapped in from its sister contexts. Three would do; five find most defaults that look
    neutral (`page=1` here, `page=2` on the next pattern) for two renders more a context."""

    sister_values: int = 8
    """A name that matters on a path in one pattern is believed neutral on the same path in another
    one only after this many distinct values."""

    infer_after: int = 3
    """Contexts of a site in which a name must have been neutral, and important in none, before one
    sample is enough in a rare one. 0: never."""

    max_unseen_share: float = 0.2
    """Share of a parameter's samples that may be impossible to judge. More, and the ones that could
    be judged do not speak for the rest."""

    repeats: int = 3
    """Renders of each side when a page differs from itself. Three left no change missed and no
    false alarm in 100 pairs under noise; two left nine false alarms."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the store keeps."""

    urls_per_context: int = 120
    """R, sample URLs kept a context. S + verification are 30 values of a parameter: there is room
    for that many of each of three, and for as many paths; later runs find others among them."""

    least_urls_per_context: int = 30
    """Sample URLs a context keeps when the file is full. Fewer would leave nothing to judge by."""

    values_per_name: int = 4
    """Values that every parameter keeps even if there are so many that R does not suffice: N, and
    one more."""

    urls: int = 500_000
    """Sample URLs in a file, some 200 bytes each. More, and the room of each context is halved."""

    contexts: int = 250_000
    """Contexts in a file, some 250 bytes each. The least seen go first."""

    contexts_per_site: int = 5_000
    """Contexts of one site. A site that makes names up (`?1764547200=`) must not push the others
    out; K of them are judged."""

    url_length: int = 8_192
    """Bytes. Longer URLs are rewritten like all others but not recorded: servers refuse them."""


@dataclass(frozen=True, slots=True)
class Recording:
    """How the proxy hands observations to the disk."""

    queue: int = 20_000
    """Loads waiting for the disk, about 5 MB. Full: the newest are lost, and counted."""

    body_bytes: int = 32 * 1_048_576
    """Bytes of page bodies waiting. More are not read for links; the load itself still counts."""

    body_length: int = 1_048_576
    """Bytes of a body, as it came, that are read. Few pages have more, and links come early."""

    batch: int = 2_000
    """Loads handed to the writing process at once."""

    batch_bytes: int = 524_288
    """Bytes of bodies after which a batch is full: to copy them takes the interpreter from the
    event loop for less than a millisecond."""

    flush_seconds: float = 0.5
    """How long an observation may wait. A kill -9 loses no more than that."""

    reload_seconds: float = 1.0
    """How often the addon looks for a new map: it must be in force within two seconds."""


@dataclass(frozen=True, slots=True)
class Publishing:
    """When a new map may replace the published one."""

    max_lost_share: float = 0.05
    """A, the share of a site's known contexts that may lose an important parameter in one run.
    More than that is far likelier a broken site or a broken run than a changed site."""

    confirming_runs: int = 2
    """m, runs that must find a parameter neutral which mattered before, each by what it saw itself.
    A site that was half broken for an evening is whole again in the next one."""

    joint_values: int = 10
    """Distinct values without a change, all that may go removed together, that confirm it in one
    run: three times what a new parameter needs."""

    kept_versions: int = 20
    """Versions of the map that stay in the store, to go back to."""


@dataclass(frozen=True, slots=True)
class Drift:
    """When stripped pages are thought to show something else than they would whole."""

    canary: int = 1
    """Per cent of the page loads that could be stripped and are not, so that both are seen."""

    bits: int = 10
    """Of 64 by which the fingerprints of two texts must differ. A clock or a counter moves two or
    three, another article twenty or more."""

    looks: int = 3
    """Fingerprints of a page that are compared, with and without: how much it differs from itself
    is learned from them."""

    pages: int = 20_000
    """Pages whose fingerprints are at hand, some 500 bytes each."""


@dataclass(frozen=True, slots=True)
class Politeness:
    """How a site is asked."""

    delay: float = 1.0
    """Seconds between two renders of one registrable domain; none on loopback."""

    max_crawl_delay: float = 60.0
    """Seconds of a Crawl-delay that are kept. Some sites ask for an hour, which means: not at all;
    one page a minute is a hundredth of what any visitor asks for."""

    backoff: float = 60.0
    """Seconds a site is left alone after 429 or 503 without Retry-After; doubles each time."""

    max_pause: float = 300.0
    """Seconds of Retry-After that are waited for; a site that asks for more is given up for this
    run, so that the others are not kept waiting."""

    max_backoffs: int = 3
    """Back-offs in a row after which a site is given up for this run."""

    robots_bytes: int = 512_000
    """Bytes of a robots.txt that are read: what RFC 9309 wants to be read at least."""

    robots_seconds: float = 15.0
    """How long a robots.txt is waited for; after that its site is left alone for this run."""


@dataclass(frozen=True, slots=True)
class Estimating:
    """What a run is thought to cost where nothing was measured yet."""

    milliseconds: float = 2_000.0
    """A render. Small pages took 400 to 1,500 on two cores, large ones up to ten seconds."""

    journal: int = 1_000
    """Renders of the journal that the mean is taken of, the newest."""


@dataclass(frozen=True, slots=True)
class Paths:
    """How paths are folded into templates, and what the look-up remembers of them."""

    open_values: int = 30
    """Distinct literal values at one position of a path that make it a variable. Menus, sections
    and API roots have fewer; catalogues, wikis and user names have more within a day."""

    open_root_values: int = 150
    """The same for the root, where sites keep their fixed pages: some have a hundred, each of which
    may read other parameters."""

    slug_words: int = 4
    """Words that make a path segment a title (`how-to-bake-bread`). Fixed pages rarely have more
    than three (`terms-of-service`)."""

    longest_segment: int = 64
    """Characters. Longer segments are tokens or titles, never the name of a page."""

    deepest: int = 16
    """Levels of a path that are looked at for variables. Real paths have fewer than ten."""

    remembered: int = 100_000
    """Paths and origins whose template and site are kept at hand, at about 200 bytes each; when
    full they are forgotten and learned again."""

    sites_at_hand: int = 20_000
    """Sites whose part of the map is kept unpacked, at some 10 kB each; when full they are packed
    away and unpacked again as they are asked for."""


JUDGING = Judging()
CORPUS = Corpus()
RECORDING = Recording()
PUBLISHING = Publishing()
DRIFT = Drift()
POLITENESS = Politeness()
ESTIMATING = Estimating()
PATHS = Paths()
