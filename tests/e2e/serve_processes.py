"""Engines as processes: they are killed, stopped and crashed in every state under a running load, and every answer stays whole and the same.

usage: serve_processes.py SHOAL MODELS_FOLDER      (ENGINES_HITS=20: hits of each state, as in ./dev check engines)
"""
import contextlib
import json
import os
import signal
import threading
import time

from serve_shared import SECONDS, Shoal, Stream, body_of, main, paths, test, until

HITS = int(os.environ.get("ENGINES_HITS", 0))
CORES = sorted(os.sched_getaffinity(0))


def children(pid):
    """{pid: words of the command line} of all processes below this one."""
    found = {}
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{int(name)}/stat", encoding="ascii", errors="replace") as f:
                parent = int(f.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/cmdline", encoding="utf-8") as f:
                if parent == pid:
                    found[int(name)] = f.read().split("\0")
    return found


def processes(server, role):
    return [pid for pid, words in children(server.process.pid).items() if words[2:3] == [role]]


def hit(server, number, role="engine"):
    """Sends the signal to one such process; its pid, or None if there is none now."""
    for pid in processes(server, role):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            return pid
    return None


def n_fds(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def state_of(server, engine=0):
    return server.state()["engines"][engine]


@contextlib.contextmanager
def processes_server(shoal, models, *args, names=("tale", "cee"), devices=1, **more):
    chosen = {name: path for name, path in paths(models).items() if name in names}
    words = ["--devices", " ".join(f"cpu:{CORES[i % len(CORES)]}" for i in range(devices))]
    with Shoal(shoal, "--engines", "processes", *words, *args, models=chosen, **more) as server:
        yield server
        pids = children(server.process.pid)
        assert server.stop() == 0, server.log()
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 10)  # nothing is left behind


class Load:
    """Streams without end; each answer is compared with the one of an undisturbed run."""

    def __init__(self, server, bodies, n_threads):
        self.server, self.bodies, self.is_over = server, bodies, False
        self.expected = [server.post("/v1/completions", body)[2]["choices"][0]["text"] for body in bodies]
        self.n, self.pauses, self.wrong = 0, [], []
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(n_threads)]

    def run(self, i):
        while not self.is_over:
            at = i % len(self.bodies)
            i += len(self.threads)
            stream, last, longest = Stream(self.server, self.bodies[at]), time.monotonic(), 0.0
            while stream.read():
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
            stream.close()
            if not stream.is_whole or stream.text != self.expected[at]:
                self.wrong.append(stream.got[-600:])
            self.n += 1
            self.pauses.append(longest)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.is_over = True
        for thread in self.threads:
            thread.join(SECONDS)
            assert not thread.is_alive(), "an answer never ended"
        assert not self.wrong, self.wrong[:2]


def generations(n_tokens):
    return [body_of(name, prompt, n_tokens, temperature=0.8, seed=seed)
            for name, prompt in (("tale", "And he"), ("cee", "int main(")) for seed in range(2)]


def until_serving(server):
    until(lambda: state_of(server)["state"] == "running" and
          all(m["status"]["value"] == "loaded" for m in server.state()["data"]), pause=0.01)


def hit_under_load(server, load, number, n_hits, pause):
    """Hits the engine this often, each time after it has served again."""
    for i in range(n_hits):
        until_serving(server)
        n = load.n
        until(lambda: load.n > n, pause=0.005)
        time.sleep(pause * (i % 5) / 4)
        restarts = state_of(server)["restarts"]
        assert hit(server, number)
        until(lambda: state_of(server)["restarts"] > restarts, pause=0.01)


@test
def processes_killed_while_they_generate(shoal, models):
    """Decode and prefill: kill -9 from outside."""
    with processes_server(shoal, models) as server:
        for bodies, n_hits, what in ((generations(200), HITS or 3, "decode"), (prompts(), HITS or 2, "prefill")):
            with Load(server, bodies, 4) as load:
                hit_under_load(server, load, signal.SIGKILL, min(n_hits, 6), 0.1)
            print(f"{what}: {load.n} answers, {min(n_hits, 6)} kills, longest pause {max(load.pauses):.3f} s")
            if n_hits <= 6:
                assert max(load.pauses) < 2 + SECONDS / 60, load.pauses
        until_serving(server)
        fds = n_fds(server)
        with Load(server, generations(50), 2) as load:
            hit_under_load(server, load, signal.SIGKILL, 1, 0)
        until_serving(server)
        until(lambda: n_fds(server) <= fds, 10)
        assert "engine-0: the engine's process was ended by signal 9 (Killed)" in server.log()
        assert any(line.startswith("shoal_engine_restarts_total") and float(line.split()[-1]) > 0
                   for line in server.get("/metrics")[2].splitlines())


def prompts():
    """Long prompts and short answers; no two prompts begin alike, so that no prefix is found."""
    return [body_of("tale", f"{seed} " + "And the LORD said unto " * 30, 3, temperature=0.8, seed=seed) for seed in range(6)]


@test
def processes_stopped(shoal, models):
    """SIGSTOP: the heart is silent for 3 s, then the process is killed and another one goes on."""
    with processes_server(shoal, models) as server:
        with Load(server, generations(100), 3) as load:
            hit_under_load(server, load, signal.SIGSTOP, min(HITS or 1, 6), 0.1)
            until_serving(server)
        assert "made no sign for 3 s, and was killed" in server.log()
        print(f"SIGSTOP: {load.n} answers, longest pause {max(load.pauses + [0]):.3f} s")


@test
def processes_hit_while_idle_and_loading(shoal, models):
    """Idle, and loading: the engine or the loader ends, and the model comes all the same, or fails with a sentence and comes later."""
    with processes_server(shoal, models) as server:
        text = server.text("tale", "And he", 20)
        for _ in range(min(HITS or 1, 8)):
            restarts = state_of(server)["restarts"]
            assert hit(server, signal.SIGKILL)
            until(lambda: state_of(server)["restarts"] > restarts)
            assert server.text("tale", "And he", 20) == text
        for i in range(HITS or 3):
            until_serving(server)
            assert server.post("/models/unload", {"model": "tale"})[0] == 200
            load = threading.Thread(target=server.post, args=("/models/load", {"model": "tale"}))
            load.start()
            time.sleep(0.005 * (i % 4))
            hit(server, signal.SIGKILL, "engine" if i % 3 else "loader")
            load.join(SECONDS)
            until(lambda: server.post("/models/load", {"model": "tale"})[0] == 200, pause=0.5)
            assert server.text("tale", "And he", 20) == text


@test
def processes_set_a_bad_model_aside(shoal, models):
    """A model that is at work in three crashes within ten minutes is set aside, and the other one lives."""
    with processes_server(shoal, models) as server:
        text = server.text("cee", "int main(", 30)
        streams = []
        for _ in range(3):
            until_serving(server)
            restarts = state_of(server)["restarts"]
            streams.append(Stream(server, body_of("tale", "And he", 480)).begin())
            assert hit(server, signal.SIGSEGV)
            until(lambda: state_of(server)["restarts"] > restarts, pause=0.01)
        until(lambda: server.status("tale") == "failed")
        assert server.text("cee", "int main(", 30) == text
        status, _, page = server.post("/v1/completions", body_of("tale", "And he", 8))
        assert status == 503, (status, page)
        assert "model tale is set aside for 10 minutes" in json.dumps(server.model("tale")) + server.log()
        for stream in streams:
            stream.finish()
        assert server.get("/health")[0] == 200


@test
def processes_end_with_their_server(shoal, models):
    """kill -9 of the server: its engines and loaders are gone at once, and nothing is left in /dev/shm."""
    before = set(os.listdir("/dev/shm"))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(contextlib.closing(Closing(shoal, models))).server
        pids = children(server.process.pid)
        assert len(pids) == 1, pids
        stream = Stream(server, body_of("tale", "And he", 400)).begin()
        server.kill()
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 5, 0.01)
        stream.close()
    assert set(os.listdir("/dev/shm")) <= before


class Closing:
    def __init__(self, shoal, models):
        self.server = Shoal(shoal, "--engines", "processes", "--devices", f"cpu:{CORES[0]}", models={"tale": paths(models)["tale"]})

    def close(self):
        self.server.kill()
        self.server.folder.cleanup()


def weights_of(pid):
    """{inode} of the packed weights that the process maps, and whether it may write there."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as f:
        rows = [line.split() for line in f if "shoal-weights" in line]
    return {row[4] for row in rows}, any("w" in row[1] for row in rows)


@test
def processes_share_weights(shoal, models):
    """Two engines map one copy, which they can't write; one that starts anew maps the same."""
    with processes_server(shoal, models, devices=2) as server:
        until(lambda: all(e["status"]["value"] == "loaded" for m in server.state()["data"] for e in m["engines"]))
        first, second = processes(server, "engine")
        inodes, is_writable = weights_of(first)
        assert len(inodes) == 2 and not is_writable and weights_of(second) == (inodes, False), (inodes, weights_of(second))
        os.kill(first, signal.SIGKILL)
        until(lambda: first not in processes(server, "engine") and len(processes(server, "engine")) == 2)
        again = next(pid for pid in processes(server, "engine") if pid != second)
        until(lambda: weights_of(again) == (inodes, False))


if __name__ == "__main__":
    main()
