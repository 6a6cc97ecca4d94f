"""How long `shoal plan` takes; what its plans are worth, plan_best.py says.

usage: plan.py SHOAL

16 services on 32 devices, on 64, and 100 services on 1,024, a window of 5,000 requests each: seconds that `default` plans;
then wall and processor seconds of the command, with drawing the workload, and judging it and `even` on both windows.
"""
import resource
import subprocess
import sys
import time

SHOAL = sys.argv[1]
HUNDRED = ["chatlmsys16:rate=100", "sea16:rate=60", "power19:services=60,rate=300", "m5:rate=20", "azure-mix:rate=20",
           "servegen3:rate=20"]
SIZES = [("16 on 32", "4x8xa800", ["sea16:seed=2,rate=10"]), ("16 on 32, overloaded", "4x8xa800", ["sea16:seed=2,rate=30"]),
         ("16 on 64", "8x8xa800", ["sea16:seed=2,rate=30"]), ("100 on 1,024", "128x8xa100", HUNDRED)]


def plan(cluster, workload):
    """The row of `default` in the table: placed, services, in time, norm, p99, devices, plan s, |, in time, norm on the window planned on."""
    texts = [x for w in workload for x in ("--workload", w)]
    done = subprocess.run([SHOAL, "plan", cluster, *texts, "--planner", "default,even"], capture_output=True, text=True)  # two: no prices of devices
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("default ")).split()[1:]


def used():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def speed():
    print(f"{'services on devices':<22} {'plan s':>8} {'wall s':>8} {'cpu s':>8} {'in time':>8} {'after':>8}")
    for name, cluster, workload in SIZES:
        wall, cpu = time.time(), used()
        row = plan(cluster, workload)
        wall, cpu = time.time() - wall, used() - cpu
        print(f"{name:<22} {row[6]:>8} {wall:8.2f} {cpu:8.2f} {row[8]:>8} {row[2]:>8}", flush=True)


if __name__ == "__main__":
    speed()
