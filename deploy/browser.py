"""Headless Chromium for tests of pages, spoken to over the pipe of its debugging protocol."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Finding(Exception):
    pass


def check(is_right, what):
    if not is_right:
        raise Finding(what)


class Browser:
    """Chromium, spoken to over the pipe of its debugging protocol: no port, no library."""

    def __init__(self, folder):
        self.folder = folder
        program = next((p for p in map(shutil.which, ["chromium", "chromium-browser", "google-chrome"]) if p), None)
        check(program, "chromium is not installed")
        # Its processes may still write there when the first of them has ended.
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self.output = os.pipe()
        self.input, from_child = os.pipe()

        def give_descriptors():
            # The protocol's descriptors are 3 and 4; the copies keep one from being closed by the other.
            reading, writing = os.dup(to_child), os.dup(from_child)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [
                program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--no-first-run", "--user-data-dir=" + self.profile.name, "about:blank",
            ],
            stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=give_descriptors)
        os.close(to_child)
        os.close(from_child)
        self.number, self.rest, self.complaints, self.requests = 0, b"", [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(domain + ".enable")

    session = None

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                check("error" not in answer, f"{method}: {answer.get('error')}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.rest:
            is_there, _, _ = select.select([self.input], [], [], 30)
            part = os.read(self.input, 1 << 20) if is_there else b""
            check(part, "chromium does not answer")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(parameters["args"]))
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        # That an answer has a status above 400 is what some of the steps want to see.
        if method == "Log.entryAdded" and parameters["entry"]["source"] != "network":
            self.complaints.append(json.dumps(parameters["entry"]))
        return message

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        check("exceptionDetails" not in answer, f"{expression}: {answer.get('exceptionDetails')}")
        return answer["result"].get("value")

    def wait(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not self.evaluate(condition):
            check(time.monotonic() < end, f"{condition} did not come true; the page says: {self.text('body')[:2000]}")
            time.sleep(0.02)

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def show(self, url, width, height, is_dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        scheme = "dark" if is_dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=url)
        self.wait(f"document.readyState === 'complete' && location.href === {json.dumps(url)}")
        self.settle()

    def settle(self):
        """Waits until the page has what it asked for; a page that asks for something says when that is."""

    def press(self, key, text=""):
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowRight": 39}.get(key, ord(key[0].upper()))
        text = "\r" if key == "Enter" else text
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self, name):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(base64.b64decode(data))

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()
