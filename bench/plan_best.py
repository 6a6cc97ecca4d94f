"""Is `default` the best planner? It against every other one, in the settings of SeaLLM's and MuxServe's figures and with the mixes that policies are compared on, on the window after the one planned on.

usage: plan_best.py [-h] [--shoal PATH] [--points WORD,...] [--rivals A,B] [--seeds N] [--first-seed N] [--requests N] [--keep FILE] [--anew] [--only-report] [--threads N] [--json FILE] [--list]

A point is a cluster, a workload and its rate. With every seed, each planner plans on the first half of the requests, and its plan is judged on the second, under the `default` policy; at the long points on a minute after it, since MuxServe's settings ask so much that half of the requests are over in the time that one takes. Normalized latency (by the log of the ratio) and attainment (by the difference) of default are set against each rival's, seed by seed; intervals are 95%. Rivals' engines have the lanes that the policy divides them into, muxserve's its shares; default chooses lanes too.

A pair is a point and a rival. Lost: in the mean over seeds default is more than 2% worse in one of the two (of attainment: 2 points), ! with confidence that it is worse. Won: not lost, and better with confidence in one of the two. Level: neither, and with confidence less than 2% apart in both. Open: more seeds would say. A point is lost where a pair is, won where every pair is, else even. A planner that leaves a service out has no plan at that point, and nobody is compared with it.

--points: those whose name begins with one of the words. --keep: figures are added to this file as they come, all points of a seed before the next seed, and not reckoned again; a run that was cut is reported by --only-report. --anew: but for default's, which has changed.
"""

import argparse
import json
import math
import os
import subprocess
import sys

from best import LOST, interval

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RIVALS = ["seallm", "muxserve", "morphling", "even", "machine", "greedy", "alpaserve"]
MIXES = {"m5": (8, 32, 64), "m6": (8, 16, 24), "servegen3": (8, 16, 24), "azure-mix": (8, 16, 24), "e4-code-chat": (16, 32, 64), "e4-sum-chat": (8, 16, 32)}
LONG_S = 60
# Of MuxServe's Figure 8, by devices: models and requests/s.
FEW = {8: [("7b", 14), ("7b", 14), ("7b", 5), ("30b", 3)], 16: [("7b", 12), ("7b", 10), ("7b", 3), ("13b", 8), ("13b", 2), ("65b", 1), ("30b", 2)]}


def points():
    """name: (cluster, workloads, more arguments)"""
    all_of = {}
    sea = lambda name, nodes, keys: all_of.__setitem__(name, (f"{nodes}x8xa800", [f"sea16:seed=2,{keys}"], []))
    for rate in (2, 5, 10, 20, 30, 40, 50):
        sea(f"sea-32 {rate}/s", 4, f"rate={rate}")
    for nodes in (8, 6, 2):
        for rate in (5, 10, 20):
            sea(f"sea-{8 * nodes} {rate}/s", nodes, f"rate={rate}")
    for run in (4, 16, 64):
        sea(f"sea-32 10/s run {run}", 4, f"rate=10,run={run}")
    mux = ["--slo", "muxserve:8"]
    for alpha in (0.7, 0.9, 1.3, 1.7, 2.1):
        for scale in (1, 1.5, 2, 2.5):
            all_of[f"power-{alpha} x{scale}"] = ("4x8xa100", [f"power19:alpha={alpha}"], [*mux, "--rate-scale", str(scale)])
    for rate in (3, 4.8, 7.1, 9.5, 11.9):
        all_of[f"chat {rate}/s each"] = ("4x8xa100", [f"chatlmsys16:rate={16 * rate:g}"], mux)
    for n, models in FEW.items():
        workloads = [f"sharegpt:rate={rate},service={'abcdefg'[i]},model=llama-{model}" for i, (model, rate) in enumerate(models)]
        for scale in (1, 2, 3):
            all_of[f"few-{n} x{scale}"] = (f"{n // 8}x8xa100", workloads, [*mux, "--rate-scale", str(scale)])
    for name, rate in [*((f"power-{alpha} x{scale}", 20 * scale * sum(i**-alpha for i in range(1, 20))) for alpha in (0.7, 0.9) for scale in (1, 1.5, 2, 2.5)),
                       *((f"chat {rate}/s each", 16 * rate) for rate in (3, 4.8, 7.1, 9.5, 11.9)),
                       *((f"few-{n} x{scale}", scale * sum(rate for _, rate in models)) for n, models in FEW.items() for scale in (1, 2, 3))]:
        cluster, workloads, more = all_of[name]
        all_of[f"long {name}"] = (cluster, workloads, [*more, "--window", f"{2000 / rate:.3f}s", "--after", f"{LONG_S}s"])
    for mix, rates in MIXES.items():
        for rate in rates:
            all_of[f"mix {mix} {rate}/s"] = ("1x8xa100", [f"{mix}:rate={rate}" + (",step=60s" if mix == "servegen3" else "")], [])
    return all_of


POINTS = points()


def run(args, point, planners, seed):
    """By planner: services placed, normalized latency and attainment afterwards; the last two on the window planned on."""
    cluster, workloads, more = POINTS[point]
    asked = planners if len(planners) > 1 else planners + ["even"]  # two are compared, and nothing else is reckoned
    command = [args.shoal, "plan", cluster, *(x for w in workloads for x in ("--workload", w)), *more, "--predictor", "mean"]
    if "--window" not in more:
        command += ["--requests", str(args.requests)]
    command += ["--seed", str(seed), "--planner", ",".join(asked), "--threads", str(args.threads), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    found = {}
    for plan in json.loads(done.stdout)["plans"]:
        on, after = plan["planned_on"], plan["afterwards"]
        found[plan["planner"]] = [after["services_placed"], after["normalized_latency"], after["slo_attainment"], on["normalized_latency"], on["slo_attainment"]]
    return {p: found[p] for p in planners}


class Figures:
    """By point, requests, seed and planner; of a file the last line counts."""

    def __init__(self, path):
        self.known = {}
        self.file = open(path, "a+") if path else None
        if self.file:
            self.file.seek(0)
            for line in self.file:
                key, value = json.loads(line)
                self.known[tuple(key)] = value

    def find(self, args, point, seed, planners):
        key = lambda planner: (point, args.requests, seed, planner)
        lacking = [p for p in planners if key(p) not in self.known]
        for planner, found in run(args, point, lacking, seed).items() if lacking else ():
            self.known[key(planner)] = found
            if self.file:
                print(json.dumps([key(planner), found]), file=self.file, flush=True)

    def forget(self, planner):
        self.known = {key: value for key, value in self.known.items() if key[-1] != planner}

    def rows(self, args, point, seeds, planners):
        """By planner the rows of those seeds that all of them have."""
        found = [[self.known.get((point, args.requests, seed, p)) for p in planners] for seed in seeds]
        found = [row for row in found if None not in row]
        return dict(zip(planners, zip(*found)))


def mean(rows, i):
    return sum(r[i] for r in rows) / len(rows)


def judge_pair(own, theirs):
    if any(r[0] < o[0] for r, o in zip(theirs, own)):
        return None
    more, more_half = interval([math.log(t[1] / o[1]) for t, o in zip(theirs, own)])
    less, less_half = interval([o[2] - t[2] for t, o in zip(theirs, own)])
    nl, met, nl_most = mean(theirs, 1), mean(theirs, 2), math.log(1 + LOST)
    lost_nl, lost_met = -more > nl_most, -less > LOST
    is_better = more > more_half or less > less_half
    is_near = abs(more) + more_half < nl_most and abs(less) + less_half < LOST
    verdict = "lost" if lost_nl or lost_met else "won" if is_better else "level" if is_near else "open"
    return {"nl": nl, "met": met, "better": more, "better_half": more_half, "verdict": verdict, "lost_nl": lost_nl, "lost_met": lost_met,
            "for_sure": (lost_nl and -more > more_half) or (lost_met and -less > less_half)}


def judge(rows):
    """One point: default's figures, every rival's, the verdict. rows: by planner"""
    own = rows["default"]
    pairs = {name: judge_pair(own, theirs) for name, theirs in rows.items() if name != "default"}
    pairs = {name: pair for name, pair in pairs.items() if pair}
    verdicts = [pair["verdict"] for pair in pairs.values()]
    verdict = "lost" if "lost" in verdicts else "won" if set(verdicts) <= {"won"} else "even"
    return {"seeds": len(own), "nl": mean(own, 1), "met": mean(own, 2), "nl_on": mean(own, 3), "met_on": mean(own, 4), "verdict": verdict, "rivals": pairs}


def show(point, found):
    pairs = found["rivals"]
    a, b = min(pairs, key=lambda n: pairs[n]["nl"]), max(pairs, key=lambda n: pairs[n]["met"])
    n_won = sum(p["verdict"] == "won" for p in pairs.values())
    text = f"{point:<20} {found['seeds']:3} {found['verdict']:<5} {found['nl']:7.3f} {100 * found['met']:6.2f}% ({found['nl_on']:6.2f} {100 * found['met_on']:5.1f}%)"
    text += f"  {a:<9} {pairs[a]['nl']:7.3f}  {b:<9} {100 * pairs[b]['met']:6.2f}%  {n_won} of {len(pairs)}"
    losses = [f"{n}{' NL %.3f' % p['nl'] if p['lost_nl'] else ''}{' met %.2f%%' % (100 * p['met']) if p['lost_met'] else ''}{'!' if p['for_sure'] else ''}" for n, p in pairs.items() if p["verdict"] == "lost"]
    print(text + ("; lost to " + ", ".join(losses) if losses else ""), flush=True)


def sum_up(judged, rivals):
    count = lambda of, word: sum(x["verdict"] == word for x in of)
    print(f"\n{'rival':<10} {'points':>6} {'won':>5} {'level':>5} {'open':>5} {'lost':>5} {'for sure':>8}")
    everyone = [pair for j in judged.values() for pair in j["rivals"].values()]
    for name, pairs in [(r, [j["rivals"][r] for j in judged.values() if r in j["rivals"]]) for r in rivals] + [("pairs", everyone)]:
        print(f"{name:<10} {len(pairs):6}" + "".join(f" {count(pairs, word):5}" for word in ("won", "level", "open", "lost")) + f" {sum(p['for_sure'] for p in pairs):8}")
    print(f"{len(judged)} points: " + ", ".join(f"{count(judged.values(), word)} {word}" for word in ("won", "even", "lost")))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--shoal", default=os.path.join(ROOT, "build", "shoal"))
    p.add_argument("--points", default="")
    p.add_argument("--rivals", default=",".join(RIVALS))
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--first-seed", type=int, default=1)
    p.add_argument("--requests", type=int, default=4000)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--keep", help="file of figures")
    p.add_argument("--anew", action="store_true", help="default's figures are not taken from the file")
    p.add_argument("--only-report", action="store_true", help="of what the file has")
    p.add_argument("--list", action="store_true")
    p.add_argument("--json")
    args = p.parse_args()
    words = [w for w in args.points.split(",") if w]
    chosen = [n for n in POINTS if not words or n.startswith(tuple(words))]
    if args.list:
        print("\n".join(chosen))
        return
    figures, rivals = Figures(args.keep), args.rivals.split(",")
    seeds, planners = range(args.first_seed, args.first_seed + args.seeds), ["default", *rivals]
    if args.anew:
        figures.forget("default")
    for seed in seeds if not args.only_report else ():
        for point in chosen:
            figures.find(args, point, seed, planners)
    print(f"{'point':<20} {'n':>3} {'':<5} {'NL':>7} {'in time':>7} {'(planned on)':>15}   best of the others                won over")
    rows = {point: figures.rows(args, point, seeds, planners) for point in chosen}
    judged = {point: judge(own) for point, own in rows.items() if own}
    judged = {point: found for point, found in judged.items() if found["rivals"]}  # some placed all services
    for point, found in judged.items():
        show(point, found)
    sum_up(judged, rivals)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(judged, f)


if __name__ == "__main__":
    main()
