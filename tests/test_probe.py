"""The driver: what is rendered once, what is never rendered, and how a run goes on."""

from __future__ import annotations

from collections import Counter, deque
from itertools import pairwise
from pathlib import Path

import pytest
from protego import Protego

from miqps import query, urls
from miqps.browser import BrowserError
from miqps.engines.local import LocalEngine, Renderer
from miqps.page import Page
from miqps.planning import known_site
from miqps.probe import Plan, Prober
from miqps.publish import publish
from miqps.robots import Robots, RobotsFile
from miqps.settings import JUDGING, PAGE_DAYS
from miqps.store import Observation, Store
from miqps.store.file import days_ago
from miqps.view import Render
from tests.imagined import SITE, ByTitle, Site, page, reads


class Imagined:
    """An engine over an imagined site. Ends with an error after `limit` renders."""

    slots = 2

    def __init__(self, site: Site, limit: int | None = None) -> None:
        self.site = site
        self.limit = limit
        self.log: Counter[Render] = Counter()
        self.most_at_once = 0
        self._wanted: deque[Render] = deque()

    def ready(self) -> None: ...

    def submit(self, render: Render) -> None:
        self._wanted.append(render)
        self.most_at_once = max(self.most_at_once, len(self._wanted))

    def wait(self, timeout: float | None = None) -> tuple[Render, Page] | None:
        if self.limit is not None and sum(self.log.values()) >= self.limit:
            raise KeyboardInterrupt
        render = self._wanted.popleft()
        self.log[render] += 1
        shown = self.site(render.sent or render.url, sum(self.log.values()))
        return render, shown if isinstance(shown, Page) else page(render.url, shown)

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def _by_title(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miqps.probe.get_content_id", lambda name: ByTitle())


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "miqps.db") as opened:
        yield opened


VISITS = [f"{SITE}/p?id={n}&utm_source=s{n}" for n in range(5)]


def add(store: Store, *found: str) -> None:
    store.corpus.add(Observation(url) for url in found)


def probe(store: Store, engine: Imagined, **plan: object) -> Prober:
    prober = Prober(store, engine, Plan(delay=0, **plan))  # type: ignore[arg-type]
    prober.run()
    return prober


def published(store: Store) -> dict[tuple[str, str], str]:
    publish(store, 1, JUDGING)
    newest = store.maps.newest()
    assert newest is not None
    return {
        (c.context.path, v.name): v.decision
        for s in newest.sites.values()
        for c in s.contexts
        for v in c.verdicts
    }


def test_a_run_judges_everything_that_was_recorded(store: Store) -> None:
    add(store, *VISITS, *(f"{SITE}/q?x={n}&id={n}" for n in range(4)))
    engine = Imagined(reads("id"))
    prober = probe(store, engine)
    assert published(store) == {
        ("/p", "id"): "important",
        ("/p", "utm_source"): "neutral",
        ("/q", "id"): "important",
        ("/q", "x"): "neutral",
    }
    assert (prober.progress.contexts, prober.progress.judged) == (2, 2)
    assert prober.progress.renders == sum(engine.log.values())


def test_contexts_share_what_they_render(store: Store) -> None:
    add(store, *VISITS, *(f"{SITE}/p?id={n}" for n in range(5)))
    engine = Imagined(reads("id"))
    prober = probe(store, engine)
    assert set(engine.log.values()) == {1}
    assert prober.progress.shared > 0


def test_what_was_judged_is_left_alone_until_more_is_known(store: Store) -> None:
    add(store, *VISITS)
    probe(store, Imagined(reads("id")))
    assert not probe(store, idle := Imagined(reads("id"))).progress.contexts
    assert not idle.log
    add(store, f"{SITE}/p?id=9&utm_source=s9")
    assert not probe(store, idle).progress.contexts, "nothing was open: one more URL is no news"
    assert probe(store, Imagined(reads("id")), again=True).progress.judged == 1


def test_what_another_content_id_said_does_not_count(store: Store) -> None:
    add(store, *VISITS)
    probe(store, Imagined(reads("id")), content_id="visual")
    assert published(store)["/p", "utm_source"] == "neutral"
    probe(store, by_dom := Imagined(reads("id", "utm_source")), content_id="dom")
    assert by_dom.log
    assert published(store)["/p", "utm_source"] == "important"
    assert not probe(store, Imagined(reads()), content_id="dom").progress.contexts
    (context,) = store.corpus.contexts("shop.example")
    assert context.judged_by == "dom"
    assert not [t for t in store.evidence.trials(context.id) if "utm_source" in t.removed
                and t.outcome == "same"]  # fmt: skip


def test_a_run_goes_on_only_with_the_same_content_id(store: Store) -> None:
    add(store, *VISITS)
    first = Imagined(reads("id"))
    probe(store, first, max_renders=4, content_id="visual")
    other = Imagined(reads("id"))
    probe(store, other, max_renders=4, content_id="dom")
    assert set(first.log) & set(other.log), "nothing of the other run's pages was used"


def test_a_page_that_cannot_be_read_any_more_is_rendered_again(store: Store) -> None:
    add(store, *VISITS)
    first = Imagined(reads("id"))
    probe(store, first, max_renders=6)
    with store._file.writing() as db:
        db.execute("UPDATE renders SET page = x'00'")
    second = Imagined(reads("id"))
    probe(store, second)
    assert set(first.log) <= set(second.log)
    assert published(store)["/p", "utm_source"] == "neutral"


@pytest.mark.parametrize(("age", "used"), [(PAGE_DAYS - 1, True), (PAGE_DAYS + 1, False)])
def test_a_run_that_was_cut_off_long_ago_looks_again(store: Store, age: int, used: bool) -> None:
    add(store, *VISITS)
    first = Imagined(reads("id"))
    probe(store, first, max_renders=6)
    with store._file.writing() as db:
        db.execute("UPDATE renders SET rendered = ?", [days_ago(age)])
    second = Imagined(reads("id"))
    assert probe(store, second).progress.judged == 1
    assert bool(set(first.log) & set(second.log)) is not used


def test_an_open_context_is_judged_again_when_more_is_known(store: Store) -> None:
    add(store, *VISITS[:2])
    probe(store, Imagined(reads("id")))
    assert published(store)["/p", "utm_source"] == "undecided"
    add(store, *VISITS)
    probe(store, Imagined(reads("id")))
    assert published(store)["/p", "utm_source"] == "neutral"


@pytest.mark.parametrize("cuts", [(3,), (1, 2, 5), (10, 10), (4, 1, 1, 1, 4)])
def test_a_run_that_was_cut_off_goes_on_where_it_was(
    store: Store, tmp_path: Path, cuts: tuple[int, ...]
) -> None:
    contexts = [*VISITS, *(f"{SITE}/q?x={n}&id={n}" for n in range(4))]
    add(store, *contexts)
    total: Counter[Render] = Counter()
    for cut in cuts:
        engine = Imagined(reads("id"), limit=cut)
        with pytest.raises(KeyboardInterrupt):
            probe(store, engine)
        total += engine.log
    last = Imagined(reads("id"))
    probe(store, last)
    total += last.log
    assert set(total.values()) == {1}, "a render was made twice"
    with Store.open(tmp_path / "other.db") as undisturbed:
        add(undisturbed, *contexts)
        probe(undisturbed, Imagined(reads("id")))
        assert published(store) == published(undisturbed)


def test_a_budget_ends_a_run_and_the_next_goes_on(store: Store) -> None:
    add(store, *VISITS)
    first = Imagined(reads("id"))
    prober = probe(store, first, max_renders=6)
    assert prober.progress.out_of_budget
    assert sum(first.log.values()) == 6
    second = Imagined(reads("id"))
    assert not probe(store, second).progress.out_of_budget
    assert not set(first.log) & set(second.log)
    assert published(store)["/p", "utm_source"] == "neutral"


def test_a_judge_that_needs_no_more_is_done_when_the_budget_is_used_up(store: Store) -> None:
    add(store, *VISITS)
    enough = probe(store, Imagined(reads("id"))).progress.renders
    prober = probe(store, Imagined(reads("id")), again=True, max_renders=enough)
    assert prober.progress.judged == 1
    assert not prober.progress.out_of_budget


class Clock:
    """Time that passes in renders and in sleep only."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("miqps.probe.time", made)
    return made


class Slow(Imagined):
    """Renders that take ten seconds."""

    clock: Clock

    def wait(self, timeout: float | None = None) -> tuple[Render, Page] | None:
        self.clock.sleep(10)
        return super().wait(timeout)


def test_a_budget_of_minutes_ends_a_run_too(store: Store, clock: Clock) -> None:
    add(store, *VISITS)
    engine = Slow(reads("id"))
    engine.clock = clock
    prober = probe(store, engine, max_minutes=1)
    assert prober.progress.out_of_budget
    assert prober.progress.renders == 6
    last = Imagined(reads("id"))
    assert probe(store, last).progress.judged == 1
    assert not set(engine.log) & set(last.log)


def test_a_pause_does_not_outlast_the_budget(store: Store, clock: Clock) -> None:
    add(store, *VISITS)

    def busy(url: str, visit: int) -> Page:
        return page(url, "", outcome="throttled", status=429, retry_after=200)

    prober = probe(store, Imagined(busy), max_minutes=1)
    assert prober.progress.out_of_budget
    assert clock.now == 1_060


def test_a_site_is_asked_no_faster_than_its_pause(store: Store, clock: Clock) -> None:
    add(store, *VISITS)
    began: list[float] = []

    class Noting(Imagined):
        def submit(self, render: Render) -> None:
            began.append(clock.now)
            super().submit(render)

    Prober(store, Noting(reads("id")), Plan()).run()
    assert len(began) > 5
    assert {b - a for a, b in pairwise(began)} == {1}


def test_deeds_and_never_touch_urls_are_not_rendered(store: Store) -> None:
    add(
        store,
        *(f"{SITE}/account/logout?next={n}" for n in range(4)),
        *(f"{SITE}/cart/add?id={n}&ref=r{n}" for n in range(4)),
        *(f"{SITE}/file?id={n}&X-Amz-Signature=a{n}" for n in range(4)),
        *(f"{SITE}/p?do=view&id={n}" for n in range(4)),
        *(f"{SITE}/p?do=logout&x={n}" for n in range(4)),
    )
    engine = Imagined(reads("id", "do"))
    probe(store, engine)
    asked = [render.url for render in engine.log]
    assert asked
    assert not [url for url in asked if "logout" in url or "cart" in url or "Amz" in url]


def test_a_site_that_is_down_is_left_for_later(store: Store) -> None:
    add(store, *(f"{SITE}/{path}?x={n}" for path in "abcdef" for n in range(3)))

    def down(url: str, visit: int) -> Page:
        return page(url, "", outcome="unreachable", status=None, reason="connection refused")

    prober = probe(store, engine := Imagined(down))
    assert prober.progress.down == {"shop.example": "connection refused"}
    assert sum(engine.log.values()) < 20
    assert store.evidence.verdicts("shop.example") == ()
    assert probe(store, Imagined(reads())).progress.judged == 6


def test_a_passing_failure_is_tried_once_more(store: Store) -> None:
    add(store, *VISITS)
    normal = reads("id")
    failed: set[str] = set()

    def shaky(url: str, visit: int) -> str | Page:
        if url in failed:
            return normal(url, visit)
        failed.add(url)
        return page(url, "", outcome="timeout", reason="no load event")

    probe(store, Imagined(shaky))
    assert published(store)["/p", "utm_source"] == "neutral"


def test_a_site_that_says_429_is_asked_again_later(store: Store) -> None:
    add(store, *VISITS)
    normal = reads("id")

    def busy(url: str, visit: int) -> str | Page:
        if visit in (4, 9):
            return page(url, "", outcome="throttled", status=429, retry_after=0.01)
        return normal(url, visit)

    probe(store, Imagined(busy))
    assert published(store)["/p", "utm_source"] == "neutral"


def test_a_site_that_keeps_refusing_is_left_for_later(store: Store, clock: Clock) -> None:
    add(store, *VISITS, *(f"http://other.example/p?id={n}&utm_source=s{n}" for n in range(5)))
    normal = reads("id")

    def busy(url: str, visit: int) -> str | Page:
        if SITE in url:
            return page(url, "", outcome="throttled", status=503)
        return normal(url, visit)

    prober = probe(store, engine := Imagined(busy))
    assert prober.progress.down == {"shop.example": "it asks to be left alone"}
    assert prober.progress.judged == 1
    asked = [render for render in engine.log.elements() if SITE in render.url]
    assert len(asked) == 5, "one page four times, another one once"
    assert store.evidence.verdicts("shop.example") == ()
    assert clock.now >= 1_000 + 60 + 120 + 240


def test_a_page_that_is_always_refused_does_not_speak_for_its_site(
    store: Store, clock: Clock
) -> None:
    add(store, *VISITS, *VISITS, f"{SITE}/p?id=99&utm_source=s99")
    normal = reads("id")

    def broken(url: str, visit: int) -> str | Page:
        if "id=99" in url:
            return page(url, "", outcome="throttled", status=503)
        return normal(url, visit)

    prober = probe(store, Imagined(broken))
    assert prober.progress.down == {}
    assert published(store)["/p", "id"] == "important"


def test_a_site_that_asks_for_hours_is_left_alone_at_once(store: Store, clock: Clock) -> None:
    add(store, *VISITS)

    def busy(url: str, visit: int) -> Page:
        return page(url, "", outcome="throttled", status=429, retry_after=7_200)

    prober = probe(store, engine := Imagined(busy))
    assert list(prober.progress.down) == ["shop.example"]
    assert sum(engine.log.values()) == 1


def robots(text: str = "", unreadable: str = "") -> tuple[Robots, list[str]]:
    """What is read as robots.txt of every origin, and the origins that were asked."""
    asked: list[str] = []

    def read(of: str, agent: str, rules: object) -> RobotsFile:
        asked.append(of)
        return RobotsFile(Protego.parse(text), unreadable if SITE in of else "")

    return Robots("me", read=read), asked


def test_what_robots_txt_disallows_is_never_rendered(store: Store) -> None:
    add(
        store,
        *VISITS,
        *(f"{SITE}/forum/t?id={n}&ref=r{n}" for n in range(5)),
        *(f"{SITE}/q?id={n}&ref=r{n}" for n in range(5)),
    )
    rules, asked = robots("User-agent: *\nDisallow: /forum/\nDisallow: /q?ref=\nDisallow: /q$\n")
    engine = Imagined(reads("id"))
    prober = Prober(store, engine, Plan(delay=0), robots=rules)
    prober.run()
    assert asked == [SITE]
    paths = {query.split(render.url)[0] for render in engine.log}
    assert paths >= {f"{SITE}/p", f"{SITE}/q"}
    assert not [u for u in paths if "/forum/" in u]
    assert not [r.url for r in engine.log if r.url.startswith(f"{SITE}/q?ref=")]
    assert prober.progress.disallowed > 0
    assert prober.progress.judged == 3
    verdicts = published(store)
    assert verdicts["/p", "utm_source"] == "neutral"
    assert verdicts["/forum/t", "ref"] == "undecided"
    reasons = [v.reason for c in store.evidence.verdicts("shop.example") for v in c.verdicts
               if c.context.path == "/forum/t"]  # fmt: skip
    assert all("robots.txt disallows it" in reason for reason in reasons)


def test_what_robots_txt_allows_later_is_judged_then(store: Store) -> None:
    add(store, *VISITS)
    rules, _ = robots("User-agent: *\nDisallow: /\n")
    Prober(store, engine := Imagined(reads("id")), Plan(delay=0), robots=rules).run()
    assert not engine.log
    probe(store, Imagined(reads("id")))
    assert published(store)["/p", "utm_source"] == "neutral"


def test_a_site_whose_robots_txt_cannot_be_read_keeps_what_it_had(store: Store) -> None:
    other = [f"http://other.example/p?id={n}&utm_source=s{n}" for n in range(5)]
    add(store, *VISITS)
    probe(store, Imagined(reads("id")))
    before = store.evidence.verdicts("shop.example")
    add(store, *other)
    rules, asked = robots(unreadable="status 503")
    engine = Imagined(reads("id"))
    prober = Prober(store, engine, Plan(delay=0, again=True), robots=rules)
    prober.run()
    assert sorted(asked) == ["http://other.example", SITE]
    assert prober.progress.down == {"shop.example": "robots.txt: status 503"}
    assert {urls.site(r.url) for r in engine.log} == {"other.example"}
    assert store.evidence.verdicts("shop.example") == before


def test_without_a_browser_no_site_is_asked_anything(store: Store) -> None:
    add(store, *VISITS)

    def none() -> Renderer:
        raise BrowserError("no browser")

    rules, asked = robots()
    with LocalEngine(2, none) as engine, pytest.raises(BrowserError, match="no browser"):
        Prober(store, engine, Plan(), robots=rules).run()
    assert not asked


def test_hosts_of_one_domain_are_asked_one_at_a_time(store: Store) -> None:
    hosts = ("http://a.shop.example", "http://b.shop.example")
    add(store, *(f"{host}/p?id={n}&utm_source=s{n}" for host in hosts for n in range(5)))
    probe(store, engine := Imagined(reads("id")))
    assert engine.most_at_once == 1


def test_domains_are_asked_side_by_side_whatever_they_hold(store: Store) -> None:
    add(store, *(f"{SITE}/{path}?id={n}&a={n}" for path in "abcdefghij" for n in range(9)))
    add(store, *(f"http://other.example/p?id={n}" for n in range(5)))
    probe(store, engine := Imagined(reads("id")))
    assert engine.most_at_once == 2


def test_another_sites_machine_is_asked_one_at_a_time(store: Store) -> None:
    add(store, *VISITS)
    probe(store, engine := Imagined(reads("id")))
    assert engine.most_at_once == 1


def test_loopback_is_asked_by_all_browsers(store: Store) -> None:
    add(store, *(f"http://127.0.0.1:8000/p?id={n}&utm_source=s{n}" for n in range(5)))
    probe(store, engine := Imagined(reads("id")))
    assert engine.most_at_once > 1


def test_only_the_asked_sites_and_the_most_seen_patterns_are_probed(store: Store) -> None:
    add(store, *VISITS, *(f"http://other.example/p?id={n}" for n in range(4)))
    add(store, f"{SITE}/rare?x=1")
    engine = Imagined(reads("id"))
    plan = {"hosts": ("shop.example",), "rules": JUDGING.__class__(top_patterns=1)}
    probe(store, engine, **plan)
    assert {urls.site(r.url) for r in engine.log} == {"shop.example"}
    assert not [r for r in engine.log if query.names(r.url) == ("x",)]


def test_sites_are_found_by_what_people_call_them(store: Store) -> None:
    add(store, "http://shop.example:8000/p?id=1", "http://other.example/p?id=1")
    assert known_site(store, "shop.example:8000") == "shop.example:8000"
    assert known_site(store, "shop.example") == "shop.example:8000"
    assert known_site(store, "http://OTHER.example/p") == "other.example"
    assert known_site(store, "nowhere.example") is None
