"""Agents on loopback, as programs that make trouble for them want them."""
import os
import re
import socket
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ADAPS = os.path.abspath(os.environ.get("ADAPS", os.path.join(ROOT, "adaps")))
AGENT = os.path.join(os.path.dirname(ADAPS), "adaps-agent")
PORT = 5570


class Agent:
    """An agent that can be started again at the same address."""

    def __init__(self, number, folder, *options):
        self.name = f"dev{number}"
        self.host = f"127.0.0.{number + 2}"
        self.folder = folder
        self.options = options
        self.rounds = 0
        self.before = None
        self.process = None

    def start(self):
        ready, write = os.pipe()
        with open(os.path.join(self.folder, self.name + ".log"), "ab") as log:
            self.process = subprocess.Popen(
                [AGENT, "--listen", f"tcp://{self.host}:{PORT}", "--name", self.name, "--threads", "1", "--speed", "0.5",
                 "--cache", os.path.join(self.folder, self.name), "--ready-fd", str(write),
                 *self.options],
                pass_fds=[write], stderr=log)
        os.close(write)
        with os.fdopen(ready) as file:
            started = bool(file.readline())
        self.rounds = 0
        self.before = None
        return started

    def signal(self, number):
        self.process.send_signal(number)

    def size(self):
        """Bytes of memory and descriptors."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            kilobytes = int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1))
        return kilobytes << 10, len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def ports(self):
        """Where it listens."""
        address = socket.inet_aton(self.host)[::-1].hex().upper()
        with open("/proc/net/tcp", encoding="ascii") as file:
            lines = [line.split() for line in file]
        return [int(f[1].split(":")[1], 16) for f in lines if f[1].startswith(address) and f[3] == "0A"]


def run(seconds, *words):
    """Exit status and standard error; None: it took too long."""
    try:
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=seconds)
        return done.returncode, done.stderr.strip()
    except subprocess.TimeoutExpired:
        return None, "it took too long"
