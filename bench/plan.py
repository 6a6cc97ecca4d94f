"""How long `shoal plan` takes, and what its planners are worth beside each other.

usage: plan.py SHOAL [speed | worth [RATE...]]

speed: 16 services on 32 devices, on 64, and 100 services on 1,024, a window of 5,000 requests each; wall and processor
seconds of `default`, with drawing the workload, and judging it and `even` on both windows. worth: sea16 on 32 A800 with three seeds at each rate; every
planner on the window after the one that it planned on.
"""
import json
import resource
import subprocess
import sys
import time

SHOAL = sys.argv[1]
WHAT = sys.argv[2] if len(sys.argv) > 2 else "speed"
RATES = [float(x) for x in sys.argv[3:]] or [10, 20]
HUNDRED = ["chatlmsys16:rate=100", "sea16:rate=60", "power19:services=60,rate=300", "m5:rate=20", "azure-mix:rate=20",
           "servegen3:rate=20"]
SIZES = [("16 on 32", "4x8xa800", ["sea16:seed=2,rate=10"]), ("16 on 32, overloaded", "4x8xa800", ["sea16:seed=2,rate=30"]),
         ("16 on 64", "8x8xa800", ["sea16:seed=2,rate=30"]), ("100 on 1,024", "128x8xa100", HUNDRED)]
PLANNERS = "default,seallm,muxserve,morphling,even,machine,greedy"


def plan(cluster, workload, *args):
    texts = [x for w in workload for x in ("--workload", w)]
    done = subprocess.run([SHOAL, "plan", cluster, *texts, *args, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def used():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def speed():
    print(f"{'services on devices':<22} {'wall s':>8} {'cpu s':>8} {'in time':>8} {'after':>8}")
    for name, cluster, workload in SIZES:
        wall, cpu = time.time(), used()
        best = plan(cluster, workload, "--planner", "default,even")["plans"][0]  # two: no prices of devices
        wall, cpu = time.time() - wall, used() - cpu
        print(f"{name:<22} {wall:8.2f} {cpu:8.2f} {100 * best['planned_on']['slo_attainment']:7.2f}% "
              f"{100 * best['afterwards']['slo_attainment']:7.2f}%", flush=True)


def worth():
    print(f"{'rate':>5} {'seed':>5} {'planner':<10} {'placed':>7} {'in time':>8} {'norm':>8}   (on the window after)")
    for rate in RATES:
        for seed in (1, 2, 3):
            for p in plan("4x8xa800", [f"sea16:seed={seed},rate={rate:g}"], "--planner", PLANNERS)["plans"]:
                s = p["afterwards"]
                print(f"{rate:5g} {seed:5d} {p['planner']:<10} {s['services_placed']:7d} {100 * s['slo_attainment']:7.2f}% "
                      f"{s['normalized_latency']:8.3f}", flush=True)


if __name__ == "__main__":
    speed() if WHAT == "speed" else worth()
