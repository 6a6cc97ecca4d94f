"""shoal sim from the command line: it runs, its figures agree with its records, and nothing depends on threads.

usage: sim.py SHOAL SOURCE_ROOT
"""
import csv
import json
import os
import subprocess
import tempfile

from serve_shared import SECONDS, main, test

CONV = ["--workload", "azure-conv:rate=4", "--requests", "400"]


def sim(shoal, *args, wants=0):
    done = subprocess.run([shoal, "sim", *args], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == wants, (args, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout if wants == 0 else done.stderr


def as_json(shoal, *args):
    return json.loads(sim(shoal, "--json", *args))


@test
def sim_agrees_with_its_records(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.csv")
        page = as_json(shoal, *CONV, "--csv", path)
        rows = list(csv.DictReader(open(path, newline="", encoding="utf-8")))
    assert page["completed"] == len(rows) == 400
    latency = sum(int(r["end_ns"]) - int(r["arrived_ns"]) for r in rows) / 400e6
    assert abs(page["mean_e2el_ms"] - latency) < 1e-6 * latency
    met = sum(int(r["end_ns"]) - int(r["arrived_ns"]) <= 5 * int(r["solo_ns"]) for r in rows) / 400
    assert abs(page["slo_attainment"] - met) < 1e-9
    solo = sum(int(r["solo_ns"]) for r in rows) / 400e6
    assert abs(page["normalized_latency"] - latency / solo) < 1e-6
    assert page["total_output_tokens"] == sum(int(r["n_output"]) for r in rows)
    assert [int(r["id"]) for r in rows] == list(range(400))


@test
def sim_runs_a_mix_with_nothing_else(shoal, models):
    page = as_json(shoal, "--workload", "sea16", "--requests", "2000")
    assert len(page["services"]) == 16 and page["completed"] == 2000 and page["devices"] > 1


@test
def groups_follow_the_rate(shoal, models):
    """auto: 4 requests a second over 3 of a router want 2 groups, and 20 engines allow 4; over 0.1 they would want 40."""
    def texts(*args):
        page = as_json(shoal, *CONV, "--engines", "20", "--router", "best-fit", *args)
        return {key: page[key] for key in ("completed", "mean_e2el_ms", "mean_ttft_ms")}
    by_number = {n: texts("--router-groups", str(n)) for n in (1, 2, 4)}
    assert by_number[1] != by_number[2] != by_number[4]
    for rate, n in (("3", 2), ("0.1", 4), ("10000", 1)):
        assert texts("--router-groups", "auto", "--router-pass-rate", rate) == by_number[n], (rate, n)
    for wrong in ("0", "4097", "many", "-1", ""):
        assert "neither auto nor a number" in sim(shoal, *CONV, "--router-groups", wrong, wants=2)


@test
def models_move_when_that_pays(shoal, models):
    text = """nodes: [{count: 3, device: a100, devices: 1, memory: 40GiB}]
workload:
  - poisson:rate=1.3,in=400,out=400,service=a,model=llama-2-13b,on=1000s,off=1000s,off-rate=0.1
  - poisson:rate=1.3,in=400,out=400,service=b,model=llama-2-13b,on=1000s,off=1000s,off-rate=0.1
duration: 1h
max-batch: 16
planner: seallm
seed: 4
"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.yaml")
        open(path, "w", encoding="utf-8").write(text)
        stay, off = as_json(shoal, path), as_json(shoal, path, "--replace", "off")
        move = as_json(shoal, path, "--replace", "on", "--replace", "first_ns=200000")
        again = as_json(shoal, path, "--replace", "on", "--replace", "first_ns=200000", "--threads", "1")
        lines = sim(shoal, path, "--replace", "on")
        slow = as_json(shoal, path, "--replace", "host_bytes_per_s=1e6")
        assert "no setting" in sim(shoal, path, "--replace", "fast=1", wants=2)
        assert "engines or nodes" in sim(shoal, path, "--engines", "3", wants=2)
    assert stay == off and "plans" not in stay
    assert move == again and move["moves"] > 0 and move["plans"] >= move["moves"]
    assert move["completed"] == stay["completed"] and move["loaded_bytes"] > 0 and move["devices"] == 3
    assert move["normalized_latency"] < 0.5 * stay["normalized_latency"]
    assert slow["moves"] == 0 and slow["records_hash"] == stay["records_hash"] and slow["plans"] > 0
    assert "planned anew" in lines and "promised" in lines
    assert "nodes" in sim(shoal, *CONV, "--replace", "on", wants=2)
    assert "nodes" in sim(shoal, *CONV, "--planner", "greedy", wants=2)


@test
def keys_and_values_of_another_type(shoal, models):
    text = """workload: "azure-conv:rate=6,service=chat"
requests: 1500
engines: [{device: a100, memory: 32GiB, services: chat}]
services: {chat: {model: llama-2-13b%s}}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.yaml")
        pages = {}
        for kv_type in ("", ", kv_type: f16", ", kv_type: q8_0", ", kv_type: f32"):
            open(path, "w", encoding="utf-8").write(text % kv_type)
            pages[kv_type] = as_json(shoal, path)
        for bad, why in ((", kv_type: q4", "expected f16, f32 or q8_0"), (", kv_type: f16, kv_bytes_per_token: 5000", "give the bytes")):
            open(path, "w", encoding="utf-8").write(text % bad)
            assert why in sim(shoal, path, wants=2)
    plain, f16, q8_0, f32 = pages.values()
    assert plain["records_hash"] == f16["records_hash"]
    assert q8_0["mean_ttft_ms"] < 0.8 * f16["mean_ttft_ms"] < 0.8 * f32["mean_ttft_ms"]


@test
def layers_are_planned_anew_when_devices_leave(shoal, models):
    text = """workload: "azure-conv:rate=0.3,service=chat"
duration: 30m
services: {chat: {model: llama-2-70b}}
engines:
  - {chain: [a100, a100, a100, v100, v100], services: chat}
devices_leave: [0@10m]
devices_join: [0@20m]
"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.yaml")
        open(path, "w", encoding="utf-8").write(text)
        anew, waits, again = as_json(shoal, path), as_json(shoal, path, "--chains-stay"), as_json(shoal, path, "--each-step")
        lines = sim(shoal, path)
        crash, crash_again = as_json(shoal, path, "--devices-crash", "1@15m"), as_json(shoal, path, "--devices-crash", "1@15m", "--each-step")
        assert "have 5" in sim(shoal, path, "--devices-leave", "5@1s", wants=2)
        assert "have 5" in sim(shoal, path, "--devices-crash", "5@1s", wants=2)
        assert "3@3600s" in sim(shoal, path, "--devices-join", "one", wants=2)
    assert anew["records_hash"] == again["records_hash"] and anew["completed"] == waits["completed"] > 400
    assert anew["layer_plans_left"] == anew["layer_plans_joined"] == 1 and anew["layer_maps"] == anew["layer_maps_kept"] == 1
    assert crash["records_hash"] == crash_again["records_hash"] and crash["completed"] == anew["completed"]
    assert crash["chain_crashes"] == 1 and anew["chain_crashes"] == 0
    assert waits["chain_away_s"] > 600 and anew["chain_away_s"] < 30
    assert anew["normalized_latency"] < 0.2 * waits["normalized_latency"]
    assert "maps of layers: a device left 1 times" in lines


@test
def prompts_and_decodes_on_engines_of_their_own(shoal, models):
    text = """workload: azure-conv:rate=8,model=llama-2-13b
requests: 1500
router: best-fit
policy: fcfs
engines:
  - {count: 2, device: a100, role: prefill}
  - {count: 3, device: a100, role: decode}
"""
    with tempfile.TemporaryDirectory() as folder:
        path, other = os.path.join(folder, "s.yaml"), os.path.join(folder, "t.yaml")
        open(path, "w", encoding="utf-8").write(text)
        open(other, "w", encoding="utf-8").write(text.replace("role: decode", "role: prefill"))
        page, steps = as_json(shoal, path), as_json(shoal, path, "--each-step", "--checks")
        slow = as_json(shoal, path, "--kv-bandwidth", "1e9")
        assert "none that decodes" in sim(shoal, other, wants=2)
        assert "no role" in sim(shoal, path, "--bus", wants=2)
        assert "prefill" in sim(shoal, path) and "handed over" in sim(shoal, path)
    assert page["completed"] == 1500 and page["records_hash"] == steps["records_hash"]
    assert page["handed_requests"] > 1400 and page["handed_bytes"] > 1e11
    # 1.2 GB of KV in the mean: 1 s more of the way, and nothing else
    assert 0.5 < (slow["mean_e2el_ms"] - page["mean_e2el_ms"]) / 1e3 < 3 and slow["mean_ttft_ms"] < 1.5 * page["mean_ttft_ms"]


@test
def sim_is_the_same_on_any_number_of_threads(shoal, models):
    args = [*CONV, "--compare", "default,seallm,fcfs,rr", "--seeds", "3", "--rates", "0.5,2"]
    one = sim(shoal, *args, "--threads", "1")
    assert one == sim(shoal, *args, "--threads", "2") == sim(shoal, *args, "--threads", "5")
    assert one == sim(shoal, *args, "--each-step"), "holds change nothing"
    points = as_json(shoal, *args)["points"]
    # As where the C library finds neither AVX nor FMA, and takes other code.
    older = dict(os.environ, GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4,-BMI2,-SSE4_2")
    done = subprocess.run([shoal, "sim", *args], capture_output=True, text=True, timeout=SECONDS, env=older)
    assert done.stdout == one, "another processor changes nothing"
    assert len(points) == 8 and all(p["seeds"] == 3 for p in points)
    for p in points:
        first = next(q for q in points if q["rate_scale"] == p["rate_scale"])
        values = p["normalized_latency"]["by_seed"]
        assert len(values) == p["seeds"] and abs(sum(values) / len(values) - p["normalized_latency"]["mean"]) < 1e-6 * sum(values)
        assert p["less_first"]["slo_attainment"]["low"] <= p["less_first"]["slo_attainment"]["high"]
        if p is first:
            assert all(d["mean"] == 0 for d in p["less_first"].values())


@test
def sim_checks_every_plan_when_asked(shoal, models):
    args = ["--workload", "sea16", "--requests", "600", "--compare", "default,seallm,muxserve,aladdin,scls,uellm,mlfq,adbs"]
    assert sim(shoal, *args) == sim(shoal, *args, "--checks"), "checks change nothing and find nothing"


@test
def sim_compares_predictors(shoal, models):
    """The regret of a predictor: the same policy and seeds, another predictor."""
    static = ["--workload", "once:n=60,lengths=alpaca", "--engines", "1", "--seeds", "3"]
    points = as_json(shoal, *static, "--compare", "uellm@oracle,uellm@mean,uellm@oracle")["points"]
    worse = [p["less_first"]["normalized_latency"]["mean"] for p in points]
    assert worse[0] == worse[2] == 0 and worse[1] > 0, worse
    assert "--predictor is one of" in sim(shoal, *static, "--compare", "uellm@nobody", wants=2)


@test
def sim_tells_how_predictors_did(shoal, models):
    """Once more from the records alone, which under this router keep the first words."""
    args = ["--workload", "azure-conv:rate=4,service=chat", "--requests", "2000", "--preset", "fcfs", "--engines", "2"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.csv")
        told, = as_json(shoal, *args, "--predictor", "quantile:0.8", "--csv", path)["predicted_lengths"]
        rows = [(int(r["n_predicted"]), int(r["n_output"])) for r in csv.DictReader(open(path, newline="", encoding="utf-8"))]
    said = [(p, o) for p, o in rows if p > 0]
    figures = {"n": len(said), "unpredicted_total": len(rows) - len(said), "coverage": sum(p >= o for p, o in said) / len(said),
               "bias_tokens": sum(p - o for p, o in said) / len(said), "error_tokens": sum(abs(p - o) for p, o in said) / len(said)}
    for key, value in figures.items():
        assert abs(told[key] - value) <= 1e-6 * max(1, abs(value)), (key, told[key], value)
    assert told["name"] == "chat" and 0.75 < told["coverage"] < 0.87
    bucket, = as_json(shoal, *args, "--predictor", "bucket")["predicted_lengths"]
    assert 0.9 * bucket["bucket_commonest"] < bucket["bucket_accuracy"] <= 1
    assert "lengths predicted, chat: 2000 outputs" in sim(shoal, *args, "--predictor", "mean")
    assert as_json(shoal, *args)["predicted_lengths"] == [], "the oracle is always right"


@test
def noise_disturbs_predictions(shoal, models):
    """By default predictions are the truth. With noise they are those of the last predictor, unless another one is
    named."""
    def sees(*more, noise=""):
        return as_json(shoal, "--workload", "azure-conv:rate=4" + noise, "--requests", "400", "--engines", "2", *more)

    plain = sees()
    assert plain["exceeded_predictions"] == 0 and plain["predicted_lengths"] == []
    for more, noise in ((["--length-noise", "1"], ""), ([], ",length-noise=1"), ([], ",prediction-noise=1")):
        page = sees(*more, noise=noise)
        assert page == sees(*more, "--predictor", "file", noise=noise), (more, noise)
        told, = page["predicted_lengths"]
        assert told["n"] == 400 and told["error_tokens"] > 50 and told["coverage"] < 0.9, told
        assert sees(*more, "--predictor", "oracle", noise=noise)["predicted_lengths"] == []
    assert "predictor bucket" in sim(shoal, *CONV, "--length-noise", "1", "--preset", "uellm")


@test
def sim_runs_in_a_row_and_noise_are_options_too(shoal, models):
    args = ["--workload", "azure-mix:rate=4", "--requests", "400"]
    for option, key in ((["--run-length", "8"], "run=8"), (["--length-noise", "2"], "length-noise=2")):
        page = as_json(shoal, *args, *option)
        assert page["records_hash"] == as_json(shoal, "--workload", f"azure-mix:rate=4,{key}", "--requests", "400")["records_hash"]
        assert page["records_hash"] != as_json(shoal, *args)["records_hash"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.csv")
        open(path, "w", encoding="utf-8").write("arrived_s,n_prompt,n_output\n0,10,10\n1,10,10\n")
        assert "does not go with a trace" in sim(shoal, "--workload", f"file:{path}", "--run-length", "4", wants=2)


@test
def sim_finds_the_rate_that_saturates(shoal, models):
    best = as_json(shoal, *CONV, "--engines", "1", "--saturate", "--target", "0.9", "--compare", "fcfs,rr")
    for b in best:
        assert b["slo_attainment"] >= 0.9
        args = [*CONV, "--engines", "1", "--preset", b["label"], "--rate-scale"]
        assert as_json(shoal, *args, str(b["rate_scale"]))["slo_attainment"] >= 0.9
        assert as_json(shoal, *args, str(1.1 * b["rate_scale"]))["slo_attainment"] < 0.9


@test
def sim_keeps_the_engines_at_all_rates(shoal, models):
    """Engines without a count are those of the factor 1, so that more load is never easier."""
    args = ["--workload", "azure-conv:rate=20", "--requests", "600", "--preset", "fcfs"]
    points = as_json(shoal, *args, "--rates", "0.25,1,4")["points"]
    one = as_json(shoal, *args)
    assert [p["engines"] for p in points] == 3 * [one["engines"]] and one["engines"] > 1, points
    assert points[1]["records_hash"] == one["records_hash"]
    levels = [p["normalized_latency"]["mean"] for p in points]
    assert levels == sorted(levels) and levels[2] > 1.5 * levels[0], levels
    assert as_json(shoal, *args, "--rates", "2")["engines"] == one["engines"] < as_json(shoal, *args, "--rate-scale", "2")["engines"]
    assert "asks for --engines" in sim(shoal, *args, "--saturate", wants=2)
    assert "asks for --engines" in sim(shoal, *args, "--fewest", wants=2)
    assert "one at a time" in sim(shoal, *args, "--engines", "2", "--saturate", "--fewest", wants=2)


@test
def sim_reads_scenarios(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("workload:\n  - poisson:service=a,rate=3,in=100,out=20\n  - poisson:service=b,rate=1,in=50,out=10\n"
                    "requests: 300\nseed: 4\nengines:\n  - {count: 2, device: h100, services: [a]}\n  - {services: [a, b]}\n"
                    "services:\n  a: {model: llama-3.1-8b, ttft: 1s}\n"
                    "  b: {weights_bytes: 2GiB, kv_bytes_per_token: 1000, decode_ms: 10, prefill_ms: 20}\n")
        records = os.path.join(folder, "r.csv")
        page = as_json(shoal, path, "--csv", records)
        rows = list(csv.DictReader(open(records, newline="", encoding="utf-8")))
        assert page["completed"] == 300 and page["engines"] == 3 and page["seed"] == 4
        assert {r["engine"] for r in rows if r["service"] == "b"} == {"2"}
        assert {r["engine"] for r in rows if r["service"] == "a"} == {"0", "1", "2"}
        b = next(r for r in rows if r["service"] == "b")
        assert int(b["solo_ns"]) == 20_000_000 + (int(b["n_output"]) - 1) * 10_000_000
        assert as_json(shoal, path, "--seed", "9")["records_hash"] != page["records_hash"]
        assert as_json(shoal, path)["records_hash"] == page["records_hash"]


@test
def times_beside_a_model(shoal, models):
    """One time that replaces the model's own leaves the other six. Without a model some must be given."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.yaml")

        def run(service, wants=0):
            open(path, "w", encoding="utf-8").write("workload: 'azure-conv:rate=1,service=chat'\nrequests: 200\nengines: 1\n"
                                                    "services: {chat: {%s}}\n" % service)
            return as_json(shoal, path) if wants == 0 else sim(shoal, path, wants=wants)

        own = run("model: llama-2-13b")
        more, less = run("model: llama-2-13b, decode_us_per_request: 30"), run("model: llama-2-13b, decode_ms: 5")
        assert 0.9 < more["mean_tpot_ms"] / own["mean_tpot_ms"] < 1.1, (own["mean_tpot_ms"], more["mean_tpot_ms"])
        assert 5 < less["mean_tpot_ms"] < 0.6 * own["mean_tpot_ms"] and less["solo_s"] < own["solo_s"]
        assert "decode_ms" in run("weights_bytes: 1GiB, prefill_ms: 3", wants=2)
        assert "prefill_ms" in run("weights_bytes: 1GiB, decode_us_per_request: 30, floor_ms: 0", wants=2)
        assert run("weights_bytes: 1GiB, prefill_ms: 3, decode_ms: 20")["mean_tpot_ms"] >= 20


@test
def a_profile_is_the_same_wherever_it_is_said(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        path, profile = os.path.join(folder, "s.yaml"), os.path.join(folder, "p.json")
        subprocess.run([shoal, "profile", f"{models}/models/tale.gguf", "--time", "300ms", "--batch", "4", "--prompt", "64", "-o", profile],
                       capture_output=True, check=True, timeout=SECONDS)
        text = "workload: 'poisson:rate=20,in=60,out=40,service=tale'\nrequests: 300\nengines: 1\nmemory: 1GiB\n"
        open(path, "w", encoding="utf-8").write(text)
        option = as_json(shoal, path, "--profile", f"tale={profile}")
        open(path, "w", encoding="utf-8").write(text + "services: {tale: {profile: '%s'}}\n" % profile)
        assert as_json(shoal, path) == option
        open(path, "w", encoding="utf-8").write(text + "services: {tale: {tables: steps.csv}}\n")
        assert "tale: a profile and tables both give" in sim(shoal, path, "--profile", f"tale={profile}", wants=2)
        open(path, "w", encoding="utf-8").write(text + "services: {tale: {model: llama-2-7b, profile_scale: 2}}\n")
        assert "tale: profile_scale is for a profile" in sim(shoal, path, wants=2)
        assert as_json(shoal, path, "--profile", f"tale={profile}")["duration"] > option["duration"]


@test
def sim_ends_by_the_clock(shoal, models):
    page = as_json(shoal, "--workload", "azure-conv:rate=100", "--engines", "1", "--duration", "60s", "--until", "60s")
    assert page["failed"] > 0 and page["failed"] + page["completed"] == page["num_prompts"]
    assert page["duration"] <= 60


@test
def one_request_keeps_its_engine_busy(shoal, models):
    """Alone it has the whole device all the time, whatever the number of lanes."""
    one = ["--workload", "once:n=1,in=100,out=500", "--engines", "1"]
    for more in ([], ["--policy", "fcfs"], ["--lanes", "1", "--lanes", "1", "--lanes", "1"], ["--device", "h100", "--tp", "2"]):
        assert abs(as_json(shoal, *one, *more)["busy_share"] - 1) < 1e-6, more
    two = as_json(shoal, "--workload", "once:n=1,in=100,out=500", "--engines", "2")
    assert abs(two["busy_share"] - 0.5) < 1e-6 and "busy 100.00% of the time" in sim(shoal, *one)


@test
def sim_counts_the_fewest_engines(shoal, models):
    lines = sim(shoal, "--workload", "azure-conv:rate=20", "--requests", "600", "--engines", "12", "--fewest", "--compare",
                "fcfs,default").splitlines()
    for line in lines[1:]:
        label, *needed = line.split()
        needed = [13 if n == "more" else int(n) for n in needed]
        assert 12 >= needed[1] >= needed[2] >= 1 and needed[0] >= needed[1], line
        args = ["--workload", "azure-conv:rate=20", "--requests", "600", "--preset", label, "--engines"]
        assert as_json(shoal, *args, str(needed[2]))["slo_attainment"] >= 0.95
        assert needed[2] == 1 or as_json(shoal, *args, str(needed[2] - 1))["slo_attainment"] < 0.95


@test
def sim_writes_traces_series_and_pages(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        trace, series, page, records = (os.path.join(folder, n) for n in ("t.json", "s.csv", "p.html", "r.csv"))
        sim(shoal, *CONV, "--trace", trace, "--series", series, "--html", page, "--csv", records, "--interval", "1s")
        events = json.load(open(trace, encoding="utf-8"))
        batches = [e for e in events if e.get("ph") == "X"]
        assert {e["args"]["name"] for e in events if e["ph"] == "M"} >= {"engine 0", "lane 0"}
        rows = list(csv.DictReader(open(records, newline="", encoding="utf-8")))
        assert sum(b["args"]["tokens"] for b in batches) >= sum(int(r["n_output"]) for r in rows)
        assert max(b["ts"] + b["dur"] for b in batches) <= max(int(r["end_ns"]) for r in rows) / 1000 + 1
        points = list(csv.DictReader(open(series, newline="", encoding="utf-8")))
        assert sum(int(p["arrived"]) for p in points) == sum(int(p["ended"]) for p in points) == 400
        text = open(page, encoding="utf-8").read()
        assert text.count("<svg") == 8 and "records " in text
        both = os.path.join(folder, "both.html")
        other = os.path.join(folder, "o.jsonl")
        sim(shoal, *CONV, "--preset", "rr", "--csv", other)
        done = subprocess.run([shoal, "report", records, other, "--html", both, "--json"], capture_output=True, text=True,
                              timeout=SECONDS)
        assert done.returncode == 0, done
        assert [x["completed"] for x in json.loads(done.stdout)] == [400, 400]
        assert open(both, encoding="utf-8").read().count("<polyline") == 12
        with open(other, "a", encoding="utf-8") as f:
            f.write("{}\n")
        done = subprocess.run([shoal, "report", other], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 2 and "line 401" in done.stderr, done


@test
def what_comes_through_a_pipe_is_read_by_every_run(shoal, models):
    timed = "arrived_s,n_prompt,n_output\n" + "".join(f"{i},{100 + i},{20 + i}\n" for i in range(40))
    lengths = "\n".join(line.split(",", 1)[1] for line in timed.splitlines())
    with tempfile.TemporaryDirectory() as folder:
        path, scenario, fifo = (os.path.join(folder, n) for n in ("t.csv", "s.yaml", "p"))
        for text, keys in ((timed, ""), (lengths, ",rate=2")):
            open(path, "w", encoding="utf-8").write(text)
            for more in ([], ["--seeds", "3", "--threads", "4"]):
                from_file = sim(shoal, "--workload", f"file:{path}{keys}", "--requests", "40", *more)
                done = subprocess.run([shoal, "sim", "--workload", f"file:/dev/stdin{keys}", "--requests", "40", *more], input=text,
                                      capture_output=True, text=True, timeout=SECONDS)
                assert done.returncode == 0 and done.stdout == from_file, done.stderr
        open(scenario, "w", encoding="utf-8").write(f"workload: file:{path}\nnodes: [{{device: a100, devices: 1}}]\nrate_scale: 2\n")
        open(path, "w", encoding="utf-8").write(timed)
        script = f'"$0" sim <(cat {scenario}) --workload file:<(cat {path})'
        done = subprocess.run(["bash", "-c", script, shoal], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0 and done.stdout == sim(shoal, scenario), done.stderr
        os.mkfifo(fifo)
        assert "p is not a regular file" in sim(shoal, "--workload", f"file:{fifo}", wants=2)


@test
def sim_swaps_where_that_is_cheaper(shoal, models):
    args = ["--workload", "azure-conv:rate=8", "--requests", "600", "--engines", "1", "--memory", "24GiB", "--policy", "fcfs"]
    # A token is computed again in 73.8 us (plus 3.4 ms for all); 2 * 512 KiB take 73.8 us at 13.2 GiB/s.
    none, slow, fast = (as_json(shoal, *args, *more) for more in ([], ["--swap-bytes", "20GiB", "--swap-bandwidth", "8GiB"],
                                                                  ["--swap-bytes", "20GiB", "--swap-bandwidth", "16GiB"]))
    assert none["preemptions"] > 5 and none["preemptions_by_swap"] == slow["preemptions_by_swap"] == 0
    assert none["records_hash"] == slow["records_hash"]
    assert fast["preemptions_by_swap"] == fast["preemptions"] > 5
    again = as_json(shoal, *args, "--swap-bytes", "20GiB", "--swap-bandwidth", "16GiB", "--each-step")
    assert again["records_hash"] == fast["records_hash"], "holds change nothing"


@test
def sim_writes_engine_logs_that_replay(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "e.log")
        sim(shoal, "--workload", "azure-conv:rate=8", "--requests", "300", "--engines", "3", "--log-engine", path, "--compare",
            "default,fcfs,cohort/scls", "--swap-bytes", "1GiB")
        logs = sorted(os.listdir(folder))
        assert len(logs) == 9 and "e-cohort_scls.log.2" in logs, logs
        n_mails = 0
        for name in logs:
            done = subprocess.run([shoal, "replay", os.path.join(folder, name), "--json"], capture_output=True, text=True,
                                  timeout=SECONDS)
            page = json.loads(done.stdout)
            assert done.returncode == 0 and page["equal"] and not page["cut"] and page["plans"] > 30, (name, page)
            n_mails += page["mails"]
        assert n_mails >= 900
    assert "at most 64 engines" in sim(shoal, *CONV, "--engines", "65", "--log-engine", "/tmp/never", wants=1)


@test
def sim_writes_every_run(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        page = as_json(shoal, *CONV, "--engines", "2", "--compare", "fcfs,fcfs/rr", "--seeds", "2", "--rates", "0.5,1", "--csv",
                       os.path.join(folder, "r.csv"), "--series", os.path.join(folder, "s.csv"), "--trace",
                       os.path.join(folder, "t.json"))
        names = [f"{label}-x{rate}-s{seed}" for label in ("fcfs", "fcfs_rr") for rate in ("0.5", "1") for seed in (1, 2)]
        expected = {f"r-{n}.csv" for n in names} | {f"s-{n}.csv" for n in names} | {f"t-{n}.json" for n in names}
        assert set(os.listdir(folder)) == expected, os.listdir(folder)
        for n in names:
            rows = list(csv.DictReader(open(os.path.join(folder, f"r-{n}.csv"), newline="", encoding="utf-8")))
            assert len(rows) == 400
            assert json.load(open(os.path.join(folder, f"t-{n}.json"), encoding="utf-8"))
        one = os.path.join(folder, "one.csv")
        sim(shoal, *CONV, "--engines", "2", "--preset", "fcfs", "--router", "rr", "--seed", "2", "--rate-scale", "0.5", "--csv", one)
        assert open(one, encoding="utf-8").read() == open(os.path.join(folder, "r-fcfs_rr-x0.5-s2.csv"), encoding="utf-8").read()
    assert len(page["points"]) == 4
    assert "write no files" in sim(shoal, *CONV, "--engines", "1", "--saturate", "--csv", "/tmp/never", wants=2)


@test
def sim_figures_follow_from_records(shoal, models):
    """Every figure that records can have, once more from the file alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.csv")
        page = as_json(shoal, "--workload", "codefuse:rate=3", "--requests", "600", "--engines", "3", "--preset", "scls",
                       "--router-thresholds", "interval_ns_min=3000", "--csv", path)
        rows = [{k: int(v) for k, v in r.items() if k not in ("service", "why")}
                for r in csv.DictReader(open(path, newline="", encoding="utf-8"))]
    total = {k: sum(r[k] for r in rows) for k in rows[0]}
    latencies = sorted(r["end_ns"] - r["arrived_ns"] for r in rows)
    at = 0.95 * (len(rows) - 1)
    p95 = latencies[int(at)] + (at - int(at)) * (latencies[int(at) + 1] - latencies[int(at)])
    makespan = (max(r["end_ns"] for r in rows) - min(r["arrived_ns"] for r in rows)) * 1e-9
    ends = [max(r["end_ns"] for r in rows if r["engine"] == e) * 1e-9 for e in range(3)]
    mean = sum(ends) / 3
    figures = {
        "mean_e2el_ms": sum(latencies) / len(rows) * 1e-6, "p95_e2el_ms": p95 * 1e-6, "duration": makespan,
        "padded_token_throughput": (total["n_prompt"] + total["n_output"] + total["n_pad"] + total["n_invalid"]) / makespan,
        "pad_tokens": total["n_pad"], "invalid_tokens": total["n_invalid"], "slices_mean": total["n_slices"] / len(rows),
        "early_returns": total["n_early"] / total["n_slices"], "batch_size_seen": total["n_batch_rows"] / total["n_batches"],
        "completion_std_s": (sum((e - mean) ** 2 for e in ends) / 3) ** 0.5, "preemptions_by_swap": 0,
        "served_fraction": min(1, len(rows) / makespan / page["offered_per_s"]),
    }
    for key, value in figures.items():
        assert abs(page[key] - value) <= 1e-6 * max(1, abs(value)), (key, page[key], value)
    assert page["slices_mean"] > 1 and page["early_returns"] > 0 and page["invalid_tokens"] > 0
    assert page["static_batch_size"] > 1 and page["static_early_returns"] > 0
    assert 0 < page["busy_share"] <= 1 and 0 < page["achieved_compute_share"] < page["achieved_memory_share"] < 1
    needed = as_json(shoal, "--workload", "azure-conv:rate=10", "--requests", "300", "--engines", "8", "--fewest")
    assert needed[0]["engines_95"] <= needed[0]["engines_99"]


@test
def sim_over_the_bus_is_the_same_and_loses_nothing(shoal, models):
    plain = as_json(shoal, *CONV, "--engines", "2")
    bus = as_json(shoal, *CONV, "--engines", "2", "--bus")
    assert bus["records_hash"] == plain["records_hash"] and bus["bus_messages"] > 800 and "bus_messages" not in plain
    args = [*CONV, "--engines", "2", "--faults", "latency=1ms,late=1ms,lost=0.02,twice=0.02", "--faults", "crash=20s,restart=2s"]
    bad = as_json(shoal, *args)
    assert bad["completed"] == 400 and bad["total_output_tokens"] == plain["total_output_tokens"], bad
    assert min(bad["crashes"], bad["crashed_requests"], bad["bus_lost"], bad["bus_twice"]) > 0
    assert bad["mean_e2el_ms"] > plain["mean_e2el_ms"]
    assert bad == as_json(shoal, *args)
    assert "none of latency=" in sim(shoal, *CONV, "--faults", "bad=luck", wants=2)
    assert "at most 16384 engines" in sim(shoal, *CONV, "--bus", "--engines", "16385", wants=1)


@test
def rules_with_targets_want_targets(shoal, models):
    """A service without a target always meets it. A report uses the targets that it is given, as the run did."""
    for rule, more in (("aladdin", ["--e2e", "9s"]), ("uellm", ["--ttft", "1s"]), ("service", [])):
        assert "no service has such a target" in sim(shoal, *CONV, *more, "--slo", rule, wants=2)
    with tempfile.TemporaryDirectory() as folder:
        path, records = os.path.join(folder, "s.yaml"), os.path.join(folder, "r.csv")
        open(path, "w", encoding="utf-8").write("workload: 'azure-conv:rate=4,service=chat'\nrequests: 300\n"
                                                "services: {chat: {model: llama-2-13b, e2e: 10s}}\nengines: 1\n")
        page = as_json(shoal, path, "--slo", "service", "--csv", records)
        assert 0 < page["slo_attainment"] < 1
        for args, wants in ((["--slo", "service", "--e2e", "10s", "--json"], 0), (["--slo", "service"], 2), (["--slo", "uellm", "--tpot", "1s"], 2)):
            done = subprocess.run([shoal, "report", records, *args], capture_output=True, text=True, timeout=SECONDS)
            assert done.returncode == wants and (wants == 0 or "no service has such a target" in done.stderr), done
            if wants == 0:
                assert json.loads(done.stdout)[0]["slo_attainment"] == page["slo_attainment"]


@test
def sim_scales_pools(shoal, models):
    """Two hours by ServeGen's clock: workers come and go, each request is served, and devices are saved."""
    with tempfile.TemporaryDirectory() as folder:
        pages = []
        for scale in ("", ", scale: [k5=0.5, c5=1, cold_start_ns=20000]"):
            path = os.path.join(folder, "s.yaml")
            with open(path, "w", encoding="utf-8") as f:
                f.write("workload: servegen:rate=4,service=s\nduration: 2h\ncontext: 131072\n"
                        "services:\n  s: {model: llama-2-13b}\n"
                        "engines:\n  - {count: 8, device: h100, services: s%s}\n" % scale)
            pages.append(as_json(shoal, path, "--seed", "3"))
        with open(path, "w", encoding="utf-8") as f:
            f.write("workload: servegen:rate=4,service=s\nengines:\n  - {count: 8, scale: [k6=1]}\n")
        assert "k6=1" in sim(shoal, path, wants=2)
    still, scaled = pages
    assert still["completed"] == scaled["completed"] > 10000
    assert still["workers_started"] == still["workers_stopped"] == 0 and abs(still["devices_mean"] - 8) < 0.01
    assert scaled["workers_stopped"] > 0 and scaled["devices_mean"] < 6
    assert scaled["slo_attainment"] > still["slo_attainment"] - 0.02


@test
def sim_goes_on_for_years(shoal, models):
    """Longer than 2^63 ps, 106.75 days; and a sentence at the end of the range of times."""
    args = ["--workload", "azure-conv:rate=0.00001", "--requests", "200"]
    for more in ([], ["--preset", "muxserve"], ["--each-step", "--checks"]):
        page = as_json(shoal, *args, *more)
        assert page["completed"] == 200 and page["duration"] > 1e7 and page["normalized_latency"] < 1.5, page
    assert "285 years" in sim(shoal, "--workload", "azure-conv:rate=1e-9", wants=1)
    assert "285 years" in sim(shoal, "--workload", "azure-conv:rate=1e-9,n=100", wants=1)


@test
def sim_says_what_is_wrong(shoal, models):
    for args, sentence in (([], "no workload"), ([*CONV, "--preset", "nonsense"], "no preset or policy"),
                           ([*CONV, "--policy", "nonsense"], "no preset or policy"), ([*CONV, "--thresholds", "nonsense=1"], "nonsense"),
                           (["--workload", "azure-conv:rate=0"], "rate"), ([*CONV, "--engines", "2", "--saturate", "--policy", "nonsense"], "no preset"),
                           ([*CONV, "--router", "nonsense"], "no router"), ([*CONV, "--predictor", "x"], "--predictor is one of"),
                           ([*CONV, "--device", "abacus"], "no device"), ([*CONV, "--slo", "hope"], "--slo is"),
                           ([*CONV, "--rates", "1,x"], "--rates"), (["/nowhere.yaml"], "/nowhere.yaml"),
                           (["--workload", "nonsense:rate=2"], "workload"), (["azure-conv:rate=4"], "behind --workload"),
                           ([*CONV, "--devices-crash", "0@1s"], "have 0"),
                           ([*CONV, "--profile", "y"], "SERVICE=FILE"), ([*CONV, "--profile", "x=y"], "SERVICE=FILE"),
                           ([*CONV, "--profile", "azure-conv=/nowhere"], "/nowhere"),
                           (["--workload", "azure-conv:rate=1,model=gpt-9"], "no model")):
        done = subprocess.run([shoal, "sim", *args], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 2 and sentence in done.stderr and done.stderr.startswith("shoal: "), (args, done)
    assert "finds no room" in sim(shoal, "--workload", "m6:rate=1", "--engines", "1", "--tp", "1", wants=1), "sound, and cannot be"
    for file in ("--trace", "--log-engine"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "full")
            os.symlink("/dev/full", path)
            assert "No space left" in sim(shoal, *CONV, file, path, wants=1), file
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([shoal, "sim", *CONV], stdout=full, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
    assert done.returncode == 1 and "could be written" in done.stderr


if __name__ == "__main__":
    main()
