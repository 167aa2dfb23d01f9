"""The dashboard inside the proxy: what is cleaned, what was found out, and a way to say no.

Any page in the proxied browser can send requests to this host. So what changes something is a POST
with a token that only our own pages know, from our own origin; nothing may frame us, nothing is
loaded from elsewhere, and all that is shown is escaped.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import quote

from flask import Flask, Response, abort, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from miqps.dashboard.pages import SitePage, overview, picture, site_page
from miqps.ledger import Ledger
from miqps.mapping import MapError, Pin
from miqps.publish import publish_pins
from miqps.store import Store, StoreError

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": browsers send no origin with our own forms then.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Proxy(Protocol):
    """What the dashboard sees of the proxy, and what it may tell it."""

    ledger: Ledger

    @property
    def path(self) -> str:
        """The database."""
        ...

    def status(self) -> Mapping[str, str]:
        """What is in force, in words."""
        ...

    def paused(self) -> frozenset[str]:
        """Sites that are left alone; "*": all."""
        ...

    def pause(self, site: str, *, paused: bool) -> None:
        """Leave a site alone, or go on with it; "*" for all."""
        ...

    def reload(self) -> None:
        """Look for a new map at once."""
        ...


def create_app(proxy: Callable[[], Proxy | None], host: Callable[[], str]) -> Flask:
    """The application.

    Args:
        proxy: gives the proxy at work; None before its first configuration.
        host: the name it is served under.
    """
    app = Flask(__name__, static_folder=None)
    token = secrets.token_urlsafe(32)
    app.before_request(lambda: _guard(host(), token))
    app.after_request(_with_headers)
    app.jinja_env.globals["token"] = token
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True

    def at_work() -> Proxy:
        found = proxy()
        return found if found is not None else abort(503)

    @app.get("/")
    def front() -> str:
        found = at_work()
        return render_template("overview.html", found=overview(found.path, found.ledger),
                               status=found.status(), paused=found.paused())  # fmt: skip

    @app.get("/site")
    def one_site() -> str:
        found, name = at_work(), request.args.get("name", "")
        page: SitePage | None = site_page(found.path, name)
        if page is None:
            abort(404)
        return render_template("site.html", found=page, paused=found.paused())

    @app.get("/picture")
    def one_picture() -> Response:
        number = request.args.get("id", type=int)
        image = None if number is None else picture(at_work().path, number)
        return Response(image, mimetype="image/webp") if image is not None else abort(404)

    @app.get("/style.css")
    def style() -> Response:
        return Response(render_template("style.css"), mimetype="text/css")

    @app.get("/icon.svg")
    def icon() -> Response:
        return Response(render_template("icon.svg"), mimetype="image/svg+xml")

    @app.post("/pause")
    def pause() -> AnyResponse:
        site = request.form.get("site", "*")
        at_work().pause(site, paused=request.form.get("paused") == "yes")
        return _back(site)

    @app.post("/pin")
    def pin() -> AnyResponse:
        found = at_work()
        site, name, action = (request.form.get(key, "") for key in ("site", "name", "action"))
        try:
            with Store.open(found.path) as store:
                if action == "none":
                    store.pins.remove(site, name, "/")
                elif action in ("keep", "strip") and site and name:
                    store.pins.put(site, Pin(name, action))  # type: ignore[arg-type]
                else:
                    abort(400)
                publish_pins(store)
        except (StoreError, MapError) as error:
            return Response(f"not pinned: {error}", 503, mimetype="text/plain")
        found.reload()
        return _back(site)

    return app


def _guard(host: str, token: str) -> None:
    """Let only our own pages change anything, and only our own name be asked."""
    if request.headers.get("Host", "").partition(":")[0].lower() != host:
        abort(421)
    if request.method in ("GET", "HEAD"):
        return
    if request.headers.get("Origin") != f"http://{host}":
        abort(403)
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        abort(403)
    if not secrets.compare_digest(request.form.get("token", "").encode(), token.encode()):
        abort(403)


def _with_headers(response: Response) -> Response:
    response.headers.update(_HEADERS)
    return response


def _back(site: str) -> AnyResponse:
    return redirect("/" if site == "*" else f"/site?name={quote(site)}", 303)
