"""Two engines under each router: every answer is right, also when requests are returned after slices and go elsewhere.

usage: serve_routers.py SHOAL MODELS_FOLDER; on a machine with one core both engines share it
"""
import os
import random

from serve_shared import Later, Shoal, body_of, main, paths, refused, test, until

CORES = sorted(os.sched_getaffinity(0))
DEVICES = ("--devices", f"cpu:{CORES[0]}", "--devices", f"cpu:{CORES[-1]}" if len(CORES) > 1 else "cpu")
PROMPTS = {"tale": ["And he", "Then said the king unto " + "them, and " * 20], "cee": ["if (x", "for (i = 0; " * 15]}
ALONE = {}


def burst(n):
    rng = random.Random(8)
    for i in range(n):
        model = rng.choice(["tale", "cee"])
        yield body_of(model, rng.choice(PROMPTS[model]), rng.choice([1, 5, 20, 40]), temperature=0.9, seed=i % 8)


def key_of(body):
    return body["model"], body["prompt"], body["max_tokens"], body["seed"]


def text_of(server, body):
    status, _, page = server.post("/v1/completions", body)
    assert status == 200, page
    assert page["usage"]["completion_tokens"] == body["max_tokens"], page["usage"]
    return page["choices"][0]["text"]


def serve(shoal, models, router, *thresholds, n=40, are_all_used=False):
    words = ["--router", router]
    for threshold in thresholds:
        words += ["--router-thresholds", threshold]
    with Shoal(shoal, *words, *DEVICES, "--max-batch", "4", models=paths(models)) as server:
        if not ALONE:
            for body in burst(n):
                ALONE[key_of(body)] = text_of(server, body)
        if are_all_used:  # a burst that comes while a model still loads on one engine goes to the other alone
            until(lambda: all(e["status"]["value"] == "loaded" for m in paths(models) for e in server.model(m)["engines"]))
        asks = [(Later(text_of, server, body), body) for body in burst(n)]
        for ask, body in asks:
            assert ask.result() == ALONE[key_of(body)], (router, body)
        until(server.is_clear)
        if are_all_used:  # the state is reported at intervals, so a quick burst may be over before
            until(lambda: min(e["steps"] for e in server.state()["engines"]) > 0)


@test
def routers_one_by_one(shoal, models):
    serve(shoal, models, "least")
    serve(shoal, models, "rr", are_all_used=True)
    for router in ("p2c", "least-finish", "static", "random", "token-jsq"):
        serve(shoal, models, router)


@test
def routers_best_fit(shoal, models):
    serve(shoal, models, "best-fit", "heartbeat_ns=10")
    # Targets that nothing can meet: every request is forced, and none is lost.
    serve(shoal, models, "best-fit", "heartbeat_ns=10", "ttft_ns=0.01", "tpot_ns=0.01")


@test
def routers_batches_and_slices(shoal, models):
    """Slices of 6 tokens: a request for 40 tokens is returned six times, and may continue at the other engine."""
    for router in ("so", "scls"):
        serve(shoal, models, router, "n_slice=6", "interval_ns_min=20")
    for router in ("slo-odbs", "slo-dp", "s3"):
        serve(shoal, models, router, "n_margin=0")


@test
def routers_thresholds_are_checked(shoal, models):
    for threshold in ("n_slice=0", "nothing=1", "cost=free"):
        with refused(shoal, "--model", f"tale={paths(models)['tale']}", "--router-thresholds", threshold) as said:
            assert threshold.split("=")[0] in said, said


if __name__ == "__main__":
    main()
