"""Two models side by side on the real engine, each on a core of its own, against one after the other on both cores: the same work, measured and predicted.

usage: lanes.py SHOAL [--pairs 5] [--profile-time 6s] [--keep FOLDER]

One model has long prompts and short answers, the other short prompts and long answers; all are asked at t = 0. `adbs` with the lanes "1 1" computes prompts of
one beside decodes of the other, `fcfs` one batch after another. Runs alternate, medians count. What both do is read from the engine's log: that the lanes did
compute at once, and the time from the first batch to the last. The prediction is `shoal sim` of both from the models' profiles (one core, two cores, a model
beside itself), taken before. Exits 1 when nothing was computed side by side, or when it was slower than predicted to be faster.
Needs two cores, a quiet machine, and Python with numpy for two random models (tools/requirements.txt); they are kept beside SHOAL.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import truth

MODELS = ("m10", "m15")  # that has the prompts, that has the answers
SETTINGS = {"max_batch": 32, "max_batch_tokens": 512, "chunk_tokens": 256}


def work():
    """(arrival, service, prompt, output): about as long for either model alone."""
    rows = [(0, MODELS[0], 256, 1) for _ in range(70)] + [(0, MODELS[1], 8, 200) for _ in range(16)]
    return rows


class Side:
    """One way to do the work."""

    def __init__(self, name, policy, lanes):
        self.name, self.policy, self.lanes = name, policy, lanes
        self.real, self.overlap, self.mixed = [], [], []


def serve_once(setup, side, trace):
    config, log, steps = (setup.path(name) for name in ("serve.yaml", "engine.log", "steps.csv"))
    port = truth.free_port()
    with open(config, "w") as file:
        file.write(f"listen: 127.0.0.1:{port}\nmemory: 1GiB\npolicy: {side.policy}\npredictor: conditional\nprefix_cache: false\nkeep_alive: -1s\n"
                   "log_level: warn\n")
        if side.lanes:
            file.write(f"lanes: [{', '.join(side.lanes)}]\n")
        for key, value in SETTINGS.items():
            file.write(f"{key}: {value}\n")
        file.write("models:\n")
        for name in MODELS:
            file.write(f"  {name}: {{path: {setup.models[name]}, ctx: 512, profile: {setup.profiles[name]}, preload: true}}\n")
    server = subprocess.Popen([setup.shoal, "serve", config, "--log-engine", log])
    try:
        truth.wait_loaded(port, server)
        subprocess.run([setup.shoal, "bench", f"127.0.0.1:{port}", "--workload", f"file:{trace}", "--solo", "0", "--prompt", "ids"], check=True,
                       stdout=subprocess.DEVNULL)
    finally:
        server.terminate()
        server.wait()
    return truth.read_steps(setup.shoal, log, steps)


def side_by_side(batches):
    """Seconds in which two lanes computed at once, and in which prompts of one model did beside decodes of the other."""
    both = mixed = 0
    for i, a in enumerate(batches):
        for b in batches[max(i - 200, 0):i]:
            if a["lane"] == b["lane"] or 0 in (a["lane"], b["lane"]):
                continue
            ns = max(0, min(a["end_ns"], b["end_ns"]) - max(a["begin_ns"], b["begin_ns"]))
            both += ns
            mixed += ns * (a["service"] != b["service"] and (a["new"] > 0) != (b["new"] > 0))
    return both * 1e-9, mixed * 1e-9


def simulate(setup, side, trace):
    out, scenario = setup.path("sim.csv"), setup.path("sim.yaml")
    with open(scenario, "w") as file:
        file.write(f"workload: 'file:{trace}'\npolicy: {side.policy}\npredictor: conditional\nmemory-part: 1\nblock-tokens: 0\ncsv: {out}\nmax-requests: 4096\n"
                   f"context: 512\n" + (f"lanes: [{', '.join(side.lanes)}]\n" if side.lanes else "") + "engines: [{memory: 1GiB}]\nservices:\n")
        for name in MODELS:
            file.write(f"  {name}: {{profile: {setup.profiles[name]}}}\n")
    arguments = [x for key, value in SETTINGS.items() for x in ("--" + key.replace("_", "-"), str(value))]
    subprocess.run([setup.shoal, "sim", scenario, *arguments], check=True, stdout=subprocess.DEVNULL)
    return truth.makespan(truth.records(out))


def run(setup, options):
    for name in MODELS:
        out = setup.path(name + ".json")
        text = subprocess.run([setup.shoal, "profile", setup.models[name], "--time", options.profile_time, "--batch", str(SETTINGS["max_batch"]), "--prompt",
                               "512", "-o", out], check=True, capture_output=True, text=True).stdout
        print(name + ": " + "; ".join(line for line in text.splitlines() if line.startswith(("beside", "hash"))), flush=True)
        setup.profiles[name] = out
    trace = truth.write_trace(setup.path("work.csv"), work())
    sides = [Side("one after another, both cores", "fcfs", []), Side("side by side, a core each", "adbs", ["1", "1"])]
    predicted = [simulate(setup, side, trace) for side in sides]
    for pair in range(options.pairs):
        for side in sides:
            batches = serve_once(setup, side, trace)
            seconds = (max(b["end_ns"] for b in batches) - min(b["begin_ns"] for b in batches)) * 1e-9
            both, mixed = side_by_side(batches)
            side.real.append(seconds)
            side.overlap.append(both / seconds)
            side.mixed.append(mixed / seconds)
            print(f"  pair {pair + 1}, {side.name}: {seconds:.3f} s, {len(batches)} batches; both lanes computed during {100 * both / seconds:.0f}%, "
                  f"prompts of one model beside decodes of the other during {100 * mixed / seconds:.0f}%", flush=True)
    for side, seconds in zip(sides, predicted):
        print(f"{side.name:<30} measured {statistics.median(side.real):.3f} s ({min(side.real):.3f} to {max(side.real):.3f}), predicted {seconds:.3f} s")
    measured = statistics.median(a / b for a, b in zip(sides[0].real, sides[1].real))
    print(f"speed-up of side by side: measured {measured:.3f} (median of pairs), predicted {predicted[0] / predicted[1]:.3f}")
    is_beside = min(sides[1].mixed) > 0
    is_told = predicted[0] <= predicted[1] or measured > 1
    print(f"prompts of one model ran beside decodes of the other: {'yes' if is_beside else 'NO'}; faster where predicted to be: {'yes' if is_told else 'NO'}")
    return 0 if is_beside and is_told else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--profile-time", default="6s")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    options.steady = 0
    with truth.Preferred(), tempfile.TemporaryDirectory() as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        return run(truth.Setup(options, options.keep or folder), options)


if __name__ == "__main__":
    sys.exit(main())
