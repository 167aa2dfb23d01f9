"""The judge on imagined sites: what is found, and what must never be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miqps import query, urls
from miqps.classify import Judge, Judgement
from miqps.page import Page
from miqps.settings import JUDGING
from miqps.task import Task
from miqps.urls import context_of
from miqps.view import Render
from tests import imagined
from tests.imagined import SITE, ByTitle, World, decisions, judged, page, reads


@pytest.fixture(scope="module", params=["minimal-set", "miqps"], autouse=True)
def algorithm(request: pytest.FixtureRequest) -> Iterator[str]:
    """What is asked of one procedure is asked of all."""
    before, imagined.using = imagined.using, request.param
    yield request.param
    imagined.using = before


VISITS = [f"/p?id={n}&utm_source=s{n}&sid={n}a{n}b{n}c{n}d{n}" for n in range(5)]


def found(site, samples=VISITS, **more):
    return decisions(judged(World(site), list(samples), **more).verdicts)


def test_important_and_neutral_are_told_apart() -> None:
    assert found(reads("id")) == {"id": "important", "utm_source": "neutral", "sid": "neutral"}


def test_evidence_is_counted() -> None:
    verdicts = {v.name: v for v in judged(World(reads("id")), VISITS).verdicts}
    assert verdicts["sid"].samples >= verdicts["sid"].values == 5
    assert verdicts["sid"].mismatches == 0
    assert "5 values" in verdicts["sid"].reason
    # One confirmed change is enough: it is not tried any further.
    assert (verdicts["id"].samples, verdicts["id"].mismatches) == (1, 1)


def test_two_names_that_say_the_same_do_not_both_go() -> None:
    def story(url: str, visit: int) -> str:
        said = query.values(url, "story") or query.values(url, "slug")
        return f"story {said[0] if said else 'front'}"

    samples = [f"/s?story={n}&slug={n}&utm_source=u{n}" for n in range(5)]
    verdicts = found(story, samples)
    assert sorted((verdicts["story"], verdicts["slug"])) == ["important", "neutral"]
    assert verdicts["utm_source"] == "neutral"


def test_a_name_that_matters_for_one_value_only_is_kept() -> None:
    def voucher(url: str, visit: int) -> str:
        return (
            f"{query.values(url, 'id')} {'8EUR' if query.values(url, 'v') == ('x6',) else '10EUR'}"
        )

    samples = [f"/p?id={n}&v=x{n}" for n in range(7)]
    assert found(voucher, samples)["v"] == "important"


def test_further_samples_are_looked_at_with_all_neutral_names_gone() -> None:
    def rare(url: str, visit: int) -> str:
        return f"{query.values(url, 'id')} {query.values(url, 'v') == ('x17',)}"

    samples = [f"/p?id=7&v=x{n}" for n in range(25)]
    assert found(rare, samples, rules=replace(JUDGING, samples=3))["v"] == "important"


def test_an_empty_list_does_not_hide_what_its_order_does() -> None:
    """The tag empties the table, and then the size of its pages shows nowhere."""

    def table(url: str, visit: int) -> str:
        tag, size = query.values(url, "tag"), query.values(url, "size") or ("50",)
        return f"{urls.path(url)} {f'none where tag is {tag[0]}' if tag else f'rows {size[0]}'}"

    samples = [f"/t?size={n}0&tag=t{n}&ref=r{n}" for n in range(1, 5)]
    assert found(table, samples) == {"tag": "important", "size": "important", "ref": "neutral"}


def test_a_default_value_does_not_hide_what_other_values_do() -> None:
    """page=1 is all that this pattern ever had; its sister patterns know page=2."""

    def paged(url: str, visit: int) -> str:
        return f"{urls.path(url)} page {(query.values(url, 'page') or ('1',))[0]}"

    samples = [f"/l?page=1&ref=r{n}" for n in range(5)]
    assert found(paged, samples)["page"] == "undecided"
    assert found(paged, samples, pool={"page": ["1", "2"]})["page"] == "important"


@pytest.mark.parametrize(
    ("values", "decision"),
    [
        (["a", "b", "c"], "neutral"),
        (["a", "b"], "undecided"),
        (["7f3a9c2e1b5d4f60", "00ff11ee22dd33cc"], "neutral"),
        (["20240117112233"], "undecided"),
        (["yes"], "undecided"),
    ],
    ids=[
        "enough values",
        "too few words",
        "opaque ones are made up",
        "an opaque constant",
        "constant",
    ],
)
def test_enough_distinct_values_are_needed(values: list[str], decision: str) -> None:
    samples = [f"/p?id={n}&x={value}" for value in values for n in range(3)]
    assert found(reads("id"), samples)["x"] == decision


def test_values_of_sister_contexts_count() -> None:
    samples = [f"/p?id={n}&x={v}" for v in ("a", "b") for n in range(3)]
    assert found(reads("id"), samples, pool={"x": ["a", "c"], "id": []})["x"] == "neutral"


# --- what must never happen ---------------------------------------------------------------------


def test_errors_are_never_the_same() -> None:
    def gone(url: str, visit: int) -> Page:
        return page(url, "404", outcome="status", status=404, reason="status 404")

    assert set(found(gone).values()) == {"undecided"}


@pytest.mark.parametrize(
    ("status", "decision"),
    [(404, "important"), (410, "important"), (400, "important"), (403, "undecided"),
     (500, "undecided"), (503, "undecided")],
)  # fmt: skip
def test_a_page_that_is_not_there_without_a_name(status: int, decision: str) -> None:
    """What the site says of the URL counts; what it says of the visitor or the hour does not."""

    def shop(url: str, visit: int) -> str | Page:
        shown = query.values(url, "id")
        return str(shown) if shown else page(url, "", outcome="status", status=status)

    verdicts = found(shop)
    assert verdicts == {"id": decision, "utm_source": "neutral", "sid": "neutral"}


def test_a_page_that_is_missing_by_chance_is_no_proof() -> None:
    normal = reads("id")

    def shaky(url: str, visit: int) -> str | Page:
        gone = "miqps-" not in url and visit % 7 == 0
        return page(url, "", outcome="status", status=404) if gone else normal(url, visit)

    assert found(shaky)["utm_source"] != "important"


def test_a_page_that_shows_for_every_address_is_not_agreement() -> None:
    assert set(found(lambda url, visit: "Please accept our cookies").values()) == {"undecided"}


def test_a_block_page_with_a_request_id_is_not_agreement() -> None:
    blocked = found(lambda url, visit: f"Sorry you are blocked incident {visit}")
    assert "neutral" not in blocked.values()


@pytest.mark.parametrize("burst", range(1, 60))
def test_a_site_that_blocks_after_a_burst_loses_nothing(burst: int) -> None:
    normal = reads("id")

    def blocking(url: str, visit: int) -> str | Page:
        return normal(url, visit) if visit <= burst else "Sorry"

    assert found(blocking)["id"] != "neutral"


def test_a_front_page_in_place_of_the_page_is_not_agreement() -> None:
    def front(url: str, visit: int) -> str | Page:
        if "miqps-" in url:
            return page(url, "404", outcome="status", status=404)
        return "Welcome to the shop"

    assert set(found(front).values()) == {"undecided"}


def test_the_front_page_itself_may_be_cleaned() -> None:
    def front(url: str, visit: int) -> str | Page:
        if "miqps-" in url:
            return page(url, "404", outcome="status", status=404)
        return "Welcome to the shop"

    assert found(front, [f"/?utm_source=s{n}" for n in range(4)])["utm_source"] == "neutral"


def test_expired_items_say_nothing_about_what_names_them() -> None:
    """One item still exists; the others show one and the same page for whatever id."""

    def shop(url: str, visit: int) -> str | Page:
        if "miqps-" in url:
            return page(url, "404", outcome="status", status=404)
        return "item 4" if query.values(url, "id") == ("4",) else "not for sale any more"

    verdicts = found(shop)
    assert verdicts["id"] == "important"
    assert verdicts["utm_source"] == "undecided"


def test_a_name_that_the_site_puts_back_is_kept() -> None:
    def back(url: str, visit: int) -> Page:
        final = url if query.values(url, "sid") or "miqps-" in url else f"{url}&sid=new"
        return page(url, f"{urls.path(url)} {query.values(url, 'id')}", final_url=final)

    judgement = judged(World(back), VISITS)
    verdict = next(v for v in judgement.verdicts if v.name == "sid")
    assert verdict.decision == "important"
    assert "puts sid back" in verdict.reason


def test_a_name_that_leaves_a_cookie_is_kept() -> None:
    def sticky(url: str, visit: int) -> Page:
        cookies = {"session@shop.example": str(visit)}
        cookies |= {f"aff@{n}": v for n in query.values(url, "utm_source") for v in [n]}
        return page(url, f"{urls.path(url)} {query.values(url, 'id')}", cookies=cookies)

    judgement = judged(World(sticky), VISITS)
    assert decisions(judgement.verdicts) == {
        "id": "important",
        "utm_source": "important",
        "sid": "neutral",
    }


@pytest.mark.parametrize("clock", [False, True])
@pytest.mark.parametrize("stamp", [False, True])
def test_a_cookie_is_noticed_beside_noise_and_with_a_time_in_it(clock: bool, stamp: bool) -> None:
    def sticky(url: str, visit: int) -> Page:
        kept = query.values(url, "utm_source")
        cookies = {"aff@shop.example": f"{kept[0]}{visit if stamp else ''}"} if kept else {}
        shown = f"{urls.path(url)} item {query.values(url, 'id')} {visit if clock else ''}"
        return page(url, shown, cookies=cookies)

    assert found(sticky)["utm_source"] == "important"


def test_a_session_cookie_that_always_changes_is_no_state() -> None:
    def session(url: str, visit: int) -> Page:
        shown = f"{urls.path(url)} {query.values(url, 'id')}"
        return page(url, shown, cookies={"session@shop.example": str(visit)})

    assert found(session)["sid"] == "neutral"


@pytest.mark.parametrize(
    "outcome", ["status", "blank", "redirected", "timeout", "crashed", "login"]
)
def test_a_name_that_some_pages_need_is_kept(outcome: str) -> None:
    """Without sid item 3 cannot be seen; that the others can does not outweigh it."""

    def shop(url: str, visit: int) -> str | Page:
        if query.values(url, "id") == ("3",) and not query.values(url, "sid"):
            return page(url, "", outcome=outcome, status=500)
        return f"{urls.path(url)} {query.values(url, 'id')}"

    assert found(shop) == {"id": "important", "utm_source": "neutral", "sid": "undecided"}


def test_expired_items_with_a_clock_say_as_little_as_those_without() -> None:
    def shop(url: str, visit: int) -> str | Page:
        if "miqps-" in url:
            return page(url, "404", outcome="status", status=404)
        alive = query.values(url, "id") == ("4",)
        return f"{'item number 4' if alive else 'not for sale'} at {visit}"

    verdicts = found(shop)
    assert verdicts["id"] == "important"
    assert verdicts["utm_source"] == "undecided"


# --- noise --------------------------------------------------------------------------------------


def test_what_moves_by_itself_is_looked_past() -> None:
    def noisy(url: str, visit: int) -> str:
        return f"{urls.path(url)} item {query.values(url, 'id')} request {visit}"

    assert found(noisy) == {"id": "important", "utm_source": "neutral", "sid": "neutral"}


def test_a_page_that_moves_all_over_is_not_judged() -> None:
    assert set(found(lambda url, visit: f"{visit} {visit}").values()) == {"undecided"}


def test_a_passing_difference_is_not_believed() -> None:
    normal = reads("id")
    verdicts = found(lambda url, visit: normal(url, visit) + (" pop-up" if visit == 9 else ""))
    assert verdicts["utm_source"] != "important"


# --- the paper's knobs --------------------------------------------------------------------------


def test_with_a_threshold_a_rare_change_is_let_go(algorithm: str) -> None:
    if algorithm != "miqps":
        pytest.skip("the threshold is the paper's")

    def rare(url: str, visit: int) -> str:
        return f"{query.values(url, 'id')} {query.values(url, 'v') == ('x1',)}"

    samples = [f"/p?id=7&v=x{n}" for n in range(10)]
    assert found(rare, samples, rules=replace(JUDGING, threshold=0.5))["v"] == "neutral"
    assert found(rare, samples)["v"] == "important"


def test_early_exit_spends_no_more_than_it_must() -> None:
    world = World(reads("id"))
    judged(world, VISITS)
    without_id = [render for render in world.log if "id=" not in render.url.split("&")[0]]
    assert len([r for r in without_id if "utm_source" in r.url]) <= 2


@pytest.mark.parametrize("tags", range(1, 8))
@pytest.mark.parametrize("important", [0, 1, 2])
def test_all_at_once_spends_a_fraction_of_one_at_a_time(
    algorithm: str, important: int, tags: int
) -> None:
    """The paper's procedure renders 2·S·k pages; with few names the controls weigh more."""
    if algorithm != "minimal-set":
        pytest.skip("the paper's spends what it spends")
    matter = [f"m{n}" for n in range(important)]
    names = [*matter, *(f"utm_{'abcdefgh'[n]}" for n in range(tags))]
    visits = ["/p?" + "&".join(f"{name}={name}{n}" for name in names) for n in range(12)]
    world = World(reads(*matter))
    assert set(decisions(judged(world, visits).verdicts).values()) <= {"important", "neutral"}
    papers = 2 * JUDGING.samples * len(names)
    assert sum(world.log.values()) <= papers * (1 / 3 if len(names) >= 4 else 1.1)


def test_what_matters_elsewhere_is_guessed_first() -> None:
    names = [f"n{n}" for n in range(9)]
    visits = ["/p?" + "&".join(f"{name}={name}v{n}" for name in names) for n in range(4)]

    def spent(known: set[str]) -> int:
        world = World(reads("n7"))
        judged(world, visits, known=frozenset(known))
        return sum(world.log.values())

    assert spent({"n7"}) <= spent(set())


def test_a_value_that_is_the_default_of_what_it_stands_beside_is_no_proof(algorithm: str) -> None:
    """Every product was only seen in the variant that it is shown in anyway."""
    if algorithm != "minimal-set":
        pytest.skip("the paper's does not cross values")

    def shop(url: str, visit: int) -> str:
        id_ = query.values(url, "id")
        return f"{urls.path(url)} {id_} {query.values(url, 'variant') or (f'v{id_[0]}',)}"

    def shown(url: str, visit: int) -> str:
        return shop(url, visit) if query.values(url, "id") else "front"

    visits = [f"/p?id={n}&variant=v{n}&ref=r{n}" for n in range(5)]
    assert found(shown, visits) == {"id": "important", "variant": "important", "ref": "neutral"}


@pytest.mark.parametrize("count", [5, 20])
@pytest.mark.parametrize("wins", ["story", "slug"])
def test_of_two_names_that_say_the_same_the_one_stays_that_wins(
    algorithm: str, wins: str, count: int
) -> None:
    other = {"story": "slug", "slug": "story"}[wins]

    def story(url: str, visit: int) -> str:
        said = query.values(url, wins) or query.values(url, other)
        return f"story {said[0] if said else 'front'}"

    verdicts = found(story, [f"/s?story={n}&slug={n}&utm_source=u{n}" for n in range(count)])
    neutral = {name for name, decision in verdicts.items() if decision == "neutral"}
    assert len(neutral & {"story", "slug"}) == 1
    if algorithm == "minimal-set":
        assert verdicts[wins] == "important"


def test_a_url_that_was_put_together_is_not_believed_against_one_that_was_seen() -> None:
    """The slug is only a name for the id, and the site does not answer to a wrong one."""

    def strict(url: str, visit: int) -> str | Page:
        story, slug = query.values(url, "story"), query.values(url, "slug")
        if story and slug and slug[0].partition("-")[2] != story[0]:
            return page(url, "", outcome="status", status=404)
        return f"{urls.path(url)} story {story}"

    visits = [f"/s?story={n}&slug=w-{n}" for n in range(20)]
    assert found(strict, visits) == {"story": "important", "slug": "neutral"}


def test_every_render_is_made_once_and_shared() -> None:
    world = World(reads("id"))
    judged(world, [*VISITS, *(f"/p?id=1&utm_source=t{n}&sid=1" for n in range(4))])
    assert set(world.log.values()) == {1}


# --- ask and tell -------------------------------------------------------------------------------


NAMES = ["a", "b", "c", "d"]


@given(
    important=st.sets(st.sampled_from(NAMES)),
    pair=st.booleans(),
    order=st.randoms(use_true_random=False),
)
def test_nothing_important_goes_on_any_site(important, pair, order) -> None:
    """Whatever a deterministic site reads, the URL without the neutral names shows the same."""

    def site(url: str, visit: int) -> str | Page:
        if not url.startswith(f"{SITE}/p"):
            return page(url, "404", outcome="status", status=404)
        shown = [f"{n}{query.values(url, n)}" for n in sorted(important)]
        if pair:
            shown.append(str(query.values(url, "c") or query.values(url, "d")))
        return " ".join(["page", *shown]).replace(", ", ",")

    samples = [f"/p?a=a{n}&b=b{n % 3}&c=c{n}&d=c{n}" for n in range(6)]
    order.shuffle(samples)
    verdicts = found(site, samples)
    neutral = {name for name, decision in verdicts.items() if decision == "neutral"}
    for sample in samples:
        assert site(SITE + query.remove(sample, neutral), 0) == site(SITE + sample, 0)
    assert not neutral & important


@given(st.integers(0, 60))
def test_a_judgement_that_was_cut_off_ends_the_same(algorithm: str, cut: int) -> None:
    """Showing a fresh judge what was rendered before gives the very same judgement."""
    full = tuple(SITE + visit for visit in VISITS)
    context = context_of(full[0])
    assert context is not None
    world = World(reads("id"))
    pages: dict[Render, Page] = {}
    task = Task(context, full, {})
    judge = Judge(task, ByTitle(), algorithm=algorithm)
    while not isinstance(wants := judge.next(pages), Judgement):
        for render in wants:
            pages[render] = world.render(render)
            if len(pages) == cut:
                judge = Judge(task, ByTitle(), algorithm=algorithm)
                break
    assert wants == judged(World(reads("id")), VISITS)
