# Sourced by demo.sh and test.sh: a Python, the environment in .venv, and a browser.
# Every failure is one line on stderr and exit 1. POSIX sh.

say() { printf '%s\n' "$*" >&2; }
die() { say "Error: $*"; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1; then sudo "$@"
    else return 1
    fi
}

apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    say "Installing $* with apt-get ..."
    log=$(mktemp)
    if DEBIAN_FRONTEND=noninteractive as_root apt-get update -q >"$log" 2>&1 &&
        DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -q "$@" >>"$log" 2>&1; then
        rm -f "$log"
    else
        tail -n 5 "$log" >&2
        rm -f "$log"
        return 1
    fi
}

# find_python: sets PYTHON to one that is new enough and can make environments.
find_python() {
    for candidate in "${MIQPS_PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        if ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
            apt_install "python$version-venv" || continue
        fi
        PYTHON=$candidate
        return 0
    done
    die "no Python 3.11 or newer found; install one (Debian: apt-get install python3 python3-venv," \
        "macOS: brew install python) or name it in MIQPS_PYTHON"
}

# make_environment EXTRAS: installs the project into .venv, again only when what it needs changed.
make_environment() {
    stamp=$(cat setup.cfg pyproject.toml | cksum)
    if [ ! -x .venv/bin/python ]; then
        find_python
        say "Making .venv with $("$PYTHON" --version) ..."
        "$PYTHON" -m venv .venv || die "cannot make .venv with $PYTHON -m venv"
    fi
    if [ "$(cat ".venv/.miqps$1" 2>/dev/null)" != "$stamp" ]; then
        say "Installing the project into .venv (a minute the first time) ..."
        .venv/bin/python -m pip install -q --disable-pip-version-check -e ".$1" >.venv/pip.log 2>&1 ||
            { tail -n 5 .venv/pip.log >&2; die "pip failed; all it said is in .venv/pip.log"; }
        printf '%s\n' "$stamp" >".venv/.miqps$1"
    fi
}

has_browser() {
    .venv/bin/python -c '
import sys
from miqps.browser.chromium_driver import find_browser
from miqps.browser.driver import BrowserError
try:
    find_browser()
except BrowserError as error:
    sys.exit(1)
'
}

find_browser() {
    has_browser && return 0
    apt_install chromium chromium-driver && has_browser && return 0
    die "no Chrome or Chromium found; install one (Debian: apt-get install chromium chromium-driver," \
        "macOS: brew install --cask chromium) or name it in MIQPS_BROWSER"
}
