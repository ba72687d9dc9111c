"""What programs do within a test bed (bench/testbed) before they plan: times of operators and of links."""
import re
import sys

import benchlib


def must(command, **options):
    """Runs a command that has to succeed."""
    status = benchlib.run(command, **options)
    if status != 0:
        sys.exit(status)


def time_operators(adaps, devices, model, budget, output):
    """Times of operators do not depend on the rate, but on the minute: machines get quicker and slower by
    some percent. Measure them for each rate anew, at full speed. All devices are measured at the same time,
    as these share caches in inferences, too."""
    must([adaps, "profile", "--at-once", "-d", devices, "--model", model, "--budget", budget, "-o", output],
         stdout=sys.stderr)


def time_links(adaps, timed, output):
    """The links, and what messages take, at the rate that they have now. A queue lets small messages
    through too soon, so latencies are at least those at full speed, which the file `timed` has."""
    must([adaps, "profile", "-d", timed, "--links-only", "-o", output], stdout=sys.stderr)
    with open(timed, encoding="utf-8") as file:
        least = dict(latencies(file))
    with open(output, encoding="utf-8") as file:
        text = raise_latencies(file.read().splitlines(), least)
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")


def latencies(lines):
    """The latencies of links in a devices file: ((section, key), value) of each."""
    section = ""
    for line in lines:
        words = line.split()
        if line.startswith("["):
            section = line.strip()
        elif section.startswith("[link ") and len(words) > 2 and words[0].startswith("latency"):
            yield (section, words[0]), words[2]


def microseconds(text):
    amount, unit = re.fullmatch(r"([-+.0-9e]+)(us|ms|s)", text).groups()
    return float(amount) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def raise_latencies(lines, least):
    """The lines of a devices file, whose latencies become `least` where they are below."""
    section, raised = "", []
    for line in lines:
        if line.startswith("["):
            section = line.strip()
        for (_, key), value in latencies([section, line]):
            floor = least.get((section, key))
            if floor and microseconds(value) < microseconds(floor):
                line = line.replace(f"= {value}", f"= {floor}", 1)
        raised.append(line)
    return raised
