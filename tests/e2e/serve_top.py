"""`shoal top` in a pseudo terminal of several sizes, which change, and without a terminal.

usage: serve_top.py SHOAL MODELS_FOLDER
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from serve_shared import Later, Shoal, main, paths, test, until

SIZES = [(80, 24), (200, 60), (20, 5)]


class Screen:
    """The part of a VT100 that the program uses."""

    def __init__(self, columns, rows):
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.columns, self.rows, self.x, self.y, self.rest = columns, rows, 0, 0, ""
        self.cells = [[" "] * columns for _ in range(rows)]

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def take(self, text):
        text, self.rest = self.rest + text, ""
        while text:
            if text[0] == "\x1b":
                done = re.match(r"\x1b(\[[?>]?([0-9;]*)([@-~])|[()][0-9A-B]|[=>78DEHMc])", text)
                if done is None:
                    self.rest = text
                    return
                if done.group(3):
                    self.control(done.group(3), [int(n or 0) for n in done.group(2).split(";")])
                text = text[done.end():]
                continue
            self.put(text[0])
            text = text[1:]

    def put(self, c):
        if c == "\r":
            self.x = 0
        elif c == "\n":
            self.y = min(self.y + 1, self.rows - 1)
        elif c == "\b":
            self.x = max(min(self.x, self.columns - 1) - 1, 0)
        elif c == "\t":
            self.x = min(self.x // 8 * 8 + 8, self.columns - 1)
        elif c >= " ":
            if self.x == self.columns:
                self.x, self.y = 0, min(self.y + 1, self.rows - 1)
            self.cells[self.y][self.x] = c
            self.x += 1

    def control(self, kind, numbers):
        n = numbers[0]
        if kind == "H":
            self.y = min(max(n, 1), self.rows) - 1
            self.x = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif kind in "ABCD":
            dx, dy = {"A": (0, -1), "B": (0, 1), "C": (1, 0), "D": (-1, 0)}[kind]
            self.x = min(max(self.x + dx * max(n, 1), 0), self.columns - 1)
            self.y = min(max(self.y + dy * max(n, 1), 0), self.rows - 1)
        elif kind in "JK":
            here = (self.y, self.x)
            for y in range(self.rows) if kind == "J" else [self.y]:
                for x in range(self.columns):
                    if n == 2 or (n == 0 and (y, x) >= here) or (n == 1 and (y, x) <= here):
                        self.cells[y][x] = " "
        else:
            assert kind in "mhlrt", kind


class Terminal:
    """`shoal top` with a terminal of its own."""

    def __init__(self, server, columns, rows, term="vt100"):
        self.screen, self.all = Screen(columns, rows), ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS")} | {"TERM": term}
            size_of(0, columns, rows)
            os.execve(server.shoal, [server.shoal, "top", "--server", f"127.0.0.1:{server.port}"], env)
        self.before = termios.tcgetattr(self.fd)

    def resize(self, columns, rows):
        self.read(0.2)
        self.screen.resize(columns, rows)
        size_of(self.fd, columns, rows)

    def read(self, seconds=0.0):
        end = time.monotonic() + seconds
        while select.select([self.fd], [], [], max(end - time.monotonic(), 0))[0]:
            try:
                text = os.read(self.fd, 65536).decode()
            except OSError:
                return
            self.all += text
            self.screen.take(text)

    def until(self, what):
        def look():
            self.read(0.05)
            return what(self.screen.lines())
        return until(look)

    def end(self):
        """Its exit code, after the terminal is seen to be as it was."""
        def is_over():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return pid and [status]
        status = until(is_over)[0]
        self.read()
        assert termios.tcgetattr(self.fd) == self.before
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def size_of(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def is_page(lines, columns, rows):
    """Whether it is the page of this size, with all sections that fit."""
    words = ["shoal top", "models"] + (["MODELS"] if rows > 3 else []) + (["ENGINES", "tale", "cee"] if rows > 20 else [])
    return len(lines) == rows and all(any(line.startswith(word) for line in lines) for word in words) and max(map(len, lines)) <= columns


@test
def top_sizes(shoal, models):
    """Each size shows its page, also after a change of the size; q ends it."""
    with Shoal(shoal, models=paths(models)) as server:
        for columns, rows in SIZES:
            terminal = Terminal(server, columns, rows)
            terminal.until(lambda lines, c=columns, r=rows: is_page(lines, c, r))
            for other in [size for size in SIZES if size != (columns, rows)] + [(1, 1), (81, 24)]:
                terminal.resize(*other)
                if other != (1, 1):
                    terminal.until(lambda lines, o=other: is_page(lines, *o))
            os.write(terminal.fd, b"xyz")
            os.write(terminal.fd, b"q")
            assert terminal.end() == 0


@test
def top_tells(shoal, models):
    """Running requests, rates, and events: a pause, a server that goes and comes back."""
    with Shoal(shoal, models=paths(models)) as server:
        terminal = Terminal(server, 120, 40)
        is_over = []

        def load():
            while not is_over:
                server.text("tale", "And he", 200)

        loads = [Later(load) for _ in range(2)]
        busy = terminal.until(lambda lines: [line for line in lines if re.match(r"models 2/2 loaded +engines \d/\d well .* [1-9][0-9.]* tok/s", line)])
        print(busy[0])
        is_over.append(True)
        for one in loads:
            one.result()
        server.verb("pause", "tale")
        terminal.until(lambda lines: any("model tale: paused" in line for line in lines))
        terminal.until(lambda lines: any(line.startswith("tale") and " paused " in line for line in lines))
        server.signal(signal.SIGSTOP)
        time.sleep(1.2)
        os.write(terminal.fd, b"q")  # while the server is silent
        begin = time.monotonic()
        assert terminal.end() == 0 and time.monotonic() - begin < 3
        server.signal(signal.SIGCONT)
        terminal = Terminal(server, 80, 24)
        terminal.until(lambda lines: is_page(lines, 80, 24))
        server.stop()
        terminal.until(lambda lines: "no answer from" in lines[0])
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.end() == 0


@test
def top_leaves_the_terminal(shoal, models):
    """The other screen is left, the cursor is back, and a signal ends it the same way."""
    with Shoal(shoal, models=paths(models)) as server:
        for number in (None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            terminal = Terminal(server, 80, 24, "xterm-256color")
            terminal.screen.take = lambda text: None  # more than a VT100
            until(lambda t=terminal: t.read(0.05) or "MODELS" in t.all)
            if number is None:
                os.write(terminal.fd, b"q")
            else:
                os.kill(terminal.pid, number)
            assert terminal.end() == 0, number
            for on, off in (("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h")):
                assert terminal.all.rfind(off) > terminal.all.rfind(on) >= 0, (number, on)
        terminal = Terminal(server, 80, 24, "no-such-terminal")
        assert terminal.end() == 1 and "no description of the terminal" in terminal.all, terminal.all


@test
def top_without_a_terminal(shoal, models):
    """--once prints one page; without it, and without a server, it refuses in one sentence."""
    with Shoal(shoal, models=paths(models)) as server:
        code, out, err = server.verb("top", "--once")
        assert code == 0 and out.startswith("shoal top  ") and "\nMODELS" in out and "\ntale" in out and "\x1b" not in out, (code, out, err)
        code, out, err = server.verb("top")
        assert code == 2 and out == "" and "--once" in err, (code, out, err)
    done = subprocess.run([shoal, "top", "--once", "--server", "127.0.0.1:1"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "no answer from" in done.stderr and done.stdout == "", done


main()
