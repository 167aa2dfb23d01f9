"""Runs a command and prints what it took as JSON, on standard error.

A small process of its own: the peak memory of a process counts what its parent had when it forked.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def main() -> None:
    """The process: its arguments are the command."""
    before = time.perf_counter()
    pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    _, status, used = os.wait4(pid, 0)
    took = {
        "seconds": time.perf_counter() - before,
        "cpu": used.ru_utime + used.ru_stime,
        # Kilobytes, on macOS bytes.
        "peak": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "code": os.waitstatus_to_exitcode(status),
    }
    print(json.dumps(took), file=sys.stderr)


if __name__ == "__main__":
    main()
