"""MuxServe's planner against the placements that its authors published for Figure 5: both in the simulator, on 32 A100.

usage: muxserve_published.py SHOAL PLACEMENTS.csv [SEEDS [SECONDS [HOST]]]

PLACEMENTS.csv has the columns alpha, rate_scale, system, model_index, model and unit (mesh8idx2: the third mesh of eight devices).
A model that a placement lacks goes to the mesh with the most devices for each of its models. Published units have no shares, so
they are in halves; the planner's have its shares. HOST=1: with the authors' host time for each request of a step.
The exit code is 1 if the planner's attainment is behind by more than half a point anywhere.
"""
import collections
import csv
import json
import os
import subprocess
import sys
import tempfile

MODELS = ["7b"] * 12 + ["13b"] * 4 + ["30b"] * 2 + ["65b"]
HOST_US = {"7b": 100, "13b": 80, "30b": 70, "65b": 70}
NAMES = [f"power{k + 1:02d}-{m}" for k, m in enumerate(MODELS)]


def engines_of(rows):
    """The scenario's engines for the rows of one grid point."""
    units = collections.defaultdict(list)
    for row in rows:
        units[row["unit"]].append(int(row["model_index"]))
    size = {unit: int(unit[len("mesh"):unit.index("idx")]) for unit in units}
    for k in set(range(len(NAMES))) - {k for unit in units.values() for k in unit}:
        units[max(units, key=lambda unit: (size[unit] / len(units[unit]), unit))].append(k)
    lines = [f"  - {{count: 1, tp: {size[unit]}, services: [{', '.join(NAMES[k] for k in sorted(set(units[unit])))}]}}" for unit in sorted(units)]
    return "device: a100\nengines:\n" + "\n".join(lines) + "\n"


def measure(shoal, text, seeds):
    """Means of the part within 8 times solo, and of requests per second."""
    met = served = 0
    for seed in range(1, seeds + 1):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([shoal, "sim", file.name, "--policy", "adbs", "--seed", str(seed), "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + text
        run = json.loads(done.stdout)
        met += run["slo_attainment"] / seeds
        served += run["request_throughput"] / seeds
    return met, served


def main():
    shoal, path = sys.argv[1:3]
    seeds, seconds, host = (int(x) for x in (sys.argv[3:6] + ["3", "120", "0"][len(sys.argv) - 3:]))
    if not os.path.exists(path):
        print(f"skipped: there is no file {path}")
        return 0
    points = collections.defaultdict(list)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["system"] == "muxserve":
                points[float(row["alpha"]), float(row["rate_scale"])].append(row)
    hosts = "services:\n" + "".join(f"  {n}: {{host_us_per_request: {HOST_US[m]}}}\n" for n, m in zip(NAMES, MODELS)) if host else ""
    n_behind = 0
    for (alpha, scale), rows in sorted(points.items()):
        setting = f'workload: "power19:alpha={alpha}"\nrate_scale: {scale}\npredictor: mean\nslo: muxserve:8\nduration: {seconds}s\nuntil: {seconds}s\n{hosts}'
        theirs = measure(shoal, setting + engines_of(rows), seeds)
        ours = measure(shoal, setting + "nodes: [{count: 4, device: a100, devices: 8}]\nplanner: muxserve\n", seeds)
        is_behind = ours[0] < theirs[0] - 0.005
        n_behind += is_behind
        print(f"alpha {alpha:<4} scale {scale:<4} in time: planner {100 * ours[0]:5.1f}%, published {100 * theirs[0]:5.1f}%;"
              f" served {ours[1]:6.1f} and {theirs[1]:6.1f}/s{'  BEHIND' if is_behind else ''}", flush=True)
    print(f"behind at {n_behind} of {len(points)} points")
    return 1 if n_behind else 0


if __name__ == "__main__":
    sys.exit(main())
