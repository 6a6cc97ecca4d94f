"""Model files from a store: resumed after kill -9, checked, bounded by a quota, and stores that misbehave in every way.

usage: serve_fetch.py SHOAL MODELS_FOLDER
"""
import fcntl
import hashlib
import http.server
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

from serve_shared import Shoal, main, paths, test, until

MIB = 1 << 20
FILE = bytes(hashlib.shake_256(b"a model").digest(5 * MIB))
SHA256 = hashlib.sha256(FILE).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Each path is a way to behave; /good is a store as it should be."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        store = self.server.store
        way = self.path.split("?")[0].strip("/").replace(".gguf", "")
        store.asked.append((way, self.headers.get("Range")))
        self.close_connection = True
        try:
            getattr(self, "do_" + way)(store)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def head(self, code, length, **more):
        self.send_response(code)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def begin(self, data):
        """Answers the head of the rest that is asked for; returns the rest."""
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        at = int(asked.group(1)) if asked else 0
        if asked and at >= len(data):
            self.head(416, 0)
            return b""
        more = {"Content_Range": f"bytes {at}-{len(data) - 1}/{len(data)}"} if asked else {}
        self.head(206 if asked else 200, len(data) - at, **more)
        return data[at:]

    def do_good(self, store):
        self.wfile.write(self.begin(store.data))

    do_a = do_b = do_c = do_good

    def do_paced(self, store):
        """Slow enough to be killed in between."""
        rest = self.begin(store.data)
        for at in range(0, len(rest), 1 << 16):
            self.wfile.write(rest[at:at + (1 << 16)])
            time.sleep(0.02)

    def do_other(self, _):
        self.wfile.write(self.begin(b"x" * 1000))

    def do_short(self, store):
        """Closes after 1000 bytes, whatever was announced."""
        self.wfile.write(self.begin(store.data)[:1000])

    def do_halting(self, store):
        """Closes after 2 MiB each time, so that three calls get it all."""
        self.wfile.write(self.begin(store.data)[:2 * MIB])

    def do_long(self, store):
        self.head(200, len(store.data))
        self.wfile.write(store.data + b"more" * 1000)

    def do_huge(self, _):
        self.head(200, 10**15)
        self.wfile.write(b"x" * MIB)

    def do_negative(self, _):
        self.head(200, -5)
        self.wfile.write(b"x" * MIB)

    def do_endless(self, _):
        """A body without a length, for ever."""
        self.head(200, None, Connection="close")
        while True:
            self.wfile.write(b"x" * MIB)

    def do_chunked(self, _):
        self.head(200, None, Transfer_Encoding="chunked")
        while True:
            self.wfile.write(b"100000\r\n" + b"x" * MIB + b"\r\n")

    def do_silent(self, store):
        self.head(200, len(store.data))
        self.wfile.flush()
        store.is_over.wait(60)

    def do_mute(self, store):
        store.is_over.wait(60)

    def do_drip(self, store):
        """A byte from time to time."""
        self.head(200, len(store.data))
        while not store.is_over.wait(0.2):
            self.wfile.write(b"x")

    def do_loop(self, store):
        self.head(302, 0, Location=f"{store.url}/loop?{len(store.asked)}")

    def do_away(self, _):
        self.head(302, 0, Location="file:///etc/passwd")

    def do_moved(self, store):
        self.head(302, 0, Location=f"{store.url}/good")

    def do_ignores(self, store):
        """Knows no ranges."""
        self.head(200, len(store.data))
        self.wfile.write(store.data)

    def do_lies(self, store):
        """Sends another range than was asked for, the first time."""
        if self.headers.get("Range"):
            self.head(206, 100, Content_Range=f"bytes 0-99/{len(store.data)}")
            self.wfile.write(b"y" * 100)
        else:
            self.wfile.write(self.begin(store.data))

    def do_absent(self, _):
        self.head(404, 0)

    def do_busy(self, store):
        """503 twice, then it works."""
        if sum(way == "busy" for way, _ in store.asked) <= 2:
            self.head(503, 0)
        else:
            self.do_good(store)

    def do_down(self, _):
        self.head(500, 0)

    def do_headers(self, _):
        self.send_response(200)
        for i in range(100000):
            self.send_header(f"X-{i}", "x")
            if i % 100 == 0:
                self.flush_headers()
        self.end_headers()

    def do_garbage(self, _):
        self.wfile.write(b"\x00\xff not HTTP at all \r\n\r\n" * 100)


class Store:
    def __init__(self, data=FILE):
        self.data, self.asked, self.is_over = data, [], threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.store, self.server.daemon_threads = self, True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.server.shutdown()
        self.server.server_close()


def start(shoal, store, way, folder, *more, sha256=SHA256):
    stall = "1s" if way in ("silent", "mute", "drip") else "20s"  # a good store may be slow on a busy machine
    return subprocess.Popen([shoal, "fetch", f"{store.url}/{way}", "--sha256", sha256, "--model-cache", folder, "--model-stall", stall, *more],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fetch(shoal, store, way, folder, *more, sha256=SHA256, seconds=100):
    process = start(shoal, store, way, folder, *more, sha256=sha256)
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def is_there(folder, data=FILE):
    with open(os.path.join(folder, hashlib.sha256(data).hexdigest()), "rb") as file:
        return file.read() == data


@test
def fetch_works(shoal, models):
    """A file is fetched once, found again, and goes on where a kill -9 left it."""
    with Store() as store, tempfile.TemporaryDirectory() as folder:
        code, out, err = fetch(shoal, store, "good", folder + "/new")
        assert code == 0 and out == f"{folder}/new/{SHA256}\n" and is_there(folder + "/new"), (code, out, err)
        assert fetch(shoal, store, "good", folder + "/new", sha256=SHA256.upper())[:2] == (0, out) and len(store.asked) == 1
        part = f"{folder}/{SHA256}.part"
        for _ in range(3):
            process = start(shoal, store, "paced", folder)
            before = os.path.getsize(part) if os.path.exists(part) else 0
            until(lambda b=before: os.path.exists(part) and os.path.getsize(part) > b + 300000, pause=0.005)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        n_there = os.path.getsize(part)
        assert 900000 < n_there < len(FILE), n_there
        assert fetch(shoal, store, "paced", folder)[0] == 0 and is_there(folder) and not os.path.exists(part)
        assert store.asked[-1] == ("paced", f"bytes={n_there}-"), store.asked


@test
def fetch_odd_parts(shoal, models):
    """A part of another file, one that is too long, and one that is whole are all dealt with; so are stores without ranges."""
    with Store() as store, tempfile.TemporaryDirectory() as folder:
        part = f"{folder}/{SHA256}.part"
        for way, content in (("good", b"another file"), ("good", FILE), ("good", FILE + b"more"), ("good", b"x" * len(FILE)), ("good", b""),
                             ("ignores", FILE[:100]), ("ignores", b"y" * 100), ("lies", FILE[:100]), ("moved", FILE[:5])):
            with open(part, "wb") as file:
                file.write(content)
            code, _, err = fetch(shoal, store, way, folder)
            assert code == 0 and is_there(folder) and not os.path.exists(part), (way, content[:20], code, err)
            os.unlink(f"{folder}/{SHA256}")


@test
def fetch_together(shoal, models):
    """Several processes that want one file fetch it once."""
    with Store() as store, tempfile.TemporaryDirectory() as folder:
        both = [start(shoal, store, "paced", folder) for _ in range(4)]
        for process in both:
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0 and out == f"{folder}/{SHA256}\n", (out, err)
        assert is_there(folder) and len(store.asked) == 1, store.asked


@test
def fetch_bad_stores(shoal, models):
    """Each way to misbehave ends in one sentence, in bounded time and space, and leaves no wrong file."""
    rows = [("other", "another file", 1), ("short", "", 6), ("long", None, 1), ("huge", "has no room", 1), ("negative", "", 6), ("endless", "how long the file is", 1),
            ("chunked", "how long the file is", 1), ("silent", "", 6), ("mute", "", 6), ("drip", "", 6), ("loop", "redirects", 7), ("away", "file", 1),
            ("absent", "answers 404", 1), ("down", "answers 500", 6), ("headers", "", 6), ("garbage", "", 6), ("halting", None, 4), ("busy", None, 3)]

    def one(way, part, n_asked):
        with Store() as store, tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            code, out, err = fetch(shoal, store, way, folder)
            took = time.monotonic() - begin
            lines = [line for line in err.splitlines() if line.startswith("shoal: ")]
            if part is None:
                assert code == 0 and is_there(folder), (way, err)
            else:
                assert code == 1 and len(lines) == 1 and part in lines[0] and out == "", (way, code, err)
                assert not os.path.exists(f"{folder}/{SHA256}"), way
            assert took < 60 and 1 <= len(store.asked) <= n_asked, (way, took, len(store.asked))
            used = sum(os.stat(os.path.join(folder, name)).st_blocks * 512 for name in os.listdir(folder))
            assert used <= len(FILE) + 2 * MIB, (way, used)

    failures = []

    def guarded(row):
        try:
            one(*row)
        except BaseException as fault:  # each is told
            failures.append((row[0], repr(fault)))

    threads = [threading.Thread(target=guarded, args=(row,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, "\n".join(map(str, failures))
    with tempfile.TemporaryDirectory() as folder, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nothing listens
        done = subprocess.run([shoal, "fetch", f"http://127.0.0.1:{closed.getsockname()[1]}/x", "--sha256", SHA256, "--model-cache", folder],
                              capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 1 and "could not be fetched" in done.stderr, done.stderr


@test
def fetch_quota(shoal, models):
    """The files that were used longest ago leave; one that is in use, or a larger one than the quota, does not."""
    files = {name: os.urandom(2 * MIB) for name in "abc"}
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    with Store() as store, tempfile.TemporaryDirectory() as folder:
        def get(name, quota="5MiB"):
            store.data = files[name]
            return fetch(shoal, store, name, folder, "--model-cache-bytes", quota, sha256=hashes[name])

        def names():
            return {name for name in "abc" if os.path.exists(f"{folder}/{hashes[name]}")}

        with open(f"{folder}/notes.txt", "w", encoding="utf-8") as file:
            file.write("not a model")
        for name in "ab":
            assert get(name)[0] == 0
            time.sleep(0.05)
        assert get("a")[0] == 0 and names() == {"a", "b"}  # a was used last
        assert get("c")[0] == 0 and names() == {"a", "c"}
        with open(f"{folder}/{hashes['a']}", "rb") as held:
            fcntl.flock(held, fcntl.LOCK_SH)
            assert get("b")[0] == 0 and names() == {"a", "b"}
        code, _, err = get("c", quota="1MiB")
        assert code == 1 and "quota" in err and names() <= {"a", "b"}, err
        assert os.path.exists(f"{folder}/notes.txt")


@test
def fetch_rate(shoal, models):
    """A bound on the rate is kept."""
    with Store() as store, tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        assert fetch(shoal, store, "good", folder, "--model-rate", "2MiB")[0] == 0
        assert time.monotonic() - begin > 1.5, time.monotonic() - begin


@test
def fetch_serves(shoal, models):
    """A server fetches its model at the start, by its hash or a manifest, and keeps it from eviction; a wrong hash is refused."""
    with open(paths(models)["tale"], "rb") as file:
        data = file.read()
    sha256 = hashlib.sha256(data).hexdigest()
    with Store(data) as store, tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w", suffix=".sums") as manifest:
        manifest.write(f"{'0' * 64}  other.gguf\n{sha256}  good.gguf\n")
        manifest.flush()
        model = f"models:\n  tale:\n    path: {store.url}/good.gguf\n"
        with Shoal(shoal, models=paths(models)) as plain:
            text = plain.text("tale", "And he", 16)
        config = f"model_cache: {folder}\nmodel_cache_bytes: {len(data) + MIB}\nmodel_manifest: {manifest.name}\n{model}    preload: true\n"
        with Shoal(shoal, config=config) as server:
            assert server.text("tale", "And he", 16) == text and server.model("tale")["path"].startswith("http://")
            store.data = FILE
            code, _, err = fetch(shoal, store, "good", folder, "--model-cache-bytes", str(len(FILE) + MIB))
            assert code == 1 and "in use" in err, err  # the server's file stays
        store.data = data
        n_asked = len(store.asked)
        with Shoal(shoal, config=config) as server:
            assert server.text("tale", "And he", 16) == text and len(store.asked) == n_asked
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        rows = [(f"{model}", "sha256 is needed"), (f"{model}    sha256: {sha256}\n", "model_cache is missing"),
                (f"model_cache: {folder}\n{model}    sha256: abc\n", "64 hexadecimal digits"),
                (f"model_cache: {folder}\n{model.replace('http://', 'http://me:word@')}    sha256: {sha256}\n", "name or password"),
                (f"models:\n  tale:\n    path: {paths(models)['tale']}\n    sha256: {'0' * 64}\n", "has the SHA-256")]
        for text, part in rows:
            config.seek(0)
            config.truncate()
            config.write(text)
            config.flush()
            err = subprocess.run([shoal, "serve", config.name, "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=60, check=False)
            assert err.returncode == 2 and part in err.stderr and err.stderr.count("shoal: ") == 1, (text, err)
        config.seek(0)
        config.truncate()
        config.write(f"model_cache: {folder}\n{model}    sha256: {sha256}\n")
        config.flush()
        done = subprocess.run([shoal, "config", "check", config.name], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 and "is fetched at the start" in done.stdout, done


@test
def fetch_stops(shoal, models):
    """SIGTERM does not wait for a fetch: from a slow store, and from one that never answers. The next start goes on with the part."""
    data = FILE * 8
    for way in ("paced", "mute"):
        with Store(data) as store, tempfile.TemporaryDirectory() as folder:
            config = f"model_cache: {folder}\nmodel_stall: 60s\nmodels:\n  tale: {{path: {paths(models)['tale']}}}\n"
            server = Shoal(shoal, config=config, wait=None)
            try:
                server.write_config(config + f"  late:\n    path: {store.url}/{way}\n    sha256: {hashlib.sha256(data).hexdigest()}\n")
                server.signal(signal.SIGHUP)
                until(lambda: store.asked)
                if way == "paced":
                    until(lambda: any(os.path.getsize(os.path.join(folder, name)) > MIB for name in os.listdir(folder) if name.endswith(".part")))
                begin = time.monotonic()
                server.signal(signal.SIGTERM)
                assert server.process.wait(60) == 0
                assert time.monotonic() - begin < 8, (way, time.monotonic() - begin)
            finally:
                server.kill()
            parts = [name for name in os.listdir(folder) if name.endswith(".part")]
            assert len(parts) == (way == "paced"), parts


main()
