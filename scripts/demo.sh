#!/bin/sh
# Sets everything up and runs the whole loop on the bundled sample site:
# record -> probe -> publish -> rewrite, in a real browser through a real proxy.
set -eu
cd "$(dirname "$0")/.."
. scripts/setup.sh
make_environment ""
find_browser
exec .venv/bin/python scripts/demo.py "$@"
