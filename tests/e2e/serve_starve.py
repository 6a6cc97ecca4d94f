"""No request starves on the real server: beside a flood that keeps a small KV pool full, every answer gets its rate of tokens.

Judged by progress: a window lasts for some thetas, and until each stream of the flood may have ended five times. So a slow machine
takes longer, and does not fail.
usage: serve_starve.py SHOAL MODELS_FOLDER
"""
import random
import threading
import time

from serve_shared import Later, Shoal, Stream, body_of, main, paths, test, until

N_STREAMS, N_WAITING, N_TOKENS, THETA_S = 16, 3, 16, 1
WINDOW_S, WINDOW_ANSWERS = 4 * THETA_S, 5 * N_STREAMS
CONFIG = f"""memory: 20MiB
planner: none
thresholds: [starve_ns_min={1000 * THETA_S}, starve_factor=0, starve_tokens={N_TOKENS}]
models:
"""


class Loop:
    """Streams in a closed loop: each sends its next request as soon as it has its answer."""

    def __init__(self, n, ask):
        self.n_answers, self.n_tokens, self.is_over = 0, [0] * n, threading.Event()
        self.streams = [Later(self.ask_on, i, ask, random.Random(i)) for i in range(n)]

    def ask_on(self, i, ask, rng):
        while not self.is_over.is_set():
            stream, n_seen = ask(i, rng), 0
            while stream.read():
                n_now = stream.got.count(b'"text"')
                self.n_tokens[i] += n_now - n_seen
                n_seen = n_now
            assert stream.is_whole, stream.got[-300:]
            stream.close()
            self.n_answers += 1

    def end(self):
        self.is_over.set()
        for stream in self.streams:
            stream.result()


@test
def starve_tokens_come_in_every_window(shoal, models):
    """Answers of 380 tokens, each of which nearly fills the pool alone, beside many of 200 to 480 of a model with smaller blocks."""
    config = CONFIG + "".join(f"  {name}: {{path: {path}, preload: true, pinned: true}}\n" for name, path in paths(models).items())
    for low, high in ((32767, -32768), (0, 0)):
        with Shoal(shoal, config=config) as server:
            flood = Loop(N_STREAMS, lambda i, rng: Stream(server, body_of("tale", f"And {rng.random()}", rng.randrange(200, 480), priority=high)))
            until(lambda: flood.n_answers >= N_STREAMS)
            waiting = Loop(N_WAITING, lambda i, rng: Stream(server, body_of("cee", f"int f{i} = {rng.random()};", 380, priority=low)))
            for _ in range(2):
                began, n_answers, n_before = time.monotonic(), flood.n_answers, list(waiting.n_tokens)
                until(lambda: time.monotonic() > began + WINDOW_S and flood.n_answers >= n_answers + WINDOW_ANSWERS)
                n_new = [n - before for n, before in zip(waiting.n_tokens, n_before)]
                print(f"priorities {low} and {high}: {n_new} tokens beside {flood.n_answers - n_answers} answers", flush=True)
                assert min(n_new) >= N_TOKENS, (low, high, n_new)
            assert sum(e["preempted"] for m in server.state()["data"] for e in m["engines"]) > 10
            flood.end()
            waiting.end()


if __name__ == "__main__":
    main()
