"""Checks of the page that `adaps show --html` writes.

    page.py model FILE            a small network whose nodes have hostile names, written as ONNX
    page.py text PAGE             structure, self-containedness, the policy's hashes
    page.py numbers PAGE SHOW SIMULATE   every number of the page against what show --json and simulate --json printed
    page.py browser PAGE...       in Chromium: no message of the console, no overflow, pointer, keyboard, zoom
"""
import base64
import hashlib
import html.parser
import json
import os
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

HOSTILE = ["</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "a\"b'c&amp;<!--<script>",
           "\u202egnp.elif\u202c \u2066x", "long" * 3000, "\u65e5\u672c\u8a9e \u0639\u0631\u0628\u064a"]


def fail(text):
    sys.exit(f"page.py: {text}")


# --- a network, in the few parts of ONNX's format that it takes ---

def number(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(tag, value):
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(data)) + data


def value_info(name, dims):
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def tensor(name, dims):
    count = 1
    for d in dims:
        count *= d
    data = struct.pack(f"<{count}f", *[(i % 7 - 3) / 50 for i in range(count)])
    return b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) + field(9, data)


def model(path):
    graph, value = b"", "in"
    for i, name in enumerate(HOSTILE):
        out = f"{name} out {i}"
        pads = field(1, "pads") + b"".join(field(8, 1) for _ in range(4)) + field(20, 7)
        graph += field(1, field(1, value) + field(1, f"w{i}") + field(2, out) + field(3, name) + field(4, "Conv") + field(5, pads))
        graph += field(5, tensor(f"w{i}", [16, 16 if i else 3, 3, 3]))
        value = out
    graph += field(2, "g") + field(11, value_info("in", [1, 3, 96, 96])) + field(12, value_info(value, [1, 16, 96, 96]))
    with open(path, "wb") as file:
        file.write(field(1, 7) + field(7, graph) + field(8, field(2, 13)))


# --- the text ---

VOID = {"meta", "link", "br", "img"}
KNOWN = set("""html head meta link title style body main section h1 h2 h3 p dl div dt dd table thead tbody tr th td data small
 span bdi b i details summary svg defs pattern rect g path line text button footer code aside script""".split())


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.open, self.ids, self.numbers, self.elements = [], set(), {}, 0
        self.content = {}
        self.feed(self.text)
        self.close()
        if self.open:
            fail(f"{self.open} are never closed")

    def handle_starttag(self, tag, attributes):
        self.elements += 1
        known = dict(attributes)
        if tag not in KNOWN:
            fail(f"an element {tag} that the page does not have")
        if len(known) != len(attributes):
            fail(f"an attribute twice: {attributes}")
        for name, value in attributes:
            if name.startswith("on") or name in ("src", "srcset", "style", "action", "data", "poster"):
                fail(f"{tag} has {name}")
            if name == "href" and value != "data:,":
                fail(f"{tag} leads to {value}")
        if "id" in known:
            if known["id"] in self.ids:
                fail(f"the id {known['id']} twice")
            self.ids.add(known["id"])
        if tag == "data":
            self.numbers[known["data-key"]] = float(known["value"])
        if tag not in VOID:
            self.open.append(tag)
            self.content.setdefault((tag, known.get("id")), "")
            self.inside = (tag, known.get("id"))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()
            if "svg" not in self.open:
                fail(f"{tag} is not empty")

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            fail(f"</{tag}> within {self.open}")
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.content[self.inside] += data


def check_text(path):
    page = Page(path)
    if not page.text.startswith("<!DOCTYPE html>\n"):
        fail("no document type")
    for match in re.finditer(r"https?://[^\s\"'<]*", page.text):
        if match.group(0) != "http://www.w3.org/2000/svg":
            fail(f"the address {match.group(0)}")
    if re.search(r"@import|url\((?!#)", page.content[("style", None)]):
        fail("the style sheet loads something")
    policy = re.search(r'Security-Policy" content="([^"]*)"', page.text).group(1)
    if not policy.startswith("default-src 'none';") or "unsafe" in policy:
        fail(f"the policy {policy}")
    for kind, tag in (("style", "style"), ("script", "script")):
        digest = hashlib.sha256(page.content[(tag, None)].encode()).digest()
        if f"{kind}-src 'sha256-{base64.b64encode(digest).decode()}'" not in policy:
            fail(f"the policy has not the hash of the {kind}")
    # nothing turns the direction of what follows
    if re.search("[\u202a-\u202e\u2066-\u2069]", page.text):
        fail("characters that turn the direction of text")


# --- the numbers ---

def resolve(root, key):
    for part in key.split("."):
        root = root[int(part)] if isinstance(root, list) else root[part]
    return root


def check_numbers(path, show_path, simulate_path):
    page = Page(path)
    with open(show_path, encoding="utf-8") as file:
        show = json.load(file)
    with open(simulate_path, encoding="utf-8") as file:
        simulate = json.load(file)
    for key, value in page.numbers.items():
        wanted = resolve(simulate if key.startswith("stream_loads.") else show, key)
        if abs(value - wanted) > 1e-12 * abs(wanted):
            fail(f"{key} is {value} on the page and {wanted} in the JSON")
    several, names = len(show["turns"]) > 1, ["compute", "sends", "receives"]
    wanted = {"predicted_ms"} if several else {"predicted_ms", "bytes", "messages"}
    wanted |= {"single_ms"} if show["single_device"] else set()
    wanted |= {"energy_j"} if show["energy_j"] is not None else set()
    for d in range(len(show["devices"])):
        wanted |= {f"devices.{d}.{k}" for k in ["speed", "threads", "memory_bytes"]}
        wanted |= set() if several else {f"devices.{d}.{k}" for k in ["busy_ms", "share", "sent_bytes", "received_bytes"]}
    if show["frames_in_flight"] > 1:
        wanted |= {"throughput_per_s", "interval_ms", "stream_latency_ms"}
        wanted |= {f"stream_loads.{d}.{k}" for d in range(len(show["devices"])) for k in names}
    if wanted - set(page.numbers):
        fail(f"the page lacks {sorted(wanted - set(page.numbers))}")
    data = json.loads(page.content[("script", "data")])
    programs = [turn.pop("programs", None) for turn in show["turns"]]
    first = show.pop("programs")
    if data["plan"] != show:
        fail("the data's plan is not what show --json says")
    for steps, program in zip(data["turns"], programs if several else [first]):
        check_steps(data, steps, program)


def check_steps(data, steps, program):
    for mine, theirs in zip(steps, program, strict=True):
        for step, wanted in zip(mine, theirs["steps"], strict=True):
            if [step[1] / 1e6, step[2] / 1e6] != [wanted["start_ms"], wanted["end_ms"]]:
                fail(f"times of {step}: {wanted}")
            if wanted["kind"] == "compute":
                tasks = [step[i:i + 8] for i in range(3, len(step), 8)]
                if [task[1:7] for task in tasks] != [task["region"] for task in wanted["tasks"]]:
                    fail(f"regions of {step}: {wanted}")
                if sum(task[7] for task in tasks) != step[2] - step[1]:
                    fail(f"tasks take {sum(task[7] for task in tasks)} ns of {step}")
            elif (step[5], step[8:14], data["plan"]["devices"][step[4]]["name"], step[7]) != (
                    wanted["bytes"], wanted["region"], wanted["peer"], wanted["tag"]):
                fail(f"the message {step}: {wanted}")


# --- in a browser ---

def check_still(chromium, page, address):
    """Without scripts: the browser finds the elements that are written, so the markup is right; pictures are there."""
    chromium.scripts(False)
    chromium.open(address)
    root = chromium.devtools("DOM.getDocument", depth=1)["root"]["nodeId"]
    found = chromium.devtools("DOM.querySelectorAll", nodeId=root, selector="*")["nodeIds"]
    if len(found) != page.elements:
        fail(f"{page.elements} elements are written, the browser has {len(found)}")
    maps = chromium.devtools("DOM.querySelectorAll", nodeId=root, selector=".map .part, .timeline .bar")["nodeIds"]
    if not maps:
        fail("no picture without scripts")
    chromium.scripts(True)


def check_pointer(chromium):
    said = chromium.run("""
        const layer = document.querySelector('.layer'), tip = document.getElementById('tip');
        const box = layer.getBoundingClientRect();
        layer.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, pointerType: 'mouse',
                                                             clientX: box.left + 5, clientY: box.top + 5}));
        const shown = !tip.hidden && tip.textContent;
        layer.click();
        const panel = document.getElementById('panel');
        const marked = document.querySelectorAll('.timeline .sel').length;
        const first = !panel.hidden && panel.textContent;
        document.querySelector('.timeline .bar.sel').dispatchEvent(new MouseEvent('click', {bubbles: true}));
        return [shown, first, marked, panel.textContent, document.querySelectorAll('.layer.sel').length];""")
    if not said[0] or "MACs" not in said[0]:
        fail(f"nothing beside the pointer: {said}")
    if not said[1] or not said[2] or "step" not in said[3] or not said[4]:
        fail(f"a layer and its steps do not find each other: {said}")


def check_keyboard(chromium):
    chromium.run("document.querySelector('.layer[tabindex=\"0\"]').focus()")
    chromium.key("ArrowRight")
    at = chromium.run("return document.activeElement.id")
    if not at or at == "t0l0":
        fail(f"the arrow key leads to {at}")
    chromium.key("Enter")
    if chromium.run("return document.getElementById('panel').hidden || !document.activeElement.classList.contains('sel')"):
        fail("Enter does not choose a layer")
    chromium.key("Escape")
    if not chromium.run("return document.getElementById('panel').hidden"):
        fail("Escape does not close the panel")
    chromium.run("document.querySelector('.timeline .lane').focus()")
    chromium.key("ArrowRight")
    if not chromium.run("return document.querySelectorAll('.lane .at').length"):
        fail("the arrow key finds no step")
    if chromium.run("""
            const svg = document.querySelector('.timeline'), before = svg.getBoundingClientRect().width;
            document.querySelector('[aria-label="Zoom in"]').click();
            return svg.getBoundingClientRect().width < 1.9 * before;"""):
        fail("the timeline does not become larger")


def check_browser(paths):
    import browser
    with tempfile.TemporaryDirectory() as folder, browser.Browser(folder) as chromium:
        for path in paths:
            address = "file://" + os.path.abspath(path)
            chromium.size(1280, 900)
            check_still(chromium, Page(path), address)
            for width, scheme in ((1280, "light"), (360, "dark")):
                chromium.size(width, 900)
                chromium.colours(scheme)
                chromium.open(address)
                if not chromium.run("return document.documentElement.classList.contains('live')"):
                    fail(f"{path}: the script does not run: {chromium.messages()}")
                chromium.run("document.querySelectorAll('details').forEach(e => { e.open = true; })")
                wide = chromium.run("return document.documentElement.scrollWidth")
                if wide > width:
                    fail(f"{path}: {wide} pixels wide at {width}")
                back = chromium.run("return getComputedStyle(document.body).backgroundColor")
                if (int(re.search(r"\d+", back).group(0)) < 128) != (scheme == "dark"):
                    fail(f"{path}: {back} where {scheme} is wanted")
                check_pointer(chromium)
                check_keyboard(chromium)
                if chromium.run("return window.hacked"):
                    fail(f"{path}: a name was executed")
                messages = chromium.messages()
                if messages:
                    fail(f"{path}: {messages}")


def main():
    commands = {"model": model, "text": check_text, "numbers": check_numbers}
    if sys.argv[1] == "browser":
        check_browser(sys.argv[2:])
    else:
        commands[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
