"""The dashboard in a real mitmdump and a real browser, and what hostile pages can do to it."""

from __future__ import annotations

import http.client
import io
import re
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from miqps.publish import publish
from miqps.rehearsal import person
from miqps.settings import JUDGING
from miqps.store import Observation, Store
from miqps.trial import Trial
from tests.test_mitmdump import Proxy, mitmdump, wait_for

HOST = "miqps.test"
XSS = '"><script>document.title="owned"</script><img src=x onerror=alert(1)>'

HOSTILE = """<!doctype html><title>{title}</title>
<iframe id=frame src="http://miqps.test/"></iframe>
<form id=pause method=post action="http://miqps.test/pause" target=_self>
<input name=site value="*"><input name=paused value=yes><input name=token value=guess></form>
<img id=img src="http://miqps.test/style.css">
<script>
window.read = fetch('http://miqps.test/').then(() => 'read', () => 'refused');
window.posted = fetch('http://miqps.test/pause', {{method: 'POST', mode: 'no-cors',
  headers: {{'Content-Type': 'application/x-www-form-urlencoded'}},
  body: 'site=*&paused=yes&token=guess'}}).then(() => 'sent', () => 'failed');
</script>"""


class Site(ThreadingHTTPServer):
    """A shop; one of its pages is hostile."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.asked: list[str] = []
        self.name = f"127.0.0.1:{self.server_port}"


class _Page(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        hostile = self.path.startswith("/hostile")
        page = HOSTILE.format(title=XSS) if hostile else "<!doctype html><title>page</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def db(tmp_path: Path, site: Site) -> Path:
    """What was found out of the site: `id` matters, `ref` and a hostile name do not."""
    made = io.BytesIO()
    Image.new("RGB", (32, 20), "red").save(made, "WEBP")
    pictures = dict.fromkeys(("original", "stripped", "difference"), made.getvalue())
    urls = [f"http://{site.name}/p?id={n}&ref=r{n}&{quote(XSS)}=x{n}" for n in range(4)]
    with Store.open(tmp_path / "miqps.db") as store:
        store.corpus.add(map(Observation, urls))
        run = store.journal.begin("{}")
        (context,) = store.corpus.contexts(site.name)
        changed = Trial(urls[0], frozenset({"id"}), "different", "the content changed", "id", "/p")
        gone = frozenset({"ref", XSS})
        same = [Trial(url, gone, "same", XSS, look=url) for url in urls]
        store.evidence.save(run, context, [changed, *same], [], {changed: pictures})
        store.journal.finish(run)
        publish(store, run, JUDGING)
    return tmp_path / "miqps.db"


@pytest.fixture
def proxy(tmp_path: Path, db: Path) -> Iterator[Proxy]:
    with mitmdump(tmp_path, "--set", f"miqps_db={db}") as running:
        running.port()
        yield running
        assert running.end(signal.SIGTERM) == 0
        assert not any("Traceback" in line for line in running.said)


def asked(driver: webdriver.Chrome, site: Site, number: int) -> str:
    """What reaches the site when a person opens a tagged link."""
    driver.get(f"http://{site.name}/p?id={number}&ref=x&{quote(XSS)}=y")
    return [path for path in site.asked if path.startswith("/p")][-1]


def press(driver: webdriver.Chrome, text: str) -> None:
    before = driver.find_element(By.TAG_NAME, "html")
    button = driver.find_element(By.XPATH, f"//button[normalize-space()='{text}']")
    button.click()
    wait = WebDriverWait(driver, 30, ignored_exceptions=(WebDriverException,))
    wait.until(lambda d: d.find_element(By.TAG_NAME, "html") != before)


def test_a_person_pauses_and_pins(proxy: Proxy, site: Site, db: Path) -> None:
    with person(proxy.port()) as driver:
        assert asked(driver, site, 1) == "/p?id=1"
        driver.get(f"http://{HOST}/")
        assert driver.title == "miqps"
        today = driver.find_element(By.ID, "today").text
        assert site.name in today
        assert "ref" in today
        recent = driver.find_element(By.ID, "recent").text
        assert "/p?id=1&ref=x" in recent
        assert "version 1, 1 contexts" in driver.find_element(By.TAG_NAME, "dl").text

        press(driver, "Pause everything")
        assert "ref=x" in asked(driver, site, 2)
        driver.get(f"http://{HOST}/")
        press(driver, "Resume everything")
        assert asked(driver, site, 3) == "/p?id=3"

        driver.get(f"http://{HOST}/")
        driver.find_element(By.LINK_TEXT, site.name).click()
        assert driver.title == site.name
        widths = driver.execute_script(
            "return Promise.all([...document.images].map(async i =>"
            " (i.loading = 'eager', await i.decode(), i.naturalWidth)))"
        )
        assert widths == [32] * 3
        press(driver, f"Pause {site.name}")
        assert "ref=x" in asked(driver, site, 4)
        driver.get(f"http://{HOST}/site?name={quote(site.name)}")
        press(driver, f"Resume {site.name}")

        before = driver.find_element(By.TAG_NAME, "html")
        driver.find_element(By.CSS_SELECTOR, "button[aria-label='Keep ref']").click()
        WebDriverWait(driver, 30).until(lambda d: d.find_element(By.TAG_NAME, "html") != before)
        proxy.wait_for_line("map version 2,")
        assert asked(driver, site, 5) == "/p?id=5&ref=x"
        driver.get(f"http://{HOST}/site?name={quote(site.name)}")
        press(driver, "Unpin")
        proxy.wait_for_line("map version 3,")
        assert asked(driver, site, 6) == "/p?id=6"
        # Our own pages are nobody's page loads, and make no mistake that a console would show.
        driver.get(f"http://{HOST}/site?name={quote(site.name)}")
        assert driver.get_log("browser") == []
    with Store.open(db) as store:
        assert store.corpus.sites() == [site.name]


def test_it_fits_a_narrow_screen_and_shows_what_goes_in_circles(
    proxy: Proxy, site: Site, db: Path
) -> None:
    with Store.open(db) as store:
        store.signs.circle([f"http://{site.name}/p?id=1&ref=x&{quote(XSS)}=y"])
    with person(proxy.port()) as driver:
        driver.set_window_size(420, 800)
        for path in ("/", f"/site?name={quote(site.name)}"):
            driver.get(f"http://{HOST}{path}")
            width = driver.execute_script(
                "return document.documentElement.scrollWidth - window.innerWidth"
            )
            assert width <= 0
        assert "changes back what is taken out of" in driver.find_element(By.TAG_NAME, "main").text


def test_what_strangers_called_things_is_text(proxy: Proxy, site: Site) -> None:
    with person(proxy.port()) as driver:
        asked(driver, site, 1)
        for path in ("/", f"/site?name={quote(site.name)}"):
            driver.get(f"http://{HOST}{path}")
            assert "owned" not in driver.title
            assert XSS in driver.find_element(By.TAG_NAME, "body").text
            assert driver.find_elements(By.TAG_NAME, "script") == []
            sources = [e.get_attribute("src") for e in driver.find_elements(By.TAG_NAME, "img")]
            assert all(source.startswith(f"http://{HOST}/picture?id=") for source in sources)


def test_a_hostile_page_changes_nothing_and_reads_nothing(proxy: Proxy, site: Site) -> None:
    with person(proxy.port()) as driver:
        driver.get(f"http://{site.name}/hostile")
        assert driver.execute_script("return window.read") == "refused"
        assert driver.execute_script("return window.posted") in ("sent", "failed")
        # Framing is refused: what stands in the frame is the browser's own error page.
        driver.switch_to.frame("frame")
        assert driver.find_elements(By.CSS_SELECTOR, "#sites, .figures") == []
        driver.switch_to.default_content()
        assert driver.execute_script("return document.getElementById('img').naturalWidth") == 0
        driver.execute_script("document.getElementById('pause').submit()")
        WebDriverWait(driver, 30).until(lambda d: HOST in d.current_url)
        assert asked(driver, site, 7) == "/p?id=7"


def answer(port: int, method: str, target: str, body: str = "", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body:
        named["Content-Type"] = "application/x-www-form-urlencoded"
    connection.request(method, target, body or None, named)
    said = connection.getresponse()
    text = said.read().decode("utf-8", "replace")
    connection.close()
    return said.status, text


def test_only_our_own_pages_may_change_something(proxy: Proxy, site: Site) -> None:
    port, url = proxy.port(), f"http://{HOST}"
    status, page = answer(port, "GET", f"{url}/")
    assert status == 200
    token = re.search(r'name="token" value="([^"]+)"', page)[1]  # type: ignore[index]
    right = f"token={token}&site=*&paused=yes"
    for body, headers in (
        (right, {}),
        (right, {"Origin": "http://evil.example"}),
        (right, {"Origin": "null"}),
        (right, {"Origin": f"https://{HOST}"}),
        (right, {"Origin": url, "Sec_Fetch_Site": "cross-site"}),
        ("token=guess&site=*&paused=yes", {"Origin": url}),
        ("site=*&paused=yes", {"Origin": url}),
    ):
        assert answer(port, "POST", f"{url}/pause", body, **headers)[0] == 403, headers
    assert answer(port, "GET", f"{url}/pause?{right}")[0] == 405
    assert answer(port, "POST", f"{url}/pause", right, Origin=url)[0] == 303
    bad = f"token={token}&site=a&name=b&action=drop"
    assert answer(port, "POST", f"{url}/pin", bad, Origin=url)[0] == 400


def test_another_name_does_not_lead_here(proxy: Proxy, site: Site) -> None:
    """As after DNS rebinding: the request goes to another host, or names another one."""
    port = proxy.port()
    status, page = answer(port, "GET", f"http://{site.name}/p", Host=HOST)
    assert (status, "page" in page) == (200, True)
    assert answer(port, "GET", f"http://{HOST}/", Host="evil.example")[0] in (421, 502)
    assert answer(port, "GET", f"http://{HOST}:81/")[0] == 502


def test_it_can_be_switched_off(tmp_path: Path, db: Path) -> None:
    options = ("--set", f"miqps_db={db}", "--set", "miqps_dashboard=")
    with mitmdump(tmp_path, *options) as running:
        assert answer(running.port(), "GET", f"http://{HOST}/")[0] == 502
        assert running.end(signal.SIGTERM) == 0


def test_without_a_map_and_of_an_unknown_site(tmp_path: Path) -> None:
    with mitmdump(tmp_path, "--set", f"miqps_db={tmp_path}/new.db") as running:
        port = running.port()
        assert "Nothing was learned yet" in answer(port, "GET", f"http://{HOST}/")[1]
        assert answer(port, "GET", f"http://{HOST}/site?name=x.example")[0] == 404
        assert answer(port, "GET", f"http://{HOST}/picture?id=1")[0] == 404
        assert answer(port, "GET", f"http://{HOST}/picture?id=x")[0] == 404
        wait_for(lambda: True)
        assert running.end(signal.SIGTERM) == 0
