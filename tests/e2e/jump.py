#!/usr/bin/env python3
"""Jump-forward: text that a grammar leaves no choice in is appended without draws. The answers are those that draws give,
alone and among others that make them preempt, and take fewer passes."""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from serve_shared import Shoal

ITEM = {"type": "object", "properties": {"temperature_in_degrees": {"type": "integer", "minimum": -9, "maximum": 50},
                                         "description_of_the_weather": {"enum": ["thunderstorms and rain", "snow in the mountains"]}},
        "required": ["temperature_in_degrees", "description_of_the_weather"], "additionalProperties": False}
CASES = [
    {"guided_json": ITEM},
    {"guided_json": {"type": "array", "items": ITEM, "minItems": 2, "maxItems": 3}},
    {"guided_choice": ["the first of two answers", "the second of two answers"]},
    {"guided_regex": "[a-c]{2} is a very long text, \u00fcber den n\u00e4chsten [0-9] Tagen"},
]


def call(port, **fields):
    body = {"model": "tiny", "prompt": "Once upon a time", "max_tokens": 450, "temperature": 1, **fields}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        page = json.load(answer)
    return page["choices"][0]["text"], page["choices"][0]["finish_reason"], page["usage"]["completion_tokens"]


def counter(port, name):
    time.sleep(1.2)  # an idle engine reports once a second
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        return sum(map(float, re.findall(rf"^{name}(?:{{.*}})? (\S+)$", answer.read().decode(), re.M)))


def asked():
    return [dict(case, seed=seed) for seed in range(5) for case in CASES]


def answers_of(port):
    """The answers, and how many batches they took."""
    before = counter(port, "shoal_engine_steps_total")
    answers = [call(port, **one) for one in asked()]
    return answers, counter(port, "shoal_engine_steps_total") - before


def check_answers(program, model):
    with Shoal(program, models={"tiny": model}) as server:
        free, n_free = answers_of(server.port)
    with Shoal(program, "--jump-forward", "true", models={"tiny": model}) as server:
        jumped, n_jumped = answers_of(server.port)
        drawn = [call(server.port, logprobs=0, **one) for one in asked()]  # log probabilities need draws
    assert sum(reason == "stop" for _, reason, _ in jumped) > 12, jumped
    assert jumped == drawn, [pair for pair in zip(jumped, drawn) if pair[0] != pair[1]]
    n_tokens = sum(n for _, _, n in jumped)
    n_same = sum(a == b for a, b in zip(free, jumped))
    print(f"{os.path.basename(model)}: {n_jumped:.0f} passes for {n_tokens} tokens; without jumps {n_free:.0f} passes; "
          f"{n_same} of {len(free)} answers are spelled alike", flush=True)
    assert 0 < n_jumped < 0.8 * n_tokens, (n_jumped, n_tokens)


def check_duress(program, model):
    """Preempted answers stay the same, and the engine's log makes the same plans again."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        run_duress(program, model, log)
        done = subprocess.run([program, "replay", log], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


def run_duress(program, model, log):
    with Shoal(program, "--jump-forward", "true", "--kv-bytes", "600KiB", "--policy", "db-turn", "--log-engine", log,
               models={"tiny": model}) as server:
        fields = [dict(CASES[1], seed=i) for i in range(12)]
        alone = [call(server.port, **one) for one in fields]
        together, n = [None] * len(fields), 0

        def ask(i):
            together[i] = call(server.port, **fields[i])

        for _ in range(10):  # until enough of them met
            threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(fields))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert together == alone
            n = counter(server.port, "vllm:num_preemptions_total")
            if n > 5:
                break
        print(f"{n:.0f} preemptions", flush=True)
        assert n > 5, n


def main():
    program, root = sys.argv[1:3]
    print("[ RUN      ] jump_forward", flush=True)
    for name in ("cee", "tale"):
        check_answers(program, os.path.join(root, f"models/{name}.gguf"))
    check_duress(program, os.path.join(root, "models/tale.gguf"))
    print("[       OK ] jump_forward")
    return 0


if __name__ == "__main__":
    sys.exit(main())
