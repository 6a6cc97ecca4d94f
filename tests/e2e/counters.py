"""After a random run of all that can happen to a request, the counters of /metrics equal the records of the clients,
and of the toy service that computes the tokens.

usage: counters.py API_SERVE; COUNTER_REQUESTS=N sends more than 500, COUNTER_SEED=N others
"""
import collections
import json
import os
import random
import re
import signal
import socket
import sys
import threading
import time

import toy
from toy import Server, ask, post, run, stream, test, until

EXE = sys.argv[1]
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
SAMPLE = re.compile(r'vllm:request_success_total\{model_name="([^"]*)",finished_reason="([^"]*)"\} (\d+)')


def read(server):
    """({(model, finished_reason): n}, {name: value summed over its labels})"""
    text = ask(server.port, "GET", "/metrics")[2]
    ends = collections.Counter({(model, reason): int(n) for model, reason, n in SAMPLE.findall(text)})
    sums = collections.Counter()
    for line in text.splitlines():
        if line[:1] != "#":
            sums[line.split("{")[0].split(" ")[0]] += float(line.rsplit(" ", 1)[1])
    return ends, sums


def body(model, prompt, **more):
    return dict({"model": model, "prompt": prompt, "temperature": 0}, **more)


def answered(server, rng, model):
    """A request that ends by an end token, a length or a stop string; whole or streamed; with several choices and prompts."""
    n, n_prompts, how = rng.choice([1, 1, 3]), rng.choice([1, 1, 2]), rng.randrange(4)
    request = body(model, [f"a{i} [n={5 if how == 0 else 900}]" for i in range(n_prompts)], n=n, max_tokens=rng.choice([8, 30]))
    if how == 1:
        request["stop"] = list("abcdefghijklmnopqrstuvwxyz")[:16]
    if how == 2:
        request.update(max_tokens=0, echo=True)
    if rng.random() < 0.5:
        reasons = [c["finish_reason"] for e in stream(server.port, COMPLETIONS, request)[1] if e != "[DONE]" for c in e["choices"] if c["finish_reason"]]
    else:
        reasons = [c["finish_reason"] for c in post(server.port, COMPLETIONS, request)[2]["choices"]]
    assert len(reasons) == n * n_prompts, reasons
    return collections.Counter((model, reason) for reason in reasons)


def left(server, rng, model):
    """The client leaves: before the first token, in the middle of a stream, before a whole answer, or while its body is read."""
    n, kind = rng.choice([1, 2]), rng.randrange(4)
    request = body(model, "[first=90000]" if kind == 0 else "[gap=30] [n=3000]", n=n, max_tokens=200, stream=kind != 2)
    if kind == 3:
        request["pad"] = "p" * 300000
    data = json.dumps(request).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
        if kind == 1:
            while b"data: " not in sock.recv(65536):
                pass
        else:
            time.sleep(rng.random() * 0.2)
    return "left", model, n


def refused(server, rng, model):
    """A request that is refused before any work: invalid, of an unknown model, too long, or refused by the service."""
    request, path, expected = rng.choice([
        ("{", COMPLETIONS, ("", "refused")), ({"model": "nobody", "prompt": "x"}, COMPLETIONS, ("", "refused")),
        (body(model, "x" * 6000), COMPLETIONS, (model, "refused")), (body(model, "x", temperature=9), COMPLETIONS, ("", "refused")),
        (body(model, "x", n=100, best_of=100), COMPLETIONS, (model, "refused")), (body(model, "[full]"), COMPLETIONS, (model, "refused")),
        (body(model, "[cold]"), COMPLETIONS, (model, "refused")), (body(model, "[huge]"), COMPLETIONS, (model, "refused")),
        (body(model, "[torn]"), COMPLETIONS, (model, "error")), (body(model, "[fail]"), COMPLETIONS, (model, "error")),
        (body(model, "[late]"), COMPLETIONS, (model, "timeout")), (body(model, "[kill]"), COMPLETIONS, (model, "abort")),
    ])
    status, _, page = ask(server.port, "POST", path, request)
    assert status >= 400, page
    return collections.Counter([expected])


def given_up(server, rng, model):
    """A request that is given up after some tokens."""
    word, reason = rng.choice([("fail", "error"), ("late", "timeout"), ("kill", "abort"), ("huge", "refused")])
    n = rng.choice([1, 2])
    request = body(model, f"[{word}={rng.randrange(1, 6)}] [n=900]", n=n, max_tokens=50)
    if rng.random() < 0.5:
        assert "error" in stream(server.port, COMPLETIONS, request)[1][-1]
    else:
        assert post(server.port, COMPLETIONS, request)[0] >= 400
    return collections.Counter({(model, reason): n})


def went_on(server, rng, model):
    """A request whose events are repeated."""
    request = body(model, "[dup] [n=20]", max_tokens=12)
    page = post(server.port, COMPLETIONS, request)[2]
    assert page["usage"]["completion_tokens"] == 12, page
    return collections.Counter([(model, "length")])


def no_request(server, rng, model):
    """A call that generates nothing does not count as a request."""
    what = rng.choice(["/tokenize", "/detokenize", "/v1/models", "/none"])
    ask(server.port, "POST" if "token" in what else "GET", what, json.dumps({"model": model, "prompt": "hi", "tokens": [97]}))
    return collections.Counter()


def play(server, seed, n, expected, lefts, lock):
    rng = random.Random(seed)
    for _ in range(n):
        result = rng.choice([answered, answered, left, refused, given_up, went_on, no_request])(server, rng, rng.choice(["toy", "org/plain"]))
        with lock:
            if isinstance(result, tuple):
                lefts.append(result)
            else:
                expected.update(result)


@test
def each_request_is_one_sample():
    n = int(os.environ.get("COUNTER_REQUESTS", 500))
    expected, lefts, lock = collections.Counter(), [], threading.Lock()
    with Server(EXE, requests=64) as server:
        seed = int(os.environ.get("COUNTER_SEED", 1))
        threads = [threading.Thread(target=play, args=(server, seed * 100 + i, n // 10, expected, lefts, lock)) for i in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.wait_idle()
        ends, sums = read(server)
        for model in ("toy", "org/plain"):
            # A client that leaves while its body is read has no choices yet and counts once; later, each choice counts.
            least = sum(1 for _, of, _ in lefts if of == model)
            most = sum(n_choices for _, of, n_choices in lefts if of == model)
            n_aborted = ends[(model, "abort")] - expected[(model, "abort")]
            unknown = ends[("", "abort")]
            assert least - unknown <= n_aborted <= most, (model, least, n_aborted, most, unknown)
            for reason in ("stop", "length", "timeout", "error", "refused"):
                assert ends[(model, reason)] == expected[(model, reason)], (model, reason, ends, expected)
        assert ends[("", "refused")] == expected[("", "refused")], (ends, expected)
        assert sum(ends.values()) == sums["shoal_requests_total"] == sums["vllm:request_success_total"]
        assert sums["vllm:prompt_tokens_total"] == sums["toy_prompt_tokens_total"] > 0
        assert sums["vllm:generation_tokens_total"] == sums["toy_tokens_total"] > 0
        assert sums["vllm:e2e_request_latency_seconds_count"] == sum(v for (_, reason), v in ends.items() if reason in ("stop", "length"))
        print(f"{sum(ends.values()):.0f} requests: {dict(sum((collections.Counter({r: v}) for (_, r), v in ends.items()), collections.Counter()))}")


@test
def a_prompt_counts_when_it_was_computed():
    """A prompt does not count on arrival: a request that is cancelled before its first token adds nothing."""
    with Server(EXE) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
            data = json.dumps(body("toy", "[first=90000] " + "x" * 400)).encode()
            sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
            server.wait_live()
        server.wait_idle()
        ends, sums = read(server)
        assert sums["vllm:prompt_tokens_total"] == sums["vllm:generation_tokens_total"] == 0 and ends[("toy", "abort")] == 1, (ends, sums)
        request = body("toy", "x" * 400 + " [n=900] [gap=50]", max_tokens=100, stream=True)
        watched = threading.Thread(target=stream, args=(server.port, COMPLETIONS, request))
        watched.start()  # tokens count as they arrive, not at the end
        until(lambda: read(server)[1]["vllm:generation_tokens_total"] > 2)
        assert read(server)[1]["vllm:prompt_tokens_total"] == 418 and sum(read(server)[0].values()) == 1
        watched.join()
        assert read(server)[1]["vllm:generation_tokens_total"] == 100


@test
def requests_without_a_place_count():
    """Requests that a full queue refuses are samples, too."""
    with Server(EXE, requests=2, drain_ms=500) as server:
        first = [threading.Thread(target=ask, args=(server.port, "POST", COMPLETIONS, body("toy", "[first=90000]", stream=True))) for _ in range(2)]
        for thread in first:
            thread.start()
        server.wait_live(2)
        assert post(server.port, COMPLETIONS, body("toy", "x"))[0] == 429
        assert post(server.port, COMPLETIONS, body("toy", "x", n=3))[0] == 429  # 400 if there were a seat to read it with
        assert read(server)[0] == {("", "refused"): 2, **{(m, r): 0 for m in ("toy", "org/plain") for r in ("stop", "length", "abort", "timeout", "error", "refused")}}
        watcher = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        watcher.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert watcher.recv(1000).startswith(b"HTTP/1.1 200")
        server.signal(signal.SIGTERM)
        for thread in first:
            thread.join()
        watcher.close()


if __name__ == "__main__":
    run()
