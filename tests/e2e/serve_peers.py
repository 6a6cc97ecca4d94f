"""Model files from other nodes: resumed after a cut and after kill -9, checked, paced, and peers that are corrupt, gone or without the file.

usage: serve_peers.py SHOAL MODELS_FOLDER
"""
import contextlib
import hashlib
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

from links import Cable
from serve_shared import Shoal, free_port, main, paths, test, until

MIB = 1 << 20
FILE = bytes(hashlib.shake_256(b"a model of a peer").digest(5 * MIB))
SHA256 = hashlib.sha256(FILE).hexdigest()


def sha256_of(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Peer(Shoal):
    """A node with a door, a model whose SHA-256 is known, and more files in its model_cache: {SHA-256 as a name: bytes}."""

    def __init__(self, shoal, models, files=(), more=""):
        self.bulk, self.cache = free_port(), tempfile.TemporaryDirectory()
        for name, data in dict(files).items():
            with open(os.path.join(self.cache.name, name), "wb") as f:
                f.write(data)
        tale = paths(models)["tale"]
        self.bus = free_port()
        super().__init__(shoal, verb="node", config=f"bus_listen: 127.0.0.1:{self.bus}\nbulk_listen: 127.0.0.1:{self.bulk}\n"
                         f"model_cache: {self.cache.name}\n{more}models:\n  tale: {{ path: {tale}, sha256: {sha256_of(tale)}, preload: true }}\n")

    @property
    def place(self):
        return f"127.0.0.1:{self.bulk}"


def cut_once(at):
    """The first connection on which more than `at` bytes came from the door ends there."""
    left = [1]

    def change(before, data):
        if before + len(data) <= at or not left:
            return data
        left.clear()
        return None
    return change


def corrupt_at(at):
    """The byte at the end of the piece with byte `at` changes."""
    return lambda before, data: data[:-1] + bytes([data[-1] ^ 1]) if before <= at < before + len(data) else data


class Liar:
    """A door that answers a question for `n` bytes from `offset` on with answer(offset, n): bytes and the length of the file, or None: it ends."""

    def __init__(self, answer):
        self.listener, self.answer = socket.create_server(("127.0.0.1", 0)), answer
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def place(self):
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        while True:
            with contextlib.suppress(OSError, struct.error), self.listener.accept()[0] as end:
                end.sendall(end.recv(16, socket.MSG_WAITALL))
                while True:
                    head = struct.unpack("<IIQQqqiHH", end.recv(80, socket.MSG_WAITALL)[:48])
                    if (said := self.answer(head[5], head[4])) is None:
                        break
                    end.sendall(struct.pack("<IIQQqqiHH", 5, len(said[0]), head[2], 0, len(said[0]), said[1], 0, 0, 0) + said[0])


def words(shoal, folder, *peers, sha256=SHA256, more=()):
    return [shoal, "fetch", "peer://model.gguf", "--sha256", sha256, "--model-cache", folder, "--model-peers", " ".join(peers), *more]


def fetch(shoal, folder, *peers, **more):
    done = subprocess.run(words(shoal, folder, *peers, **more), capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


def check_good(done, folder):
    code, path, said = done
    assert code == 0 and path == os.path.join(folder, SHA256), done
    with open(path, "rb") as f:
        assert f.read() == FILE, said
    assert sorted(os.listdir(folder)) == [".lock", SHA256], os.listdir(folder)
    return said


@test
def a_node_gets_its_model_from_another(shoal, models):
    """The texts are the same, and the file leaves the peer alone once it is there."""
    tale = paths(models)["tale"]
    with Peer(shoal, models) as peer, tempfile.TemporaryDirectory() as folder:
        text = peer.text("tale", "And he", 20)
        config = f"model_cache: {folder}\nmodel_peers: ['{peer.place}']\nmodels:\n  tale: {{ path: peer://tale.gguf, sha256: {sha256_of(tale)}, preload: true }}\n"
        with Shoal(shoal, config=config) as server:
            assert server.text("tale", "And he", 20) == text
            assert sha256_of(os.path.join(folder, sha256_of(tale))) == sha256_of(tale)
        assert peer.stop() == 0
        with Shoal(shoal, config=config) as server:
            assert server.text("tale", "And he", 20) == text


@test
def a_cut_is_resumed(shoal, models):
    with Peer(shoal, models, {SHA256: FILE}) as peer, tempfile.TemporaryDirectory() as folder:
        cable = Cable(peer.bulk, cut_once(2 * MIB + 100000))
        said = check_good(fetch(shoal, folder, cable.place), folder)
        assert "2097152 bytes are there" in said, said
        assert cable.n_bytes < len(FILE) + 1.2 * MIB, cable.n_bytes  # one piece twice at most


@test
def a_fetch_that_is_killed_is_resumed(shoal, models):
    with Peer(shoal, models, {SHA256: FILE}) as peer, tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, SHA256 + ".part")
        begin = time.monotonic()
        with subprocess.Popen(words(shoal, folder, peer.place, more=("--model-rate", "2MiB")), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            until(lambda: os.path.exists(part) and os.stat(part).st_blocks > 0 and os.stat(part).st_size >= MIB, pause=0.01)
            process.send_signal(signal.SIGKILL)
        assert time.monotonic() - begin > 0.3  # the rate holds: a MiB needs half a second
        said = check_good(fetch(shoal, folder, peer.place), folder)
        assert int(re.search(r"begins at byte (\d+)", said).group(1)) >= MIB, said


@test
def corrupt_peers_are_refused(shoal, models):
    """On the cable, or in the peer's folder: nothing of it is left, and another peer is asked."""
    bad = FILE[:3 * MIB] + b"x" + FILE[3 * MIB + 1:]
    with Peer(shoal, models, {SHA256: bad}) as liar, Peer(shoal, models, {SHA256: FILE}) as peer:
        for place in (liar.place, Cable(peer.bulk, corrupt_at(1234567)).place):
            with tempfile.TemporaryDirectory() as folder:
                code, path, said = fetch(shoal, folder, place)
                assert code == 1 and not path and "another file" in said, (code, path, said)
                assert [name for name in os.listdir(folder) if name != ".lock"] == [], os.listdir(folder)
                check_good(fetch(shoal, folder, place, peer.place), folder)
        with tempfile.TemporaryDirectory() as folder:  # a part of the liar does not spoil the other one's bytes
            with open(os.path.join(folder, SHA256 + ".part"), "wb") as f:
                f.write(bad[:4 * MIB])
            check_good(fetch(shoal, folder, peer.place), folder)
        with tempfile.TemporaryDirectory() as folder:  # a part that is whole
            with open(os.path.join(folder, SHA256 + ".part"), "wb") as f:
                f.write(FILE)
            check_good(fetch(shoal, folder, peer.place), folder)
            os.rename(os.path.join(folder, SHA256), os.path.join(folder, SHA256 + ".part"))
            with open(os.path.join(folder, SHA256 + ".part"), "ab") as f:
                f.write(b"more")
            check_good(fetch(shoal, folder, peer.place), folder)


@test
def liars_do_not_end_a_fetch(shoal, models):
    """A length that no disk has, a byte at a time, and a file that would be longer: the next peer is asked, and no disk space is left taken."""
    answers = (lambda at, n: (FILE[at:at + n], 1 << 60), lambda at, n: (FILE[at:at + 1], len(FILE)),
               lambda at, n: (FILE[at:at + n], len(FILE) + 64 * MIB) if at < MIB else None)
    with Peer(shoal, models, {SHA256: FILE}) as peer:
        for answer in answers:
            with tempfile.TemporaryDirectory() as folder:
                check_good(fetch(shoal, folder, Liar(answer).place, peer.place), folder)
                assert os.stat(os.path.join(folder, SHA256)).st_blocks * 512 < len(FILE) + MIB


@test
def a_slow_node_stops_at_once(shoal, models):
    """A part that takes 16 s at its rate does not hold it up."""
    with Peer(shoal, models, {SHA256: FILE}, "model_rate: 64KiB\n") as peer, tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, SHA256 + ".part")
        with subprocess.Popen(words(shoal, folder, peer.place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            until(lambda: os.path.exists(part) and os.stat(part).st_size >= MIB, pause=0.01)
            begin = time.monotonic()
            assert peer.stop() == 0 and time.monotonic() - begin < 8, time.monotonic() - begin
            process.kill()


@test
def peers_without_the_file(shoal, models):
    """None there, none listening, a stranger's port, no room: one sentence each. A file that is not named by a hash is not given."""
    with Peer(shoal, models) as peer, tempfile.TemporaryDirectory() as folder:
        for place, part in ((peer.place, "does not have the file"), (f"127.0.0.1:{free_port()}", "refused"),
                            (f"127.0.0.1:{peer.bus}", "does not speak")):
            code, path, said = fetch(shoal, folder, place)
            assert code == 1 and not path and part in said and "model_peers" in said and f"peer {place}:" in said, (code, path, said)
        code, _, said = fetch(shoal, folder)
        assert code == 2 and "model_peers is empty" in said, said
        code, _, said = fetch(shoal, folder, "192.0.2.1:7")
        assert code != 0 and "loopback" in said, said
        code, _, said = fetch(shoal, folder, peer.place, sha256=sha256_of(paths(models)["tale"]), more=("--model-cache-bytes", "1MiB"))
        assert code == 1 and "model_cache" in said, said


@test
def a_node_serves_while_it_gives(shoal, models):
    """Ten fetches at once, and its answers go on."""
    with Peer(shoal, models, {SHA256: FILE}) as peer, tempfile.TemporaryDirectory() as folder:
        folders = [os.path.join(folder, str(i)) for i in range(10)]
        processes = [subprocess.Popen(words(shoal, f, peer.place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for f in folders]
        texts = {peer.text("tale", "And he", 20) for _ in range(10)}
        assert len(texts) == 1 and all(process.wait(60) == 0 for process in processes)
        assert all(sha256_of(os.path.join(f, SHA256)) == SHA256 for f in folders)


if __name__ == "__main__":
    main()
