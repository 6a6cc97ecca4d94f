"""Is `default` the best policy? It against every preset and baseline, mixes of traffic by loads, in the simulator.

usage: best.py [-h] [--mixes A,B] [--loads X,Y] [--policies A,B] [--seeds N] [--requests N] [--predictor NAME] [--shoal PATH] [--json FILE]

Each mix runs on the same engines under every policy, with the same predictor and the same seeds. A load of 1 is the mix's saturation: the requests a second that the best policy finishes of a backlog (all requests at once). Every request that arrives ends and counts.

Of each point (mix, load) are printed: normalized latency and attainment (end to end within 5 times the request's time alone) of default and of the best rival in each, and the difference over the paired seeds with its 95% interval: of normalized latency relative to default's, of attainment in points. A point is lost when default is more than 2% (2 points) worse than some rival; won, when it is better with confidence than the best rival in normalized latency or attainment, and lost in neither.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# workload with its rate at rate_scale 1, engines, devices of each
MIXES = {
    "sea16": ("sea16:rate=1,seed=1", 4, 8),
    "servegen3": ("servegen3:rate=1,step=60s", 1, 4),
    "m5": ("m5:rate=1", 1, 4),
    "m6": ("m6:rate=1", 1, 4),
    "azure-mix": ("azure-mix:rate=1", 1, 1),
    "e4-code-chat": ("e4-code-chat:rate=1", 1, 1),
    "e4-sum-chat": ("e4-sum-chat:rate=1", 1, 1),
}
POLICIES = ["fcfs", "temporal", "rr", "mlfq", "db-literal", "db-turn", "db-share", "mux-rr", "mux-fcfs", "adbs", "scls-cb", "ils-reserve", "ils-fastgen", "sls"]
BOUNDS = ["db-exact"]  # shown, not counted: it is given what no server knows
LOADS = [0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.3]
LOST = 0.02


def simulate(args, mix, policies, seeds, rates, requests):
    """The points of one run of the simulator, by (label, rate)."""
    workload, engines, tp = MIXES[mix]
    command = [args.shoal, "sim", "--workload", workload, "--engines", str(engines), "--tp", str(tp), "--requests", str(requests),
               "--compare", ",".join(policies), "--seeds", str(seeds), "--rates", ",".join("%.6f" % r for r in rates),
               "--predictor", args.predictor, "--json"]
    for threshold in args.threshold:
        command += ["--thresholds", threshold]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return {(p["label"], round(p["rate_scale"] / rates[0], 4)): p for p in json.loads(done.stdout)["points"]}


def served_per_s(args, mix, policy):
    """Requests a second of a backlog: all arrive within a moment."""
    workload, engines, tp = MIXES[mix]
    command = [args.shoal, "sim", "--workload", workload, "--engines", str(engines), "--tp", str(tp), "--requests", str(4 * args.requests),
               "--policy", policy, "--rate-scale", "1000", "--predictor", args.predictor, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["request_throughput"]


def saturation(args, mix):
    return max(served_per_s(args, mix, policy) for policy in ("rr", "db-turn", "value"))


def judge(points, load, rivals):
    """One point: default's figures, the best rivals', the verdict."""
    own = points["default", load]
    nl = {r: points[r, load]["normalized_latency"]["mean"] for r in rivals}
    met = {r: points[r, load]["slo_attainment"]["mean"] for r in rivals}
    best_nl = min(rivals, key=lambda r: nl[r])
    best_met = max(rivals, key=lambda r: met[r])
    less_nl = points[best_nl, load]["less_first"]["normalized_latency"]
    less_met = points[best_met, load]["less_first"]["slo_attainment"]
    own_nl, own_met = own["normalized_latency"]["mean"], own["slo_attainment"]["mean"]
    lost_nl = own_nl > nl[best_nl] * (1 + LOST)
    lost_met = own_met < met[best_met] - LOST
    won = less_nl["low"] > 0 or less_met["high"] < 0
    return {"load": load, "nl": own_nl, "rival_nl": best_nl, "rival_nl_mean": nl[best_nl], "less_nl": less_nl,
            "met": own_met, "rival_met": best_met, "rival_met_mean": met[best_met], "less_met": less_met,
            "lost_nl": lost_nl, "lost_met": lost_met, "won": won and not lost_nl and not lost_met,
            "rivals": {r: [nl[r], met[r]] for r in rivals}}


def show(mix, j):
    a, b = j["less_nl"], j["less_met"]
    verdict = " ".join(w for w, is_so in (("LOST-NL", j["lost_nl"]), ("LOST-MET", j["lost_met"]), ("won", j["won"])) if is_so)
    print(f"{mix:13} {j['load']:4.1f}  NL {j['nl']:8.2f} : {j['rival_nl_mean']:8.2f} {j['rival_nl']:11} {100 * a['mean']:+6.1f}% [{100 * a['low']:+.1f}, {100 * a['high']:+.1f}]"
          f"   MET {100 * j['met']:5.1f} : {100 * j['rival_met_mean']:5.1f} {j['rival_met']:11} {100 * b['mean']:+5.1f} [{100 * b['low']:+.1f}, {100 * b['high']:+.1f}]  {verdict or '='}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mixes", default=",".join(MIXES))
    parser.add_argument("--loads", default=",".join(map(str, LOADS)))
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=1500, help="of each run")
    parser.add_argument("--predictor", default="mean")
    parser.add_argument("--threshold", action="append", default=[])
    parser.add_argument("--shoal", default=os.path.join(ROOT, "build", "shoal"))
    parser.add_argument("--rows", action="store_true", help="every policy's figures too")
    parser.add_argument("--json", help="write all points to this file")
    args = parser.parse_args()
    loads = [float(x) for x in args.loads.split(",")]
    rivals = args.policies.split(",")
    judged = []
    for mix in args.mixes.split(","):
        rate = saturation(args, mix)
        print(f"{mix}: saturation {rate:.3f} requests/s", flush=True)
        labels = ["default"] + rivals + (BOUNDS if args.rows else [])
        rates = [rate * load for load in loads]
        points = simulate(args, mix, labels, args.seeds, rates, args.requests)
        points = {(label, min(loads, key=lambda x: abs(x - r * loads[0]))): p for (label, r), p in points.items()}
        for load in loads:
            j = judge(points, load, rivals)
            judged.append({"mix": mix, "rate_per_s": rate * load, **j})
            show(mix, j)
            for r in labels if args.rows else []:
                p = points[r, load]
                print(f"      {r:12} {p['normalized_latency']['mean']:9.3f} {100 * p['slo_attainment']['mean']:6.1f}")
    n = len(judged)
    lost = sum(j["lost_nl"] or j["lost_met"] for j in judged)
    print(f"{n} points: lost {lost} (normalized latency {sum(j['lost_nl'] for j in judged)}, attainment {sum(j['lost_met'] for j in judged)}), won with confidence {sum(j['won'] for j in judged)}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(judged, f, indent=1)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
