#!/bin/sh
# Sets everything up and runs the whole test suite. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/setup.sh
make_environment "[test]"
find_browser
# Two tests at a time: most of their time is waiting for browsers.
exec .venv/bin/python -m pytest -n 2 --dist worksteal "$@"
