#!/usr/bin/env python3
"""Structured output, bounds of reasoning, calls of offered tools, logprobs and embeddings on an engine that is a process.

Each answer is the one of an engine that is a thread: alone, among others that make it preempt, and while the process is killed."""
import os
import signal
import sys
import tempfile
import threading

from serve_processes import hit, state_of
from serve_shared import Shoal, until
from thinking import CALLS, IDS, NO_CLOSE, TOOL, ask, make_model, preemptions

CHAT = {"messages": [{"role": "user", "content": "abc"}], "temperature": 1, "max_tokens": 200, "logprobs": True, "top_logprobs": 2}
PLAIN = {"prompt": "abc", "temperature": 1, "max_tokens": 300}
KILLS, ROUNDS_MAX = 3, 15


def requests():
    """(path, body) of what the engine must guide by itself, and of what comes back in other records."""
    call_bias = {**NO_CLOSE, str(IDS["<tool_call>"]): 2.5}
    for seed in range(3):
        yield "/v1/completions", {**PLAIN, "guided_regex": "([a-z]{1,9} ){100,120}", "seed": seed}
        yield "/v1/completions", {**PLAIN, "guided_json": {"type": "array", "minItems": 20, "items": TOOL["function"]["parameters"]},
                                  "seed": seed, "logprobs": 2}
        yield "/v1/chat/completions", {**CHAT, "thinking_budget": 40 * seed, "logit_bias": NO_CLOSE, "guided_regex": "[a-f]{80,90}",
                                       "seed": seed}
        yield "/v1/chat/completions", {**CHAT, "tools": [TOOL], "logit_bias": call_bias, "ignore_eos": True, "seed": seed}
        yield "/v1/chat/completions", {**CHAT, "tools": [TOOL], "tool_choice": "required", "seed": seed}
    yield "/v1/embeddings", {"input": ["abc " * 60, "def " * 90]}
    yield "/v1/completions", {"prompt": "abc " * 40, "max_tokens": 0, "prompt_logprobs": 2}
    yield "/v1/completions", {**PLAIN, "guided_regex": "a|(ab"}  # refused
    words = [f"{i * 7919 % 10 ** 8:08d}" for i in range(20000)]
    yield "/v1/completions", {**PLAIN, "guided_choice": words}  # the text of the grammar has almost 256 KiB


def answer(port, path, body):
    """The parts of an answer that may not depend on the run."""
    page = ask(port, path, body)
    for choice in page.get("choices", []):
        for call in (choice.get("message") or {}).get("tool_calls") or []:
            call.pop("id")
    return page.get("choices") or page.get("data") or page["error"]["message"]


def check_all(port, expected, what, meanwhile=None):
    """Asks all at once."""
    found = [None] * len(expected)

    def one(i, path, body):
        found[i] = answer(port, path, body)

    threads = [threading.Thread(target=one, args=(i, path, body)) for i, (path, body) in enumerate(requests())]
    for thread in threads:
        thread.start()
    if meanwhile is not None:
        meanwhile()
    for thread in threads:
        thread.join()
    for (path, body), now, then in zip(requests(), found, expected):
        assert now == then, (what, path, body, now, then)


def n_drawn(server):
    lines = server.get("/metrics")[2].splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("vllm:generation_tokens_total{"))


def check_kills(server, expected):
    """The process ends in the middle of the answers, and the next one takes them up."""
    n_all, n_hits = n_drawn(server), 0  # tokens of one round

    for i in range(ROUNDS_MAX):
        def kill(n=n_drawn(server), i=i):
            nonlocal n_hits
            until(lambda: n_drawn(server) - n > n_all * (i % KILLS) / (KILLS + 2), pause=0.005)
            assert hit(server, signal.SIGKILL)
            n_hits += n_drawn(server) - n < n_all  # else a busy machine noticed the moment too late

        restarts = state_of(server)["restarts"]
        check_all(server.port, expected, f"kill {i}", kill)
        until(lambda: state_of(server)["restarts"] > restarts)
        until(lambda: state_of(server)["state"] == "running" and server.status("tiny") == "loaded")
        if n_hits == KILLS:
            break
    print(f"{n_hits} kills in the middle of answers, of {i + 1}", flush=True)
    assert n_hits == KILLS, n_hits


def main():
    program, root = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(root, folder)
        template = os.path.join(folder, "template")
        with open(template, "w", encoding="utf-8") as f:
            f.write(CALLS)
        options = ["--default-chat-template", template]
        with Shoal(program, *options, models={"tiny": model}) as server:
            expected = [answer(server.port, path, body) for path, body in requests()]
        assert sum(str(one).count("tool_calls") for one in expected) >= 4, expected
        print("[ RUN      ] guided_by_processes", flush=True)
        options += ["--engines", "processes"]
        with Shoal(program, *options, models={"tiny": model}) as server:
            for (path, body), then in zip(requests(), expected):
                assert answer(server.port, path, body) == then, (path, body)
            check_kills(server, expected)
        with Shoal(program, *options, "--kv-bytes", "600KiB", "--policy", "db-turn", models={"tiny": model}) as server:
            for _ in range(10):  # until enough of them met
                check_all(server.port, expected, "little KV")
                if preemptions(server.port) > 5:
                    break
            n = preemptions(server.port)
            print(f"{n} preemptions", flush=True)
            assert n > 5, n
        print("[       OK ] guided_by_processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
