"""Is `default` the best planner? It against every other one, in the settings of SeaLLM's and MuxServe's figures and with the mixes that policies are compared on, on the window after the one planned on.

usage: plan_best.py [-h] [--shoal PATH] [--points WORD,...] [--rivals A,B] [--seeds N] [--first-seed N] [--requests N] [--cache FILE] [--effort X] [--only-run] [--json FILE] [--list]

A point is a cluster, a workload and its rate. With every seed, each planner plans on the first half of the requests, and its plan is judged on the second, under the `default` policy. Normalized latency and attainment of default are set against each rival's, seed by seed; intervals are 95%. Lost: default is more than 2% worse than some rival in one of the two (of attainment: 2 points). Won: not lost, and better with confidence than every rival in one of the two; "most": than every rival but such as are even with it. A planner that leaves a service out has no plan at that point, and nobody is compared with it.

--points: those whose name has one of the words. Rivals' figures stay in the cache, by point, seed and requests.
"""

import argparse
import json
import os
import subprocess
import sys

from best import LOST, interval

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RIVALS = ["seallm", "muxserve", "morphling", "even", "machine", "greedy", "alpaserve"]
MIXES = {"m5": (8, 32, 64), "m6": (8, 16, 24), "servegen3": (8, 16, 24), "azure-mix": (8, 16, 24), "e4-code-chat": (16, 32, 64), "e4-sum-chat": (8, 16, 32)}


def points():
    """name: (cluster, workload, more arguments)"""
    all_of = {}
    sea = lambda name, nodes, keys: all_of.__setitem__(name, (f"{nodes}x8xa800", f"sea16:seed=2,{keys}", []))
    for rate in (2, 5, 10, 20, 30, 40, 50):
        sea(f"sea-32 {rate}/s", 4, f"rate={rate}")
    for nodes in (8, 6, 2):
        for rate in (5, 10, 20):
            sea(f"sea-{8 * nodes} {rate}/s", nodes, f"rate={rate}")
    for run in (4, 16, 64):
        sea(f"sea-32 10/s run {run}", 4, f"rate=10,run={run}")
    for alpha in (0.7, 0.9, 1.3, 1.7, 2.1):
        for scale in (1, 1.5, 2, 2.5):
            more = ["--rate-scale", str(scale), "--slo", "muxserve:8"]
            all_of[f"power-{alpha} x{scale}"] = ("4x8xa100", f"power19:alpha={alpha}", more)
    for rate in (3, 7.1, 11.9):
        all_of[f"chat {rate}/s each"] = ("4x8xa100", f"chatlmsys16:rate={16 * rate:g}", ["--slo", "muxserve:8"])
    for mix, rates in MIXES.items():
        for rate in rates:
            all_of[f"mix {mix} {rate}/s"] = ("1x8xa100", f"{mix}:rate={rate}" + (",step=60s" if mix == "servegen3" else ""), [])
    return all_of


POINTS = points()


def run(args, point, planners, seed):
    """By planner: services placed, normalized latency and attainment afterwards; the last two on the window planned on."""
    cluster, workload, more = POINTS[point]
    asked = planners if len(planners) > 1 else planners + ["even"]  # two are compared, and nothing else is reckoned
    command = [args.shoal, "plan", cluster, workload, *more, "--predictor", "mean", "--requests", str(args.requests), "--seed", str(seed)]
    command += ["--planner", ",".join(asked), "--json"]
    command += ["--effort", str(args.effort)] if planners == ["default"] and args.effort != 1 else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    found = {}
    for plan in json.loads(done.stdout)["plans"]:
        on, after = plan["planned_on"], plan["afterwards"]
        found[plan["planner"]] = [after["services_placed"], after["normalized_latency"], after["slo_attainment"], on["normalized_latency"], on["slo_attainment"]]
    return {p: found[p] for p in planners}


class Memory:
    def __init__(self, path):
        self.path = path
        self.known = {}
        if path and os.path.exists(path):
            with open(path) as f:
                for line in f:
                    key, value = json.loads(line)
                    self.known[key] = value

    def find(self, args, point, planners, seed):
        key = lambda planner: f"{point} | {planner} {seed} {args.requests}"
        lacking = [p for p in planners if p == "default" or key(p) not in self.known]
        for planner, found in run(args, point, lacking, seed).items() if lacking else ():
            self.known[key(planner)] = found
            if self.path and planner != "default":
                with open(self.path, "a") as f:
                    f.write(json.dumps([key(planner), found]) + "\n")
        return {p: self.known[key(p)] for p in planners}


def mean(rows, i):
    return sum(r[i] for r in rows) / len(rows)


def judge(own, rivals):
    """One point: default's figures, every rival's, the verdict. rivals: {name: rows by seed}"""
    found = {"nl": mean(own, 1), "met": mean(own, 2), "nl_on": mean(own, 3), "met_on": mean(own, 4), "rivals": {}}
    for name, rows in rivals.items():
        if any(r[0] < o[0] for r, o in zip(rows, own)):
            found["rivals"][name] = {"left_out": True}
            continue
        more, more_half = interval([t[1] - o[1] for t, o in zip(rows, own)])
        less, less_half = interval([o[2] - t[2] for t, o in zip(rows, own)])
        nl, met = mean(rows, 1), mean(rows, 2)
        lost = found["nl"] > nl * (1 + LOST), found["met"] < met - LOST
        found["rivals"][name] = {"nl": nl, "met": met, "lost_nl": lost[0], "lost_met": lost[1], "lost_for_sure": (lost[0] and -more > more_half) or (lost[1] and -less > less_half),
                                 "won": not any(lost) and (more > more_half or less > less_half)}
    placed = [r for r in found["rivals"].values() if "nl" in r]
    found["lost"] = any(r["lost_nl"] or r["lost_met"] for r in placed)
    found["won"] = not found["lost"] and all(r["won"] for r in placed)
    return found


def show(point, found):
    placed = {n: r for n, r in found["rivals"].items() if "nl" in r}
    verdict = "LOST" if found["lost"] else "won" if found["won"] else "even"
    text = f"{point:<20} {verdict:<5} {found['nl']:7.3f} {100 * found['met']:6.2f}% ({found['nl_on']:6.2f} {100 * found['met_on']:5.1f}%)"
    if placed:
        a, b = min(placed, key=lambda n: placed[n]["nl"]), max(placed, key=lambda n: placed[n]["met"])
        text += f"  {a:<9} {placed[a]['nl']:7.3f}  {b:<9} {100 * placed[b]['met']:6.2f}%  won over {sum(r['won'] for r in placed.values())} of {len(placed)}"
    losses = [f"{n}{' NL %.3f' % r['nl'] if r['lost_nl'] else ''}{' met %.2f%%' % (100 * r['met']) if r['lost_met'] else ''}{'!' if r['lost_for_sure'] else ''}" for n, r in placed.items() if r["lost_nl"] or r["lost_met"]]
    print(text + ("; to " + ", ".join(losses) if losses else ""), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--shoal", default=os.path.join(ROOT, "build", "shoal"))
    p.add_argument("--points", default="")
    p.add_argument("--rivals", default=",".join(RIVALS))
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--first-seed", type=int, default=1)
    p.add_argument("--requests", type=int, default=4000)
    p.add_argument("--effort", type=float, default=1)
    p.add_argument("--cache")
    p.add_argument("--only-run", action="store_true", help="rivals alone, into the cache")
    p.add_argument("--list", action="store_true")
    p.add_argument("--json")
    args = p.parse_args()
    words = [w for w in args.points.split(",") if w]
    chosen = [n for n in POINTS if not words or any(w in n for w in words)]
    if args.list:
        print("\n".join(chosen))
        return
    memory, all_of = Memory(args.cache), {}
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    rivals = args.rivals.split(",")
    if args.only_run:
        for seed in seeds:
            for point in chosen:
                memory.find(args, point, rivals, seed)
        return
    print(f"{'point':<20} {'':<5} {'NL':>7} {'in time':>7} {'(planned on)':>15}   best of the others")
    for point in chosen:
        own = [memory.find(args, point, ["default"], s)["default"] for s in seeds]
        others = [memory.find(args, point, rivals, s) for s in seeds]
        all_of[point] = judge(own, {r: [other[r] for other in others] for r in rivals})
        show(point, all_of[point])
    count = lambda f: sum(f(j) for j in all_of.values())
    pairs = [r for j in all_of.values() for r in j["rivals"].values() if "nl" in r]
    print(f"{len(all_of)} points: {count(lambda j: j['won'])} won, {count(lambda j: not j['won'] and not j['lost'])} even, {count(lambda j: j['lost'])} lost; "
          f"{len(pairs)} pairs: {sum(r['won'] for r in pairs)} won, {sum(not r['won'] and not r['lost_nl'] and not r['lost_met'] for r in pairs)} even, "
          f"{sum(r['lost_nl'] or r['lost_met'] for r in pairs)} lost, {sum(r['lost_for_sure'] for r in pairs)} of them with confidence")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(all_of, f)


if __name__ == "__main__":
    main()
