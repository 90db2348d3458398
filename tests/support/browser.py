"""A real browser without a window: Chromium, driven over a pipe by its DevTools protocol.

It needs no driver, socket or library: each command is a JSON object that ends in a zero byte,
https://chromedevtools.github.io/devtools-protocol/.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-dev-shm-usage", "--hide-scrollbars"),
)
PATIENCE_S = 60.0
"""For any one answer: a machine that builds other things besides is slow to start a browser."""

MIDDLE = """
(async () => {
  let box, at, same = 0;
  while (same < 3) {
    const element = document.querySelector(%s);
    element.scrollIntoView({block: "center"});
    await new Promise(requestAnimationFrame);
    box = element.getBoundingClientRect();
    const now = JSON.stringify(box);
    same = now === at ? same + 1 : 0;
    at = now;
  }
  return [box.x + box.width / 2, box.y + box.height / 2];
})()
"""
"""Where an element is on the screen, scrolled into view, once it stays there for three frames."""

A4_INCHES = (8.27, 11.69)
_KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
    "+": 187,
    "-": 189,
    "0": 48,
}


def program() -> str | None:
    """The browser of this machine; ``None`` where there is none."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    """One browser process; ``tab`` opens a page in it."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, out_of: int) -> None:
        self._process, self._to, self._out_of = process, to, out_of
        self._rest = b""
        self._last = 0
        self.tabs: list[Tab] = []
        """Those that are open."""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command and its answer; RuntimeError where the browser refuses it."""
        self._last += 1
        request: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session is not None:
            request["sessionId"] = session
        os.write(self._to, json.dumps(request).encode() + b"\0")
        answer = self.wait(lambda message: message.get("id") == request["id"])
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error'].get('message')}")
        return dict(answer["result"])

    def wait(self, predicate: Any) -> dict[str, Any]:
        """The next message that ``predicate`` takes; events before it are kept."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            while b"\0" not in self._rest:
                remaining_s = deadline - time.monotonic()
                if remaining_s <= 0 or not select.select([self._out_of], [], [], remaining_s)[0]:
                    raise TimeoutError(f"the browser did not answer in {PATIENCE_S:g} s")
                more = os.read(self._out_of, 1 << 20)
                if not more:
                    raise RuntimeError(f"the browser ended: {self._process.wait(5)}")
                self._rest += more
            text, _, self._rest = self._rest.partition(b"\0")
            output = json.loads(text)
            if "method" in output:
                self.events.append(output)
            if predicate(output):
                return dict(output)

    def tab(self, width: int = 1280, height: int = 900, *, scheme: str = "light") -> Tab:
        """An empty page of that size in CSS pixels; below 500 it is a phone's."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, str(session), str(target))
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.call(f"{domain}.enable")
        tab.resize(width, height)
        tab.emulate(scheme)
        self.tabs.append(tab)
        return tab


class Tab:
    """One page as a person sees and uses it."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target

    def close(self) -> None:
        self._browser.tabs.remove(self)
        self._browser.call("Target.closeTarget", targetId=self._target)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def emulate(self, scheme: str = "light", media: str = "") -> None:
        """``light`` or ``dark``; ``print`` shows on the screen what else only paper does."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        events = self._browser.events
        events[:] = [event for event in events if event.get("sessionId") != self._session]
        self.call("Page.navigate", url=path.resolve().as_uri())
        if not self.happened("Page.loadEventFired"):
            self._browser.wait(
                lambda message: (
                    (message.get("method"), message.get("sessionId"))
                    == ("Page.loadEventFired", self._session)
                )
            )

    def happened(self, method: str) -> list[Mapping[str, Any]]:
        """What came of one kind of event since the page was opened."""
        kind = (method, self._session)
        events = self._browser.events
        return [
            event["params"] for event in events if (event["method"], event.get("sessionId")) == kind
        ]

    @property
    def asked_for(self) -> list[str]:
        """Every address that the page asked for, but for data in the page itself."""
        addresses = [
            str(event["request"]["url"]) for event in self.happened("Network.requestWillBeSent")
        ]
        return [url for url in addresses if not url.startswith(("data:", "blob:"))]

    @property
    def complaints(self) -> list[str]:
        """What the browser complained of: exceptions, refused scripts and styles."""
        thrown = [
            str(event["exceptionDetails"]) for event in self.happened("Runtime.exceptionThrown")
        ]
        logged = [str(event["entry"]["text"]) for event in self.happened("Log.entryAdded")]
        return [*thrown, *logged]

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def until(self, script: str, what: str = "") -> None:
        """Wait until an expression is true; ``what`` is said of it where it never is."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {what or script}")
            time.sleep(0.02)

    def press(self, key: str, *, shift: bool = False) -> None:
        """A key pressed and released."""
        keys: dict[str, Any] = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": _KEYS[key],
            "modifiers": 8 if shift else 0,
        }
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **keys, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **keys)

    def point(self, x: float, y: float, kind: str = "mouseMoved") -> None:
        """The pointer moved to a place of the screen; or a button ``mousePressed`` there."""
        button = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def touch(self, x: float, y: float) -> None:
        """A finger's tap."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """A click of the left button in the middle of the first such element."""
        # What comes near is laid out only then, and may move what is to be clicked.
        x, y = self.run(MIDDLE % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, *, full_page: bool = False) -> bytes:
        """What is seen, as PNG; ``full_page``: all of the page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full_page)
        return base64.b64decode(answer["data"])

    def printed(self) -> bytes:
        """The page as it prints, as PDF, on the paper that it asks for."""
        wide, high = A4_INCHES
        answer = self.call(
            "Page.printToPDF",
            preferCSSPageSize=True,
            printBackground=True,
            paperWidth=wide,
            paperHeight=high,
        )
        return base64.b64decode(answer["data"])


@contextmanager
def a_browser() -> Iterator[Browser]:
    """A browser with a profile of its own; both are gone afterwards."""
    path = program()
    assert path is not None, f"there is none of {', '.join(PROGRAMS)}"
    # The browser reads at 3 and writes at 4: pipes with other numbers, moved there by the shell.
    read, write = (
        (_high(descriptor) for descriptor in os.pipe()),
        (_high(descriptor) for descriptor in os.pipe()),
    )
    its_in, our_out = read
    our_in, its_out = write
    move = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                *("bash", "-c", move, "bash", str(its_in), str(its_out), path, *FLAGS),
                *(f"--user-data-dir={profile}", "about:blank"),
            ],
            pass_fds=(its_in, its_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(its_in)
        os.close(its_out)
        try:
            yield Browser(process, our_out, our_in)
        finally:
            os.close(our_out)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait(10)
            os.close(our_in)


def _high(number: int) -> int:
    """The same pipe under a number above those that the browser wants."""
    high = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return high
