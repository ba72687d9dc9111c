#!/usr/bin/python3
"""Runs a program in a terminal of its own and does what the lines of the standard input say:

  await TEXT      until the screen has the text
  gone TEXT       until it has it no more
  send KEYS       \\x20 is a space
  size COLUMNS ROWS
  fits            no line is longer than the terminal, and the last one has something in it
  show            print the screen
  signal NUMBER
  run COMMAND     of the shell
  ends CODE       the program ends with it (128 + N: by signal N), and the terminal is as it was

  terminal.py COLUMNS ROWS COMMAND... <steps

A wait lasts a minute at most ($PATIENCE, in seconds). The terminal is as much of a VT100 as ncurses uses."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = int(os.environ.get("PATIENCE", 60))


class Screen:
    def __init__(self, columns, rows):
        self.text = ""
        self.resize(columns, rows)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def resize(self, columns, rows):
        self.columns, self.rows, self.x, self.y = columns, rows, 0, 0
        self.cells = [[" "] * columns for _ in range(rows)]

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, data):
        self.text += self.decoder.decode(data)
        while self.text:
            match = re.match(r"\x1b\[([?0-9;]*)([a-zA-Z@])|\x1b[()][A-Z0-9]|\x1b[=>78MDEH]|[^\x1b]", self.text)
            if not match:
                if len(self.text) > 20:
                    sys.exit("terminal: what is " + repr(self.text[:20]))
                return
            self.text = self.text[match.end():]
            if match[2]:
                self.control([int(n or 0) for n in match[1].replace("?", "").split(";")], match[2])
            elif match[0][0] != "\x1b":
                self.put(match[0])

    def put(self, c):
        if c == "\n":
            self.y = min(self.y + 1, self.rows - 1)
        elif c == "\r":
            self.x = 0
        elif c == "\b":
            self.x = max(self.x - 1, 0)
        elif c == "\t":
            self.x = min((self.x // 8 + 1) * 8, self.columns - 1)
        elif c >= " ":
            if self.x >= self.columns:
                self.x, self.y = 0, min(self.y + 1, self.rows - 1)
            self.cells[self.y][self.x] = c
            self.x += 1

    def control(self, numbers, what):
        first = numbers[0]
        here = self.cells[self.y]
        at = min(self.x, self.columns - 1)
        if what in "Hf":
            second = numbers[1] if len(numbers) > 1 else 1
            self.y, self.x = min(max(first, 1), self.rows) - 1, min(max(second, 1), self.columns) - 1
        elif what == "J":
            here[at:] = [" "] * (self.columns - at)
            for row in self.cells[self.y + 1:] if first == 0 else self.cells:
                row[:] = [" "] * self.columns
        elif what == "K":
            if first == 0:
                here[at:] = [" "] * (self.columns - at)
            else:
                here[:at + 1] = [" "] * (at + 1)
        elif what == "C":
            self.x = min(at + max(first, 1), self.columns - 1)
        elif what == "D":
            self.x = max(at - max(first, 1), 0)
        elif what == "A":
            self.y = max(self.y - max(first, 1), 0)
        elif what == "B":
            self.y = min(self.y + max(first, 1), self.rows - 1)


def fail(screen, text):
    print("terminal: " + text)
    print("\n".join("| " + line for line in screen.lines()))
    sys.exit(1)


def main():
    columns, rows, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    screen = Screen(columns, rows)
    fd, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(slave)[:4]
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for number in 0, 1, 2:
            os.dup2(slave, number)
        os.environ.update(TERM="vt100", LC_ALL="C.UTF-8")
        for name in "COLUMNS", "LINES":
            os.environ.pop(name, None)
        os.execvp(command[0], command)
    late = lambda: time.monotonic() + PATIENCE

    def read(wait):
        if select.select([fd], [], [], wait)[0]:
            screen.feed(os.read(fd, 65536))

    for line in sys.stdin:
        step, _, argument = line.rstrip("\n").partition(" ")
        if step in ("await", "gone"):
            until = late()
            while any(argument in text for text in screen.lines()) != (step == "await"):
                if time.monotonic() > until:
                    fail(screen, line)
                read(0.2)
        elif step == "send":
            os.write(fd, codecs.decode(argument, "unicode_escape").encode())
        elif step == "size":
            columns, rows = map(int, argument.split())
            screen.resize(columns, rows)
            fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        elif step == "fits":
            if max(map(len, screen.lines())) > columns or not screen.lines()[-1]:
                fail(screen, line)
        elif step == "show":
            print("\n".join(screen.lines()))
        elif step == "run":
            if os.system(argument) != 0:
                fail(screen, line)
        elif step == "signal":
            os.kill(pid, int(argument))
        elif step == "ends":
            until, done, status = late(), 0, 0
            while not done and time.monotonic() < until:
                read(0.05)
                done, status = os.waitpid(pid, os.WNOHANG)
            if not done:
                os.kill(pid, signal.SIGKILL)
                fail(screen, "it does not end")
            code = os.waitstatus_to_exitcode(status)
            if (code if code >= 0 else 128 - code) != int(argument):
                fail(screen, f"it ends with {code}")
            if termios.tcgetattr(slave)[:4] != before:
                fail(screen, "the terminal is not as it was")
            return
        else:
            sys.exit("terminal: no such step: " + line)
    os.kill(pid, signal.SIGKILL)
    sys.exit("terminal: the steps end before the program does")


main()
