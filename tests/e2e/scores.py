#!/usr/bin/env python3
"""Log probabilities of prompts on the real server: those of an answer, which its tokens get again as a
prompt. They stay the same in chunks of any size, beside other requests, behind a cached prefix and
after preemptions."""
import json
import os
import re
import sys
import threading
import urllib.request

from serve_shared import Shoal


def call(port, **fields):
    body = {"model": "tiny", "temperature": 1, "seed": 5, **fields}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def ids_of(port, text):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/tokenize",
                                     json.dumps({"model": "tiny", "prompt": text}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["tokens"]


def at_once(jobs):
    results = [None] * len(jobs)

    def run(i):
        results[i] = jobs[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def scores_of(port, ids, n_tokens=1, **fields):
    """[(the token's log probability, {id: log probability})], from the second on."""
    page = call(port, prompt=ids, max_tokens=n_tokens, prompt_logprobs=5, **fields)
    rows = page["choices"][0]["prompt_logprobs"]
    assert len(rows) == len(ids) and rows[0] is None
    assert page["usage"]["prompt_tokens_details"]["cached_tokens"] == 0, page["usage"]
    for token, row in zip(ids[1:], rows[1:]):
        best = sorted((one["logprob"] for one in row.values()), reverse=True)
        assert len(row) in (5, 6) and str(token) in row and best[0] <= 0
        assert sorted(one["rank"] for one in row.values() if one["rank"]) == [1, 2, 3, 4, 5]
    return [(row[str(token)]["logprob"], {key: one["logprob"] for key, one in row.items()})
            for token, row in zip(ids[1:], rows[1:])]


def check_answers(port, seed):
    """The tokens of an answer get the log probabilities with which they were drawn."""
    prompt = "Once upon a time there was a little"
    page = call(port, prompt=prompt, max_tokens=60, logprobs=3, ignore_eos=True, seed=seed)
    choice = page["choices"][0]
    again = call(port, prompt=prompt + choice["text"], max_tokens=0, logprobs=3, echo=True)
    n_prompt = page["usage"]["prompt_tokens"]
    echoed = again["choices"][0]["logprobs"]
    if echoed["tokens"][n_prompt:] != choice["logprobs"]["tokens"]:
        return 0  # the text has other tokens
    assert echoed["token_logprobs"][n_prompt:] == choice["logprobs"]["token_logprobs"]
    assert echoed["top_logprobs"][n_prompt:] == choice["logprobs"]["top_logprobs"]
    assert again["choices"][0]["text"] == prompt + choice["text"]
    return 1


def check_some_answers(port):
    assert sum(check_answers(port, seed) for seed in range(8)) > 0, "no answer had the same tokens as a prompt"


def prompts_of(port):
    text = "The fox and the crow lived in a dark forest. One day they met a lion near the river. " * 6
    return [ids_of(port, text[i:])[:90 + 10 * i] for i in range(8)]


def check_same(port, known):
    prompts = prompts_of(port)
    alone = [scores_of(port, ids) for ids in prompts]
    call(port, prompt=prompts[0], max_tokens=3)  # its blocks are cached, and are not used
    known.append(alone)
    assert known[0] == alone
    filler = [lambda: call(port, prompt="Once upon", max_tokens=200, ignore_eos=True)] * 6
    for _ in range(3):
        together = at_once([(lambda ids=ids: scores_of(port, ids)) for ids in prompts] + filler)
        assert together[:len(prompts)] == alone


def check_preempted(port, known):
    """Prompts with long answers that do not fit side by side have the scores that they have alone."""
    asks = [lambda ids=ids: scores_of(port, ids, 300, ignore_eos=True) for ids in prompts_of(port)] * 2
    n = 0
    for _ in range(10):  # until some met
        assert at_once(asks) == known[0] * 2
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            n = sum(map(int, re.findall(r"^vllm:num_preemptions_total.* (\d+)$", answer.read().decode(), re.M)))
        if n > 5:
            break
    print(f"{n} preemptions", flush=True)
    assert n > 5, n


def serve(program, model, *options, check):
    with Shoal(program, *options, models={"tiny": model}) as server:
        check(server.port)


def main():
    program, root = sys.argv[1:3]
    model = os.path.join(root, "models/tale.gguf")
    known = []
    print("[ RUN      ] scores_of_prompts", flush=True)
    serve(program, model, check=lambda port: (check_same(port, known), check_some_answers(port)))
    serve(program, model, "--chunk-tokens", "16", "--policy", "db-turn", "--kv-bytes", "600KiB",
          check=lambda port: (check_same(port, known), check_preempted(port, known)))
    for options in ("--max-batch", "2"), ("--engines", "processes"):
        serve(program, model, *options, check=lambda port: check_same(port, known))
    print("[       OK ] scores_of_prompts")


if __name__ == "__main__":
    main()
