#!/usr/bin/python3
"""Reads metrics as the specifications of Prometheus' text format 0.0.4 and of OpenMetrics 1.0 say, without any code of
adaps, and complains about everything that these forbid.

  metrics.py fetch URL [plain|open|accept HEADER]   what is served there, checked; a line "NAME{LABELS} VALUE" for each number
  metrics.py head METHOD URL          the status and the headers
  metrics.py names FILE               the names of metrics in a Grafana dashboard
"""
import json
import re
import sys
import urllib.error
import urllib.request

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
TYPES = {"plain": {"counter", "gauge", "histogram", "summary", "untyped"},
         "open": {"counter", "gauge", "histogram", "summary", "info", "stateset", "unknown", "gaugehistogram"}}
ENDS = {"plain": {"counter": [""], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]},
        "open": {"counter": ["_total", "_created"], "gauge": [""], "info": ["_info"],
                 "histogram": ["_bucket", "_sum", "_count", "_created"]}}
ASKED = {"plain": "text/plain;version=0.0.4",
         "open": "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                 "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}
SENT = {"plain": "text/plain; version=0.0.4; charset=utf-8",
        "open": "application/openmetrics-text; version=1.0.0; charset=utf-8"}


def fail(text):
    sys.exit("metrics: " + text)


def labels_of(text):
    """The pairs of {a="b",c="d"}, of which only what is between the braces is given."""
    found = {}
    while text:
        match = re.match(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)', text)
        if not match:
            fail("no labels: " + text)
        if match[1] in found:
            fail("a label twice: " + text)
        found[match[1]] = re.sub(r'\\(.)', lambda m: "\n" if m[1] == "n" else m[1], match[2])
        text = text[match.end():]
    return found


def number_of(text):
    if not re.fullmatch(r"[+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|Inf)|NaN", text):
        fail("no number: " + text)
    return float(text)


def check_histogram(family, samples):
    buckets = [(number_of(labels["le"]), value) for name, labels, value in samples if name == family + "_bucket"]
    count = [value for name, _, value in samples if name == family + "_count"]
    total = [value for name, _, value in samples if name == family + "_sum"]
    if [b[0] for b in buckets] != sorted({b[0] for b in buckets}) or buckets[-1][0] != float("inf"):
        fail(family + ": bounds do not ascend to +Inf")
    if any(a[1] > b[1] for a, b in zip(buckets, buckets[1:])):
        fail(family + ": buckets are not cumulative")
    if count != [buckets[-1][1]] or len(total) != 1 or total[0] < 0:
        fail(family + ": count and sum do not fit the buckets")


def check_family(form, family, kind, samples):
    allowed = [family + end for end in ENDS[form].get(kind, [])]
    seen = set()
    for name, labels, value in samples:
        if name not in allowed:
            fail(f"{name} is no number of the {kind} {family}")
        key = (name, tuple(sorted(labels.items())))
        if key in seen:
            fail(f"{name} {labels} is there twice")
        seen.add(key)
        if kind == "counter" and not value >= 0:
            fail(f"{name} is {value}")
        if kind == "info" and value != 1:
            fail(f"{name} is {value}")
    if form == "plain" and kind == "counter" and not family.endswith("_total"):
        fail(family + ": a counter's name ends with _total")
    if form == "open" and family.endswith(("_total", "_info")):
        fail(family + ": this end is for numbers, not for families")
    if kind == "histogram" and samples:
        check_histogram(family, samples)


def parse(text, form):
    if not text.endswith("\n"):
        fail("the last line does not end")
    lines = text[:-1].split("\n")
    if form == "open" and lines.pop() != "# EOF":
        fail("the last line is not # EOF")
    families, current, all_samples = {}, None, []
    for line in lines:
        comment = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.*)", line)
        if comment:
            what, family, rest = comment.groups()
            if current != family:
                if family in families:
                    fail(family + " is in two places")
                families[family] = {"samples": []}
                current = family
            if what in families[family] or families[family]["samples"]:
                fail(f"{family}: {what} twice, or after its numbers")
            if what == "TYPE" and rest not in TYPES[form]:
                fail(f"{family}: no type {rest}")
            families[family][what] = rest
            continue
        sample = re.fullmatch(rf"({NAME})(?:\{{(.*)\}})? (\S+)", line)
        if not sample or not current:
            fail("no metric: " + line)
        entry = (sample[1], labels_of(sample[2] or ""), number_of(sample[3]))
        families[current]["samples"].append(entry)
        all_samples.append(entry)
    for family, found in families.items():
        if "TYPE" not in found or not found.get("HELP"):
            fail(family + " has no type or no help")
        check_family(form, family, found["TYPE"], found["samples"])
    return all_samples


def fetch(url, form="plain", header=None):
    request = urllib.request.Request(url, headers={"Accept": header or ASKED[form]})
    with urllib.request.urlopen(request, timeout=60) as response:
        if response.headers["Content-Type"] != SENT[form]:
            fail("Content-Type: " + response.headers["Content-Type"])
        text = response.read().decode("utf-8")
    for name, labels, value in parse(text, form):
        inside = ",".join(f'{key}="{labels[key]}"' for key in sorted(labels))
        print(name + ("{" + inside + "}" if inside else ""), format(value, ".15g"))


def head(method, url):
    request = urllib.request.Request(url, method=method, data=b"x" if method == "POST" else None)
    try:
        response = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        response = error
    print(response.status)
    for key, value in response.headers.items():
        print(f"{key}: {value}")
    print("bytes:", len(response.read()))


def names(path):
    def walk(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "expr" or (key == "query" and isinstance(value, str)):
                    yield value
                else:
                    yield from walk(value)
        elif isinstance(node, list):
            for value in node:
                yield from walk(value)
    with open(path, encoding="utf-8") as file:
        expressions = list(walk(json.load(file)))
    print("\n".join(sorted({name for e in expressions for name in re.findall(r"\b(?:adaps|process)_[a-z_]+", e)})))


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "fetch":
        if arguments[1:2] == ["accept"]:
            fetch(arguments[0], arguments[3], arguments[2])
        else:
            fetch(*arguments)
    elif command == "head":
        head(*arguments)
    else:
        names(*arguments)
