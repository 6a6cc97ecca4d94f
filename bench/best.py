"""Is `default` the best policy? It against every preset and baseline, mixes of traffic by loads, in the simulator; with --real on the real server.

usage: best.py [-h] [--mixes A,B] [--loads X,Y] [--rivals A,B] [--first-seed N] [--seeds N] [--requests N] [--predictor NAME] [--one-lane] [--cache FILE] [--real] [--keep FOLDER] [--steady N] [--seconds X] [--shoal PATH] [--json FILE]

Each mix runs on the same engines under every policy, with the same seeds and the same predictor (presets that name a predictor of their own have that). A load of 1 is the mix's saturation: the requests a second that the best of four rivals finishes of a backlog. Every request that arrives ends and counts.

A point is a mix at a load. Normalized latency and attainment (end to end within 5 times the request's time alone) of default are set against each rival's, seed by seed; intervals are 95%. Lost: default is more than 2% worse than some rival in one of the two (of attainment: 2 points; those that are not, and yet more than 2% of the rival's, are marked "rel"). Won: not lost, and better with confidence than every rival in one of the two. Printed are the best rival in each, and of a loss every rival that it is lost to.
"""

import argparse
import json
import math
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# workload, engines, devices of each
MIXES = {
    "sea16": ("sea16:rate=1,seed=1", 4, 8),
    "servegen3": ("servegen3:rate=1,step=60s", 1, 4),
    "m5": ("m5:rate=1", 1, 4),
    "m6": ("m6:rate=1", 1, 4),
    "azure-mix": ("azure-mix:rate=1", 1, 1),
    "e4-code-chat": ("e4-code-chat:rate=1", 1, 1),
    "e4-sum-chat": ("e4-sum-chat:rate=1", 1, 1),
}
OWN_PREDICTOR = ["aladdin", "scls", "uellm"]
RIVALS = ["fcfs", "temporal", "rr", "mlfq", "db-literal", "db-turn", "db-share", "mux-rr", "mux-fcfs", "adbs", "scls-cb", "ils-reserve", "ils-fastgen", "sls", "muxserve"] + OWN_PREDICTOR
SATURATORS = ["rr", "db-turn", "ils-fastgen", "mux-rr"]
LOADS = [0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.3]
LOST = 0.02
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093]


def interval(values):
    """Mean and half of the 95% interval."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, math.inf
    deviation = math.sqrt(sum((x - mean) ** 2 for x in values) / (n - 1))
    return mean, STUDENT[min(n - 2, len(STUDENT) - 1)] * deviation / math.sqrt(n)


class Simulator:
    """Runs, and remembers what ran."""

    def __init__(self, args):
        self.args = args
        self.known = {}
        if args.cache and os.path.exists(args.cache):
            with open(args.cache) as f:
                self.known = json.load(f)

    def call(self, mix, more):
        workload, engines, tp = MIXES[mix]
        command = [self.args.shoal, "sim", "--workload", workload, "--engines", str(engines), "--tp", str(tp), "--json", *more]
        command += ["--lanes", "1"] if self.args.one_lane else []
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)

    def world(self):
        return "one-lane " if self.args.one_lane else ""

    def save(self):
        if self.args.cache:
            with open(self.args.cache + ".new", "w") as f:
                json.dump(self.known, f)
            os.replace(self.args.cache + ".new", self.args.cache)

    def saturation(self, mix):
        key = f"saturation {self.world()}{mix} {self.args.requests} {self.args.predictor}"
        if key not in self.known:
            rates = []
            for policy in SATURATORS:
                more = ["--requests", str(4 * self.args.requests), "--policy", policy, "--rate-scale", "1000", "--predictor", self.args.predictor]
                rates.append(self.call(mix, more)["request_throughput"])
            self.known[key] = max(rates)
        return self.known[key]

    def run(self, mix, labels, rates, predictor, thresholds):
        """{(label, rate): [(nl, met) by seed]}"""
        a = self.args
        more = ["--requests", str(a.requests), "--compare", ",".join(labels), "--seed", str(a.first_seed), "--seeds", str(a.seeds), "--rates", ",".join("%.6f" % r for r in rates)]
        more += ["--predictor", predictor] if predictor else []
        for t in thresholds:
            more += ["--thresholds", t]
        points = self.call(mix, more)["points"]
        nearest = lambda x: min(rates, key=lambda r: abs(r - x))
        return {(p["label"], nearest(p["rate_scale"])): list(zip(p["normalized_latency"]["by_seed"], p["slo_attainment"]["by_seed"])) for p in points}

    def points(self, mix, label, loads):
        """By load: (nl, met) by seed. Rivals from the cache, when it has them."""
        a = self.args
        scale = self.saturation(mix)
        key = f"{self.world()}{mix} {label} {a.requests} {a.predictor} {a.first_seed}"
        old = self.known.get(key, {})
        lacking = [x for x in loads if len(old.get(str(x), [])) < a.seeds]
        if label == "default":
            old, lacking = {}, loads
        if lacking:
            predictor = None if label in OWN_PREDICTOR else a.predictor
            found = self.run(mix, [label], [scale * x for x in lacking], predictor, a.threshold if label == "default" else [])
            old = {**old, **{str(x): found[label, scale * x] for x in lacking}}
            if label != "default":
                self.known[key] = old
                self.save()
        return {x: old[str(x)][: a.seeds] for x in loads}


def judge(own, rivals, load):
    """One point: default's figures, every rival's, the verdict."""
    mean = lambda points, i: sum(p[i] for p in points) / len(points)
    nl, met = mean(own[load], 0), mean(own[load], 1)
    found = {"load": load, "nl": nl, "met": met, "rivals": {}}
    for name, points in rivals.items():
        theirs = points[load]
        more, more_half = interval([t[0] - o[0] for t, o in zip(theirs, own[load])])
        less, less_half = interval([o[1] - t[1] for t, o in zip(theirs, own[load])])
        r = {"nl": mean(theirs, 0), "met": mean(theirs, 1), "nl_more": more / nl, "nl_half": more_half / nl, "met_less": less, "met_half": less_half}
        r["lost_nl"] = nl > r["nl"] * (1 + LOST)
        r["lost_met"] = met < r["met"] - LOST
        r["lost_rel"] = met < r["met"] * (1 - LOST) and not r["lost_met"]
        found["rivals"][name] = r
    all_of = found["rivals"].values()
    found["lost_nl"] = any(r["lost_nl"] for r in all_of)
    found["lost_met"] = any(r["lost_met"] for r in all_of)
    found["lost_rel"] = any(r["lost_rel"] for r in all_of)
    better = all(r["nl_more"] > r["nl_half"] for r in all_of) or all(r["met_less"] > r["met_half"] for r in all_of)
    found["won"] = better and not found["lost_nl"] and not found["lost_met"]
    return found


def show(mix, j, rows):
    rivals = j["rivals"]
    a = min(rivals, key=lambda r: rivals[r]["nl"])
    b = max(rivals, key=lambda r: rivals[r]["met"])
    x, y = rivals[a], rivals[b]
    words = [w for w in ("lost_nl", "lost_met", "lost_rel", "won") if j[w]]
    line = f"{mix:13} {j['load']:4.1f}  NL {j['nl']:8.2f} : {x['nl']:8.2f} {a:11} {100 * x['nl_more']:+6.1f}% -/+ {100 * x['nl_half']:5.1f}"
    line += f"   MET {100 * j['met']:5.1f} : {100 * y['met']:5.1f} {b:11} {100 * y['met_less']:+5.1f} -/+ {100 * y['met_half']:4.1f}  {' '.join(words) or '='}"
    losses = [f"{r} {100 * (j['nl'] / v['nl'] - 1):+.1f}%" for r, v in rivals.items() if v["lost_nl"]]
    losses += [f"{r} {100 * v['met_less']:+.1f}" for r, v in rivals.items() if v["lost_met"]]
    print(line + ("  to " + ", ".join(losses) if len(losses) > 1 else ""), flush=True)
    for r, v in rivals.items() if rows else []:
        print(f"      {r:12} {v['nl']:9.3f} {100 * v['met']:6.1f}")


def compete_for_real(args):
    import best_real  # needs Python with numpy, as truth.py does

    rivals = best_real.RIVALS if args.rivals == ",".join(RIVALS) else args.rivals.split(",")
    loads = best_real.LOADS if args.loads == ",".join(map(str, LOADS)) else [float(x) for x in args.loads.split(",")]
    judged = []
    for points in best_real.points(args, rivals, loads):
        own = points.pop("default")
        judged = [{"mix": "real", **judge(own, points, load)} for load in loads]
        for j in judged:
            show("real", j, args.rows)
    return judged


def finish(args, judged):
    count = lambda word: sum(j[word] for j in judged)
    lost = sum(j["lost_nl"] or j["lost_met"] for j in judged)
    print(f"{len(judged)} points: won with confidence {count('won')}, lost {lost} (normalized latency {count('lost_nl')}, attainment {count('lost_met')}; by 2% of the rival's attainment {count('lost_rel')} more)")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(judged, f, indent=1)
    return 1 if lost else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mixes", default=",".join(MIXES))
    parser.add_argument("--loads", default=",".join(map(str, LOADS)))
    parser.add_argument("--rivals", default=",".join(RIVALS))
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=1500, help="of each run")
    parser.add_argument("--predictor", default="mean")
    parser.add_argument("--one-lane", action="store_true", help="devices that are not divided: nobody runs side by side")
    parser.add_argument("--threshold", action="append", default=[], help="of default, NAME=X")
    parser.add_argument("--cache", help="rivals' figures are kept here: delete it when one of them, or the simulator, changes")
    parser.add_argument("--shoal", default=os.path.join(ROOT, "build", "shoal"))
    parser.add_argument("--rows", action="store_true", help="every rival's figures too")
    parser.add_argument("--real", action="store_true", help="four small models on the real server (best_real.py)")
    parser.add_argument("--keep", default="build/best-real", help="--real: profiles and figures are kept in this folder; what is there is not measured again")
    parser.add_argument("--steady", type=int, default=600, help="--real: percent of the profile's time that a step takes")
    parser.add_argument("--seconds", type=float, default=10, help="--real: of each run")
    parser.add_argument("--json", help="write all points to this file")
    args = parser.parse_args()
    if args.real:
        return finish(args, compete_for_real(args))
    loads = [float(x) for x in args.loads.split(",")]
    simulator = Simulator(args)
    judged = []
    for mix in args.mixes.split(","):
        print(f"{mix}: saturation {simulator.saturation(mix):.3f} requests/s", flush=True)
        rivals = {r: simulator.points(mix, r, loads) for r in args.rivals.split(",")}
        own = simulator.points(mix, "default", loads)
        for load in loads:
            j = judge(own, rivals, load)
            judged.append({"mix": mix, **j})
            show(mix, j, args.rows)
    return finish(args, judged)


if __name__ == "__main__":
    sys.exit(main())
