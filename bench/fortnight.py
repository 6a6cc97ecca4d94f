"""A fortnight of ServeGen's three models under `default`: with and without scaling, with and without re-placement.

usage: fortnight.py SHOAL [DAYS [RATE [DEVICES [WORD,...]]]]

First the fewest workers of each model for 99% within five solo times are found by simulation at three rates (an hour
each), which gives Equation 7's line; then the days are simulated with workers for the highest rate seen, and with pools that
scale by the line, for three cold starts. Then the planner `default` places the models on one machine of DEVICES H100s, on the
first 5,000 requests, and they stay there; or they move when that pays. Last, the largest model lies by layers over a chain of
two H100s and three A100s, of which one leaves for two hours twice a day: HELR plans the layers anew, or the chain waits. Everything
is seeded: the figures are the same on every machine. Words choose the runs whose names have one of them.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

SHOAL = sys.argv[1]
DAYS = float(sys.argv[2]) if len(sys.argv) > 2 else 14
RATE = float(sys.argv[3]) if len(sys.argv) > 3 else 4
DEVICES = int(sys.argv[4]) if len(sys.argv) > 4 else 6
WORDS = sys.argv[5].split(",") if len(sys.argv) > 5 else [""]
MODELS = {"m-large": 4, "m-mid": 1, "m-small": 1}  # devices of a worker
TARGET, MOST = 0.99, 24


def sim(rate, hours, counts, scale=None):
    groups = "engines:\n"
    for name, tp in MODELS.items():
        own = ", scale: [%s]" % scale[name] if scale else ""
        groups += "  - {count: %d, device: h100, tp: %d, services: %s%s}\n" % (counts[name], tp, name, own)
    return run(rate, hours, groups)


def placed(rate, hours, replace):
    return run(rate, hours, "nodes: [{count: 1, device: h100, devices: %d}]\nreplace: [%s]\n" % (DEVICES, replace))


def chained(rate, hours, counts, stays):
    groups = "engines:\n  - {chain: [h100, h100, a100, a100, a100], services: m-large, batch: 16, tokens: 4096}\n"
    for name in ("m-mid", "m-small"):
        groups += "  - {count: %d, device: h100, services: %s}\n" % (counts[name], name)
    away = [(k % 5, 6 + 12 * k) for k in range(min(60, int(hours / 12)))]
    groups += "devices_leave: [%s]\n" % ", ".join("%d@%dh" % leave for leave in away)
    groups += "devices_join: [%s]\n" % ", ".join("%d@%dh" % (device, at + 2) for device, at in away)
    return run(rate, hours, groups + ("chains_stay: true\n" if stays else ""))


def run(rate, hours, engines):
    text = "workload: servegen3:rate=%g\nduration: %gh\ncontext: 131072\nslo: seallm-solo:5\n%s" % (rate, hours, engines)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([SHOAL, "sim", path, "--preset", "default", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def services(page):
    return {s["name"]: s for s in page["services"]}


def fewest(rate, hours):
    """The fewest workers of each model, and the rate that it had: pools do not meet, so one run tries all three."""
    found, n = {}, 0
    while len(found) < len(MODELS) and n < MOST:
        n += 1
        page = services(sim(rate, hours, {name: n for name in MODELS}))
        for name in MODELS:
            if name not in found and page[name]["slo_attainment"] >= TARGET:
                found[name] = (page[name]["completed"] / hours / 3600, n)
    return found


def line(points):
    n, x, y = len(points), sum(p[0] for p in points), sum(p[1] for p in points)
    xx, xy = sum(p[0] ** 2 for p in points), sum(p[0] * p[1] for p in points)
    k5 = max(0.0, (n * xy - x * y) / (n * xx - x * x))
    return k5, y / n - k5 * x / n


def show(label, page, seconds):
    own = services(page)
    print("%-34s %7.2f devices  %s  mean %6.3f s  NL %.4f  started %5d  %5.0f s" % (
        label, page["devices_mean"], "  ".join("%s %.2f%%" % (n, 100 * own[n]["slo_attainment"]) for n in MODELS),
        page["mean_e2el_ms"] / 1e3, page["normalized_latency"], page["workers_started"], seconds), flush=True)
    if "plans" in page:
        print("    %d plans: %d moves, %d the same, %d without gain, %d not worth it, %d with less room; %.0f GB loaded, %d requests"
              " sent back, services nowhere for %.0f s; a move's gain: promised %.2f%% of NL, got %.2f%%" % (
                  page["plans"], page["moves"], page["plans_same"], page["plans_without_gain"], page["plans_not_worth"],
                  page["plans_with_less_room"], page["loaded_bytes"] / 1e9, page["returned_requests"], page["unavailable_s"],
                  100 * page["promised_latency"], 100 * page["got_latency"]), flush=True)
    if "layer_maps" in page:
        print("    layers planned anew: %d left, %d joined, %d for KV; %d other maps; %.0f GB loaded, %d requests sent back, nobody"
              " served for %.0f s" % (
                  page["layer_plans_left"], page["layer_plans_joined"], page["layer_plans_kv"], page["layer_maps"],
                  page["chain_loaded_bytes"] / 1e9, page["chain_returned_requests"], page["chain_away_s"]), flush=True)


def lines():
    """The fewest workers for the highest rate, and Equation 7's line, of each model."""
    points = {name: [] for name in MODELS}
    for rate in (RATE / 2, RATE, 2 * RATE):
        for name, point in fewest(rate, 1).items():
            points[name].append(point)
    scale, counts = {}, {}
    for name in MODELS:
        k5, c5 = line(points[name])
        counts[name] = max(n for _, n in points[name])
        scale[name] = "k5=%.6f, c5=%.6f" % (k5, c5)
        print("%s: %.3f r + %.2f from %s" % (name, k5, c5, ", ".join("%.2f/s: %d" % p for p in points[name])), flush=True)
    return counts, scale


def main():
    hours = 24 * DAYS
    scaled = lambda more: lambda: sim(RATE, hours, counts, {name: scale[name] + ", " + more for name in MODELS})
    runs = {
        "fixed, for twice the mean rate": lambda: sim(RATE, hours, counts),
        "scaled, no cold start": scaled("cold_start_ns=0"),
        "scaled, 20 s cold start": scaled("cold_start_ns=20000"),
        "scaled, 120 s": scaled("cold_start_ns=120000"),
        "scaled, 120 s, headroom 0.3": scaled("cold_start_ns=120000, headroom=0.3"),
        "placed on the first hour": lambda: placed(RATE, hours, "off"),
        "placed, models move": lambda: placed(RATE, hours, "on"),
        "a chain that waits for its devices": lambda: chained(RATE, hours, counts, True),
        "a chain planned anew by HELR": lambda: chained(RATE, hours, counts, False),
    }
    chosen = {label: run for label, run in runs.items() if any(word in label for word in WORDS)}
    if not all(label.startswith("placed") for label in chosen):
        counts, scale = lines()
    for label, simulate in chosen.items():
        begin = time.time()
        page = simulate()
        show(label, page, time.time() - begin)


if __name__ == "__main__":
    main()
