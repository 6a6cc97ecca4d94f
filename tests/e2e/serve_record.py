"""A real server's files about its engines: the log, which `shoal replay` plans again, and the trace.

usage: serve_record.py SHOAL MODELS_FOLDER
"""
import csv
import json
import os
import random
import stat
import subprocess
import tempfile

from serve_shared import Later, Shoal, Stream, body_of, main, paths, test, until


def burst(server, n, seed):
    rng = random.Random(seed)
    prompts = {"tale": ["And he", "In the beginning " * 20], "cee": ["if (x", "for (i = 0; " * 30]}
    asks = []
    for i in range(n):
        model = rng.choice(["tale", "cee"])
        body = body_of(model, rng.choice(prompts[model]), rng.choice([1, 8, 40]), temperature=0.8, seed=i, priority=rng.randrange(-1, 2))
        asks.append(Later(server.post, "/v1/completions", body))
    leaver = Stream(server, body_of("tale", "And he", 400)).begin()
    leaver.close()  # a cancel
    for ask in asks:
        assert ask.result()[0] == 200


def replay(shoal, *words):
    done = subprocess.run([shoal, "replay", *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@test
def record_replays_equal(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "engine.log")
        for policy in ("db-share", "fcfs"):
            with Shoal(shoal, "--policy", policy, "--planner", "none", "--log-engine", log, "--kv-bytes", "4MiB", "--swap-bytes", "8MiB", "--max-batch", "8", "--chunk-tokens", "32", "--max-batch-tokens",
                       "64", models=paths(models)) as server:
                burst(server, 30, 1)
                until(server.is_clear)
            assert stat.S_IMODE(os.stat(log).st_mode) == 0o600, "it holds prompts"
            code, out, err = replay(shoal, log)
            assert code == 0 and "all equal" in out and f"policy {policy}" in out, (code, out, err)
            code, out, err = replay(shoal, log, "--json")
            result = json.loads(out)
            assert result["equal"] and not result["cut"] and result["plans"] > 50 and result["mails"] > 30, result
            steps = os.path.join(folder, "steps.csv")
            code, out, err = replay(shoal, log, "--steps", steps)
            with open(steps) as f:
                batches = list(csv.DictReader(f))
            assert code == 0 and len(batches) > 50, (code, err, len(batches))
            assert all(int(b["planned_ns"]) <= int(b["begin_ns"]) < int(b["end_ns"]) for b in batches)
            # Works as far as the log goes, when the process died.
            with open(log, "r+b") as f:
                f.truncate(os.path.getsize(log) * 2 // 3 + 5)
            code, out, err = replay(shoal, log)
            assert code == 0 and "all equal" in out and "ends early" in out, (code, out, err)


@test
def record_steady_steps_take_no_less_than_their_profile_says(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        log, steps, profile = (os.path.join(folder, name) for name in ("engine.log", "steps.csv", "tale.json"))
        subprocess.run([shoal, "profile", f"{models}/tale.gguf", "--time", "200ms", "--batch", "4", "--prompt", "64", "-o", profile], check=True, capture_output=True, timeout=120)
        with open(profile) as f:
            line = json.load(f)["groups"][0]["perf_ps"]
        config = f"models: {{tale: {{path: {models}/tale.gguf, profile: {profile}, preload: true}}, cee: {{path: {models}/cee.gguf, preload: true}}}}"
        with Shoal(shoal, "--steady", "400", "--devices", "cpu:0", "--log-engine", log, config=config) as server:
            burst(server, 12, 3)
            until(server.is_clear)
        code, _, err = replay(shoal, log, "--steps", steps)
        assert code == 0, err
        with open(steps) as f:
            batches = [{k: v if k == "kind" else int(v) for k, v in b.items()} for b in csv.DictReader(f)]
        decodes = [b for b in batches if b["service"] == 0 and b["new"] == 0]
        assert len(decodes) > 20 and any(b["service"] == 1 for b in batches), len(batches)
        for b in decodes:
            large = b["decodes"] >= line["b_switch"]
            ps = line["c3"][large] + line["c2"][large] * b["decodes"] + line["k2"][large] * b["decode_context"]
            assert b["end_ns"] - b["begin_ns"] >= int(4 * ps / 1000) - 1, (b, ps)


@test
def record_on_a_full_disk_is_told_in_the_end(shoal, models):
    for option in ("--trace", "--log-engine"):
        server = Shoal(shoal, option, "/dev/full", "--planner", "none", models=paths(models))
        try:
            assert server.post("/v1/completions", body_of("tale", "And he", 8))[0] == 200, "requests are served all the same"
            assert server.stop() == 1, server.log()
            assert server.log().splitlines()[-1] == "shoal: not all of log_engine or trace could be written", server.log()
        finally:
            server.kill()
            server.folder.cleanup()


@test
def record_makes_a_profile(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        log, steps, profile = (os.path.join(folder, name) for name in ("engine.log", "steps.csv", "tale.json"))
        with Shoal(shoal, "--policy", "rr", "--log-engine", log, "--devices", "cpu:0", models=paths(models)) as server:
            for seed in range(3):
                for n in (1, 10, 30, 60, 90):  # alone, so that their batches are of prompts or of decodes
                    assert server.post("/v1/completions", body_of("tale", "XYZ"[seed] + " And he said unto" * n, 12, seed=seed))[0] == 200
                burst(server, 12, seed)
            until(server.is_clear)
        made = subprocess.run([shoal, "profile", f"{models}/tale.gguf", "--from", log, "--service", "tale", "--cores", "1", "-o", profile], capture_output=True, text=True,
                              timeout=120)
        assert made.returncode == 0, made.stderr
        with open(profile) as f:
            group, = json.load(f)["groups"]
        code, _, err = replay(shoal, log, "--steps", steps)
        assert code == 0, err
        with open(steps) as f:
            batches = [{k: v if k == "kind" else int(v) for k, v in b.items()} for b in csv.DictReader(f)]
        seen = {(b["decodes"], b["decode_context"], b["new"], b["new_squared"], b["new_context"], 1000 * (b["end_ns"] - b["begin_ns"])) for b in batches if b["service"] == 0}
        assert group["cores"] == 1 and group["held_out"] > 1 and len(group["samples"]) > 10
        assert all(tuple(sample) in seen and (sample[0] > 0) != (sample[2] > 0) for sample in group["samples"]), group["samples"]
        wrong = subprocess.run([shoal, "profile", f"{models}/tale.gguf", "--from", log, "--service", "none"], capture_output=True, text=True, timeout=120)
        assert wrong.returncode == 1 and 'no batch of a service "none"' in wrong.stderr, wrong.stderr
        wrong = subprocess.run([shoal, "profile", f"{models}/tale.gguf", "--from", steps], capture_output=True, text=True, timeout=120)
        assert wrong.returncode == 1 and wrong.stderr.startswith("shoal: "), wrong.stderr


@test
def record_another_policy_differs(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "engine.log")
        with Shoal(shoal, "--policy", "fcfs", "--planner", "none", "--log-engine", log, "--max-batch", "2", models=paths(models)) as server:
            burst(server, 40, 2)
        code, out, _ = replay(shoal, log, "--policy", "db-turn")
        assert code == 1 and "differs" in out and "now planned:" in out, (code, out)
        with open(log, "r+b") as f:
            f.seek(os.path.getsize(log) // 2)
            f.write(b"\x55\xaa\x55")
        code, out, err = replay(shoal, log)
        assert code == 1 and "was changed" in err, (code, out, err)
        code, _, err = replay(shoal, models + "/tale.gguf")
        assert code == 1 and err.startswith("shoal: "), err
        code, _, err = replay(shoal, log, "--policy", "nonesuch")
        assert code == 2 and "nonesuch" in err


@test
def record_a_trace_of_what_ran(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        with Shoal(shoal, "--trace", path, models=paths(models)) as server:
            burst(server, 20, 3)
        with open(path) as f:
            events = json.load(f)
        batches = [e for e in events if e["ph"] == "X"]
        assert {e["name"] for e in batches} == {"tale", "cee"}
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        assert {(e["pid"], e["tid"]) for e in batches} <= set(names), names
        assert all(name.startswith(f"lane {tid} on cpu:") for (_, tid), name in names.items()), names
        kinds = {e["args"]["kind"] for e in batches}
        assert "decode" in kinds and kinds & {"prefill", "mixed"} and sum(e["args"]["tokens"] for e in batches) > 300
        batches.sort(key=lambda e: (e["pid"], e["tid"], e["ts"]))
        for a, b in zip(batches, batches[1:]):
            if (a["pid"], a["tid"]) == (b["pid"], b["tid"]):
                assert a["ts"] + a["dur"] <= b["ts"] + 0.002, "batches of one lane run in turn"


@test
def record_paths_that_cannot_be_are_said(shoal, models):
    for option in ("--log-engine", "--trace"):
        done = subprocess.run([shoal, "serve", "--model", f"tale={models}/tale.gguf", "--listen", "127.0.0.1:0", option, "/nowhere/at/all"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and "/nowhere/at/all" in done.stderr, done


if __name__ == "__main__":
    main()
