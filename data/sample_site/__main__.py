"""Serves the sample site on the loopback interface: ``python data/sample_site --port 8000``."""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

from app import create_app
from changes import CHANGES
from requestlog import ExactHandler
from werkzeug.serving import BaseWSGIServer, make_server

HOST = "127.0.0.1"


def open_server(
    port: int, log_path: Path | None, robots: str | None = None, change: str | None = None
) -> BaseWSGIServer:
    """Gives a server that listens already; port 0 takes a free one.

    Raises:
        OSError: the port is taken or the log cannot be written.
    """
    if log_path is not None:
        log_path.touch()
    with socket.create_server((HOST, port), backlog=128) as listener:
        return make_server(
            HOST,
            listener.getsockname()[1],
            create_app(log_path, robots, change),
            threaded=True,
            request_handler=ExactHandler,
            fd=listener.fileno(),
        )


def main(arguments: list[str] | None = None) -> int:
    """Serves until interrupted; gives the exit status."""
    parser = argparse.ArgumentParser(prog="sample_site", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port to listen on (0: any free one)")
    parser.add_argument("--log", type=Path, metavar="FILE", help="append each request to FILE")
    parser.add_argument("--robots", type=Path, metavar="FILE", help="serve FILE as /robots.txt")
    parser.add_argument("--change", choices=sorted(CHANGES), help="what has become of the site")
    options = parser.parse_args(arguments)
    try:
        robots = options.robots.read_text(encoding="utf-8") if options.robots else None
        server = open_server(options.port, options.log, robots, options.change)
    except (OSError, OverflowError) as error:
        print(f"sample_site: cannot serve on {HOST}:{options.port}: {error}", file=sys.stderr)
        return 1
    print(f"http://{HOST}:{server.port}/", flush=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
