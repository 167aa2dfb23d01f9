"""What may become of a site after its parameters were learned: ``--change NAME`` rehearses it."""

from __future__ import annotations

from flask import Flask, Response, request
from markupsafe import escape
from werkzeug.datastructures import ImmutableMultiDict

_CLOSED = "<!doctype html><title>Closed</title><h1>We are back soon</h1><p>Come again tomorrow."


def sellers(app: Flask) -> None:
    """`ref` matters on product pages from now on: it says who sells the thing."""

    @app.after_request
    def say_who_sells(response: Response) -> Response:
        if request.path == "/shop/product" and "ref" in request.args:
            seller = f"<p>Sold by {escape(request.args['ref'])}</p></body>"
            response.set_data(response.get_data(as_text=True).replace("</body>", seller))
        return response


def stuck(app: Flask) -> None:
    """Product pages show one and the same product, whatever `id` says, and who sells it."""
    sellers(app)

    @app.before_request
    def forget_the_product() -> None:
        if request.path == "/shop/product":
            request.args = ImmutableMultiDict({**request.args, "id": "1049"})


def closed(app: Flask) -> None:
    """One page for everything."""

    @app.before_request
    def say_so() -> str:
        return _CLOSED


CHANGES = {"sellers": sellers, "stuck": stuck, "closed": closed}
