"""Policies with mechanisms that others lack, on the real server: lanes side by side, padded batches, slices,
reservations.

usage: serve_lanes.py SHOAL MODELS_FOLDER
"""
import json
import os
import random
import tempfile

from serve_shared import Later, Shoal, Stream, body_of, main, paths, test, until

PROMPTS = {"tale": ["And he", "In the beginning", "Then said the king unto " + "them, and " * 40], "cee": ["if (x", "static int ", "for (i = 0; " * 30]}
SMALL = ("--max-batch", "4", "--max-batch-tokens", "256", "--chunk-tokens", "32")
ALONE = {}


def burst(n):
    rng = random.Random(7)
    for i in range(n):
        model = rng.choice(["tale", "cee"])
        yield body_of(model, rng.choice(PROMPTS[model]), rng.choice([1, 5, 20, 40]), temperature=0.9, seed=i % 10)


def text_of(server, body):
    status, _, page = server.post("/v1/completions", body)
    assert status == 200, page
    return page["choices"][0]["text"]


def answers_alone(shoal, models):
    """The answer of each request when it has the server for itself."""
    if not ALONE:
        with Shoal(shoal, "--policy", "fcfs", *SMALL, models=paths(models)) as server:
            for i, body in enumerate(burst(16)):
                ALONE[i] = text_of(server, body)
    return ALONE


def counted(server, name):
    lines = [line for line in server.get("/metrics")[2].splitlines() if line.startswith(name + "{")]
    assert lines, name
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def ask_at_once(server):
    asks = [Later(text_of, server, body) for body in burst(16)]
    return [ask.result() for ask in asks]


def has_padded(server):
    return counted(server, "shoal_pad_tokens_total") > 0 and counted(server, "shoal_invalid_tokens_total") > 0


def serves_a_burst(shoal, models, *choice, pads=False):
    """pads: whether padded batches are certain, in some burst if not in the first; None: they are possible."""
    alone = answers_alone(shoal, models)
    with Shoal(shoal, *choice, *SMALL, models=paths(models)) as server:
        for i, text in enumerate(ask_at_once(server)):
            assert text == alone[i], (choice, i)
        until(server.is_clear)
        if pads:  # on a busy machine requests may come one by one
            until(lambda: has_padded(server) or not ask_at_once(server))
        elif pads is False:
            assert counted(server, "shoal_pad_tokens_total") == 0


@test
def lanes_static_batches(shoal, models):
    serves_a_burst(shoal, models, "--policy", "sls", pads=True)


@test
def lanes_pads_beyond_the_last_position(shoal, models):
    """A row of a padded batch is as long as its longest prompt and all tokens since, which may be more positions
    than the model has learned."""
    gpt2 = {"gpt2": os.path.join(models, "..", "tests", "golden", "data", "gguf", "gpt2.gguf")}  # 256 positions
    bodies = [body_of("gpt2", list(range(1, n + 1)), n_tokens) for n, n_tokens in ((240, 4), (10, 200))]
    with Shoal(shoal, "--policy", "sls", models=gpt2) as server:
        alone = [text_of(server, body) for body in bodies]

        def has_long_rows():
            before = counted(server, "shoal_invalid_tokens_total")
            busy = Stream(server, body_of("gpt2", [1], 200, n=8)).begin()  # both wait behind it, and go together
            asks = [Later(text_of, server, body) for body in bodies]
            assert [ask.result() for ask in asks] == alone
            assert busy.finish().is_whole
            until(server.is_clear)
            return counted(server, "shoal_invalid_tokens_total") >= before + 190
        until(has_long_rows)


@test
def lanes_router_composes_batches(shoal, models):
    serves_a_burst(shoal, models, "--policy", "cohort", "--router", "scls", pads=None)  # prompts of three lengths far apart: it puts like with like
    serves_a_burst(shoal, models, "--policy", "cohort", "--router", "fifo", pads=True)


@test
def lanes_reservations_and_slices(shoal, models):
    for policy in ("scls-cb", "mlfq", "temporal", "ils-reserve", "ils-fastgen"):
        serves_a_burst(shoal, models, "--policy", policy)


@test
def lanes_side_by_side(shoal, models):
    for policy in ("adbs", "mux-rr", "mux-fcfs"):
        serves_a_burst(shoal, models, "--policy", policy)
    serves_a_burst(shoal, models, "--preset", "muxserve")


def batches_of(path):
    with open(path, encoding="ascii") as f:
        return [e for e in json.load(f) if e["ph"] == "X"]


def pairs_at_once(batches):
    """Prefills of one model during which a decode of the other ran, on another lane."""
    prefills = [b for b in batches if b["args"]["kind"] == "prefill"]
    decodes = [b for b in batches if b["args"]["kind"] == "decode"]
    return [(p, d) for p in prefills for d in decodes
            if p["name"] != d["name"] and p["tid"] != d["tid"] and p["ts"] < d["ts"] + d["dur"] and d["ts"] < p["ts"] + p["dur"]]


@test
def lanes_prefill_beside_decode(shoal, models):
    """A long answer of one model continues while prompts of the other are computed: at once if there are two cores."""
    if len(os.sched_getaffinity(0)) < 2:
        print("# SKIP: one core has no lanes")
        return
    prompt = "for (i = 0; i < n; i++) " * 30
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for lanes in ("1 1", "none"):
            path = os.path.join(folder, "trace.json")
            words = ("--lanes", lanes) if lanes != "none" else ("--policy", "fcfs")
            with Shoal(shoal, "--policy", "adbs", *words, "--trace", path, "--prefix-cache", "false", models=paths(models)) as server:
                long = Stream(server, body_of("tale", "And he", 400)).begin()
                for _ in range(3):
                    assert server.text("cee", prompt, 1)
                assert long.finish().is_whole
            found[lanes] = pairs_at_once(batches_of(path))
        assert len(found["1 1"]) > 0 and {d["tid"] for _, d in found["1 1"]} <= {1, 2}, found
        assert not found["none"], "lane 0 is all of the device: nothing runs beside it"


if __name__ == "__main__":
    main()
