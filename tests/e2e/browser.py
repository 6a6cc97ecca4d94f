"""A browser for tests: Chromium without a window, through chromedriver."""
import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from serve_shared import free_port, until

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
SHOTS = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None


class Browser:
    """A session of chromedriver: https://www.w3.org/TR/webdriver2/ over HTTP."""

    def __init__(self, width=1300, height=900, dark=False):
        port = free_port()
        self.folder = tempfile.TemporaryDirectory()
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        until(self.is_up)
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self.folder.name}"]}
        always = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": options}
        self.base += "/session/" + self.call("/session", {"capabilities": {"alwaysMatch": always}})["sessionId"]
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def is_up(self):
        with contextlib.suppress(OSError):
            return self.call("/status", None)["ready"]
        return False

    def call(self, path, body, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from error

    def cdp(self, command, **params):
        return self.call("/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, url):
        self.call("/url", {"url": url})

    def run(self, script, *args):
        return self.call("/execute/sync", {"script": script, "args": list(args)})

    def text(self, css):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? null", css)

    def element(self, css):
        return self.call("/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        self.call(f"/element/{self.element(css)}/click", {})

    def type(self, css, text):
        self.call(f"/element/{self.element(css)}/value", {"text": text})

    def keys(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def shoot(self, name):
        if SHOTS is not None:
            os.makedirs(SHOTS, exist_ok=True)
            with open(os.path.join(SHOTS, name + ".png"), "wb") as file:
                file.write(base64.b64decode(self.call("/screenshot", None)))

    def is_content(self, *allowed):
        """The browser wrote nothing to its console, but for lines with an allowed part."""
        lines = [line["message"] for line in self.call("/se/log", {"type": "browser"})]
        lines = [line for line in lines if not any(part in line for part in allowed)]
        assert lines == [], lines

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.call("", None, "DELETE")
        self.driver.kill()
        self.driver.wait()
        time.sleep(0.2)
        with contextlib.suppress(OSError):
            self.folder.cleanup()
