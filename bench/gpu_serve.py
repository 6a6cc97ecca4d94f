"""Serves several models on one device under a policy, loads it with `shoal bench`, and compares with the simulator.

usage: gpu_serve.py serve|twin SHOAL OUT DEVICE SECONDS full|tiny NAME=FILE... -- POLICY...

SHOAL is the program. Lines of JSON go to the file OUT, and a short line for each result to standard output. `serve`: loads
and unloads, then traffic at 0.3, 0.8 and 1.2 of what the first policy serves under a closed load. `twin`: the same traffic by
`shoal sim`, from profiles measured on the device. It begins nothing that does not end within SECONDS; `tiny` asks little.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

SHARES = (0.3, 0.8, 1.2)


class Run:
    def __init__(self, shoal, out, device, seconds, size, models):
        self.shoal, self.out, self.device, self.models = shoal, out, device, models
        self.end = time.monotonic() + seconds
        self.is_tiny = size == "tiny"
        self.profiles = {}
        with open(out, encoding="utf-8") as f:  # the line of the machine
            self.memory_mib = (json.loads(f.readline()).get("device") or {}).get("memory_mib")

    def left(self):
        return self.end - time.monotonic()

    def say(self, **fields):
        with open(self.out, "a", encoding="utf-8") as f:
            f.write(json.dumps(fields) + "\n")
        shown = {k: v for k, v in fields.items() if not isinstance(v, (dict, list))}
        print("  " + ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in shown.items()), flush=True)

    def call(self, *words, limit=60, ok=(0,)):
        got = subprocess.run([self.shoal, *words], capture_output=True, text=True, timeout=max(1, min(limit, self.left() + 5)))
        if got.returncode not in ok:
            raise RuntimeError(((got.stderr or got.stdout).strip().splitlines() or ["no output"])[-1])
        return got

    def workload(self, rate):
        """Conversations like ShareGPT's and Azure's in turn, with lengths that fit a minute."""
        small = ",total-max=20,in-max=14,out-max=4" if self.is_tiny else ",total-max=1500"
        kinds = ["sharegpt", "azure-conv"]
        parts = [f"{kinds[i % 2]}:rate={rate / len(self.models):.4f},service={name}{small}" for i, name in enumerate(self.models)]
        return "+".join(parts)


class Server:
    """A server on the device, whose models are loaded."""

    def __init__(self, run, policy, models=None, *more):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % s.getsockname()[1]
        words = [run.shoal, "serve", "--devices", run.device, "--listen", self.address, "--log-level", "info", "--prefix-cache", "false", *more]
        if policy != "default":
            words += ["--policy", policy]
        if run.is_tiny:
            words += ["--memory", "64MiB", "--profile", "0", "--max-batch", "8", "--max-batch-tokens", "64"]
        for name, path in (models or run.models).items():
            words += ["--model", f"{name}={path}"]
        self.run, self.start = run, time.monotonic()
        self.log = open(run.out + ".server.log", "a", encoding="utf-8")
        self.process = subprocess.Popen(words, stdout=self.log, stderr=subprocess.STDOUT)

    def statuses(self):
        with urllib.request.urlopen(f"http://{self.address}/models", timeout=5) as answer:
            return {m["id"]: m["status"]["value"] for m in json.load(answer)["data"]}

    def wait(self, wanted, limit=120):
        end = time.monotonic() + min(limit, self.run.left())
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError("the server ended: see the log")
            try:
                if all(s == wanted for s in self.statuses().values()):
                    return time.monotonic() - self.start
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"not all models were {wanted} in time")

    def __enter__(self):
        try:
            self.seconds = self.wait("loaded")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def bench(self, workload, *more):
        got = self.run.call("bench", self.address, "--workload", workload, "--json", "--solo", "0", "--seed", "5", *more, limit=90, ok=(0, 1))
        return json.loads(got.stdout[got.stdout.index("{"):])


FIGURES = ("num_prompts", "completed", "failed", "request_throughput", "output_throughput", "mean_e2el_ms", "p99_e2el_ms", "mean_ttft_ms",
           "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms")


def figures(report):
    return {k: report.get(k) for k in FIGURES}


def measure_loads(run, server):
    for name in run.models:
        size, begin = os.path.getsize(run.models[name]), time.monotonic()
        run.call("unload", name, "--server", server.address)
        while server.statuses()[name] != "unloaded" and run.left() > 0:
            time.sleep(0.02)
        unloaded = time.monotonic() - begin
        begin = time.monotonic()
        run.call("load", name, "--server", server.address)
        while server.statuses()[name] != "loaded" and run.left() > 0:
            time.sleep(0.02)
        loaded = time.monotonic() - begin
        run.say(what="reload", model=name, file_bytes=size, unload_s=unloaded, load_s=loaded, load_gb_per_s=size / loaded * 1e-9)


def saturation(run, server):
    """Requests a second of a closed load that is longer than any batch."""
    n = 4 if run.is_tiny else 192
    report = server.bench(run.workload(1), "--concurrency", str(4 if run.is_tiny else 96), "--requests", str(n))
    run.say(what="saturation", **figures(report))
    return max(report["request_throughput"], 0.05)


def open_load(run, server, policy, share, rate, seconds):
    n = max(4, round(rate * seconds))
    workload = run.workload(rate)
    report = server.bench(workload, "--requests", str(n))
    run.say(what="served", policy=policy, share=share, rate=rate, requests=n, workload=workload, **figures(report),
            services=[{"name": s["name"], **figures(s)} for s in report["services"]])
    return report, workload, n


def serve(run, policies):
    rate, seconds = None, 2 if run.is_tiny else 12
    for policy in policies:
        if rate is not None and run.left() < 40 + 3 * seconds:
            run.say(what="skipped", policy=policy, why=f"{run.left():.0f} s are left")
            continue
        try:
            with Server(run, policy) as server:
                run.say(what="started", policy=policy, seconds=server.seconds)
                if rate is None:
                    rate = saturation(run, server)
                    measure_loads(run, server)
                for share in SHARES:
                    open_load(run, server, policy, share, rate * share, seconds)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
            run.say(what="failed", policy=policy, error=str(error)[:300])


def profile(run, name):
    path = run.out + f".{name}.profile.json"
    words = ["--time", "4s", "--batch", "4", "--prompt", "32"] if run.is_tiny else ["--time", "12s", "--batch", "64", "--prompt", "2048"]
    run.call("profile", run.models[name], "--device", run.device, "-o", path, *words, limit=120)
    with open(path, encoding="utf-8") as f:
        text = json.load(f)
    for group in text["groups"]:
        group.pop("samples", None)
    run.say(what="profile", model=name, profile=text)
    return path


def simulate(run, policy, workload, n):
    words = ["sim", "--workload", workload, "--requests", str(n), "--seed", "5", "--json", "--engines", "1"]
    if policy != "default":
        words += ["--policy", policy]
    for name, path in run.profiles.items():
        words += ["--profile", f"{name}={path}"]
    if run.memory_mib:
        words += ["--memory", f"{run.memory_mib}MiB"]
    got = run.call(*words)
    if not got.stdout:
        raise RuntimeError(got.stderr.strip()[-300:])
    return json.loads(got.stdout)


def twin(run, policies):
    try:
        for name in run.models:
            run.profiles[name] = profile(run, name)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        run.say(what="failed", error=str(error)[:300])
        return
    rate, means = None, []
    for policy in policies:
        if rate is not None and run.left() < 40:
            run.say(what="skipped", policy=policy, why=f"{run.left():.0f} s are left")
            continue
        try:
            with Server(run, policy) as server:
                rate = rate or saturation(run, server)
                for share in (0.3, 0.8):
                    real, workload, n = open_load(run, server, policy, share, rate * share, 2 if run.is_tiny else 12)
                    simulated = simulate(run, policy, workload, n)
                    ratio = simulated["mean_e2el_ms"] / real["mean_e2el_ms"]
                    means.append((policy, share, real["mean_e2el_ms"], simulated["mean_e2el_ms"]))
                    run.say(what="twin", policy=policy, share=share, real_mean_ms=real["mean_e2el_ms"], simulated_mean_ms=simulated["mean_e2el_ms"],
                            ratio=ratio, within_5_percent=abs(ratio - 1) <= 0.05, simulated=figures(simulated))
        except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            run.say(what="failed", policy=policy, error=str(error)[:300])
    for share in (0.3, 0.8):
        rows = [m for m in means if m[1] == share]
        by_real = [m[0] for m in sorted(rows, key=lambda m: m[2])]
        by_sim = [m[0] for m in sorted(rows, key=lambda m: m[3])]
        run.say(what="order", share=share, real=" < ".join(by_real), simulated=" < ".join(by_sim), is_kept=by_real == by_sim)


def main():
    verb, shoal, out, device, seconds, size, *rest = sys.argv[1:]
    cut = rest.index("--")
    models = dict(word.split("=", 1) for word in rest[:cut])
    run = Run(shoal, out, device, float(seconds), size, models)
    {"serve": serve, "twin": twin}[verb](run, rest[cut + 1:])


main()
