"""What the Python programs of this folder share: tables (TSV), programs, models, children, statistics."""
import csv
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(HERE)

# Exit statuses, as adaps has them; 4 also for what cannot be had here.
USAGE, INPUT, LACKING = 2, 3, 4


def die(status, message):
    print(f"{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr)
    sys.exit(status)


try:
    import numpy as np
except ImportError:
    die(LACKING, "numpy is missing (Debian: python3-numpy; ./bootstrap bench installs it)")


# --- tables ---


class TableError(Exception):
    """A file that is no table, or not the one that was expected."""


def read_table(path):
    """The titles of a table, and its lines as dictionaries of text."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not lines:
        raise TableError(f"{path}:1: the table is empty")
    for number, line in enumerate(lines, 1):
        if len(line) != len(lines[0]):
            raise TableError(f"{path}:{number}: {len(line)} columns, but {len(lines[0])} titles")
    return lines[0], [dict(zip(lines[0], line)) for line in lines[1:]]


def write_table(path, titles, rows):
    """Writes a table. A reader finds the old one or the new one, never a part."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        for line in [titles] + [[row[title] for title in titles] for row in rows]:
            file.write("\t".join(line) + "\n")
    os.replace(path + ".new", path)


def merge_rows(path, titles, rows, keys, added=()):
    """Puts rows into a table. They take the place of all that have the same `keys` (names of columns). Columns
    that were `added` since may be missing in the table; they are empty in its lines."""
    kept = []
    if os.path.exists(path) and os.path.getsize(path) > 0:
        old_titles, kept = read_table(path)
        missing = [title for title in added if title in titles and title not in old_titles]
        if kept and old_titles != [title for title in titles if title not in missing]:
            raise TableError(f"{path}: the table has other columns")
        kept = [dict(row, **{title: "" for title in missing}) for row in kept]
    replaced = {tuple(row[key] for key in keys) for row in rows}
    kept = [row for row in kept if tuple(row[key] for key in keys) not in replaced]
    write_table(path, titles, kept + rows)


# --- statistics ---


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def lower_median(values):
    """The median; of an even number of values the smaller one of the two in the middle."""
    return float(np.percentile(values, 50, method="lower"))


# --- programs and models ---


def program(variable, name):
    """The path of a program: what the environment variable says, or `name` in this folder or the checkout."""
    for path in (os.environ.get(variable), os.path.join(".", name), os.path.join(TOP, name)):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.realpath(path)
    die(USAGE, f"no program {name}: build it (make), or name it in the environment ({variable})")


class Model:
    """A network: an ONNX file, or one of models/zoo, which is made in the folder `work`."""

    def __init__(self, name, work):
        self.made = not name.endswith(".onnx")
        if not self.made:
            if not os.access(name, os.R_OK):
                die(INPUT, f"no model {name}")
            self.path = os.path.realpath(name)
            self.network = os.path.basename(name)[: -len(".onnx")]
            return
        self.path = os.path.join(work, name + ".onnx")
        self.network = name
        zoo = program("ZOO", "models/zoo")
        if not os.path.exists(self.path) and run([zoo, name, "-o", self.path], stdout=sys.stderr) != 0:
            die(USAGE, f"models/zoo has no '{name}'")

    def remove(self):
        """Removes the file, if it was made here. They are large."""
        if self.made and os.path.exists(self.path):
            os.remove(self.path)


# --- children ---

_child = None
_stopped = 0


def _stop(number, _frame):
    global _stopped
    _stopped = 128 + number
    if _child is None:
        sys.exit(_stopped)
    _child.terminate()


def handle_signals():
    """From now on a signal ends the child of run(), if there is one, and then this program."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)


def run(command, **options):
    """Runs a command and returns its exit status, 128 + n when signal n ended it."""
    global _child
    sys.stdout.flush()
    signals = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # until the child to end is known
    try:
        _child = subprocess.Popen(command, preexec_fn=_unblock, **options)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    code = _child.wait()
    _child = None
    if _stopped:
        sys.exit(_stopped)
    return code if code >= 0 else 128 - code


def _unblock():
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


# --- options ---


def join_values(arguments, options):
    """Makes `--option VALUE` one word, for values that look like options themselves."""
    joined, rest = [], iter(arguments)
    for argument in rest:
        if argument in options:
            value = next(rest, None)
            argument = argument if value is None else f"{argument}={value}"
        joined.append(argument)
    return joined


def number_in(first, last):
    """For argparse: an integer from first to last."""

    def parse(text):
        if not text.isascii() or not text.isdigit() or not first <= int(text) <= last:
            raise ValueError
        return int(text)

    parse.__name__ = f"number from {first} to {last}"
    return parse
