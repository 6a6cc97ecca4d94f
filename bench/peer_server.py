"""Our server against llama-server: the same requests from the same client (`shoal bench`, which judges every answer), in turn.

usage: peer_server.py streams SHOAL LLAMA_SERVER MODEL.gguf [--streams 8] [--prompt 128] [--answer 128] [--requests 24] [--rounds 2] [--all]
       peer_server.py trace SHOAL LLAMA_SERVER SMALL.gguf LARGE.gguf [--seconds 60]

streams: so many requests at any time. Of llama-server several settings run in the first round: threads, passive waiting of OpenMP, flash attention, batch
sizes; later rounds take the one with the most tokens/s (--all: all of them). Ratios are of the same round; the median over rounds counts.

trace: two models under one seeded Poisson trace (the small one asked about 57 times a minute, the large one 5 times), ours in one process and llama-server's
router with a process for each, as it ships and with passive waiting; then llama-server with each model alone and that model's part of the trace, flash
attention on and off. Memory is the sum over a server's processes (PSS), after loading and after the run.

OTHERS: processor time that neither the server nor the client used, in cores: above 0.06 a row is doubtful. Needs no packages.
"""
import argparse
import itertools
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def family(pid):
    """The process and all below it."""
    found = [pid]
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in open(f"/proc/{pid}/task/{thread}/children").read().split():
                found += family(int(child))
    except OSError:
        pass  # it ended meanwhile
    return found


def pss_mib(pid):
    total = 0
    for each in family(pid):
        try:
            total += sum(int(line.split()[1]) for line in open(f"/proc/{each}/smaps_rollup") if line.startswith("Pss:"))
        except OSError:
            pass
    return total / 1024


def cpu_s(pids):
    ticks = 0
    for pid in pids:
        try:
            fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return ticks / TICKS


def machine_s():
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


class Server:
    """A server that is ready: its models answer."""

    def __init__(self, words, port, names, env=None):
        self.port, self.log = port, tempfile.TemporaryFile()
        begin = time.monotonic()
        self.process = subprocess.Popen(words, stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        for name in names:
            self.wait(name, begin + 120)
        self.ready_s, self.loaded_mib = time.monotonic() - begin, pss_mib(self.process.pid)

    def wait(self, name, deadline):
        body = json.dumps({"model": name, "prompt": [5, 6, 7], "max_tokens": 1, "temperature": 0}).encode()
        while True:
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/completions", body, {"Content-Type": "application/json"})
                return urllib.request.urlopen(request, timeout=60).read()
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    self.log.seek(0)
                    sys.exit("the server did not become ready:\n" + self.log.read().decode(errors="replace")[-2000:])
                time.sleep(0.02)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def ask(shoal, server, words):
    """Runs the client; its report, with the cores that others used and the memory afterwards."""
    mine, all_s, begin, before = cpu_s(family(server.process.pid)), machine_s(), time.monotonic(), os.times()
    # llama-server knows no min_tokens, so both are told each length
    done = subprocess.run([shoal, "bench", f"127.0.0.1:{server.port}", "--prompt", "ids", "--vocabulary", "32000", "--solo", "0", "--json", "--end", "max_tokens", *words],
                          capture_output=True, text=True)
    after, took = os.times(), time.monotonic() - begin
    if done.returncode == 2:
        sys.exit(done.stderr)
    report = json.loads(done.stdout)
    client = after.children_user + after.children_system - before.children_user - before.children_system
    own = cpu_s(family(server.process.pid)) - mine + client
    report["others"] = max(machine_s() - all_s - own, 0) / took
    report["pss_mib"], report["right"] = pss_mib(server.process.pid), done.returncode == 0
    return report


def ours(shoal, port, models, memory):
    words = [shoal, "serve", "--listen", f"127.0.0.1:{port}", "--log-level", "warn", "--prefix-cache", "false", "--memory", memory]
    for name, path in models.items():
        words += ["--model", f"{name}={path}"]
    return words


def theirs(program, port, path, setting, n_streams, name="m"):
    threads, passive, flash, batch = setting
    words = [program, "-m", path, "--alias", name, "--host", "127.0.0.1", "--port", str(port), "-np", str(n_streams), "-c", str(1024 * n_streams), "-t",
             str(threads), "-fa", flash, "-b", str(batch), "-ub", str(min(batch, 512)), "--no-warmup"]
    return words, ({"OMP_WAIT_POLICY": "passive"} if passive else {})


def figures(report):
    """(tokens/s, TTFT p50, p90, p99 in ms, TPOT p50 in ms) of all models together, or of one."""
    return tuple(report[key] for key in ("output_throughput", "median_ttft_ms", "p90_ttft_ms", "p99_ttft_ms", "median_tpot_ms"))


def print_row(name, numbers, report, server):
    print(f"{name:44s} {numbers[0]:8.1f} {numbers[1]:9.0f} {numbers[2]:9.0f} {numbers[3]:9.0f} {numbers[4]:8.2f} {server.ready_s:7.2f} "
          f"{server.loaded_mib:7.0f} {report['pss_mib']:7.0f} {report['others']:6.2f} {'' if report['right'] else 'WRONG ANSWERS'}", flush=True)


HEADER = f"{'':44s} {'tokens/s':>8s} {'TTFT p50':>9s} {'p90':>9s} {'p99 ms':>9s} {'TPOT p50':>8s} {'ready s':>7s} {'loaded':>7s} {'MiB PSS':>7s} OTHERS"


def run_streams(o):
    words = ["--workload", f"poisson:service=m,rate=1000,in={o.prompt},out={o.answer}", "--requests", str(o.requests), "--concurrency", str(o.streams)]
    settings = [(t, p, fa, b) for t, p, fa, b in itertools.product((2, 1), (False, True), ("on", "off"), (2048, 256))]
    if not o.thorough:
        settings = [(2, False, "on", 2048), (2, False, "off", 2048), (2, True, "on", 2048), (2, True, "off", 2048), (1, False, "on", 2048), (2, False, "on", 256)]
    settings = settings[:o.settings]
    rates, our_rows, their_rows = {}, [], []
    print(HEADER)
    for round_ in range(o.rounds):
        port = free_port()
        server = Server(ours(o.shoal, port, {"m": o.model}, o.memory), port, ["m"])
        report = ask(o.shoal, server, words)
        our_rows.append(figures(report))
        print_row("shoal", our_rows[-1], report, server)
        server.stop()
        best = None
        for setting in settings:
            port = free_port()
            line, env = theirs(o.peer, port, o.model, setting, o.streams)
            server = Server(line, port, ["m"], env)
            report = ask(o.shoal, server, words)
            row = figures(report)
            rates.setdefault(setting, []).append(row[0])
            name = f"llama-server -t {setting[0]} -fa {setting[2]} -b {setting[3]}{' passive' if setting[1] else ''}"
            print_row(name, row, report, server)
            server.stop()
            best = row if best is None or row[0] > best[0] else best
        their_rows.append(best)
        if not o.all:
            settings = [max(rates, key=lambda s: statistics.median(rates[s]))]
    ratio = statistics.median(a[0] / b[0] for a, b in zip(our_rows, their_rows))
    ttft = statistics.median(a[3] / b[3] for a, b in zip(our_rows, their_rows))
    print(f"tokens/s: {ratio:.2f} times llama-server at its best; TTFT p99: {ttft:.2f} of its (medians of {o.rounds} rounds, paired)")


def write_trace(path, seconds, only=None):
    """The two models' requests, or one's: arrivals by Poisson, lengths around their means times U(0.5, 1.5)."""
    rng, rows = random.Random(7), []
    for model, rate, n_prompt, n_output in (("m160", 57 / 60, 117, 62), ("m1b", 5 / 60, 109, 52)):
        at = rng.expovariate(rate)
        while at < seconds:
            rows.append((at, model, max(int(n_prompt * rng.uniform(0.5, 1.5)), 1), max(int(n_output * rng.uniform(0.5, 1.5)), 1)))
            at += rng.expovariate(rate)
    with open(path, "w") as file:
        file.write("arrived_s,model,n_prompt,n_output\n")
        for at, model, n_prompt, n_output in sorted(rows):
            if only in (None, model):
                file.write(f"{at:.6f},{model},{n_prompt},{n_output}\n")


def run_trace(o):
    models = {"m160": os.path.abspath(o.model), "m1b": os.path.abspath(o.large)}
    with tempfile.TemporaryDirectory() as folder:
        trace, preset = os.path.join(folder, "trace.csv"), os.path.join(folder, "models.ini")
        write_trace(trace, o.seconds)
        with open(preset, "w") as file:
            file.write("[*]\nnp = 8\nc = 8192\nt = 2\n" + "".join(f"[{name}]\nmodel = {path}\n" for name, path in models.items()))
        print(HEADER)
        for name in o.only or ("shoal", "router", "router, passive", "alone"):
            if name == "alone":
                run_alone(o, models, folder)
                continue
            port = free_port()
            line = ours(o.shoal, port, models, o.memory) if name == "shoal" else \
                [o.peer, "--models-preset", preset, "--host", "127.0.0.1", "--port", str(port)]
            server = Server(line, port, models, {"OMP_WAIT_POLICY": "passive"} if "passive" in name else {})
            report = ask(o.shoal, server, ["--workload", f"file:{trace}"])
            for service in report["services"]:
                print_row(f"{name}: {service['name']}", figures(service), report, server)
            server.stop()


def run_alone(o, models, folder):
    """llama-server with one of the models and nothing else, under that model's part of the trace."""
    for (name, path), flash in itertools.product(models.items(), ("on", "off")):
        trace, port = os.path.join(folder, f"{name}.csv"), free_port()
        write_trace(trace, o.seconds, name)
        line, env = theirs(o.peer, port, path, (2, False, flash, 2048), 8, name)
        server = Server(line, port, [name], env)
        report = ask(o.shoal, server, ["--workload", f"file:{trace}"])
        print_row(f"alone, -fa {flash}: {name}", figures(report["services"][0]), report, server)
        server.stop()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("mode", choices=("streams", "trace"))
    parser.add_argument("shoal", type=os.path.abspath)
    parser.add_argument("peer", type=os.path.abspath)
    parser.add_argument("model")
    parser.add_argument("large", nargs="?")
    for name, value in (("streams", 8), ("prompt", 128), ("answer", 128), ("requests", 24), ("rounds", 2), ("settings", 99), ("seconds", 60)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--memory", default="3GiB")
    parser.add_argument("--all", action="store_true", help="all settings in every round")
    parser.add_argument("--only", action="append", help="trace: this row alone (shoal; router; router, passive; alone)")
    parser.add_argument("--thorough", action="store_true", help="every combination of settings")
    o = parser.parse_args()
    if o.mode == "trace" and o.large is None:
        parser.error("a trace needs two models")
    run_streams(o) if o.mode == "streams" else run_trace(o)


if __name__ == "__main__":
    main()
