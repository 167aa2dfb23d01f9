"""mitmdump -s addons/miqps.py: records page loads and removes neutral parameters.

mitmproxy puts a script's folder first on sys.path, where this file hides the package of its name.
The folder gives its place to the checkout it lies in, so the package need not be installed.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = str(HERE.parent)
sys.path[:] = [ROOT, *(p for p in sys.path if p != ROOT and Path(p).resolve() != HERE)]

from miqps.addon import Miqps  # noqa: E402

addons = [Miqps()]
