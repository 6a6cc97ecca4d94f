"""shoal plan from the command line: plans, comparisons, pages; its figures are those of the scenario that it writes.

usage: plan.py SHOAL SOURCE_ROOT
"""
import json
import os
import re
import subprocess
import tempfile

from serve_shared import SECONDS, main, test

MIX = ["sea16:seed=2,rate=10", "--requests", "1200"]


def run(shoal, verb, *args, wants=0):
    done = subprocess.run([shoal, verb, *args], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == wants, (args, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout if wants == 0 else done.stderr


def plan(shoal, *args):
    return json.loads(run(shoal, "plan", *args, "--json"))


@test
def plan_says_where_everything_lies(shoal, models):
    page = plan(shoal, "4x8xa800", *MIX, "--planner", "even")
    best = page["plans"][0]
    assert best["planner"] == "even" and page["devices"] == 32 and len(best["services"]) == 16
    taken = [d for e in best["engines"] for d in range(e["first_device"], e["first_device"] + e["devices"])]
    assert len(taken) == len(set(taken)) <= 32 and best["planned_on"]["devices"] == len(taken)
    assert {s["service"] for e in best["engines"] for s in e["services"]} == {s["service"] for s in best["services"]}
    assert len(page["plans"]) > 1, "rivals"
    assert set(page["changes"]) == {"one a800 less", "one a800 more"}
    text = run(shoal, "plan", "4x8xa800", *MIX, "--planner", "even")
    wins = page["plans"][1]["planned_on"]["normalized_latency"] < best["planned_on"]["normalized_latency"]
    assert page["plans"][1]["wins_by" if wins else "lost_by"] in text and "lost_by" not in best
    for words in ("node 3", "expected:", "afterwards:", "one a800 less", "it wins by" if wins else "it lost by", "better: " if wins else "runner-up: "):
        assert words in text, (words, text)


@test
def plan_is_the_same_on_any_number_of_threads(shoal, models):
    args = ["2x8xa800", *MIX, "--no-price"]
    one = run(shoal, "plan", *args, "--threads", "1")
    assert one == run(shoal, "plan", *args, "--threads", "2") == run(shoal, "plan", *args, "--threads", "5")


@test
def plan_agrees_with_sim(shoal, models):
    """The scenario that it writes, when simulated, attains the plan's figures, service by service."""
    with tempfile.TemporaryDirectory() as folder:
        out, cluster = os.path.join(folder, "p.yaml"), os.path.join(folder, "c.yaml")
        with open(cluster, "w", encoding="utf-8") as f:
            f.write('nodes:\n  - {count: 3, device: a800}\n  - {count: 1, device: h100, devices: 4, cost: 2.5}\n'
                    'slo: service\ne2e: 20s\nservices:\n  longbench1-llama-2-13b: {tpot: 60ms}\n')
        args = [cluster, *MIX, "--planner", "even", "--window", "100h", "--no-price"]
        page = plan(shoal, *args, "--out", out)
        best = page["plans"][0]
        assert page["requests"] == 1200 and page["requests_afterwards"] == 0
        again = json.loads(run(shoal, "sim", out, "--json"))
    assert abs(again["slo_attainment"] - best["planned_on"]["slo_attainment"]) < 1e-9, (again["slo_attainment"], best["planned_on"])
    ours = {s["service"]: s["slo_attainment"] for s in best["services"]}
    for s in again["services"]:
        assert abs(ours[s["name"]] - s["slo_attainment"]) < 1e-9, s
    assert best["planned_on"]["cost_per_hour"] in (0, 10.0) or best["planned_on"]["cost_per_hour"] % 2.5 == 0


@test
def plan_compares_for_as_long_as_is_asked(shoal, models):
    """The requests on which plans are compared may last longer than those that plans are made on. The length that is
    given applies to both."""
    args = ["1x4xa100", "power19:services=3,alpha=0.9,rate=4", "--planner", "even,machine", "--window", "50s"]
    usual, longer = plan(shoal, *args), plan(shoal, *args, "--after", "200s")
    assert usual["requests"] == longer["requests"] and usual["window_s"] == longer["window_s"] == 50
    assert 3 < longer["requests_afterwards"] / usual["requests_afterwards"] < 5, longer["requests_afterwards"]
    for a, b in zip(usual["plans"], longer["plans"]):
        assert a["planned_on"] == b["planned_on"] and a["afterwards"] != b["afterwards"], (a, b)
    done = subprocess.run([shoal, "plan", "1x4xa100", "power19:services=3", "--after", "200s"], capture_output=True, text=True)
    assert done.returncode != 0 and "--after needs --window" in done.stderr, done.stderr


@test
def plan_of_muxserve_is_judged_as_simulated(shoal, models):
    """Its shares and quotas are in the file, are simulated, and change the result."""
    args = ["1x1xa800", "alpaca:rate=6,model=llama-2-7b,service=a+sharegpt:rate=3,model=llama-2-13b,service=b"
            "+sharegpt:rate=2,model=llama-2-7b,service=c", "--requests", "600", "--window", "100h", "--no-price",
            "--preset", "muxserve", "--router", "least", "--planner", "muxserve"]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "p.yaml")
        best = plan(shoal, *args, "--out", out)["plans"][0]
        with open(out, encoding="utf-8") as f:
            text = f.read()
        assert "shares: [" in text and "quotas: [" in text, text
        again = json.loads(run(shoal, "sim", out, "--json"))
        for key in ("shares", "quotas"):
            text = re.sub(rf", {key}: \[[^]]*\]", "", text)
        with open(out, "w", encoding="utf-8") as f:
            f.write(text)
        without = json.loads(run(shoal, "sim", out, "--json"))
    assert abs(again["slo_attainment"] - best["planned_on"]["slo_attainment"]) < 1e-9, (again["slo_attainment"], best["planned_on"])
    ours = {s["service"]: s["slo_attainment"] for s in best["services"]}
    for s in again["services"]:
        assert abs(ours[s["name"]] - s["slo_attainment"]) < 1e-9, s
    assert len(ours) == 3 and without["records_hash" if "records_hash" in again else "services"] != again["records_hash" if "records_hash" in again else "services"]


@test
def plan_says_how_engines_are_divided(shoal, models):
    """Its lanes are in the file and on every page, are simulated, and change the result. A policy of one lane leaves
    no choice, and another planner chooses none."""
    args = ["1x4xa100", "power19:services=6,alpha=0.9,rate=12", "--requests", "1200", "--window", "100h", "--no-price"]
    with tempfile.TemporaryDirectory() as folder:
        out, html = os.path.join(folder, "p.yaml"), os.path.join(folder, "p.html")
        best = plan(shoal, *args, "--out", out, "--html", html)["plans"][0]
        parts = [e["lanes"] for e in best["engines"]]
        assert [1, 1, 1] in parts, parts
        with open(out, encoding="utf-8") as f:
            text = f.read()
        with open(html, encoding="utf-8") as f:
            assert "; lanes 1:1:1</title>" in f.read()
        assert "; lanes 1:1:1\n" in run(shoal, "plan", *args)
        again = json.loads(run(shoal, "sim", out, "--json"))
        for wrong in ('"0"', ", ".join(8 * ['"1"'])):
            with open(out, "w", encoding="utf-8") as f:
                f.write(text.replace('lanes: ["1", "1", "1"]', f"lanes: [{wrong}]"))
            assert "lanes: " in run(shoal, "sim", out, wants=2)
        with open(out, "w", encoding="utf-8") as f:
            f.write(text.replace(', lanes: ["1", "1", "1"]', ""))
        without = json.loads(run(shoal, "sim", out, "--json"))
        nodes = os.path.join(folder, "nodes.yaml")
        with open(nodes, "w", encoding="utf-8") as f:
            f.write("nodes: [{count: 1, device: a100, devices: 4}]\n")
        engines = run(shoal, "sim", nodes, "--workload", args[1], "--requests", "1200", "--json")
    assert abs(again["slo_attainment"] - best["planned_on"]["slo_attainment"]) < 1e-9
    assert without["normalized_latency"] > 1.01 * again["normalized_latency"]
    assert json.loads(engines)["batches"] > 0
    for more in (["--policy", "fcfs"], ["--planner", "seallm"]):
        assert all(e["lanes"] == [] for e in plan(shoal, *args, *more)["plans"][0]["engines"]), more


@test
def sim_gives_nodes_the_plans_shares_and_quotas(shoal, models):
    """The same report, to the byte, as for the engines that the plan is written as; but not for models that may
    move."""
    mix = "alpaca:rate=6,model=llama-2-7b,service=a+sharegpt:rate=3,model=llama-2-13b,service=b"
    args = ["--requests", "600", "--preset", "muxserve", "--router", "least", "--planner", "muxserve"]
    with tempfile.TemporaryDirectory() as folder:
        engines, nodes = os.path.join(folder, "engines.yaml"), os.path.join(folder, "nodes.yaml")
        plan(shoal, "1x1xa800", mix, *args, "--no-price", "--out", engines)
        with open(nodes, "w", encoding="utf-8") as f:
            f.write("nodes: [{count: 1, device: a800, devices: 1}]\n")
        asked = [shoal, "sim", nodes, "--workload", mix, *args, "--json"]
        page = run(shoal, "sim", engines, "--json")
        assert "shares: [" in open(engines, encoding="utf-8").read() and page == run(*asked)
        moving = json.loads(run(*asked, "--replace", "first_ns=1e10"))
    assert "plans" not in moving and moving["batches"] != json.loads(page)["batches"]


@test
def plan_compares_on_the_window_after(shoal, models):
    page = plan(shoal, "4x8xa800", *MIX, "--planner", "even,greedy,machine")
    assert [p["planner"] for p in page["plans"]] == ["even", "greedy", "machine"]
    assert page["requests_afterwards"] == 600 and all("afterwards" in p for p in page["plans"])
    text = run(shoal, "plan", "4x8xa800", *MIX, "--planner", "even,greedy,machine")
    assert text.count("\neven ") == text.count("\ngreedy ") == 1 and "window after" in text


@test
def plan_draws_a_page(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.html")
        run(shoal, "plan", "1x8xh200+1x20xl40s", *MIX, "--planner", "even", "--html", path, "--no-price")
        text = open(path, encoding="utf-8").read()
    assert text.count('class="d"') == 28 and text.count('class="e"') >= 16 and "node 1, l40s" in text


@test
def plan_takes_more_services_than_one_simulation_may_have(shoal, models):
    work = ["--workload", "power19:services=60,rate=6", "--workload", "sea16:rate=2", "--requests", "1500"]
    page = plan(shoal, "16x8xa100", *work, "--planner", "even", "--no-price")
    assert len(page["plans"][0]["services"]) == 76


@test
def plan_refuses_with_the_arithmetic(shoal, models):
    """Exit code 1 when nothing fits, and no figure for a service that never ran."""
    def out(wants, *args):
        done = subprocess.run([shoal, "plan", "1x2xl40s", *args, "--requests", "100"], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == wants, done
        return done.stdout

    large, small = "azure-conv:rate=1,model=llama-2-70b", "azure-code:rate=1,model=llama-2-7b"
    best = json.loads(out(1, large, "--planner", "even", "--json"))["plans"][0]
    assert best["engines"] == [] and "GiB of weights" in best["not_placed"][0]["why"], best
    assert best["services"][0]["normalized_latency"] is best["planned_on"]["normalized_latency"] is None
    text = out(1, large, "--planner", "even")
    assert re.search(r"azure-conv .* 0 +0.0% +- +-\n", text) and "normalized latency -, p99 - s" in text, text
    assert re.search(r"greedy .* 0.00% +- +- ", out(1, large, "--planner", "even,greedy"))
    both = out(0, "--workload", large, "--workload", small, "--planner", "even")
    assert re.search(r"azure-conv .* 0 +0.0% +- +-\n", both) and re.search(r"azure-code .*\d\.\d\d\n", both), both


@test
def plan_says_what_is_wrong(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        def file(text):
            path = os.path.join(folder, f"{len(os.listdir(folder))}.yaml")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return path
        for args, sentence in ((["3x", *MIX], "expected NODESxDEVICESxKIND"), (["4x8xabacus", *MIX], 'no device "abacus"'),
                               ([file("seed: 3\n"), *MIX], "needs a list `nodes:`"),
                               ([file("nodes: 3\n"), *MIX], "expected a list of nodes"),
                               ([file("nodes:\n  - {count: 2}\n"), *MIX], "a node needs a device"),
                               ([file("nodes:\n  - {device: a100, devices: 0}\n"), *MIX], "devices"),
                               ([file("nodes:\n  - {device: a100, wheels: 4}\n"), *MIX], "unknown key wheels"),
                               (["/nowhere.yaml", *MIX], "/nowhere.yaml"), (["4x8xa100"], "no workload"),
                               (["4x8xa100", "nonsense:rate=2"], "workload"),
                               (["4x8xa100", *MIX, "--planner", "oracle"], "--planner is a list of"),
                               (["4x8xa100", *MIX, "--planner", ""], "--planner is a list of"),
                               (["4x8xa100", *MIX, "--slo", "hope"], "--slo is"),
                               (["4x8xa100", *MIX, "--profile", "x=y"], "SERVICE=FILE"),
                               (["4x8xa100", *MIX, "--slo", "aladdin", "--e2e", "1s"], "compares with ttft or tpot"),
                               (["4096x64xa100", *MIX], "more than 16384 devices")):
            done = subprocess.run([shoal, "plan", *args], capture_output=True, text=True, timeout=SECONDS)
            assert done.returncode == 2 and sentence in done.stderr and done.stderr.startswith("shoal: "), (args, done)
            assert len(done.stderr.splitlines()) == 1, done.stderr


@test
def plan_reads_from_pipes(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        cluster, trace = os.path.join(folder, "c.yaml"), os.path.join(folder, "t.csv")
        with open(cluster, "w", encoding="utf-8") as f:
            f.write("nodes: [{count: 1, device: a100, devices: 2}]\n")
        with open(trace, "w", encoding="utf-8") as f:
            f.write("arrived_s,n_prompt,n_output\n" + "".join(f"{i},{100 + i},20\n" for i in range(40)))
        script = f'"$0" plan <(cat {cluster}) file:<(cat {trace}) --planner even'
        done = subprocess.run(["bash", "-c", script, shoal], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0 and done.stdout == run(shoal, "plan", cluster, f"file:{trace}", "--planner", "even"), done.stderr


@test
def plan_lays_layers_over_unlike_devices(shoal, models):
    page = plan(shoal, "1x2xv100+1x2xrtx-3090+1x4xa100", "--layers", "llama-2-70b")
    plans = {p["planner"]: p for p in page["plans"]}
    assert set(plans) == {"helr", "he", "lr", "bgs", "even-layers"}
    for p in plans.values():
        assert sum(part["layers"] for part in p["parts"]) == page["layers"] == 80
        assert len({part["device"] for part in p["parts"]}) == len(p["parts"])
        assert p["step_ms"] >= plans["lr"]["step_ms"] and len(p["parts"]) >= len(plans["he"]["parts"])
    text = run(shoal, "plan", "1x2xv100+1x2xrtx-3090+1x4xa100", "--layers", "llama-2-70b", "--planner", "helr,bgs")
    assert "helr" in text and "bgs" in text and "even-layers" not in text
    assert "do not fit" in run(shoal, "plan", "1x1xt4", "--layers", "llama-2-70b", wants=2)
    assert "no model" in run(shoal, "plan", "1x1xt4", "--layers", "nothing", wants=2)
    assert "list of helr" in run(shoal, "plan", "1x4xt4", "--layers", "opt-6.7b", "--planner", "even", wants=2)


@test
def plan_reads_links(shoal, models):
    """Two links, there and back, of a second each instead of a microsecond make the step two seconds longer."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "links.csv")
        steps = []
        for us in (1, 1000000):
            with open(path, "w", encoding="utf-8") as f:
                f.write("from,to,us,gbytes_per_s\n0,1,%d,0\n" % us)
            page = plan(shoal, "1x2xa100", "--layers", "llama-2-70b", "--links", path, "--planner", "lr")
            steps.append(page["plans"][0]["step_ms"])
        assert abs(steps[1] - steps[0] - 2 * 999.999) < 1e-3, steps
        with open(path, "w", encoding="utf-8") as f:
            f.write("GPU0 GPU1 GPU2\nGPU0 X PIX PIX\nGPU1 PIX X PIX\nGPU2 PIX PIX X\n")
        assert "links of 3 devices, there are 2" in run(shoal, "plan", "1x2xa100", "--layers", "llama-2-70b", "--links", path,
                                                     wants=2)
    topology = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scenario", "two_sockets.xml")
    asks = ("--layers", "llama-2-70b", "--planner", "lr", "--links", topology)
    assert [part["device"] for part in plan(shoal, "1x5xa100", *asks)["plans"][0]["parts"]] == [0, 1]  # they share a switch
    assert "two_sockets.xml: links of 5 devices, there are 2" in run(shoal, "plan", "1x2xa100", *asks, wants=2)


@test
def plan_sizes_workers(shoal, models):
    page = plan(shoal, "1x4xa100-pcie", "sharegpt:rate=5,model=llama-2-13b", "--workers", "--tpot", "30ms")
    kind = page["services"][0]["kinds"][0]
    assert kind["best"] == 1 and kind["workers_min"] >= 1 and len(kind["options"]) == 3
    best = max(o["tokens_per_s_of_a_device"] for o in kind["options"])
    assert kind["options"][0]["tokens_per_s_of_a_device"] == best
    text = run(shoal, "plan", "1x1xt4", "sharegpt:rate=5,model=llama-2-13b", "--workers")
    assert "no room" in text


if __name__ == "__main__":
    main()
