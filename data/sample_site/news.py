"""The newspaper: a noisy article page, and a story page with two names for the same story."""

from __future__ import annotations

import itertools
import tomllib
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pictures
from flask import Blueprint, Response, abort, render_template, request
from paging import cut

CONTENT = tomllib.loads((Path(__file__).parent / "content/news.toml").read_text(encoding="utf-8"))
PER_PAGE = 4

blueprint = Blueprint("news", __name__, url_prefix="/news")


@dataclass(frozen=True, slots=True)
class Article:
    """A short piece of news; `source` is the agency or desk it came from."""

    id: int
    section: str
    source: str
    date: str
    title: str
    lead: str
    body: str


@dataclass(frozen=True, slots=True)
class Story:
    """A long read, reachable by its number and by its slug."""

    id: int
    slug: str
    title: str
    lead: str
    body: str


@dataclass(frozen=True, slots=True)
class Live:
    """What differs each time an article is served."""

    advert: dict[str, Any]
    clock: str
    request_id: str


ARTICLES = {entry["id"]: Article(**entry) for entry in CONTENT["articles"]}
STORIES = tuple(Story(**entry) for entry in CONTENT["stories"])
SOURCES = sorted({article.source for article in ARTICLES.values()})
_turns = itertools.count()


def live() -> Live:
    """Gives the next advert, the time to the millisecond and a fresh request id."""
    return Live(
        advert=CONTENT["adverts"][next(_turns) % len(CONTENT["adverts"])],
        clock=f"{datetime.now():%H:%M:%S.%f}"[:-3],
        request_id=uuid.uuid4().hex[:12],
    )


@blueprint.get("/")
def front() -> str:
    shown = cut(list(ARTICLES.values()), request.args.get("page"), PER_PAGE)
    return render_template("news/front.html", shown=shown, stories=STORIES, scene=pictures.scene)


@blueprint.get("/article")
def article() -> str:
    piece = _asked_article()
    more = [
        other for other in ARTICLES.values() if other.section == piece.section and other != piece
    ]
    return render_template("news/article.html", piece=piece, more=more[:3], live=live())


@blueprint.get("/story")
def story() -> str:
    """Shows the story of the number or of the slug; without both, the section's front."""
    number, slug = request.args.get("story"), request.args.get("slug")
    if number is None and slug is None:
        return render_template("news/stories.html", stories=STORIES, scene=pictures.scene)
    for piece in STORIES:
        if str(piece.id) == number or (number is None and piece.slug == slug):
            return render_template("news/story.html", piece=piece, scene=pictures.scene)
    return abort(404)


@blueprint.get("/wire")
def wire() -> str:
    """Lists headlines; here `source` is a filter, while articles take it for a tracker."""
    source = request.args.get("source")
    pieces = [piece for piece in ARTICLES.values() if source in (None, piece.source)]
    return render_template("news/wire.html", pieces=pieces, source=source, sources=SOURCES)


@blueprint.get("/newsletter")
def newsletter() -> str:
    return render_template("news/newsletter.html", pieces=list(ARTICLES.values())[:6])


@blueprint.get("/unsubscribe")
def unsubscribe() -> str:
    return render_template("news/unsubscribe.html")


@blueprint.get("/picture.svg")
def picture() -> Response:
    piece = _asked_article()
    return Response(pictures.scene(piece.id, piece.title), mimetype="image/svg+xml")


def _asked_article() -> Article:
    number = request.args.get("id", "")
    if not number.isdecimal() or int(number) not in ARTICLES:
        abort(404)
    return ARTICLES[int(number)]
