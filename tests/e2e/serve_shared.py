"""Common parts of the tests of the real server: starting `shoal serve`, requests, waiting for a state, cmocka's lines.

A test is a function under @test that takes (shoal, models) and starts the servers that it needs; it fails by an assertion.
Usage of every serve_*.py: serve_NAME.py SHOAL MODELS_FOLDER; TEST_FILTER=part of a name runs only some.
"""
import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import toy

TESTS = []
SECONDS = float(os.environ.get("E2E_SECONDS", 120))  # of patience: a loaded machine is slow, but a hanging test must end


def test(function):
    TESTS.append(function)
    return function


def main():
    toy.TESTS[:] = TESTS
    toy.run(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what, seconds=SECONDS, pause=0.05):
    """The first true value of what(). It fails after this many seconds."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        assert time.monotonic() < end, f"still not so after {seconds} s"
        time.sleep(pause)


class Shoal:
    """A running `shoal serve`, or another verb that serves. Models: name=file; config: the text of a YAML file; args: more of the command line."""

    def __init__(self, shoal, *args, config=None, models=None, wait="loaded", env=None, limits=None, verb="serve"):
        self.shoal, self.port = shoal, free_port()
        self.folder = tempfile.TemporaryDirectory()
        self.log_path = os.path.join(self.folder.name, "log")
        words = [shoal, verb]
        if config is not None:
            self.config_path = os.path.join(self.folder.name, "shoal.yaml")
            self.write_config(config)
            words.append(self.config_path)
        for name, path in (models or {}).items():
            words += ["--model", f"{name}={path}"]
        if not any(a.startswith("--profile") for a in args):
            args += ("--profile", "20ms")
        words += ["--listen", f"127.0.0.1:{self.port}", *args]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            env={**os.environ, **(env or {})},
                                            preexec_fn=limits and (lambda: [resource.setrlimit(of, (n, n)) for of, n in limits.items()]))
        try:
            until(self.answers)
            if wait == "loaded":
                until(lambda: all(m["status"]["value"] == "loaded" for m in self.state()["data"]))
        except BaseException:
            self.kill()
            print(self.log())
            raise

    def write_config(self, text):
        with open(self.config_path, "w", encoding="utf-8") as f:
            f.write(text)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def answers(self):
        assert self.process.poll() is None, f"the server ended with {self.process.returncode}:\n{self.log()}"
        try:
            return self.get("/livez", timeout=5)[0] == 200
        except OSError:
            return False

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                code = self.stop()
                assert code == 0, f"the server ended with {code}:\n{self.log()}"
            else:
                self.kill()
                print("--- the server's log\n" + self.log()[-6000:])
        finally:
            self.kill()
            self.folder.cleanup()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.process.wait(SECONDS)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(SECONDS)

    def get(self, path, headers=None, timeout=SECONDS):
        """(status, headers, text)"""
        return toy.ask(self.port, "GET", path, None, headers, timeout)

    def post(self, path, body, headers=None, timeout=SECONDS):
        """(status, headers, the page's JSON)"""
        status, head, text = toy.ask(self.port, "POST", path, body, headers, timeout)
        return status, head, json.loads(text)

    def complete(self, model, prompt, n_tokens=16, **fields):
        """The page of a completion that must succeed. It is greedy and of full length unless the fields differ."""
        status, _, page = self.post("/v1/completions", body_of(model, prompt, n_tokens, **fields))
        assert status == 200, (status, page)
        return page

    def text(self, model, prompt, n_tokens=16, **fields):
        return self.complete(model, prompt, n_tokens, **fields)["choices"][0]["text"]

    def state(self):
        status, _, text = self.get("/models")
        assert status == 200, text
        return json.loads(text)

    def model(self, name):
        return next(m for m in self.state()["data"] if m["id"] == name)

    def status(self, name):
        return self.model(name)["status"]["value"]

    def is_clear(self):
        """No request and no KV block is in use."""
        return all(m["requests_running"] + m["requests_waiting"] == 0 and m["memory"]["kv_used_bytes"] == 0
                   for m in self.state()["data"])

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def verb(self, *words, timeout=SECONDS):
        """`shoal WORDS --server` against it: (exit code, stdout, stderr)."""
        done = subprocess.run([self.shoal, *words, "--server", f"127.0.0.1:{self.port}"], capture_output=True, text=True,
                              timeout=timeout, check=False)
        return done.returncode, done.stdout, done.stderr


def body_of(model, prompt, n_tokens=16, **fields):
    return {"model": model, "prompt": prompt, "max_tokens": n_tokens, "temperature": 0, "ignore_eos": True, **fields}


class Stream:
    """A streamed completion, read piece by piece; close() leaves in the middle."""

    def __init__(self, server, body, headers=None):
        data = json.dumps(dict(body, stream=True)).encode()
        head = "".join(f"{k}: {v}\r\n" for k, v in (headers or {}).items())
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
        self.socket.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{head}"
                            f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        self.got, self.is_over, self.ended = b"", False, None

    def read(self, seconds=SECONDS):
        """Waits for more bytes; false at the end."""
        self.socket.settimeout(seconds)
        piece = b"" if self.is_over else self.socket.recv(65536)
        self.got += piece
        if not piece:
            self.is_over, self.ended = True, self.ended or time.monotonic()
        return not self.is_over

    def begin(self):
        """Waits for the first token."""
        while b"data: " not in self.got:
            assert self.read(), self.got
        return self

    def finish(self, seconds=SECONDS):
        while self.read(seconds):
            pass
        self.socket.close()
        return self

    def close(self):
        self.socket.close()

    @property
    def status(self):
        """0: the connection was closed before it."""
        words = self.got.split(b" ", 2)
        return int(words[1]) if len(words) > 1 else 0

    @property
    def events(self):
        """The JSON of each event. The chunked framing is skipped (an event never splits a line)."""
        lines = self.got.partition(b"\r\n\r\n")[2].decode(errors="replace").splitlines()
        return [line[6:] if line == "data: [DONE]" else json.loads(line[6:]) for line in lines if line.startswith("data: ")]

    @property
    def text(self):
        return "".join(c["text"] for e in self.events if e != "[DONE]" and "choices" in e for c in e["choices"])

    @property
    def is_whole(self):
        return self.status == 200 and self.events[-1:] == ["[DONE]"]


class Watcher:
    """GET /models/sse: the state of all models, then every change. To be made before the changes."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
        self.socket.sendall(b"GET /models/sse HTTP/1.0\r\nHost: localhost\r\n\r\n")
        self.lines = self.socket.makefile("rb")
        self.changes = []
        self.until(None)

    def until(self, last):
        """All changes so far, as soon as (model, status) is among the new ones (None: the state at the beginning)."""
        for line in self.lines:
            if line.startswith(b": all models follow") and last is None:
                return self.changes
            if line.startswith(b"data: "):
                change = json.loads(line[6:])
                self.changes.append(change)
                if last == (change["model"], change["status"]["value"]):
                    return self.changes
        raise AssertionError(f"the stream ended without {last}: {self.changes}")


class Later(threading.Thread):
    """Runs f on a thread. result() waits, and raises the exception that f raised."""

    def __init__(self, f, *args, **kwargs):
        super().__init__(daemon=True)
        self.call, self.value, self.error, self.ended = (f, args, kwargs), None, None, None
        self.start()

    def run(self):
        f, args, kwargs = self.call
        try:
            self.value = f(*args, **kwargs)
        except BaseException as error:  # told by result()
            self.error = error
        self.ended = time.monotonic()

    def result(self, seconds=SECONDS):
        self.join(seconds)
        assert not self.is_alive(), f"no answer in {seconds} s"
        if self.error is not None:
            raise self.error
        return self.value


def make_certificate(folder, name, *more):
    """Writes NAME.pem and NAME.key into the folder; both texts."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}", "-days", "2",
                    *(more or ["-nodes"]), "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem"], check=True, capture_output=True)
    with open(f"{folder}/{name}.pem", encoding="ascii") as cert, open(f"{folder}/{name}.key", encoding="ascii") as key:
        return cert.read(), key.read()


def paths(models):
    return {"tale": f"{models}/tale.gguf", "cee": f"{models}/cee.gguf"}


@contextlib.contextmanager
def refused(shoal, *args, seconds=SECONDS):
    """The stderr of a `shoal serve` that must not start (exit code 2, one sentence)."""
    done = subprocess.run([shoal, "serve", "--listen", f"127.0.0.1:{free_port()}", *args], capture_output=True, text=True,
                          timeout=seconds, check=False)
    assert done.returncode == 2, (done.returncode, done.stderr)
    sentences = [line for line in done.stderr.splitlines() if line.startswith("shoal: ")]
    assert len(sentences) == 1, done.stderr
    yield sentences[0]
