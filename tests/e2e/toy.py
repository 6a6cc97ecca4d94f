"""Common parts of the API's tests: the server over the toy house, its answers, and cmocka's lines.

A test is a function under @test; it fails by an assertion. Servers: Server(exe, key=value...) starts tests/api/api_serve;
with --port N on the command line the functions that need no steering run against a server that is there already.
"""
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback

TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Skip(Exception):
    """Raised by a test that can't run here, with a reason that tests/skips.txt must contain."""


def run(*args):
    """Runs all tests, printing the lines that tests/summary.py counts."""
    only = os.environ.get("TEST_FILTER", "")
    n_failed = 0
    for function in TESTS:
        if only not in function.__name__:
            continue
        print(f"[ RUN      ] {function.__name__}", flush=True)
        try:
            function(*args)
            print(f"[       OK ] {function.__name__}", flush=True)
        except Skip as why:
            print(f"[  REASON  ] {function.__name__}: {why}\n[  SKIPPED ] {function.__name__}", flush=True)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            print(f"[  FAILED  ] {function.__name__}", flush=True)
            n_failed += 1
    sys.exit(1 if n_failed else 0)


def token_at(hash_, i):
    """tests/api/toy_house.c computes the same."""
    word, place = divmod(i, 8)
    mixed = ((hash_ ^ (word * 0x9e3779b97f4a7c15 & (2**64 - 1))) * 0xff51afd7ed558ccd) & (2**64 - 1)
    mixed ^= mixed >> 32
    if place == 7:
        return 32
    if mixed % 5 == 0 and place < 4:
        return b"\xf0\x9f\x90\x9f"[place]
    if mixed % 5 == 1 and place < 2:
        return b"\xc3\xa9"[place]
    return ord("a") + (mixed >> (8 + 5 * place)) % 26


def hash_ids(ids):
    hash_ = 0xcbf29ce484222325
    for id_ in ids:
        hash_ = ((hash_ ^ id_) * 0x100000001b3) & (2**64 - 1)
    return hash_


def encode(text, bos=True):
    ids = [256] if bos else []
    specials = {"<s>": 256, "</s>": 257, "<|a|>": 258, "<|b|>": 259}
    i = 0
    raw = text.encode()
    while i < len(raw):
        for word, id_ in specials.items():
            if raw.startswith(word.encode(), i):
                ids.append(id_)
                i += len(word)
                break
        else:
            ids.append(raw[i])
            i += 1
    return ids


def answer(ids, n, seed=0):
    """The text that the toy answers greedily (or with a seed) to these ids."""
    hash_ = hash_ids(ids) ^ (seed & (2**64 - 1))
    return bytes(token_at(hash_, i) for i in range(n)).decode(errors="replace")


def chat_ids(messages, kwargs=None, start=True):
    text = "".join(f"<|a|>{m['role']}: {m['content']}<|b|>" for m in messages)
    return encode(text + (("{%s}" % kwargs) if kwargs else "") + ("<|a|>assistant: " if start else ""), bos=False)


class Server:
    """tests/api/api_serve with these options (key='value', or a list of values)."""

    def __init__(self, exe, preexec=None, **options):
        words = [exe]
        for key, values in options.items():
            for value in values if isinstance(values, list) else [values]:
                words += [key.replace("_", "-"), str(value)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=preexec)
        line = self.process.stdout.readline()
        assert line.startswith("port "), line
        self.port = int(line.split()[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        code = self.stop()
        if kind is None:
            assert code == 0, f"the server ended with {code}"

    def signal(self, number):
        os.kill(self.process.pid, number)

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.signal(signal.SIGTERM)
                self.process.wait(30)
        return self.process.returncode

    def metric(self, name):
        for line in ask(self.port, "GET", "/metrics")[2].splitlines():
            if line.startswith(name + " ") or line.startswith(name + "{"):
                return float(line.rsplit(" ", 1)[1])
        return None

    def wait_live(self, n=1, seconds=30):
        """The toy house has this many requests."""
        end = time.monotonic() + seconds
        while self.metric("toy_live_requests") < n:
            assert time.monotonic() < end, f"still fewer than {n} requests"
            time.sleep(0.005)

    def wait_idle(self, seconds=30):
        """No request lives, here or in the toy house."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.metric("toy_live_requests") == 0 and self.metric('shoal_api_requests{kind="held"}') == 0:
                return
            time.sleep(0.02)
        raise AssertionError(f"{self.metric('toy_live_requests')} requests still live")


def ask(port, method, path, body=None, headers=None, timeout=20, source=None):
    """(status, headers, text); JSON bodies from dicts. source: the client's address, of 127.0.0.0/8."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout, source_address=source and (source, 0))
    with contextlib.closing(connection):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body=body, headers=headers or {})
        response = connection.getresponse()
        return response.status, dict((k.lower(), v) for k, v in response.getheaders()), response.read().decode()


def post(port, path, body, **headers):
    status, head, text = ask(port, "POST", path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    return status, head, json.loads(text)


def error_of(port, path, body, **headers):
    status, _, page = post(port, path, body, **headers)
    assert set(page["error"]) == {"message", "type", "param", "code"}, page
    return status, page["error"]


def stream(port, path, body, headers=None, timeout=20):
    """(status, events): the data of each server-sent event, parsed as JSON except [DONE]."""
    status, head, text = ask(port, "POST", path, dict(body, stream=True), headers, timeout)
    if not head["content-type"].startswith("text/event-stream"):
        return status, [json.loads(text)]
    events = []
    for block in text.split("\n\n"):
        if block.startswith("data: "):
            events.append(block[6:] if block == "data: [DONE]" else json.loads(block[6:]))
        else:
            assert block == "" or block.startswith(":"), block
    return status, events


def until(what, seconds=30, pause=0.02):
    """The first true value of what()."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        assert time.monotonic() < end, f"still not so after {seconds} s"
        time.sleep(pause)


def raw(port, data, seconds=3.0, end=False):
    """Sends bytes. Returns (bytes, closed): all that comes back until the server closes or is quiet for this long.
    The first byte may take longer, since a loaded machine is slow."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
        got = b""
        try:
            for piece in data if isinstance(data, list) else [data]:
                sock.sendall(piece)
                if isinstance(data, list):
                    time.sleep(0.02)
            if end:
                sock.shutdown(socket.SHUT_WR)
            while True:
                piece = sock.recv(65536)
                if not piece:
                    return got, True
                got += piece
                sock.settimeout(seconds)
        except (TimeoutError, socket.timeout):
            return got, False
        except (ConnectionResetError, BrokenPipeError):
            return got, True
