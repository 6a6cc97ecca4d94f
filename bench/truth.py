"""The simulator against our own engine: the same traces through `shoal bench` on a real server with four models and through `shoal sim` with profiles that
were taken before, at several loads and under several policies.

usage: truth.py SHOAL [--steady 400] [--seconds 20] [--loads 0.3,0.8,1.2] [--policies fcfs,rr,...] [--profile-time 12s] [--repeats 2] [--keep FOLDER]

The engine (its lane and its host thread) is alone on core 0; the rest of the server and the client are on core 1: keep the machine quiet otherwise. Frozen
before the first measured run: the profiles (hashes are printed), the saturation, and what the engine's host and the door add, all on traces of other seeds.

A machine that is shared (a virtual one whose neighbours' threads run on the same cores) is 1.3 to 1.9 times slower at one moment than at another, and near
saturation 10% of speed is half of the waiting: with --steady 0 the same trace measured twice differs by so much. With --steady N (serve --steady N) a step
computes, and then its lane waits until N percent of what the frozen profile says are over: what is compared then is all but the kernels' speed. LATE says how
much longer steps took than that. Every trace is measured --repeats times: FLOOR is how far apart these are, the least that an error can mean.
Needs Python with numpy for two random models (tools/requirements.txt); they are kept beside SHOAL.
"""
import argparse
import csv
import ctypes
import json
import os
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
SHARES = {"tale": 0.4, "cee": 0.3, "m10": 0.2, "m15": 0.1}  # of the requests
POLICIES = ["fcfs", "rr", "db-turn", "db-share", "mlfq", "temporal", "db-literal"]  # the first five that there are
TARGETS = {"light": 3, "knee": 8, "overload": 3}
PAUSE_S = 2  # between runs: a request that the simulator ends a little later would meet the next run, and wait behind all of it
SETTINGS = {"max_batch": 32, "max_batch_tokens": 512, "chunk_tokens": 256}


# ---- A machine that others use. ----


class Preferred:
    """This process and its children go before all others, as far as the system lets them (root, Linux): a group of the greatest weight, short slices."""
    PLACES = (("/sys/fs/cgroup/cpu", "tasks", "cpu.shares", "262144"), ("/sys/fs/cgroup", "cgroup.procs", "cpu.weight", "10000"))

    def __enter__(self):
        self.root = None
        signal.signal(signal.SIGTERM, lambda *unused: sys.exit(1))  # so that the group goes
        for root, members, weight, most in self.PLACES:
            group = os.path.join(root, f"shoal-truth-{os.getpid()}")
            try:
                os.mkdir(group)
                self.root, self.group, self.members = root, group, members
                for name, value in ((weight, most), (members, str(os.getpid()))):
                    with open(os.path.join(group, name), "w") as file:
                        file.write(value)
                break
            except OSError:
                self.__exit__()
        # struct sched_attr: policy 0, nice -20, a slice of 0.1 ms; other kernels than x86-64's say no
        attributes = struct.pack("=IIQiIQQQII", 56, 0, 0, -20, 0, 100000, 0, 0, 0, 0)
        ctypes.CDLL(None).syscall(314, 0, attributes, 0)

    def __exit__(self, *unused):
        if self.root is None:
            return
        try:
            with open(os.path.join(self.root, self.members), "w") as file:
                file.write(str(os.getpid()))
            os.rmdir(self.group)
        except OSError:
            pass
        self.root = None


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
        self.profiles, self.lines, self.host, self.door_s = {}, {}, {}, 0.0

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
            self.profiles[name], self.lines[name] = out, group["perf_ps"]
            self.scales[name] = self.options.steady / 100 or 1.0

    def simulate(self, trace, policy):
        with open(trace) as file:
            services = {row["model"] for row in csv.DictReader(file)}
        out, scenario = self.path("sim.csv"), self.path("sim.yaml")
        with open(scenario, "w") as file:
            file.write(f"workload: 'file:{trace}'\npolicy: {policy}\npredictor: conditional\nmemory-part: 1\nblock-tokens: 0\ncsv: {out}\n"
                       f"max-requests: 4096\ncontext: 512\nengines: [{{memory: 1GiB}}]\nservices:\n")
            for name, profile in self.profiles.items():
                if name not in services:
                    continue
                file.write(f"  {name}: {{profile: {profile}, profile-cores: 1, profile-scale: {self.scales[name]:.5f}"
                           + "".join(f", {key}: {value:.6f}" for key, value in self.host.items()) + "}\n")
        arguments = [x for key, value in SETTINGS.items() for x in ("--" + key.replace("_", "-"), str(value))]
        subprocess.run([self.shoal, "sim", scenario, *arguments], check=True, stdout=subprocess.DEVNULL)
        return records(out)


def records(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    first = min(int(r["id"]) for r in rows)
    return {int(r["id"]) - first: r for r in rows}


# ---- The real server. ----

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path):
    return urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).read().decode()


def wait_loaded(port, process):
    while True:
        try:
            states = [m["status"]["value"] for m in json.loads(get(port, "/models"))["data"]]
            if states and all(s == "loaded" for s in states):
                return
        except OSError:
            pass
        if process.poll() is not None:
            raise SystemExit("the server did not start")
        time.sleep(0.05)


def read_steps(shoal, log, out):
    """What an engine's log says of every batch, in the order of their ends."""
    subprocess.run([shoal, "replay", log, "--steps", out], check=True, stdout=subprocess.DEVNULL)
    with open(out) as file:
        rows = [{k: v if k == "kind" else int(v) for k, v in row.items()} for row in csv.DictReader(file)]
    return [row for row in rows if row["kind"] == "compute"]


class Server:
    def __init__(self, setup, policy):
        self.port = free_port()
        self.setup, config = setup, setup.path("serve.yaml")
        with open(config, "w") as file:
            file.write(f"listen: 127.0.0.1:{self.port}\nmemory: 1GiB\ndevices: [cpu:0]\npolicy: {policy}\npredictor: conditional\nprefix_cache: false\n"
                       f"keep_alive: -1s\nlog_level: warn\n")
            for key, value in SETTINGS.items():
                file.write(f"{key}: {value}\n")
            file.write("models:\n")
            for name, model in setup.models.items():
                file.write(f"  {name}: {{path: {model}, ctx: 512, profile: {setup.profiles[name]}, preload: true}}\n")
        self.log = setup.path("engine.log")
        self.process = subprocess.Popen([setup.shoal, "serve", config, "--steady", str(setup.options.steady), "--log-engine", self.log])

    def __enter__(self):
        wait_loaded(self.port, self.process)
        self.pin()
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()
        names = list(self.setup.models)
        self.batches = [{**row, "model": names[row["service"]]} for row in read_steps(self.setup.shoal, self.log, self.setup.path("steps.csv"))]

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

    def replay(self, trace):
        out = self.setup.path("bench.csv")
        done = subprocess.run([self.setup.shoal, "bench", f"127.0.0.1:{self.port}", "--workload", f"file:{trace}", "--solo", "0", "--core", "1",
                               "--prompt", "ids", "--csv", out], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit("truth: bench found wrong answers:\n" + done.stdout + done.stderr)
        return records(out)

    def length_error(self):
        """How far the first predictions of all answers so far were off: the mean of the absolute error in tokens, over requests."""
        found = {}
        for line in get(self.port, "/metrics").splitlines():
            for name in ("shoal_length_error_tokens{", "shoal_length_ratio_count{"):
                if line.startswith(name):
                    found.setdefault(line.split('model_name="')[1].split('"')[0], {})[name] = float(line.split()[-1])
        counts = {model: row["shoal_length_ratio_count{"] for model, row in found.items()}
        return sum(row["shoal_length_error_tokens{"] * counts[model] for model, row in found.items()) / max(sum(counts.values()), 1)


# ---- Figures. ----

def span(r):
    return (int(r["end_ns"]) - int(r["arrived_ns"])) * 1e-9


def figures(got, solo):
    """Mean normalized latency (each request over its predicted time alone), mean seconds, tokens per second."""
    ends = [int(r["end_ns"]) * 1e-9 for r in got.values()]
    begins = [int(r["arrived_ns"]) * 1e-9 for r in got.values()]
    return (statistics.mean(span(r) / (int(solo[i]["solo_ns"]) * 1e-9) for i, r in got.items()), statistics.mean(span(r) for r in got.values()),
            sum(int(r["n_output"]) for r in got.values()) / (max(ends) - min(begins)))


def kendall(a, b, floor):
    """Tau of two rankings, how many pairs are turned round, and how many differ in a by no more than the same run twice: these have no order."""
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    told = [(i, j) for i, j in pairs if max(a[i], a[j]) > min(a[i], a[j]) * (1 + floor)]
    turned = sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in told)
    return 1 - 2 * turned / max(len(told), 1), turned, len(pairs) - len(told)


def makespan(got):
    return max(int(r["end_ns"]) for r in got.values()) * 1e-9 - min(int(r["arrived_ns"]) for r in got.values()) * 1e-9


def line_ps(line, b):
    """A step by the profile's line, as perf_step_ps."""
    large = b["decodes"] >= line["b_switch"]
    c3, variable = line["c3"][large], line["c2"][large] * b["decodes"] + line["k2"][large] * b["decode_context"]
    if b["new"] == 0:
        return c3 + variable
    constant = max(line["c1"], c3 if b["decodes"] else 0)
    return max(line["floor"], constant + line["k1"] * b["new"] + line["q1"] * (b["new_squared"] + 2 * b["new_context"]) / 1024 + variable)


def spent(setup, batches):
    """Per model: seconds that its batches took, and that its line says, times one."""
    took, said = {name: 0.0 for name in setup.models}, {name: 0.0 for name in setup.models}
    for b in batches:
        took[b["model"]] += (b["end_ns"] - b["begin_ns"]) * 1e-9
        said[b["model"]] += line_ps(setup.lines[b["model"]], b) * 1e-12
    return took, said


STALL_NS = 1_000_000  # between two batches: the machine's, not the host's


def gaps_of(batches):
    """From one batch's end to the next one's begin, where the engine planned it on hearing of that end; with the next one."""
    return [(b["begin_ns"] - a["end_ns"], b) for a, b in zip(batches, batches[1:]) if b["planned_ns"] == a["heard_ns"]]


def host_terms(batches):
    """What the host takes between two steps: of every one, of each decode, of one with prompts; ms, us, ms. By least squares."""
    gaps = [(ns, b) for ns, b in gaps_of(batches) if ns < STALL_NS]
    x = numpy.array([(1.0, b["decodes"], b["new"] > 0) for _, b in gaps])
    step, request, prompt = numpy.linalg.lstsq(x, numpy.array([ns * 1e-6 for ns, _ in gaps]), rcond=None)[0]
    return {"host-ms": max(step, 0), "host-us-per-request": max(request, 0) * 1e3, "host-prompt-ms": max(prompt, 0)}, len(gaps)


def late_part(setup, batches):
    """How much longer steps took than what they are simulated with, stalls between them included."""
    took, said = spent(setup, batches)
    stalls = sum(ns for ns, _ in gaps_of(batches) if ns >= STALL_NS) * 1e-9
    return (sum(took.values()) + stalls) / sum(said[name] * setup.scales[name] for name in said) - 1


def calibrate(setup, policy):
    """Saturation, the host's part and the door's, from a list at t = 0 and a light load, of seeds that no measured run has."""
    with Server(setup, policy) as server:
        server.replay(write_trace(setup.path("warm.csv"), requests_of(24, 0, 1001)))
        probe = server.replay(write_trace(setup.path("probe.csv"), requests_of(48, 0, 1002)))
        n = max(48, int(48 / makespan(probe) * setup.options.calibrate))
        listed = makespan(server.replay(write_trace(setup.path("list.csv"), requests_of(n, 0, 1003))))
        rate = 0.3 * n / listed
        light = write_trace(setup.path("light.csv"), requests_of(int(2 * rate * setup.options.calibrate), rate, 1005))
        real = server.replay(light)
    setup.host, n_gaps = host_terms(server.batches)
    took, said = spent(setup, server.batches)
    print(f"  saturation {n / listed:.2f} requests/s: {n} at once in {listed:.2f} s")
    for name in setup.models:
        if setup.options.steady == 0:
            setup.scales[name] = took[name] / said[name]
        print(f"  {name:<5} steps took {took[name]:.3f} s, {took[name] / said[name]:.3f} times what its profile says; simulated with {setup.scales[name]:.3f}")
    print(f"  between two steps (fitted to {n_gaps}): " + ", ".join(f"{key} {value:.4f}" for key, value in setup.host.items()))
    simulated = setup.simulate(light, policy)
    setup.door_s = statistics.median(span(real[i]) - span(simulated[i]) for i in real)
    print(f"  a request under light load takes {setup.door_s * 1e3:+.2f} ms more than simulated (median): the door's and the client's part, added to each", flush=True)
    return n / listed


def kind_of(load):
    return "light" if load < 0.6 else "knee" if load < 1 else "overload"


class Session:
    """All that one server was asked, in turn: a policy learns from what it served before, so the simulated one must have served it too."""

    def __init__(self, setup, policy):
        self.setup, self.policy, self.began, self.parts = setup, policy, time.monotonic(), []

    def replay(self, server, trace):
        """bench's time zero is the trace's first arrival. Its time is computed from the run's end, since bench does not report when it begins to send."""
        with open(trace) as file:
            rows = [(float(r["arrived_s"]), r["model"], int(r["n_prompt"]), int(r["n_output"])) for r in csv.DictReader(file)]
        time.sleep(PAUSE_S)
        got = server.replay(trace)
        ended = time.monotonic() - self.began
        self.parts.append((ended - max(int(r["end_ns"]) for r in got.values()) * 1e-9 - rows[0][0], rows))
        return got

    def simulate(self):
        """The records of each part, as if it had been alone in the file."""
        rows = [(start + row[0], *row[1:]) for start, part in self.parts for row in part]
        assert all(a[0] <= b[0] for a, b in zip(rows, rows[1:])), "one run began before the one before had been asked"
        all_of_it = self.setup.simulate(write_trace(self.setup.path("session.csv"), rows), self.policy)
        ids, found, first = sorted(all_of_it), [], 0
        for _, part in self.parts:
            found.append({i: all_of_it[ids[first + i]] for i in range(len(part))})
            first += len(part)
        return found


def measure(setup, policy, loads, traces):
    """A policy's runs, real and simulated: per load the records of every repeat, and of what part of it the engine's threads waited for core 0."""
    found, session = {}, Session(setup, policy)
    with Server(setup, policy) as server:
        session.replay(server, setup.path("warm.csv"))
        for load in loads:
            before = server.core_times()
            runs = [session.replay(server, traces[load]) for _ in range(setup.options.repeats)]
            found[load] = runs, (server.core_times()[2] - before[2]) / sum(makespan(run) for run in runs)
        print(f"{policy}: its predictions of lengths were off by {server.length_error():.1f} tokens in the mean", flush=True)
    late = late_part(setup, server.batches)
    simulated = session.simulate()[1:]
    for i, load in enumerate(loads):
        found[load] = *found[load], simulated[i * setup.options.repeats:(i + 1) * setup.options.repeats]
    return found, late


def compare(setup, policy, load, runs, waited, simulated, late):
    for run in simulated:
        for r in run.values():
            r["end_ns"] = int(r["end_ns"]) + int(setup.door_s * 1e9)
    each = [figures(run, simulated[0]) for run in runs]
    real = [statistics.median(f) for f in zip(*each)]
    sim = [statistics.median(f) for f in zip(*(figures(run, simulated[0]) for run in simulated))]
    errors = [100 * (s / r - 1) for s, r in zip(sim, real)]
    kind = kind_of(load)
    which = 2 if kind == "overload" else 0
    floors = [max(f[k] for f in each) / min(f[k] for f in each) - 1 for k in range(3)]
    error, target = errors[which], TARGETS[kind]
    print(f"{policy:<10} {load:5.2f} {real[0]:9.3f} {sim[0]:9.3f} {errors[0]:+7.1f}% {real[1]:9.3f} {sim[1]:9.3f} {errors[1]:+7.1f}% "
          f"{real[2]:9.1f} {sim[2]:9.1f} {errors[2]:+7.2f}% {100 * floors[which]:6.1f}% {100 * waited:6.1f}% {100 * late:+6.1f}%  {'tokens/s' if kind == 'overload' else 'NL'} "
          f"{target}%: {'met' if abs(error) <= target else 'MISSED'}", flush=True)
    return real[0], sim[0], floors[0]


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
    print(f"\n{setup.options.repeats} runs of every trace: their medians, and FLOOR, how far apart they are in what the target is of.\n"
          "WAITED: of the time the engine's threads were ready and did not get core 0, each other's turns included. LATE: the policy's steps, and stalls between them, against the profile.")
    print(f"{'POLICY':<10} {'LOAD':>5} {'NL':>9} {'SIM':>9} {'ERROR':>8} {'LATENCY s':>9} {'SIM':>9} {'ERROR':>8} {'TOKENS/S':>9} {'SIM':>9} {'ERROR':>8}"
          f" {'FLOOR':>7} {'WAITED':>7} {'LATE':>7}  TARGET")
    found = {load: [] for load in loads}
    for policy in policies:
        runs, late = measure(setup, policy, loads, traces)
        for load in loads:
            found[load].append(compare(setup, policy, load, *runs[load], late))
    for load in loads:
        real, sim, floors = zip(*found[load])
        tau, turned, equal = kendall(real, sim, max(*floors, 0.01))
        order = [policies[i] for i in sorted(range(len(policies)), key=lambda i: real[i])]
        print(f"load {load}: order of the policies by NL ({', '.join(order)}): Kendall tau {tau:.2f}, {turned} pairs turned round, "
              f"{equal} as near to each other as the same run twice, or 1%: "
              f"{'kept' if turned == 0 else 'NOT kept'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--loads", default="0.3,0.8,1.2")
    parser.add_argument("--policies", default="")
    parser.add_argument("--profile-time", default="12s")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--steady", type=int, default=400, help="percent of the profile's time that a step takes at least; 0: as long as it takes")
    parser.add_argument("--calibrate", type=float, default=6, help="seconds of each calibrating list")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    with Preferred(), tempfile.TemporaryDirectory() as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        run(Setup(options, options.keep or folder))


if __name__ == "__main__":
    main()
