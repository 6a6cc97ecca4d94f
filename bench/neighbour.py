"""What a neighbour that takes part of a core costs us and a peer: decode and prompt alone, then beside a process that keeps processor 0 busy part of the time.

usage: neighbour.py SHOAL LLAMA_BENCH MODEL.gguf [SHARES=0,25,50,100] [ROUNDS=2] [PEER'S FLAGS...]

SHARES are percents of one processor that the neighbour takes, in turns of 20 ms. Each round measures ours and the peer's in turn at every share; the medians
over rounds are printed, and what of the speed alone is left. A fair half of one processor of two taken would leave three quarters. Needs no packages.
"""
import json
import statistics
import subprocess
import sys
import time

NEIGHBOUR = """
import os, sys, time
os.sched_setaffinity(0, {0})
share = float(sys.argv[1])
while True:
    begin = time.monotonic()
    while time.monotonic() - begin < 0.02 * share:
        pass
    time.sleep(0.02 * (1 - share))
"""


def ours(shoal, model):
    """(decode, prompt) in tokens/s."""
    words = [shoal, "bench", "kernels", "--model", model, "--no-attention", "--batch", "1", "--rounds", "1", "--tries", "1", "--others", "9", "--json"]
    report = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    found = {row["name"].split()[0]: row["tokens_per_s"] for row in report["models"][0]["rows"]}
    return found["decode"], found["prefill"]


def theirs(program, model, flags):
    words = [program, "-m", model, "-p", "512", "-n", "64", "-r", "2", "-o", "json", *flags]
    rows = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    return (next(r["avg_ts"] for r in rows if r["n_gen"] > 0), next(r["avg_ts"] for r in rows if r["n_gen"] == 0))


def beside(share, measure):
    neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR, str(share / 100)]) if share > 0 else None
    try:
        time.sleep(0.5)
        return measure()
    finally:
        if neighbour is not None:
            neighbour.kill()
            neighbour.wait()


def main(shoal, program, model, shares="0,25,50,100", rounds="2", *flags):
    shares = [int(s) for s in shares.split(",")]
    figures = {}
    for _ in range(int(rounds)):
        for share in shares:
            figures.setdefault(("shoal", share), []).append(beside(share, lambda: ours(shoal, model)))
            figures.setdefault(("peer", share), []).append(beside(share, lambda: theirs(program, model, flags)))
    print(f"{'':6s} {'neighbour':>9s} {'decode':>9s} {'left':>6s} {'prompt':>9s} {'left':>6s}   tokens/s, and what is left of it")
    for name in ("shoal", "peer"):
        for share in shares:
            decode, prompt = (statistics.median(run[i] for run in figures[name, share]) for i in (0, 1))
            alone = [statistics.median(run[i] for run in figures[name, shares[0]]) for i in (0, 1)]
            print(f"{name:6s} {share:8d}% {decode:9.1f} {decode / alone[0]:6.0%} {prompt:9.1f} {prompt / alone[1]:6.0%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
