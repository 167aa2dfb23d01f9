"""Real browsers against a real local site: what each page comes to, and that nothing stays."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from miqps.browser import Browser, BrowserError, visit
from miqps.browser.bidi import Connection
from miqps.browser.chromium_powers import ChromiumPowers
from miqps.browser.driver import Kind
from miqps.browser.limits import Limits
from miqps.page import Page
from tests.pages import Request, Server, site

LIGHT = "<title>Light</title><h1>A light page</h1><p>with a line of text</p>"
SHORT = Limits(load=4.0, answer=4.0, idle=2.0, render=20.0)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with site() as running:
        yield running


@pytest.fixture(scope="module")
def browsers() -> Iterator[Callable[[Kind], Browser]]:
    """One browser of each kind that is asked for."""
    with contextlib.ExitStack() as running:
        yield functools.cache(lambda kind: running.enter_context(Browser(limits=SHORT, kind=kind)))


@pytest.fixture
def browser(request: pytest.FixtureRequest, browsers: Callable[[Kind], Browser]) -> Browser:
    """Chromium, where a test does not ask for both."""
    return browsers(getattr(request, "param", "chromium"))


@pytest.fixture(scope="module")
def patient() -> Iterator[Browser]:
    """Chromium with the limits that people get: for pages that keep it waiting."""
    with Browser() as running:
        yield running


no_firefox = pytest.mark.skipif(
    not (shutil.which("firefox-esr") or shutil.which("firefox")),
    reason="no Firefox (Debian: apt-get install firefox-esr)",
)
KINDS = ["chromium", pytest.param("firefox", marks=no_firefox)]
kinds = pytest.mark.parametrize("kind", KINDS)
both = pytest.mark.parametrize("browser", KINDS, indirect=True)


def picture(*colours: str, size: tuple[int, int] = (40, 40)) -> bytes:
    """A GIF with one frame a colour."""
    frames = [Image.new("RGB", size, colour) for colour in colours]
    data = io.BytesIO()
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:], duration=50, loop=0)
    return data.getvalue()


def processes(mark: str) -> list[str]:
    """Running processes that name this in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark in line and state != "Z":
            found.append(f"{entry.name} {line[:200]}")
    return found


def gone(mark: str, seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while processes(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def texts(page: Page) -> list[str]:
    return [leaf.text for leaf in page.leaves if leaf.text]


# -- what a visit comes to


def _cut_off(request: Request) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "text/html")
    request.send_header("Content-Length", "100000")
    request.end_headers()
    request.wfile.write(b"<h1>The beginning</h1>")
    request.reset()


def _file(request: Request) -> None:
    request.answer(200, "text/html", b"x", Content_Disposition="attachment; filename=x.html")


OUTCOMES: list[tuple[object, str, str]] = [
    (lambda r: r.answer(204, "text/html", b""), "status", "204, an answer without a page"),
    (_file, "download", "the answer is a file, not a page"),
    (
        lambda r: r.answer(200, "application/pdf", b"%PDF-1.4\n%%EOF"),
        "download",
        "the answer is a PDF, which is not drawn|the answer is a file, not a page",
    ),
    (lambda r: r.html("no", 401, WWW_Authenticate='Basic realm="x"'), "status", "401"),
    (
        lambda r: r.html("", 302, Location="/x"),
        "unreachable",
        "net::ERR_TOO_MANY_REDIRECTS|NS_ERROR_REDIRECT_LOOP",
    ),
    (_cut_off, "unreachable", "net::ERR_CONNECTION_RESET|NS_ERROR_NET_RESET"),
    (lambda r: r.server.ended.wait(), "timeout", "no answer"),
    (
        "<meta http-equiv=refresh content=0><h1>Again</h1>",
        "timeout",
        "loads one document after the other",
    ),
    # On a busy machine the time is over before so many documents were loaded.
    (
        "<script>location.reload()</script>",
        "timeout",
        "loads one document after the other|no load event|does not answer|no answer",
    ),
    ("<script>onload = () => { for (;;); }</script>", "timeout", "no load event"),
    # Firefox may get to the timer before it says that the page is loaded.
    (
        "<script>setTimeout(() => { for (;;); }, 5)</script>",
        "timeout",
        "does not answer|no load event",
    ),
    ("<body></body>", "blank", "nothing is drawn"),
    ("<title>Log in</title><input type=password>", "login", "asks for a password"),
    (
        "<script>for (let i = 0; i < 500; i++) { alert(i); confirm(i); prompt(i) }</script>hi",
        "seen",
        "",
    ),
    ("<script>document.write('<iframe src=/never></iframe>')</script>hi", "timeout", "no load"),
    ("<script>fetch('/never')</script>hi", "timeout", "an answer does not come"),
    ("<script>fetch('http://localhost:PORT/never')</script>hi", "seen", ""),
]
CHROMIUM_OUTCOMES: list[tuple[object, str, str]] = [
    (
        lambda r: r.answer(200, "application/octet-stream", b"\0" * 100),
        "download",
        "the answer is a file, not a page",
    ),
    (lambda r: r.answer(500, "text/html", b""), "status", "500"),
    (lambda r: r.html("<h1>Gone</h1>", 410), "status", "410"),
    (lambda r: r.reset(), "unreachable", "net::ERR_CONNECTION_RESET"),
    ("<script>onbeforeunload = (e) => e.preventDefault()</script>hi", "seen", ""),
    ("<script>setInterval(() => fetch('/x'), 100)</script>hi", "seen", ""),
    ("<script>const t = Date.now(); while (Date.now() < t + 500);</script>hi", "seen", ""),
]
"""More of the same kinds; one browser is enough."""


@pytest.mark.parametrize(
    ("browser", "page", "outcome", "reason"),
    [
        *(("chromium", *each) for each in OUTCOMES + CHROMIUM_OUTCOMES),
        *(pytest.param("firefox", *each, marks=no_firefox) for each in OUTCOMES),
    ],
    indirect=["browser"],
)
def test_outcome(server: Server, browser: Browser, page: object, outcome: str, reason: str) -> None:
    if isinstance(page, str):
        page = page.replace("PORT", str(server.server_port))
    server.pages = {"/x": page, "/light": LIGHT, "/never": lambda r: r.server.ended.wait()}  # type: ignore[dict-item]
    seen = browser.render(server.url("/x?a=1"))
    assert seen.outcome == outcome
    assert any(each in seen.reason for each in reason.split("|"))
    assert (seen.pixels is not None) == (outcome == "seen")
    after = browser.render(server.url("/light"))
    assert (after.outcome, after.title) == ("seen", "Light")


def test_refused_before_the_browser_sees_them(browser: Browser) -> None:
    for url in (
        "file:///etc/passwd",
        "data:text/html,x",
        "javascript:1",
        "about:blank",
        "http:/[",
        "x",
    ):
        assert browser.render(url).outcome in ("refused", "unreachable")
    assert browser.render("file:///etc/passwd").outcome == "refused"


@both
def test_nobody_listens(browser: Browser) -> None:
    page = browser.render("http://127.0.0.1:4/")
    assert (page.outcome, page.status, page.pixels) == ("unreachable", None, None)
    assert page.reason.startswith(("net::ERR_", "NS_ERROR_"))
    assert browser.render("http://does-not-exist.invalid/").outcome == "unreachable"


@both
def test_throttled_says_for_how_long(server: Server, browser: Browser) -> None:
    server.pages = {
        "/429": lambda r: r.html("slow down", 429, Retry_After="17"),
        "/503": lambda r: r.html("busy", 503),
    }
    page = browser.render(server.url("/429"))
    assert (page.outcome, page.status, page.retry_after) == ("throttled", 429, 17.0)
    page = browser.render(server.url("/503"))
    assert (page.outcome, page.status, page.retry_after) == ("throttled", 503, None)


@both
def test_redirects(server: Server, browser: Browser) -> None:
    server.pages = {
        "/old": lambda r: r.html("", 302, Location="/light?b=2"),
        "/dir": lambda r: r.html("", 301, Location="/dir/"),
        "/dir/": LIGHT,
        "/light": LIGHT,
        "/query": lambda r: (
            r.html(LIGHT) if "x=1" in r.path else r.html("", 302, Location="/query?x=1")
        ),
        "/soon": "<meta http-equiv=refresh content='1;url=/light'>wait",
        "/script": "<script>location.replace('/light?from=script')</script>",
        "/replaced": LIGHT + "<script>history.replaceState(0, '', '?clean=1')</script>",
    }
    page = browser.render(server.url("/old?a=1"))
    assert (page.outcome, page.final_url, page.seen) == (
        "redirected",
        server.url("/light?b=2"),
        False,
    )
    assert page.pixels is not None
    assert browser.render(server.url("/dir")).outcome == "seen"
    page = browser.render(server.url("/query"))
    assert (page.outcome, page.final_url) == ("seen", server.url("/query?x=1"))
    assert browser.render(server.url("/soon")).final_url == server.url("/light")
    page = browser.render(server.url("/script"))
    assert (page.outcome, page.status, page.title) == ("redirected", 200, "Light")
    page = browser.render(server.url("/replaced?a=1&b=2"))
    assert (page.outcome, page.final_url) == ("seen", server.url("/replaced?clean=1"))


# -- what goes wrong with the browser itself


@both
def test_crashed_tab(server: Server, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    server.pages = {"/light": LIGHT}

    settled = visit.Visit._settle

    def settle(self: visit.Visit) -> int:
        if isinstance(self._powers, ChromiumPowers):
            self._powers.cdp("Page.crash")
        else:
            for line in processes(f"-parentPid {browser._driver.pids[0]}"):  # type: ignore[union-attr]
                if " -isForBrowser " in line:
                    os.kill(int(line.split()[0]), signal.SIGKILL)
        return settled(self)

    with monkeypatch.context() as patched:
        patched.setattr(visit.Visit, "_settle", settle)
        page = browser.render(server.url("/light"))
    assert (page.outcome, page.reason) == ("crashed", "the page's process ended")
    assert page.pixels is None
    assert browser.render(server.url("/light")).outcome == "seen"


@kinds
def test_dead_browser(server: Server, kind: Kind) -> None:
    server.pages = {"/light": LIGHT}
    with Browser(limits=SHORT, kind=kind) as browser:
        assert browser._driver is not None
        for pid in browser._driver.pids:
            os.kill(pid, signal.SIGKILL)
        assert browser.render(server.url("/light")).outcome == "crashed"
        assert browser.render(server.url("/light")).outcome == "seen"


@linux
@kinds
def test_stopped_browser_is_given_up(
    server: Server, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    server.pages = {"/light": LIGHT}
    with Browser(limits=Limits(answer=2.0, render=5.0), kind=kind) as browser:
        assert browser._driver is not None
        profile = str(browser._driver.profile)
        os.kill(browser._driver.pids[-1], signal.SIGSTOP)
        assert browser.render(server.url("/light")).outcome == "timeout"
        assert gone(profile)
        assert browser.render(server.url("/light")).outcome == "seen"


@linux
@kinds
def test_nothing_stays_in_the_temporary_folder(kind: Kind) -> None:
    code = f"from miqps.browser import Browser; Browser(kind={kind!r}).close()"
    with tempfile.TemporaryDirectory(prefix="t") as folder:
        environment = {**os.environ, "TMPDIR": folder}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
        assert not list(Path(folder).iterdir())


@linux
@kinds
def test_nothing_stays_after_close(kind: Kind, capfd: pytest.CaptureFixture[str]) -> None:
    browser = Browser(kind=kind)
    assert browser._driver is not None
    profile = browser._driver.profile
    children = f"-parentPid {browser._driver.pids[-1]}"
    assert processes(str(profile))
    browser.close()
    assert gone(str(profile))
    assert gone(children)
    assert not profile.exists()
    assert capfd.readouterr() == ("", "")


@linux
@kinds
def test_nothing_stays_after_the_owner_was_killed(kind: Kind) -> None:
    code = (
        f"import time; from miqps.browser import Browser; b = Browser(kind={kind!r});"
        "print(b._driver.profile, b._driver.pids[-1], flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner.stdout:
        folder, pid = owner.stdout.readline().split()
    profile = Path(folder)
    assert processes(folder)
    owner.kill()
    owner.wait()
    assert gone(folder)
    assert gone(f"-parentPid {pid}")
    with Browser(kind=kind):
        assert not profile.exists(), "the next start clears up"


@pytest.mark.parametrize(
    ("kind", "names", "advice"),
    [
        ("chromium", "chromium_driver", "install Chromium and its driver"),
        ("firefox", "firefox_driver", "install Firefox"),
    ],
)
def test_no_browser(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: Kind, names: str, advice: str
) -> None:
    with pytest.raises(BrowserError, match=f"no browser at /nowhere/it: {advice} "):
        Browser("/nowhere/it", kind=kind)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("MIQPS_BROWSER", raising=False)
    monkeypatch.setattr(f"miqps.browser.{names}._NAMES", ("it",))
    with pytest.raises(BrowserError, match=f"no browser found: {advice} "):
        Browser(kind=kind)


@pytest.mark.parametrize(
    ("says", "does", "words"),
    [
        ("Chromium 156", "", "is no Firefox: install Firefox"),
        ("Mozilla Firefox 153", "echo no display >&2; exit 3", "does not start: no display$"),
        ("Mozilla Firefox 153", "exit 3", "does not start: it ended with 3$"),
        (
            "Mozilla Firefox 153",
            """while [ "$1" != --profile ]; do shift; done
            echo '{"ws_port": 4}' > "$2/WebDriverBiDiServer.json"; sleep 60""",
            "does not speak WebDriver BiDi: ",
        ),
    ],
)
def test_no_firefox_after_all(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    says: str,
    does: str,
    words: str,
) -> None:
    program = tmp_path / "firefox"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo {says}; exit; }}\n{does}\n')
    program.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(BrowserError, match=words) as caught:
        Browser(str(program), kind="firefox")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("miqps-browser-*")), "its profile is gone"
    assert not processes(str(tmp_path))
    assert capfd.readouterr() == ("", "")


WRONG_DRIVER = """#!{python}
import http.server, json, os, sys

class Driver(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        message = "session not created: This version of ChromeDriver only supports Chrome 99"
        body = json.dumps({{"value": {{"ready": True, "error": "session not created",
            "stacktrace": "", "message": message + chr(10) + "Current browser version is 156"}}}})
        self.send_response(500 if self.command == "POST" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
        if self.path == "/shutdown":
            os._exit(0)
    do_GET = do_POST = do_DELETE = answer

port = next(int(a.partition("=")[2]) for a in sys.argv if a.startswith("--port="))
http.server.HTTPServer(("127.0.0.1", port), Driver).serve_forever()
"""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("#!/bin/sh\necho confused >&2\nexit 3\n", "the browser does not start: "),
        (WRONG_DRIVER.format(python=sys.executable), "browser and driver do not fit: session"),
    ],
)
def test_wrong_driver(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    script: str,
    words: str,
) -> None:
    driver = tmp_path / "chromedriver"
    driver.write_text(script)
    driver.chmod(0o755)
    monkeypatch.setenv("MIQPS_DRIVER", str(driver))
    with pytest.raises(BrowserError, match=words) as caught:
        Browser()
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIQPS_DRIVER", "/nowhere/chromedriver")
    with pytest.raises(BrowserError, match="no driver at /nowhere/chromedriver"):
        Browser()


def test_proxy_of_the_environment_is_not_for_the_driver(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.pages = {"/light": LIGHT}
    with Browser() as browser:
        assert browser.render(server.url("/light")).outcome == "seen"


# -- a clean profile each time


@both
def test_cookies_are_reported_and_forgotten(server: Server, browser: Browser) -> None:
    sent: list[str | None] = []

    def page(request: Request) -> None:
        sent.append(request.headers.get("Cookie"))
        request.html(LIGHT + "<script>document.cookie = 'c=3'</script>", Set_Cookie="a=1; HttpOnly")

    server.pages = {"/set": page, "/light": LIGHT}
    for _ in range(2):
        assert browser.render(server.url("/set")).cookies == {
            "a@127.0.0.1": "1",
            "c@127.0.0.1": "3",
        }
    assert sent == [None, None]
    assert browser.render(server.url("/light")).cookies == {}


@both
def test_storage_cache_and_workers_are_forgotten(server: Server, browser: Browser) -> None:
    worker = "self.addEventListener('fetch', (e) => e.respondWith(new Response('from the worker')))"
    server.pages = {
        "/page": """<p id=p></p><img src=/cached.gif><script>
            p.textContent = [localStorage.length, sessionStorage.length, document.cookie].join(" ");
            localStorage.x = sessionStorage.x = 1;
            indexedDB.databases().then((all) => {
              p.textContent += all.length;
              indexedDB.open("db");
            });
            navigator.serviceWorker.register("/worker.js");
            </script>""",
        "/worker.js": lambda r: r.answer(
            200, "text/javascript", b"self.onactivate = () => clients.claim();" + worker.encode()
        ),
        "/cached.gif": lambda r: r.answer(
            200, "image/gif", picture("red"), Cache_Control="max-age=10000, immutable"
        ),
    }
    server.log.clear()
    for _ in range(3):
        assert texts(browser.render(server.url("/page"))) == ["0 0 0"]
    assert server.log.count("/page") == 3
    assert server.log.count("/cached.gif") == 3
    assert server.log.count("/worker.js") == 3


# -- the same visit gives the same page


MOVING = """
<style>
@keyframes turn { to { transform: translateX(300px); background: red } }
.a { animation: turn 1s infinite; width: 50px; height: 50px; background: blue }
.b { transition: margin-left 5s; width: 50px; height: 50px; background: green }
</style>
<h1>Moving</h1><p id=clock></p><p id=random></p><p id=count></p>
<div class=a></div><div class=b></div>
<div id=web style="width:40px;height:40px;background:black"></div>
<canvas id=canvas width=100 height=100></canvas><img src=/turning.gif>
<svg width=200 height=50><circle r=20 cy=25><animate attributeName=cx from=0 to=200 dur=1s
 repeatCount=indefinite></animate></circle></svg>
<marquee>news news</marquee><input autofocus value=caret>
<script>
const say = () => clock.textContent = `${new Date().toISOString()} ${performance.now()}`;
say(); setInterval(say, 37);
random.textContent =
  Math.random() + crypto.randomUUID() + crypto.getRandomValues(new Uint8Array(4));
let n = 0;
(function frame() {
  count.textContent = ++n;
  canvas.getContext("2d").fillRect(n % 100, n % 90, 5, 5);
  requestAnimationFrame(frame);
})();
web.animate([{opacity: 1}, {opacity: 0}], {duration: 700, iterations: Infinity});
setTimeout(() => document.querySelector(".b").style.marginLeft = "200px", 100);
</script>"""


@both
def test_moving_things_stand_still(server: Server, browser: Browser) -> None:
    server.pages = {
        "/moving": MOVING,
        "/turning.gif": lambda r: r.answer(200, "image/gif", picture("red", "blue", "lime")),
    }
    first, *others = [browser.render(server.url("/moving")) for _ in range(4)]
    assert first.pixels is not None
    for page in others:
        assert page.leaves == first.leaves
        assert np.array_equal(page.pixels, first.pixels)
    assert texts(first)[1].endswith("Z 1998"), "two seconds of the page's own time have passed"


@both
def test_time_driven_content_is_shown(server: Server, browser: Browser) -> None:
    server.pages = {
        "/late": """<p>now</p><script>
            setTimeout(() => document.body.append("after a second"), 1000);
            setTimeout(() => document.body.append("after a minute"), 60000);
            const begin = performance.now(), p = document.querySelector("p");
            p.style.opacity = 0;
            (function fade() {
              p.style.opacity = Math.min(1, (performance.now() - begin) / 400);
              if (p.style.opacity < 1) requestAnimationFrame(fade);
            })();
            setTimeout(() => fetch("/more").then((r) => r.text()).then((text) =>
              setTimeout(() => document.body.append(text), 20)), 1900);
            </script>""",
        "/more": lambda r: r.answer(200, "text/plain", b"fetched"),
    }
    page = browser.render(server.url("/late"))
    assert sorted(texts(page)) == ["after a second", "fetched", "now"]


LATE = {
    "timer": "setTimeout(show, 6000)",
    "chain of timers": "setTimeout(() => setTimeout(() => setTimeout(show, 2500), 2500), 2500)",
    "timer and frames": "setTimeout(() => requestAnimationFrame(() => show()), 5000)",
    "timer and answer": "setTimeout(() => fetch('/slow').then(show), 4000)",
    "idle": "requestIdleCallback(show)",
    "task": "scheduler.postTask(show, {delay: 3000})",
    "worker": "new Worker('/worker.js').onmessage = show",
    "own worker": "const blob = new Blob(['setTimeout(() => postMessage(1), 500)']);"
    "new Worker(URL.createObjectURL(blob)).onmessage = show",
    "events": "new EventSource('/events').onmessage = show",
    "answer": "fetch('/slow').then((answer) => answer.text()).then(show)",
}


@pytest.mark.parametrize("script", LATE.values(), ids=LATE)
def test_what_comes_late_is_seen(server: Server, patient: Browser, script: str) -> None:
    def events(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.end_headers()
        time.sleep(0.4)
        request.wfile.write(b"data: 1\n\n")
        request.wfile.flush()
        request.server.ended.wait(5)

    def slow(request: Request) -> None:
        time.sleep(1.5)
        request.answer(200, "text/plain", b"done")

    server.pages = {
        "/x": f"<p id=p>waiting</p><script>const show = () => {{ p.textContent = 'late words' }};"
        f"{script}</script>",
        "/worker.js": lambda r: r.answer(
            200, "text/javascript", b"setTimeout(() => postMessage(1), 400)"
        ),
        "/events": events,
        "/slow": slow,
    }
    page = patient.render(server.url("/x"))
    assert (page.outcome, texts(page)) == ("seen", ["late words"])


@pytest.mark.parametrize("late", [0.1, 0.2, 0.3])
def test_a_request_that_the_browser_tells_of_late_is_waited_for(
    server: Server, patient: Browser, monkeypatch: pytest.MonkeyPatch, late: float
) -> None:
    def slow(request: Request) -> None:
        time.sleep(1.5)
        request.answer(200, "text/plain", b"done")

    server.pages = {
        "/x": "<p id=p>waiting</p><script>setTimeout(() => fetch('/slow').then(() => "
        "{ p.textContent = 'late words' }), 4000)</script>",
        "/slow": slow,
    }
    pump = Connection.pump
    held: list[tuple[float, dict[str, Any]]] = []

    def pump_late(connection: Connection, until: float) -> bool:
        came = pump(connection, min([until, *(due for due, _ in held)]))
        now = time.monotonic()
        for event in [e for e in connection.events if "/slow" in str(e["params"].get("request"))]:
            connection.events.remove(event)
            held.append((now + late, event))
        while held and held[0][0] <= now:
            connection.events.append(held.pop(0)[1])
            came = True
        return came or now < until

    monkeypatch.setattr(Connection, "pump", pump_late)
    page = patient.render(server.url("/x"))
    assert (page.outcome, texts(page)) == ("seen", ["late words"])


def test_what_repeats_is_not_run_for_as_long(server: Server, browser: Browser) -> None:
    server.pages = {
        "/x": "<p id=p></p><script>let n = 0; const tick = () => { p.textContent = ++n };"
        "setInterval(tick, 1000)</script>"
    }
    pages = [browser.render(server.url("/x")) for _ in range(2)]
    assert texts(pages[0]) == texts(pages[1])
    assert int(texts(pages[0])[0]) <= 4


@both
def test_frames_stand_still_too(server: Server, browser: Browser) -> None:
    server.pages = {
        "/outer": f"""<iframe src=/inner></iframe>
            <iframe src="{server.url("/inner", host="localhost")}"></iframe>
            <iframe src="data:text/html,<h1>data</h1>"></iframe>""",
        "/inner": """<p></p><script>
            const say = () => {
              document.querySelector("p").textContent = [Date.now() % 86400000, Math.random()];
            };
            say(); setInterval(say, 37);
            </script>""",
    }
    first, second = (browser.render(server.url("/outer")) for _ in range(2))
    assert first.leaves == second.leaves
    assert np.array_equal(first.pixels, second.pixels)
    assert len(texts(first)) == 1, "what another site's frame shows is in the picture only"
    assert texts(first)[0].startswith("1998,0.")


def test_slow_answers_are_waited_for(server: Server, browser: Browser) -> None:
    def slow(request: Request) -> None:
        time.sleep(1.2)
        request.answer(200, "text/javascript", b"window.ready = true")

    server.pages = {
        "/slow": """<p>loading</p><script>
            fetch("/slow.js").then(() => requestAnimationFrame(() => setTimeout(() => {
              document.body.append("fetched")
            }, 50)));
            const script = document.createElement("script");
            script.src = "/slow.js?script";
            document.body.append(script);
            const poll = setInterval(() => {
              if (window.ready) { clearInterval(poll); document.querySelector("p").append(" done") }
            }, 100);
            </script>""",
        "/slow.js": slow,
    }
    assert texts(browser.render(server.url("/slow"))) == ["loading", "done", "fetched"]


@both
def test_who_visits(server: Server, browser: Browser) -> None:
    languages: list[str] = []

    def page(request: Request) -> None:
        languages.append(request.headers["Accept-Language"])
        request.html("""<p></p><script>
            document.querySelector("p").textContent = [innerWidth, innerHeight, devicePixelRatio,
              navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone,
              matchMedia("(prefers-color-scheme: light)").matches,
              matchMedia("(prefers-reduced-motion: reduce)").matches, document.hidden].join(" ");
            new Worker("/worker.js");
            fetch("/fetched");
            </script>""")

    server.pages = {"/me": page, "/worker.js": lambda r: r.answer(200, "text/javascript", b"")}
    server.agents.clear()
    seen = browser.render(server.url("/me"))
    assert texts(seen) == ["1280 1024 1 en-US UTC true true false"]
    assert languages[0].startswith("en-US")
    assert len(server.agents) >= 3
    assert not any("Headless" in agent for agent in server.agents)
    assert all(" Chrome/" in agent or " Firefox/" in agent for agent in server.agents)
    assert all(" miqps-prober/" in agent for agent in server.agents)


# -- all of the page is seen


def colours(page: Page) -> set[tuple[int, ...]]:
    assert page.pixels is not None
    return {
        tuple(int(v) for v in colour) for colour in np.unique(page.pixels.reshape(-1, 3), axis=0)
    }


@pytest.mark.parametrize(
    "loader",
    [
        "<img loading=lazy src=/red.gif width=40 height=40>",
        """<img width=40 height=40><script>
           new IntersectionObserver((seen, self) => { for (const each of seen)
             if (each.isIntersecting) { each.target.src = "/red.gif"; self.disconnect() }
           }).observe(document.querySelector("img"))</script>""",
        """<img width=40 height=40><script>
           const img = document.querySelector("img");
           const look = () => {
             if (img.getBoundingClientRect().top < innerHeight) img.src = "/red.gif" };
           addEventListener("scroll", () => setTimeout(look, 100)); look()</script>""",
    ],
)
def test_pictures_far_below_are_loaded(server: Server, browser: Browser, loader: str) -> None:
    server.pages = {
        "/long": f"<h1>Long</h1><div style='height:19800px'></div>{loader}",
        "/red.gif": lambda r: r.answer(200, "image/gif", picture("red")),
    }
    page = browser.render(server.url("/long"))
    assert page.outcome == "seen"
    assert page.height > 19_800
    assert (255, 0, 0) in colours(page)


def test_responsive_page_is_seen_as_on_a_desk_every_time(server: Server, browser: Browser) -> None:
    """Capturing must not make the window narrow for a moment, or one layout shows by chance."""
    server.pages = {
        "/responsive": "<style>p{font-size:14px}@media(max-width:900px){p{font-size:30px}}</style>"
        + "<p>words and more words</p>" * 60
    }
    pages = [browser.render(server.url("/responsive")) for _ in range(6)]
    assert pages[0].height > 1_500
    for page in pages[1:]:
        assert np.array_equal(page.pixels, pages[0].pixels)


@both
def test_tall_window_does_not_stretch_the_page(server: Server, browser: Browser) -> None:
    server.pages = {
        "/vh": "<style>body{margin:0}</style><div style='height:100vh;background:red'></div>"
        "<div style='height:3000px;background:lime'></div>"
    }
    page = browser.render(server.url("/vh"))
    assert page.pixels is not None
    assert (page.height, page.pixels.shape) == (4024, (1006, 320, 3))
    assert tuple(page.pixels[255, 0]) == (255, 0, 0)
    assert tuple(page.pixels[256, 0]) == (0, 255, 0)


@both
def test_very_tall_page(server: Server, browser: Browser) -> None:
    server.pages = {"/tall": "<div style='height:100000px'>top</div><p>bottom</p>"}
    page = browser.render(server.url("/tall"))
    assert page.pixels is not None
    assert (page.outcome, page.pixels.shape) == ("seen", (15_000, 320, 3))
    assert page.height > 100_000
    assert texts(page) == ["top", "bottom"]


def test_huge_answer(server: Server) -> None:
    server.pages = {
        "/huge": lambda r: r.html("<h1>Huge</h1><!--" + "x" * 50_000_000 + "--><p>end</p>"),
        "/light": LIGHT,
    }
    with Browser() as browser:
        assert texts(browser.render(server.url("/huge"))) == ["Huge", "end"]
        assert browser.render(server.url("/light")).outcome == "seen"


CUT = (
    "<div style='width:100px;height:50px;overflow:hidden'>"
    "<img src=/a.svg{} width=90 height=200></div>"
)
WIDE = "<img src=/a.svg{} width=90 height=90 style='position:absolute;left:1250px;top:0'>"
SCROLLS = (
    "<div style='height:60px;overflow:auto'><p style='height:300px'>x<p><img src=/a.svg{}></div>"
)
FRAME = (
    "<iframe src='http://localhost:PORT/frame{}' width=200 height=90"
    " style='margin-left:1200px'></iframe>"
)
SHOWN = "<img src=/a.svg{} width=90 height=90>"


@pytest.mark.parametrize(
    ("page", "counts"), [(CUT, True), (WIDE, True), (SCROLLS, True), (FRAME, True), (SHOWN, False)]
)
def test_the_address_of_a_picture_counts_where_it_is_not_wholly_in_the_picture(
    server: Server, browser: Browser, page: str, counts: bool
) -> None:
    page = page.replace("PORT", str(server.server_port))
    picture = b"<svg xmlns='http://www.w3.org/2000/svg'><rect width='99' height='99'/></svg>"
    server.pages = {
        "/a.svg": lambda r: r.answer(200, "image/svg+xml", picture),
        "/frame": LIGHT,
        "/1": page.format("?n=1"),
        "/2": page.format("?n=2"),
    }
    one, two = (browser.render(server.url(path)) for path in ("/1", "/2"))
    assert one.seen
    assert two.seen
    assert (one.leaves != two.leaves) is counts


def test_options_that_are_not_chosen_count(server: Server, browser: Browser) -> None:
    select = "<select><option>red<option>{}</select>"
    server.pages = {"/1": select.format("blue"), "/2": select.format("green")}
    one, two = (browser.render(server.url(path)) for path in ("/1", "/2"))
    assert texts(one) == texts(two) == ["red"]
    assert one.leaves != two.leaves


@both
def test_leaves(server: Server, browser: Browser) -> None:
    server.pages = {
        "/leaves": """<title>Leaves</title>
            <style>.q::before { content: "before " } .h { display: none } .v { visibility: hidden }
              .sw { width: 20px; height: 20px; background: #123456 }</style>
            <p class=q>quoted <b>bold</b></p><p class=h>hidden</p><p class=v>invisible</p>
            <input value=typed><input type=checkbox checked><input type=password value=secret>
            <textarea>area</textarea><select><option>one<option selected>two</select>
            <div class=sw></div><div id=host></div><iframe srcdoc="<p>framed</p>"></iframe>
            <script>host.attachShadow({mode: "open"}).innerHTML = "<i>shadow</i>"</script>""",
    }
    page = browser.render(server.url("/leaves"))
    assert texts(page) == [
        '"before "', "quoted", "bold", "typed", "[x]", "area", "two", "shadow", "framed",
    ]  # fmt: skip
    assert "secret" not in str(page.leaves)
    assert any("ground:rgb(18, 52, 86)" in leaf.style for leaf in page.leaves)
    bold = next(leaf for leaf in page.leaves if leaf.text == "bold")
    assert bold.path == "/html/body[1]/p[1]/b[1]/#text[1]"
    assert "weight:700" in bold.style
    framed = next(leaf for leaf in page.leaves if leaf.text == "framed")
    assert framed.box[1] > bold.box[1] + bold.box[3], "placed where the frame is"


def test_more_leaves_than_are_kept(
    server: Server, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miqps.browser.leaves.MOST", 10)
    lines = [f"<p>line {n}</p>" for n in range(20)]
    server.pages = {"/a": "".join(lines), "/b": "".join(lines).replace("line 19", "line 91")}
    a, b = browser.render(server.url("/a")), browser.render(server.url("/b"))
    assert a.leaves[-1].text.startswith("10 further leaves #")
    assert a.leaves[:10] == b.leaves[:10]
    assert a.leaves[10] != b.leaves[10]


def test_what_a_page_stores_for_later_is_told(server: Server, browser: Browser) -> None:
    server.pages = {
        "/stores": "<p>hello</p><script>localStorage.aff = location.search</script>",
        "/light": LIGHT,
    }
    page = browser.render(server.url("/stores?t=7"))
    assert page.cookies == {"aff@localStorage": "?t=7"}
    assert browser.render(server.url("/light")).cookies == {}
