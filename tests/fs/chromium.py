# SPDX-License-Identifier: MIT
"""A headless Chromium with one page, driven by the DevTools protocol over a pair of pipes."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

SECONDS = 120  # for the browser to start, and for anything to become true: slow machines need a part of it


def find():
    """The browser's program; None: there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self, url):
        self.folder = tempfile.mkdtemp()
        self.count, self.events, self.session, self.rest = 0, [], None, b""
        to_browser, self.out = os.pipe()
        self.input, from_browser = os.pipe()
        high = [os.dup2(fd, 100 + i, inheritable=False) for i, fd in enumerate((to_browser, from_browser))]

        def place_pipes():
            os.dup2(high[0], 3)  # which the browser reads
            os.dup2(high[1], 4)  # which it writes

        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--user-data-dir=" + self.folder, "--remote-debugging-pipe",
             "--window-size=1200,900", "about:blank"],
            pass_fds=(3, 4), preexec_fn=place_pipes, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        for fd in [to_browser, from_browser] + high:
            os.close(fd)
        os.set_blocking(self.input, False)
        self.session = self.call("Target.attachToTarget", targetId=self.wait_for_page(), flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.go(url)

    def wait_for_page(self):
        """The identifier of the first page: the browser answers before it has one."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            for target in self.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "page":
                    return target["targetId"]
            time.sleep(0.02)
        raise RuntimeError("the browser has no page")

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.out)
        os.close(self.input)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, until):
        """The next message; None after the moment `until`."""
        while b"\0" not in self.rest:
            try:
                part = os.read(self.input, 1 << 20)
                if not part:
                    raise RuntimeError("the browser has ended")
                self.rest += part
            except BlockingIOError:
                if time.monotonic() > until:
                    return None
                time.sleep(0.005)
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while True:
            answer = self.read(until)
            if answer is None:
                raise RuntimeError(method + ": no answer")
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(method + ": " + str(answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def go(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(expression + ": " + str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, expression):
        """Waits until an expression is true; False: it did not become true."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if self.value(expression):
                return True
            time.sleep(0.02)
        return False

    def key(self, key, text=""):
        code = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode=code.get(key, ord(key[0])))

    def type(self, text):
        for letter in text:
            self.key(letter, letter)

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1,
                  buttons=0 if kind == "mouseReleased" else 1)

    def box(self, selector):
        return self.value("(() => { const e = document.querySelector(%s); e.scrollIntoView(); const b = "
                          "e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
                          % json.dumps(selector))

    def click(self, selector):
        x, y, width, height = self.box(selector)
        self.mouse("mousePressed", x + width / 2, y + height / 2)
        self.mouse("mouseReleased", x + width / 2, y + height / 2)

    def choose(self, selector, value):
        self.value("(() => { const e = document.querySelector(%s); e.value = %s; e.dispatchEvent("
                   "new Event('change')); })()" % (json.dumps(selector), json.dumps(value)))
