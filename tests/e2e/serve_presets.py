"""Every preset on the real server, two models on two engines, many clients at once: answers are those of fcfs, and the
mechanisms of a preset show in /metrics and `shoal ps`: pads, invalid tokens, exceeded predictions, preemptions.

usage: serve_presets.py SHOAL MODELS_FOLDER; on a machine with one core both engines share it
"""
import os
import random
import re
import subprocess

from serve_shared import Later, Shoal, body_of, main, paths, test, until

CORES = sorted(os.sched_getaffinity(0))
DEVICES = ("--devices", f"cpu:{CORES[0]}", "--devices", f"cpu:{CORES[-1]}" if len(CORES) > 1 else "cpu")
SMALL = ("--max-batch", "8", "--max-batch-tokens", "256")
WORDS = {"tale": "And the king said unto them , go ye and bring the young man before me ".split(" "),
         "cee": "if ( x > 0 ) { return y ; } for ( int i = 0 ; i < n ; i ++ )".split(" ")}
STATIC = ("scls", "uellm", "sls", "so", "pm", "ab", "lb", "fifo", "slo-dbs", "odbs", "s3")
ALONE = {}


def burst(n):
    """Prompts of many similar lengths, so that any policy that batches them pads them; answers of 1 to 60 tokens."""
    rng = random.Random(21)
    for i in range(n):
        model = rng.choice(["tale", "cee"])
        prompt = " ".join((WORDS[model] * 4)[:rng.randint(3, 40)])
        yield body_of(model, prompt, rng.choice([1, 7, 20, 60]), temperature=0.9, seed=i)


def text_of(server, body):
    status, _, page = server.post("/v1/completions", body)
    assert status == 200, page
    assert page["usage"]["completion_tokens"] == body["max_tokens"], page["usage"]  # never truncated
    return page["choices"][0]["text"]


def counted(server, name):
    lines = [line for line in server.get("/metrics")[2].splitlines() if line.startswith(name + "{")]
    assert lines, name
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


COLUMNS = {"PREEMPT": "vllm:num_preemptions_total", "SWAP": "shoal_swapped_total", "EXCEED": "shoal_exceeded_total",
           "PADS": "shoal_pad_tokens_total", "INVALID": "shoal_invalid_tokens_total"}


def columns_of_ps(server):
    """{title: sum over models and engines} of the output of `shoal ps`."""
    code, out, err = server.verb("ps", "--wide")
    assert code == 0, err
    lines = out.splitlines()
    titles = lines[0].replace("KV CACHED", "KV-CACHED").replace("KV PART", "KV-PART").split()
    rows = [dict(zip(titles, line.split())) for line in lines[1:lines.index("")]]
    assert rows and all(len(row) == len(titles) for row in rows), out
    return {title: sum(float(row[title]) for row in rows) for title in COLUMNS}


def ps_agrees(server, **least):
    """Once nothing moves, ps and /metrics have the same counts, which are at least the given ones (reports lag a
    little)."""
    def shown():
        columns = columns_of_ps(server)
        is_there = all(columns[title] >= n for title, n in least.items())
        return columns if is_there and all(columns[title] == counted(server, name) for title, name in COLUMNS.items()) else None
    return until(shown)


def serve(shoal, models, *choice, n=32, **least):
    """A burst under these options: the answers are right. Returns the counts."""
    if not ALONE:
        with Shoal(shoal, "--preset", "fcfs", *SMALL, models=paths(models)) as server:
            for i, body in enumerate(burst(n)):
                ALONE[i] = text_of(server, body)
    with Shoal(shoal, *choice, *DEVICES, *SMALL, models=paths(models)) as server:
        asks = [Later(text_of, server, body) for body in burst(n)]
        for i, ask in enumerate(asks):
            assert ask.result() == ALONE[i], (choice, i)
        until(server.is_clear)
        return ps_agrees(server, **least)


def presets_of(shoal):
    done = subprocess.run([shoal, "serve", "--preset", "?"], capture_output=True, text=True, timeout=30, check=False)
    names = done.stderr.rsplit("there are: ", 1)[1].strip().split(", ")
    assert len(names) >= 23, done.stderr
    return names


@test
def presets_answer_alike(shoal, models):
    for preset in presets_of(shoal):
        is_static = preset in STATIC
        pads = preset in ("scls", "uellm", "sls", "fifo")  # of the others some batch prompts of one length
        seen = serve(shoal, models, "--preset", preset, **({"PADS": 1, "INVALID": 1} if pads else {}))
        print(f"# {preset}: {seen}")
        if not is_static:
            assert seen["PADS"] == seen["INVALID"] == 0, (preset, seen)


@test
def presets_slices_pad(shoal, models):
    """Short slices: requests are returned many times, and every slice is padded again."""
    serve(shoal, models, "--preset", "scls", "--router-thresholds", "n_slice=6", "--router-thresholds", "interval_ns_min=20", PADS=1, INVALID=1)


@test
def presets_outrun_predictions(shoal, models):
    """A predictor that has only seen answers of one token predicts too little: this is counted, and no answer is
    truncated."""
    for preset in ("uellm", "aladdin"):
        with Shoal(shoal, "--preset", preset, "--predictor", "mean", *SMALL, models=paths(models)) as server:
            for _ in range(3):  # a mean begins with the first observations
                for model in paths(models):
                    server.text(model, WORDS[model][0], 1)
            asks = [Later(text_of, server, dict(body, max_tokens=80)) for body in burst(8)]
            for ask in asks:
                ask.result()
            until(server.is_clear)
            ps_agrees(server, EXCEED=8)
            # The same in the book of predictions: none of the eight was covered.
            ratios = [line for line in server.get("/metrics")[2].splitlines() if line.startswith("shoal_length_ratio_")]
            above = sum(float(line.rsplit(" ", 1)[1]) * (1 if "_count{" in line else -1)
                        for line in ratios if "_count{" in line or 'le="1"' in line)
            assert above >= 8, ratios
            assert counted(server, "shoal_length_coverage") < 2, "both cover everything"


def preempt_in_a_tight_pool(shoal, models, kv_type, ways):
    """Bytes of KV a token."""
    body = body_of("tale", WORDS["tale"][0], 400, temperature=0.9)
    one = {"tale": paths(models)["tale"]}
    with Shoal(shoal, "--kv-type", kv_type, models=one) as server:
        alone = [text_of(server, dict(body, seed=i)) for i in range(8)]
        memory, engine = server.model("tale")["memory"], server.state()["engines"][0]
        blocks = re.search(r'num_gpu_blocks="(\d+)"', server.get("/metrics")[2])
        token_bytes = engine["kv_pool_bytes"] / int(blocks[1])
    room = memory["weights_bytes"] + memory["activation_bytes"] + 3 * 400 * token_bytes
    for more in ways:
        with Shoal(shoal, "--preset", "fcfs", "--memory", f"{int(room / 1024)}KiB", "--prefix-cache", "false",
                   "--kv-type", kv_type, *more, models=one) as server:
            asks = [Later(text_of, server, dict(body, seed=i)) for i in range(8)]
            for i, ask in enumerate(asks):
                assert ask.result() == alone[i], (more, i)
            until(server.is_clear)
            seen = ps_agrees(server, PREEMPT=1)
            print(f"# {kv_type} {more}: {seen}")
            assert more or seen["SWAP"] == 0, seen
            drafted, accepted = (counted(server, f"vllm:spec_decode_num_{kind}_tokens_total") for kind in ("draft", "accepted"))
            assert (drafted >= accepted > 0) if "lookup" in more else drafted == 0, (more, drafted, accepted)
    return token_bytes


@test
def presets_preempt_in_a_tight_pool(shoal, models):
    """Room for three answers of eight: some are preempted, by recompute and by swap, and continue with the same
    tokens. Drafts change none of them."""
    swap = ("--swap-bytes", "64MiB")
    f16 = preempt_in_a_tight_pool(shoal, models, "f16", ((), swap, ("--speculation", "lookup")))
    q8_0 = preempt_in_a_tight_pool(shoal, models, "q8_0", (swap,))
    assert 0.5 < q8_0 / f16 < 0.56, (f16, q8_0)


if __name__ == "__main__":
    main()
