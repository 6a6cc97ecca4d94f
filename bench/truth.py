"""The simulator against our own engine: the same traces through `shoal bench` on a real server with four models and through `shoal sim` with profiles that
were taken before, at several loads and under several policies.

usage: truth.py SHOAL [--seconds 20] [--loads 0.3,0.8,1.2] [--policies fcfs,rr,...] [--profile-time 12s] [--repeats 1] [--keep FOLDER]

The engine (its lane and its host thread) is alone on core 0; the rest of the server and the client are on core 1: keep the machine quiet otherwise. Frozen
before the first measured run: the profiles (hashes are printed), the saturation, and what the engine's host adds to a step, all on traces of other seeds.
Needs Python with numpy for two random models (tools/requirements.txt); they are kept beside SHOAL.
"""
import argparse
import csv
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SHARES = {"tale": 0.4, "cee": 0.3, "m10": 0.2, "m15": 0.1}  # of the requests
POLICIES = ["fcfs", "rr", "db-turn", "db-share", "mlfq", "temporal", "db-literal"]  # the first five that there are
TARGETS = {"light": 3, "knee": 8, "overload": 3}
SETTINGS = {"max_batch": 32, "max_batch_tokens": 512, "chunk_tokens": 256}


# ---- What is asked. ----

def requests_of(n, rate, seed):
    """(arrival, service, prompt, output) of n requests; rate 0: all at once."""
    rng, at, rows = random.Random(seed), 0.0, []
    for _ in range(n):
        at += rng.expovariate(rate) if rate > 0 else 0
        service = rng.choices(list(SHARES), list(SHARES.values()))[0]
        prompt = min(max(int(rng.lognormvariate(4.0, 0.7)), 4), 256)
        output = min(max(int(rng.lognormvariate(3.6, 0.7)), 2), 160)
        rows.append((at, service, prompt, output))
    return rows


def write_trace(path, rows):
    with open(path, "w") as file:
        file.write("arrived_s,model,n_prompt,n_output\n")
        for at, service, prompt, output in rows:
            file.write(f"{at:.9f},{service},{prompt},{output}\n")
    return path


class Setup:
    def __init__(self, options, folder):
        self.shoal, self.folder, self.options = os.path.abspath(options.shoal), folder, options
        self.models = {"tale": os.path.join(HERE, "../models/tale.gguf"), "cee": os.path.join(HERE, "../models/cee.gguf")}
        for name, size in (("m10", "10m"), ("m15", "15m")):
            self.models[name] = os.path.join(os.path.dirname(self.shoal), f"truth-{size}-q8_0.gguf")
            if not os.path.exists(self.models[name]):
                part = self.models[name] + ".part"
                subprocess.run([sys.executable, os.path.join(HERE, "../tools/random_model.py"), size, "Q8_0", part], check=True)
                os.rename(part, self.models[name])
        self.scales = {name: 1.0 for name in self.models}
        self.profiles, self.host_ms, self.door_s = {}, 0.0, 0.0

    def path(self, name):
        return os.path.join(self.folder, name)

    def measure_profiles(self):
        for name, model in self.models.items():
            out = self.path(name + ".json")
            text = subprocess.run(["taskset", "-c", "0", self.shoal, "profile", model, "--time", self.options.profile_time, "--batch",
                                   str(SETTINGS["max_batch"]), "--prompt", "512", "-o", out], check=True, capture_output=True, text=True).stdout
            group = next(g for g in json.load(open(out))["groups"] if g["cores"] == 1)
            held = {part: group[part + "_held_out"] for part in ("prefill", "decode")}
            errors = ", ".join(f"{part} off by {100 * e['mean']:.1f}%" for part, e in held.items())
            print(f"  {name:<5} {[line for line in text.splitlines() if line.startswith('hash')][0]}  held out: {errors}", flush=True)
            self.profiles[name] = out

    def simulate(self, trace, policy):
        with open(trace) as file:
            services = {row["model"] for row in csv.DictReader(file)}
        out, scenario = self.path("sim.csv"), self.path("sim.yaml")
        points = "false" if self.options.line else "true"
        with open(scenario, "w") as file:
            file.write(f"workload: 'file:{trace}'\npolicy: {policy}\npredictor: conditional\nmemory-part: 1\nblock-tokens: 0\ncsv: {out}\n"
                       f"max-requests: 4096\ncontext: 512\nengines: [{{memory: 1GiB}}]\nservices:\n")
            for name, profile in self.profiles.items():
                if name not in services:
                    continue
                file.write(f"  {name}: {{profile: {profile}, profile-cores: 1, profile-points: {points}, profile-scale: {self.scales[name]:.5f}, host-ms: {self.host_ms:.6f}}}\n")
        arguments = [x for key, value in SETTINGS.items() for x in ("--" + key.replace("_", "-"), str(value))]
        subprocess.run([self.shoal, "sim", scenario, *arguments], check=True, stdout=subprocess.DEVNULL)
        return records(out)


def records(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return {int(r["id"]): r for r in rows}


# ---- The real server. ----

class Server:
    def __init__(self, setup, policy):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.setup, config = setup, setup.path("serve.yaml")
        with open(config, "w") as file:
            file.write(f"listen: 127.0.0.1:{self.port}\nmemory: 1GiB\ndevices: [cpu:0]\npolicy: {policy}\npredictor: conditional\nprefix_cache: false\n"
                       f"keep_alive: -1s\nlog_level: warn\n")
            for key, value in SETTINGS.items():
                file.write(f"{key}: {value}\n")
            file.write("models:\n")
            for name, model in setup.models.items():
                file.write(f"  {name}: {{path: {model}, ctx: 512, profile: {setup.profiles[name]}, preload: true}}\n")
        self.process = subprocess.Popen([setup.shoal, "serve", config])

    def __enter__(self):
        while True:
            try:
                states = [m["status"]["value"] for m in json.loads(self.get("/models"))["data"]]
                if states and all(s == "loaded" for s in states):
                    break
            except OSError:
                pass
            if self.process.poll() is not None:
                raise SystemExit("truth: the server did not start")
            time.sleep(0.05)
        self.pin()
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()

    def get(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5).read().decode()

    def pin(self):
        """The engine's threads to core 0, all others, of every process of the server, to core 1."""
        for thread, name in self.threads():
            os.sched_setaffinity(thread, {0 if name.startswith(("lane-", "engine-")) else 1})

    def threads(self):
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        for pid in [str(self.process.pid), *children]:
            for thread in os.listdir(f"/proc/{pid}/task"):
                yield int(thread), open(f"/proc/{pid}/task/{thread}/comm").read()

    def core_times(self):
        """Seconds that the engine's lane computed, that its host thread ran, and that both waited for core 0."""
        lane, host, waited = 0.0, 0.0, 0.0
        for thread, name in self.threads():
            if name.startswith(("lane-", "engine-")):
                ran_ns, waited_ns, _ = map(int, open(f"/proc/{thread}/schedstat").read().split())
                lane, host, waited = lane + ran_ns * 1e-9 * name.startswith("lane-"), host + ran_ns * 1e-9 * name.startswith("engine-"), waited + waited_ns * 1e-9
        return lane, host, waited

    def counters(self):
        """Steps, seconds in steps, seconds of the host, of the engine."""
        wanted = ("shoal_engine_steps_total", "shoal_engine_step_seconds_total", "shoal_engine_host_seconds_total")
        time.sleep(1.5)  # what /metrics says is at most so old
        found = {line.split("{")[0]: float(line.split()[-1]) for line in self.get("/metrics").splitlines() if line.startswith(wanted)}
        return [found[name] for name in wanted]

    def replay(self, trace):
        out = self.setup.path("bench.csv")
        done = subprocess.run([self.setup.shoal, "bench", f"127.0.0.1:{self.port}", "--workload", f"file:{trace}", "--solo", "0", "--core", "1",
                               "--prompt", "ids", "--csv", out], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit("truth: bench found wrong answers:\n" + done.stdout + done.stderr)
        return records(out)


# ---- Figures. ----

def span(r):
    return (int(r["end_ns"]) - int(r["arrived_ns"])) * 1e-9


def figures(got, solo):
    """Mean normalized latency (each request over its predicted time alone), mean seconds, tokens per second."""
    ends = [int(r["end_ns"]) * 1e-9 for r in got.values()]
    begins = [int(r["arrived_ns"]) * 1e-9 for r in got.values()]
    return (statistics.mean(span(r) / (int(solo[i]["solo_ns"]) * 1e-9) for i, r in got.items()), statistics.mean(span(r) for r in got.values()),
            sum(int(r["n_output"]) for r in got.values()) / (max(ends) - min(begins)))


def kendall(a, b):
    """Tau of two rankings, and how many pairs are turned round."""
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    turned = sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in pairs)
    return 1 - 2 * turned / max(len(pairs), 1), turned


def makespan(got):
    return max(int(r["end_ns"]) for r in got.values()) * 1e-9 - min(int(r["arrived_ns"]) for r in got.values()) * 1e-9


def watch(server, trace):
    """A run, with what the engine says of it: steps, seconds in steps and of its host, seconds of its threads on core 0 and waiting for it."""
    before = *server.counters(), *server.core_times()
    got = server.replay(trace)
    return got, [b - a for a, b in zip(before, (*server.counters(), *server.core_times()))]


def calibrate_model(setup, server, policy, name, n):
    """How much longer a model's steps take in the engine than its profile says: other rows beside it, what the caches lost between steps."""
    rows = [r for r in requests_of(100 * n, 0, 1005) if r[1] == name][:n]
    trace = write_trace(setup.path(f"list-{name}.csv"), rows)
    _, (steps, step_s, _, lane_s, _, waited_s) = watch(server, trace)
    host_ms, setup.host_ms = setup.host_ms, 0.0
    simulated_s = makespan(setup.simulate(trace, policy))
    setup.host_ms = host_ms
    if steps < 1:
        raise SystemExit("truth: the engine's report says that nothing ran")
    setup.scales[name] = min(max(step_s / simulated_s, 0.1), 10)
    print(f"  {name:<5} {n} at once: {steps:.0f} steps took {step_s:.3f} s (computing {lane_s:.3f} s, waiting for core 0 {waited_s:.3f} s), "
          f"by its profile {simulated_s:.3f} s: factor {setup.scales[name]:.3f}", flush=True)


def calibrate(setup, policy):
    """Saturation, factors and the host's terms, from lists at t = 0 and lonely requests, of seeds that no measured run has."""
    with Server(setup, policy) as server:
        server.replay(write_trace(setup.path("warm.csv"), requests_of(24, 0, 1001)))
        probe = server.replay(write_trace(setup.path("probe.csv"), requests_of(48, 0, 1002)))
        n = max(48, int(48 / makespan(probe) * setup.options.calibrate))
        for name in setup.models:
            calibrate_model(setup, server, policy, name, max(16, int(n * SHARES[name] / 2)))
        trace = write_trace(setup.path("list.csv"), requests_of(n, 0, 1003))
        real, (steps, step_s, host_s, lane_s, thread_s, waited_s) = watch(server, trace)
        lonely = write_trace(setup.path("lonely.csv"), [(0.4 * i, *r[1:]) for i, r in enumerate(requests_of(16, 0, 1004))])
        alone = server.replay(lonely)
    busy = makespan(real)
    setup.host_ms = max(busy - step_s, 0) / steps * 1e3
    print(f"  saturation {n / busy:.2f} requests/s: {n} at once in {busy:.2f} s, {steps:.0f} steps of {step_s / steps * 1e3:.3f} ms (computing "
          f"{lane_s:.2f} s, waiting for core 0 {waited_s:.2f} s); between two {setup.host_ms:.3f} ms, of which the engine's own "
          f"{host_s / steps * 1e3:.3f} (its thread ran {thread_s / steps * 1e3:.3f})")
    first, found = makespan(setup.simulate(trace, policy)), dict(setup.scales)
    low, high = 0.1, 10.0
    for _ in range(24):
        common = (low + high) / 2
        setup.scales = {name: common * factor for name, factor in found.items()}
        low, high = (common, high) if makespan(setup.simulate(trace, policy)) < busy else (low, common)
    print(f"  simulated with that: {first:.2f} s ({100 * (first / busy - 1):+.1f}%); all factors times {common:.3f} make it "
          f"{makespan(setup.simulate(trace, policy)):.2f} s")
    simulated = setup.simulate(lonely, policy)
    setup.door_s = statistics.median(span(alone[i]) - span(simulated[i]) for i in alone)
    print(f"  a lonely request takes {setup.door_s * 1e3:+.2f} ms more than simulated: the door's and the client's part, added to each", flush=True)
    return n / busy


def kind_of(load):
    return "light" if load < 0.6 else "knee" if load < 1 else "overload"


def compare(setup, policy, load, trace, server):
    runs, before = [], server.core_times()
    for _ in range(setup.options.repeats):
        runs.append(server.replay(trace))
    waited_s = (server.core_times()[2] - before[2]) / sum(makespan(run) for run in runs)
    simulated = setup.simulate(trace, policy)
    for r in simulated.values():
        r["end_ns"] = int(r["end_ns"]) + int(setup.door_s * 1e9)
    sim = figures(simulated, simulated)
    real = [statistics.median(f) for f in zip(*(figures(run, simulated) for run in runs))]
    errors = [100 * (s / r - 1) for s, r in zip(sim, real)]
    kind = kind_of(load)
    error, target = errors[2 if kind == "overload" else 0], TARGETS[kind]
    print(f"{policy:<10} {load:5.2f} {real[0]:9.3f} {sim[0]:9.3f} {errors[0]:+7.1f}% {real[1]:9.3f} {sim[1]:9.3f} {errors[1]:+7.1f}% "
          f"{real[2]:9.1f} {sim[2]:9.1f} {errors[2]:+7.1f}% {100 * waited_s:6.1f}%  {'tokens/s' if kind == 'overload' else 'NL'} {target}%: "
          f"{'met' if abs(error) <= target else 'MISSED'}", flush=True)
    return real[0], sim[0]


def run(setup):
    options = setup.options
    print("profiles (one core), frozen:", flush=True)
    setup.measure_profiles()
    policies = [p for p in options.policies.split(",") if p] or \
        [p for p in POLICIES if subprocess.run([setup.shoal, "sim", "--workload", "poisson:rate=1,in=1,out=1", "--requests", "1", "--policy", p],
                                               capture_output=True).returncode == 0][:5]
    print(f"calibration ({policies[0]}):", flush=True)
    saturation = calibrate(setup, policies[0])
    loads = [float(x) for x in options.loads.split(",")]
    traces = {load: write_trace(setup.path(f"load{load}.csv"), requests_of(max(int(load * saturation * options.seconds), 8), load * saturation, 7))
              for load in loads}
    print("\nWAITED: of the time the engine's threads were ready and did not get core 0; above a few percent the machine was not quiet.")
    print(f"{'POLICY':<10} {'LOAD':>5} {'NL':>9} {'SIM':>9} {'ERROR':>8} {'LATENCY s':>9} {'SIM':>9} {'ERROR':>8} {'TOKENS/S':>9} {'SIM':>9} {'ERROR':>8}"
          f" {'WAITED':>7}  TARGET")
    found = {load: [] for load in loads}
    for policy in policies:
        with Server(setup, policy) as server:
            server.replay(setup.path("warm.csv"))
            for load in loads:
                found[load].append(compare(setup, policy, load, traces[load], server))
    for load in loads:
        real, sim = zip(*found[load])
        tau, turned = kendall(real, sim)
        order = [policies[i] for i in sorted(range(len(policies)), key=lambda i: real[i])]
        print(f"load {load}: order of the policies by NL ({', '.join(order)}): Kendall tau {tau:.2f}, {turned} pairs turned round: "
              f"{'kept' if turned == 0 else 'NOT kept'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--loads", default="0.3,0.8,1.2")
    parser.add_argument("--policies", default="")
    parser.add_argument("--profile-time", default="12s")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--calibrate", type=float, default=6, help="seconds of each calibrating list")
    parser.add_argument("--keep", default="")
    parser.add_argument("--line", action="store_true", help="the profiles' lines instead of their points")
    options = parser.parse_args()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
        run(Setup(options, options.keep))
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Setup(options, folder))


if __name__ == "__main__":
    main()
