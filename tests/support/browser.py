"""Chromium through chromedriver, with nothing but Python's library.

    with browser.Browser(folder) as chromium:
        chromium.size(360, 800)
        chromium.colours("dark")
        chromium.open("file:///tmp/page.html")
        print(chromium.run("return document.title"), chromium.messages())
"""
import base64
import json
import os
import re
import subprocess
import urllib.request

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage", "--hide-scrollbars"]


class Browser:
    def __init__(self, folder, chromium="chromium", driver="chromedriver"):
        """folder: for the profile, made here."""
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.session = None
        try:
            for line in self.process.stdout:
                port = re.search(r"started successfully on port (\d+)", line)
                if port:
                    break
            else:
                raise RuntimeError("chromedriver does not say its port")
            self.address = f"http://127.0.0.1:{port.group(1)}"
            options = {"args": ARGUMENTS + [f"--user-data-dir={os.path.abspath(folder)}"]}
            path = subprocess.run(["which", chromium], capture_output=True, text=True, check=True)
            options["binary"] = path.stdout.strip()
            wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                      "goog:loggingPrefs": {"browser": "ALL"}}
            answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = answer["sessionId"]
        except BaseException:
            self.close()
            raise

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {json.load(error)['value']['message']}") from None

    def ask(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def devtools(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height, scale=1):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=scale, mobile=width < 600)

    def colours(self, scheme):
        """"light" or "dark"."""
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def scripts(self, on):
        self.devtools("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, address):
        self.ask("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def key(self, name, text=""):
        for kind in ("keyDown", "keyUp"):
            self.devtools("Input.dispatchKeyEvent", type=kind, key=name, code=name, text=text)

    def messages(self):
        """What the console says, since the last time."""
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"})]

    def picture(self, path, whole=False):
        answer = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def close(self):
        if self.session:
            self.ask("DELETE", "")
            self.session = None
        self.process.terminate()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
