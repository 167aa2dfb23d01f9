"""The forum: `ref` chooses a board on its front; threads are drawn by a script in the browser."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from flask import Blueprint, render_template, request

CONTENT = tomllib.loads((Path(__file__).parent / "content/forum.toml").read_text(encoding="utf-8"))

blueprint = Blueprint("forum", __name__, url_prefix="/forum")


@dataclass(frozen=True, slots=True)
class Post:
    """A post of a thread; `hour` is the hour of the day."""

    id: int
    author: str
    hour: int
    votes: int
    text: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of a board, its posts in the order in which they were written."""

    id: int
    board: str
    title: str
    posts: tuple[Post, ...]


BOARDS: dict[str, str] = CONTENT["boards"]
THREADS = tuple(
    Thread(
        id=entry["id"],
        board=entry["board"],
        title=entry["title"],
        posts=tuple(Post(entry["id"] * 10 + n, *post) for n, post in enumerate(entry["posts"])),
    )
    for entry in CONTENT["threads"]
)


@blueprint.get("/")
def front() -> str:
    """Lists threads; `ref` is the board they refer to, not where the visitor came from."""
    board = request.args.get("ref")
    threads = [thread for thread in THREADS if board in (None, thread.board)]
    return render_template("forum/front.html", threads=threads, boards=BOARDS, board=board)


@blueprint.get("/thread")
def thread() -> str:
    """Serves the same page for every thread; the script chooses by the address."""
    return render_template(
        "forum/thread.html", threads=[asdict(thread) for thread in THREADS], boards=BOARDS
    )


@blueprint.get("/vote")
def vote() -> str:
    return render_template("forum/done.html", message="Thank you, your vote was counted.")


@blueprint.get("/logout")
def logout() -> str:
    return render_template("forum/done.html", message="You are logged out. See you soon!")
