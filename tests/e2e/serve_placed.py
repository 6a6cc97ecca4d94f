"""The places of models: by a planner, by a file, and the message when these do not fit. Engines of one core each answer
as one of all cores does, lose nothing when drained, and report the place of each model.

usage: serve_placed.py SHOAL MODELS_FOLDER; a machine with one core has nothing to place, and then only that is tested
"""
import os
import signal
import subprocess
import tempfile
import time

import toy
from serve_shared import Later, Shoal, Stream, body_of, main, paths, test, until

CORES = sorted(os.sched_getaffinity(0))
APART = "engines:\n  - {device: cpu-avx2, services: [tale]}\n  - {device: cpu-avx2, services: [cee]}\n"
BOTH = "engines:\n  - {count: 2, device: cpu-avx2, services: [tale, cee]}\n"
ASKS = [("tale", "And he"), ("cee", "if (x")]


TEMPORARY = []


def folder_new():
    """A folder that is removed when the tests end."""
    TEMPORARY.append(tempfile.TemporaryDirectory())
    return TEMPORARY[-1].name


def file_of(folder, text):
    path = os.path.join(folder, "placement.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def answers(server, n=6, n_tokens=120):
    """Texts of asks all at once, drawn with seeds."""
    asks = [Later(server.text, *ASKS[i % 2], n_tokens, temperature=0.9, seed=i) for i in range(2 * n)]
    return [ask.result() for ask in asks]


def places(server):
    """{model: {engine}} that it is loaded on."""
    return {m["id"]: {p["engine"] for p in m["engines"] if p["status"]["value"] == "loaded"} for m in server.state()["data"]}


def has_cores():
    if len(CORES) < 2:
        print("# one core: nothing to place")
    return len(CORES) >= 2


@test
def placed_by_default(shoal, models):
    with Shoal(shoal, "--planner", "none", models=paths(models)) as server:
        assert len(server.state()["engines"]) == 1 and "placed by" not in server.log()
        alone = answers(server)
    with Shoal(shoal, models=paths(models)) as server:
        log = server.log()
        assert ("placed by default: engine 0 on cpu:" in log and "expected at equal rates" in log) == has_cores(), log
        n = len(server.state()["engines"])
        assert n == log.count(": engine ") + log.count("; engine ") or not has_cores()
        assert answers(server) == alone  # the same tokens, wherever they were computed
        assert sorted(name for name, at in places(server).items() if at) == ["cee", "tale"]
        cards = {m["id"]: m["devices"] for m in server.state()["data"]}
        _, _, text = server.get("/metrics")
        for name, devices in cards.items():
            for device in devices:
                assert any(line.startswith(f'shoal_model_on_engine{{model_name="{name}",engine="') and f'device="{device}"}} 1' in line
                           for line in text.splitlines()), text
                assert device in server.verb("ps")[1]


def settled_steps(server):
    """The steps of each engine, once nothing runs. Reports are late, so the steps must have been constant for some
    reports."""
    steps = [e["steps"] for e in server.state()["engines"]]
    time.sleep(0.5)
    return server.is_clear() and steps == [e["steps"] for e in server.state()["engines"]] and steps


@test
def placed_apart_and_together(shoal, models):
    if not has_cores():
        return
    expected = None
    for text, where in ((APART, [{0}, {1}]), (BOTH, [{0, 1}, {0, 1}])):
        with Shoal(shoal, "--placement", file_of(folder_new(), text), models=paths(models)) as server:
            until(lambda: [places(server)[name] for name, _ in ASKS] == where)
            expected = expected or answers(server)
            assert answers(server) == expected
            steps = [e["steps"] for e in server.state()["engines"]]
            assert len(steps) == 2 and all(until(lambda i=i: server.state()["engines"][i]["steps"]) > 0 for i in range(2))
            listed = {m["id"]: m["devices"] for m in server.state()["data"]}
            assert [len(listed[name]) for name, _ in ASKS] == [len(w) for w in where], listed
            # One model's load does not touch the other's engine if they are on different ones.
            if where[0] == {0}:
                before = until(lambda: settled_steps(server))
                server.text("cee", "if (x", 100)
                until(lambda: server.state()["engines"][1]["steps"] > before[1])
                assert server.state()["engines"][0]["steps"] == before[0]


@test
def placed_drains_both(shoal, models):
    if not has_cores():
        return
    patience = 3600  # a slow build on a busy machine drains for minutes; the limit of the whole test ends a hang
    with Shoal(shoal, "--placement", file_of(folder_new(), BOTH), "--max-batch", "1", "--drain", f"{patience}s", models=paths(models)) as server:
        until(lambda: all(at == {0, 1} for at in places(server).values()))
        streams = [Stream(server, body_of(*ASKS[i % 2], 480, seed=i, n=8)) for i in range(8)]
        until(lambda: sum(e["requests"] > 0 for e in server.state()["engines"]) == 2)
        server.signal(signal.SIGTERM)
        for stream in streams:
            stream.finish(patience)
            assert stream.is_whole and len(stream.events) > 400, stream.got[-400:]


@test
def placed_preempts_and_reuses(shoal, models):
    """Pools too small for the requests: requests are preempted on either engine, and repeated prompts are found in
    the cache."""
    if not has_cores():
        return
    prompt = "And he " * 60
    small = ("--kv-bytes", "640KiB", "--max-batch", "8", "--policy", "fcfs")
    got = []
    for more in (("--planner", "none"), ("--placement", file_of(folder_new(), BOTH))):
        with Shoal(shoal, *small, *more, models=paths(models)) as server:
            until(lambda: sum(len(at) for at in places(server).values()) == 2 * len(server.state()["engines"]))
            asks = [Later(server.text, "tale", prompt + str(i % 4), 200, temperature=0.7, seed=i) for i in range(16)]
            got.append([ask.result() for ask in asks])
            for _ in range(3):  # at most two engines do not know it yet
                last = server.complete("tale", prompt, 2)["usage"]["prompt_tokens_details"]["cached_tokens"]
            assert last > 50, last
            preempted = sum(p["preempted"] for m in server.state()["data"] for p in m["engines"])
            assert preempted > 0 or more[1] != "none", server.state()
    assert got[0] == got[1]


@test
def placed_by_a_plan(shoal, models):
    """A plan that `shoal plan --out` wrote is served as written."""
    if not has_cores():
        return
    folder = folder_new()
    cluster, out = os.path.join(folder, "cluster.yaml"), os.path.join(folder, "plan.yaml")
    with open(cluster, "w", encoding="utf-8") as f:
        f.write("nodes:\n  - {device: cpu-avx2, devices: 2, memory: 64MiB}\nworkload:\n"
                "  - poisson:rate=20,in=64,out=64,service=tale\n  - poisson:rate=20,in=64,out=64,service=cee\nservices:\n")
        for name in ("tale", "cee"):
            f.write(f"  {name}: {{weights-bytes: 4MiB, activation-bytes: 6MiB, kv-bytes-per-token: 1KiB, prefill-ms: 0.1, "
                    "prefill-us-per-token: 50, decode-ms: 0.1, decode-us-per-request: 50}\n")
    done = subprocess.run([shoal, "plan", cluster, "--requests", "200", "--planner", "even", "--no-price", "--out", out],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with Shoal(shoal, "--placement", out, models=paths(models)) as server:
        assert "placed by " in server.log() and len(server.state()["engines"]) == 2
        assert [len(m["devices"]) for m in server.state()["data"]] == [1, 1]
        assert server.text("tale", "And he", 8) and server.text("cee", "if (x", 8)


@test
def placed_as_ranks_of_a_group(shoal, models):
    """An engine of two ranks has a part of each layer on each of two cores. Its greedy text is that of one engine."""
    if not has_cores():
        return
    texts = []
    for ranks in ("", ", ranks: 2"):
        text = "engines:\n  - {device: cpu-avx2, tp: 2, services: [tale]" + ranks + "}\n"
        with Shoal(shoal, "--placement", file_of(folder_new(), text), models={"tale": paths(models)["tale"]}) as server:
            cores = f"{CORES[0]}-{CORES[1]}" if CORES[1] == CORES[0] + 1 else f"{CORES[0]},{CORES[1]}"
            device = f"group(cpu:{CORES[0]},cpu:{CORES[1]})" if ranks else f"cpu:{cores}"
            assert {d for m in server.state()["data"] for d in m["devices"]} == {device}, server.state()
            assert f"engine 0 on {device}: tale" in server.log()
            texts.append(server.text("tale", "And he", 60, temperature=0))
    assert texts[0] == texts[1], texts


@test
def placed_refuses_what_does_not_fit(shoal, models):
    folder = folder_new()

    def refused(sentence, text, *more):
        words = [shoal, "serve", "--listen", "127.0.0.1:0"]
        for name, path in paths(models).items():
            words += ["--model", f"{name}={path}"]
        words += ["--placement", file_of(folder, text)] if text else []
        done = subprocess.run(words + list(more), capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and sentence in done.stderr.splitlines()[-1], (done.returncode, done.stderr)

    refused("this machine has cores", "engines:\n  - {device: a100, tp: 2}\n")
    refused("3 devices can't be 2 equal ranks", "engines:\n  - {device: cpu-avx2, tp: 3, ranks: 2}\n")
    refused(f"an engine of 16 cores, and this machine of {len(CORES)} has {len(CORES)} left" if len(CORES) < 16 else "",
            "engines:\n  - {device: cpu-avx2, tp: 16}\n" if len(CORES) < 16 else "engines: []\n")
    refused('has no model "other"', "engines:\n  - {device: cpu-avx2, services: [tale, other]}\n")
    refused("the model cee is on none of its engines", "engines:\n  - {device: cpu-avx2, services: [tale]}\n")
    refused("its engines want", "engines:\n  - {device: cpu-avx2, memory: 64GiB}\n", "--memory", "64MiB")
    refused("has no `engines:`", "nodes:\n  - {device: a100}\n")
    refused("replace devices", BOTH, "--devices", "cpu")
    refused('no planner "best"', None, "--planner", "best")
    refused("is to be loaded at start and needs", None, "--memory", "5MiB")


def total(server, name):
    """The sum of a metric over its labels."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in server.get("/metrics")[2].splitlines() if line.startswith(name + "{"))


@test
def prompts_and_answers_have_engines_of_their_own(shoal, models):
    """Engines of role prefill hand the KV of each request to engines of role decode: the answers are those of one engine."""
    if not has_cores():
        raise toy.Skip("two engines need two cores")
    text = "engines:\n  - {device: cpu-avx2, role: prefill, services: [tale, cee]}\n  - {device: cpu-avx2, role: decode, services: [tale, cee]}\n"
    with Shoal(shoal, "--planner", "none", models=paths(models)) as server:
        alone = answers(server, 12)
    for kind in ("threads", "processes"):
        with Shoal(shoal, "--placement", file_of(folder_new(), text), "--swap-bytes", "64MiB", "--engines", kind, models=paths(models)) as server:
            assert answers(server, 12) == alone
            until(lambda: total(server, "shoal_kv_handed_over_total") >= 4)  # on a busy machine some are late, and computed again
    for more, part in ((("--swap-bytes", "0"), "swap_bytes"), (("--swap-bytes", "64MiB", "--log-engine", "/dev/null"), "log_engine")):
        done = subprocess.run([shoal, "serve", "--placement", file_of(folder_new(), text), *more, *(w for n, p in paths(models).items() for w in
                                                                                                ("--model", f"{n}={p}"))],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0 and part in done.stdout + done.stderr, (more, done)


if __name__ == "__main__":
    main()
