"""`best.py --real`: policies against each other on the real server: four small models on one core, the client on another.

Steps take what a profile says times --steady percent (as bench/truth.py has it), so that a noisy machine gives every policy the same speed. Times alone are
the simulator's, from the same profiles. Every run is kept in --keep (known.json) as soon as it is over, and a table is printed after every seed: a call that is
cut says what it found so far, and the next one goes on from there. The machine has to be quiet: while others
compute on it, steps take longer than --steady says, now more and now less. How much longer is read from the engine's log: a server whose steps, and the stalls
between them, took more than LATE_MOST over that is measured again, at most TRIES times, and after that the seed is left out for all policies.
"""

import hashlib
import json
import os
import types

import truth

RIVALS = ["fcfs", "rr", "ils-fastgen", "mlfq", "db-turn"]
LOADS = [0.4, 0.8, 1.2]
SLO = 5
LATE_MOST = 0.05
TRIES = 3


class Server(truth.Server):
    """As truth's, with default as a preset and every policy's own chunks."""

    def __init__(self, setup, policy):
        chosen = "preset: default" if policy == "default" else f"policy: {policy}"
        self.port = truth.free_port()
        self.setup, config = setup, setup.path("serve.yaml")
        with open(config, "w") as file:
            file.write(f"listen: 127.0.0.1:{self.port}\nmemory: 1GiB\ndevices: [cpu:0]\n{chosen}\npredictor: conditional\nprefix_cache: false\n"
                       f"keep_alive: -1s\nlog_level: warn\nmax_batch: {truth.SETTINGS['max_batch']}\nmax_batch_tokens: {truth.SETTINGS['max_batch_tokens']}\nmodels:\n")
            for name, model in setup.models.items():
                file.write(f"  {name}: {{path: {model}, ctx: 512, profile: {setup.profiles[name]}, preload: true}}\n")
        self.log = setup.path("engine.log")
        self.process = truth.subprocess.Popen([setup.shoal, "serve", config, "--steady", str(setup.options.steady), "--log-engine", self.log])


def open_setup(args):
    os.makedirs(args.keep, exist_ok=True)
    setup = truth.Setup(types.SimpleNamespace(shoal=args.shoal, steady=args.steady, profile_time="6s"), args.keep)
    paths = {name: setup.path(name + ".json") for name in setup.models}
    if not all(os.path.exists(p) for p in paths.values()):
        setup.measure_profiles()
    setup.profiles = paths
    setup.scales = {name: args.steady / 100 for name in paths}
    for name, path in paths.items():
        with open(path) as f:
            setup.lines[name] = next(g for g in json.load(f)["groups"] if g["cores"] == 1)["perf_ps"]
    return setup


def load_known(setup):
    """What was measured with this build."""
    with open(setup.shoal, "rb") as f:
        build = hashlib.sha256(f.read()).hexdigest()
    path = setup.path("known.json")
    if not os.path.exists(path):
        return {"build": build}
    with open(path) as f:
        known = json.load(f)
    if known["build"] != build:
        raise SystemExit(f"best: {path} is of another build of shoal: --keep another folder, or delete it")
    return known


def save_known(setup, known):
    path = setup.path("known.json")
    with open(path + ".new", "w") as f:
        json.dump(known, f)
    os.replace(path + ".new", path)


def key_of(args, policy, load, seed):
    return f"{policy}, load {load}, seed {seed}, {args.seconds:g} s, steady {args.steady}"


def saturation(args, setup, known):
    key = f"saturation, steady {args.steady}"
    if key not in known:
        with Server(setup, "rr") as server:
            server.replay(truth.write_trace(setup.path("warm.csv"), truth.requests_of(24, 0, 1001)))
            known[key] = 96 / truth.makespan(server.replay(truth.write_trace(setup.path("list.csv"), truth.requests_of(96, 0, 1003))))
        save_known(setup, known)
    return known[key]


def score(got, alone):
    """Normalized latency and attainment of a run."""
    solo = {i: int(r["solo_ns"]) for i, r in alone.items()}
    of_service = {}
    for i, r in alone.items():
        of_service.setdefault(r["service"], []).append(solo[i])
    mean = {s: sum(v) / len(v) for s, v in of_service.items()}
    took = {i: int(r["end_ns"]) - int(r["arrived_ns"]) for i, r in got.items()}
    nl = sum(took[i] / mean[alone[i]["service"]] for i in took) / len(took)
    return nl, sum(took[i] <= SLO * solo[i] for i in took) / len(took)


def measure(args, setup, known, policy, seed, loads):
    """One server's runs; a machine changes its speed, so policies take turns at each seed. False: the machine was disturbed, nothing is kept."""
    rate, scores = saturation(args, setup, known), {}
    with Server(setup, policy) as server:
        server.replay(truth.write_trace(setup.path("warm.csv"), truth.requests_of(24, 0, 1001)))
        for load in loads:
            rows = truth.requests_of(max(int(load * rate * args.seconds), 8), load * rate, seed)
            trace = truth.write_trace(setup.path(f"load{load}-{seed}.csv"), rows)
            alone = setup.simulate(trace, "fcfs")
            scores[key_of(args, policy, load, seed)] = score(server.replay(trace), alone)
        error = server.length_error()
    late = truth.late_part(setup, server.batches)
    print(f"  seed {seed} {policy}: lengths predicted {error:.1f} tokens off, steps {100 * late:+.1f}%", "" if late <= LATE_MOST else "(disturbed)", flush=True)
    if late <= LATE_MOST:
        known.update(scores)
        save_known(setup, known)
    return late <= LATE_MOST


def points(args, rivals, loads):
    """After every seed that was measured, and last of all: {policy: {load: [(nl, met) of each seed so far]}}."""
    with truth.Preferred():
        setup = open_setup(args)
    known = load_known(setup)
    policies, asked = ["default", *rivals], range(args.first_seed, args.first_seed + args.seeds)
    is_known = lambda policy, seed: all(key_of(args, policy, load, seed) in known for load in loads)
    seeds = []
    with truth.Preferred():
        for seed in asked:
            lacking = [policy for policy in policies if not is_known(policy, seed)]
            for policy in lacking:
                for _ in range(TRIES):
                    if measure(args, setup, known, policy, seed, loads):
                        break
            if all(is_known(policy, seed) for policy in policies):
                seeds.append(seed)
            if seeds and (lacking or seed == asked[-1]):
                print(f"real: saturation {saturation(args, setup, known):.2f} requests/s, {args.seconds:g} s a run, seeds {', '.join(map(str, seeds))}")
                yield {policy: {load: [known[key_of(args, policy, load, s)] for s in seeds] for load in loads} for policy in policies}
    if not seeds:
        raise SystemExit("best: no seed was measured undisturbed under every policy")
