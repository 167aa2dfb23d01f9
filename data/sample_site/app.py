"""The sample site: a shop, a newspaper and a forum, whose parameters are known (truth.tsv).

Beside them a laboratory of pages that are hard to judge (lab.tsv).
"""

from __future__ import annotations

from pathlib import Path

import forum
import lab
import news
import pictures
import shop
from changes import CHANGES
from flask import Flask, Response, render_template
from requestlog import RequestLog


def create_app(
    log_path: Path | None = None, robots: str | None = None, change: str | None = None
) -> Flask:
    """Gives the application; its request log is ``app.extensions["request_log"]``.

    Args:
        log_path: file to which every request is appended as a line of JSON; None: memory only.
        robots: what /robots.txt says; None: there is none.
        change: what has become of the site, a key of `changes.CHANGES`; None: nothing.
    """
    app = Flask(__name__)
    log = RequestLog(log_path)
    app.extensions["request_log"] = log
    app.wsgi_app = log.wrap(app.wsgi_app)  # type: ignore[method-assign, assignment]
    for site in (shop, news, forum, lab):
        app.register_blueprint(site.blueprint)
    app.add_url_rule("/", "home", _home)
    if robots is not None:
        app.add_url_rule("/robots.txt", "robots", lambda: Response(robots, mimetype="text/plain"))
    if change is not None:
        CHANGES[change](app)
    app.register_error_handler(404, lambda error: (render_template("missing.html"), 404))
    return app


def _home() -> str:
    drawn = (
        pictures.product(1049, "lamp", "#b5532f", "A lamp"),
        pictures.scene(50281, "The harbour"),
        pictures.product(1056, "table", "#8fa382", "A table"),
    )
    return render_template("home.html", pictures=drawn)
