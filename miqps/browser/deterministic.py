"""The script that runs in every document before its own: the same visit gives the same page.

Time stands still unless a timer fires: each timer and animation frame moves the page's clock to
the moment it was due, never the wall clock. `advance` runs what is due up to a moment at once and
parks what is due later, so a page is always captured at the same moment of its own time, however
fast or slow the machine and the network were. A clock that simply stood still would leave
time-driven fade-ins invisible for ever; one that ran would show another second every time.
"""

from __future__ import annotations

KEY = "miqps-clock"
"""The clock is at `window[Symbol.for(KEY)]`."""

_STYLE = """
*, *::before, *::after {
  animation-duration: 1ms !important; animation-delay: 0s !important;
  animation-iteration-count: 1 !important; transition-duration: 1ms !important;
  transition-delay: 0s !important; caret-color: transparent !important;
  scroll-behavior: auto !important;
}
"""

_PRELOAD = r"""
() => {
  const css = new CSSStyleSheet();
  css.replaceSync(__STYLE__);
  const restyle = () => {
    if (!document.adoptedStyleSheets.includes(css)) document.adoptedStyleSheets.push(css);
  };
  restyle();
  const key = Symbol.for("__KEY__");
  if (window[key]) { window[key].restyle = restyle; return; }

  const RealDate = Date, realNow = performance.now.bind(performance);
  const later = setTimeout.bind(window), soon = requestAnimationFrame.bind(window);
  const channel = new MessageChannel();
  const queue = new Map();
  let now = 0, horizon = __HORIZON__, drift = 0, calls = 0, last = 1000, running = null;
  let leapt = false, leaping = false, standing = 0;

  // A loop that waits for the clock must end: after many readings in a row it moves a little.
  const clock = () => {
    if (++calls > 1000 && calls % 100 === 0) drift += 1;
    return now + drift;
  };
  const base = __BASE__;
  const wall = () => base + clock();
  function FakeDate(...given) {
    if (!new.target) return new RealDate(wall()).toString();
    const target = new.target === FakeDate ? RealDate : new.target;
    return Reflect.construct(RealDate, given.length ? given : [wall()], target);
  }
  Object.defineProperties(FakeDate, {
    name: {value: "Date"}, length: {value: 7}, prototype: {value: RealDate.prototype},
    now: {value: wall, writable: true, configurable: true},
    parse: {value: RealDate.parse, writable: true, configurable: true},
    UTC: {value: RealDate.UTC, writable: true, configurable: true},
  });
  RealDate.prototype.constructor = FakeDate;
  window.Date = FakeDate;
  Performance.prototype.now = clock;

  let seed = 0x9e3779b9;
  const random = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  Math.random = random;
  if (window.Crypto) {
    Crypto.prototype.getRandomValues = function (array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < bytes.length; i++) bytes[i] = random() * 256;
      return array;
    };
    Crypto.prototype.randomUUID = function () {
      const hex = [...this.getRandomValues(new Uint8Array(16))].map((byte, i) =>
        (i === 6 ? (byte & 15) | 64 : i === 8 ? (byte & 63) | 128 : byte)
          .toString(16).padStart(2, "0")).join("");
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    };
  }

  const run = (id) => {
    const timer = queue.get(id), outer = running;
    if (!timer.late) now = Math.max(now, timer.due);
    calls = 0;
    if (timer.every) { timer.due += timer.every; arm(id, timer); } else queue.delete(id);
    running = timer;
    try { timer.call(); } catch (error) { reportError(error); } finally { running = outer; }
  };
  const first = (until, fits = () => true) => {
    let found = null;
    for (const [id, timer] of queue) {
      if (timer.due <= until && fits(timer) &&
          (found === null || timer.due < queue.get(found).due)) found = id;
    }
    return found;
  };
  // Strictly in the order they are due: which real timer fires first is up to the machine.
  const fire = (id) => {
    const timer = queue.get(id);
    if (!timer) return;
    if (timer.late) { run(id); return; }
    const until = Math.min(timer.due, horizon);
    for (let next = first(until); next !== null; next = first(until)) run(next);
  };
  const arm = (id, timer) => {
    if (timer.frame) soon(() => fire(id)); else later(() => fire(id), timer.due - now);
  };
  // What an answer or a loaded picture asks for at once still happens after time has stopped; what
  // a stopped timer would have asked for does not, nor does the sixth of a chain.
  const late = (timer) => {
    if (now < horizon || timer.every || timer.due > now + 100) return 0;
    const chain = running ? running.late : 0;
    return running && !chain || chain >= 5 ? 0 : chain + 1;
  };
  const add = (timer) => {
    timer.late = late(timer);
    timer.leaping = leaping;
    queue.set(++last, timer);
    arm(last, timer);
    return last;
  };
  const callable = (what, given) => typeof what === "function"
    ? () => what.apply(window, given) : () => (0, eval)(String(what));
  const span = (delay) => Math.max(1, Math.min(Number(delay) || 0, 2 ** 31));
  window.setTimeout = (what, delay, ...given) =>
    add({due: now + span(delay), call: callable(what, given)});
  window.setInterval = (what, delay, ...given) =>
    add({due: now + span(delay), every: span(delay), call: callable(what, given)});
  window.requestAnimationFrame = (what) =>
    add({due: now + 16, frame: true, call: () => what.call(window, clock())});
  window.requestIdleCallback = (what) =>
    add({due: now + 1, call: () => what.call(window,
      {didTimeout: false, timeRemaining: () => 50})});
  window.clearTimeout = window.clearInterval = window.cancelAnimationFrame =
    window.cancelIdleCallback = (id) => { queue.delete(Number(id)); };
  if (window.scheduler) {
    window.scheduler.postTask = (what, given = {}) => new Promise((done, failed) => {
      const {delay = 0, signal} = given;
      if (signal && signal.aborted) { failed(signal.reason); return; }
      const id = add({due: now + span(delay), call: () => {
        try { done(what()); } catch (error) { failed(error); }
      }});
      if (signal) signal.addEventListener("abort",
        () => { queue.delete(id); failed(signal.reason); });
    });
  }

  // What comes by these is nobody's request: whether more is on its way cannot be seen.
  for (const name of ["Worker", "SharedWorker", "WebSocket", "EventSource", "RTCPeerConnection"]) {
    if (!window[name]) continue;
    window[name] = new Proxy(window[name], {
      construct: (...of) => { standing++; return Reflect.construct(...of); },
    });
  }

  // A busy browser tells of a request long after the page has made it.
  let asking = 0;
  const answered = () => { asking--; };
  if (window.fetch) {
    window.fetch = new Proxy(window.fetch, {
      apply: (...of) => {
        const answer = Reflect.apply(...of);
        asking++;
        answer.then(answered, answered);
        return answer;
      },
    });
  }
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply: (...of) => {
      asking++;
      of[1].addEventListener("loadend", answered, {once: true});
      try { return Reflect.apply(...of); } catch (error) { asking--; throw error; }
    },
  });

  window.alert = () => undefined;
  window.confirm = () => false;
  window.prompt = () => null;
  window.print = () => undefined;

  const pause = () => new Promise((done) => {
    channel.port1.onmessage = () => done();
    channel.port2.postMessage(0);
  });
  const advance = async (by) => {
    // A page that was held while it still loaded gets as much time again.
    horizon += by || (now < horizon ? 0 : __HORIZON__);
    const end = realNow() + 1500;
    for (let ran = 0; ran < 5000 && realNow() < end; ran++) {
      const next = first(horizon);
      if (next === null) break;
      run(next);
      await pause();
    }
    now = Math.max(now, horizon);
    if (!leapt) { leapt = true; await leap(); }
  };
  // Some pages show their content, or an offer, only after seconds. What was set once for later
  // happens now, and what it sets in motion; what repeats waits, as if it had been held up.
  const leap = async () => {
    const until = horizon + __LEAP__, once = (timer) => !timer.every;
    leaping = true;
    for (let ran = 0; ran < 400; ran++) {
      const next = first(until, (timer) => once(timer) && (!timer.frame || timer.leaping));
      if (next === null) break;
      run(next);
      await pause();
    }
    leaping = false;
    now = horizon = Math.max(now, until);
    for (const timer of queue.values()) {
      if (timer.due <= now) timer.due = now + (timer.every || 1);
    }
  };
  const frames = () => Promise.race([
    new Promise((done) => soon(() => soon(done))), new Promise((done) => later(done, 500)),
  ]);
  const standings = () => standing, asked = () => asking;
  Object.defineProperty(window, key, {value: {advance, frames, restyle, standings, asked}});
}
"""

# Gives the number of pictures and fonts still on their way, of frames, of connections and workers
# whose messages nobody else sees, and of requests that scripts wait for.
ADVANCE = r"""
async (by) => {
  const clock = window[Symbol.for("__KEY__")];
  if (clock) {
    await clock.advance(by);
    // Two frames: what layout asks for, pictures near the window and backgrounds, is asked for now.
    await clock.frames();
  }
  const coming = [...document.images]
    .filter((image) => !image.complete && image.loading !== "lazy").length +
    (document.fonts.status === "loaded" ? 0 : 1);
  const hidden = clock ? [clock.standings(), clock.asked()] : [0, 0];
  return [coming, window.length, ...hidden].join(" ");
}
""".replace("__KEY__", KEY)

# Whatever moves without timers is put to its end, or its start where it has no end.
STILL = r"""
() => {
  const clock = window[Symbol.for("__KEY__")];
  if (clock) clock.restyle();
  const still = (root) => {
    for (const each of root.querySelectorAll("video, audio")) each.pause();
    for (const each of root.querySelectorAll("svg")) {
      if (each.pauseAnimations) { each.pauseAnimations(); each.setCurrentTime(0); }
    }
    for (const each of root.querySelectorAll("marquee")) {
      const line = document.createElement("div");
      line.append(...each.childNodes);
      each.replaceWith(line);
    }
  };
  still(document);
  // Whether a field got the focus before the picture is up to the machine.
  if (document.activeElement && document.activeElement.blur) document.activeElement.blur();
  for (const animation of document.getAnimations()) {
    try { animation.finish(); } catch (error) { animation.cancel(); }
  }
}
""".replace("__KEY__", KEY)


def preload(base: int, horizon: int, leap: int) -> str:
    """The function to run before any script of a document.

    Args:
        base: what the page's clock shows at its start, in ms since 1970.
        horizon: ms of its own time at which the page is held.
        leap: ms after that in which only what happens once still happens.
    """
    return (
        _PRELOAD.replace("__STYLE__", "`" + _STYLE + "`")
        .replace("__KEY__", KEY)
        .replace("__BASE__", str(base))
        .replace("__HORIZON__", str(horizon))
        .replace("__LEAP__", str(leap))
    )
