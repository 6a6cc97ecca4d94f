"""The simulator against real vLLM: the published runs of LLMServingSim's authors, replayed by `shoal sim` from the tables of operations that they measured on
the same two GPUs. What the host adds to a step is fitted on one GPU and checked on the other. Needs the data set beside the repository; skips without it.

Two terms of the host, not negative: of every step, and of one that computes prompts. vLLM schedules the next step while the GPU computes (async_scheduling in
the runs' .meta.json), so they may well be nothing. Attention over decodes of unlike lengths is the authors' own: SKEW of what they would cost more were all as
long as the longest, the constant that they measured of this kernel (alpha_default in profile/RTXPRO6000_..._meta.yaml; the other GPU's file has none).

usage: truth_vllm.py SHOAL [DATA]         DATA: ../shared/data/llmservingsim; about a minute
"""
import csv
import lzma
import math
import os
import subprocess
import sys
import tempfile

MODEL = "meta-llama_Llama-3.1-8B"
N_LAYERS, KV_BYTES = 32, 131072  # a token's keys and values: 32 layers x 2 x 8 heads x 128 x 2 bytes
BLOCK = 16
# As vLLM says of itself in the runs' .meta.json; the second does not say its blocks: 96 GB x 0.9 less 16 GB of weights is never full with 128 requests.
GPUS = {"RTX4090": {"max_seqs": 256, "blocks": 2588}, "RTXPRO6000": {"max_seqs": 128, "blocks": 30000}}
BATCH_TOKENS = 2048
SKEW = 0.0543
TERMS = ("host-ms", "host-prompt-ms")


class Run:
    """A real run: its requests, and what it takes to simulate it."""

    def __init__(self, data, folder, gpu):
        self.gpu, self.folder, self.tables, self.skew = gpu, folder, [], SKEW
        with open(os.path.join(data, f"real_vllm_{gpu}_Llama-3.1-8B.csv")) as file:
            self.rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
        self.rows.sort(key=lambda r: (r["arrival_s"], r["idx"]))
        self.trace = os.path.join(folder, f"{gpu}.csv")
        with open(self.trace, "w") as file:
            file.write("arrived_s,model,n_prompt,n_output\n")
            for r in self.rows:
                file.write(f"{r['arrival_s']:.6f},llama,{r['input_tokens']:.0f},{r['output_tokens']:.0f}\n")
        for part in ("dense", "per_sequence", "attention"):
            name = f"profile/{gpu}_{MODEL}_bf16_tp1_{part}.csv"
            source, table = os.path.join(data, name), os.path.join(folder, f"{gpu}_{part}.csv")
            reader = open(source, "rb") if os.path.exists(source) else lzma.open(source + ".xz")
            with reader, open(table, "wb") as file:
                file.write(reader.read())
            self.tables.append(table)

    def simulate(self, shoal, terms):
        """Times to the first token and to the last, by request in order of arrival."""
        settings, out = GPUS[self.gpu], os.path.join(self.folder, "records.csv")
        scenario = os.path.join(self.folder, "scenario.yaml")
        with open(scenario, "w") as file:
            file.write(f"workload: 'file:{self.trace}'\n"
                       f"policy: fcfs\nprefix-cache: true\nthresholds: [watermark=0, ahead_blocks=0]\nchunk-tokens: {BATCH_TOKENS}\nmax-batch-tokens: {BATCH_TOKENS}\nmax-batch: {settings['max_seqs']}\n"
                       f"block-tokens: {BLOCK}\ncontext: 32768\nmax-requests: 512\nmemory-part: 1\ncsv: {out}\n"
                       f"engines: [{{memory: {settings['blocks'] * BLOCK * KV_BYTES}}}]\n"
                       f"services:\n  llama:\n    kv-bytes-per-token: {KV_BYTES}\n    table-layers: {N_LAYERS}\n    table-skew: {self.skew}\n"
                       f"    tables: [{', '.join(self.tables)}]\n")
            for name, value in zip(TERMS, terms):
                file.write(f"    {name}: {max(value, 0):.6f}\n")
        subprocess.run([shoal, "sim", scenario], check=True, stdout=subprocess.DEVNULL)
        with open(out) as file:
            return list(csv.DictReader(file))

    def times(self, shoal, terms):
        """(first, last) in seconds, by request: real, simulated."""
        records = self.simulate(shoal, terms)
        real = [(r["first_token_s"], r["last_token_s"]) for r in self.rows]
        return real, [(int(r["first_ns"]) * 1e-9, int(r["end_ns"]) * 1e-9) for r in records]

    def error(self, shoal, terms):
        """Root mean square of the first and last tokens' errors, as a part of the mean end-to-end time."""
        real, simulated = self.times(shoal, terms)
        squares = [(a - b) ** 2 for r, s in zip(real, simulated) for a, b in zip(r, s)]
        e2e = sum(last - r["arrival_s"] for (_, last), r in zip(real, self.rows)) / len(real)
        return math.sqrt(sum(squares) / len(squares)) / e2e

    def rows_of(self, shoal, terms):
        real, simulated = self.times(shoal, terms)
        n, arrived = len(real), sum(r["arrival_s"] for r in self.rows) / len(self.rows)

        def mean(times, which):
            return sum(t[which] for t in times) / n - arrived

        def gap(times):
            return sum((t[1] - t[0]) / (r["output_tokens"] - 1) for t, r in zip(times, self.rows) if r["output_tokens"] > 1) / n * 1e3
        yield "mean end to end, s", mean(real, 1), mean(simulated, 1), 3
        yield "mean TTFT, s", mean(real, 0), mean(simulated, 0), 10
        yield "mean TPOT, ms", gap(real), gap(simulated), None
        yield "makespan, s", max(t[1] for t in real), max(t[1] for t in simulated), None


def fit(runs, shoal):
    """The terms that are not negative and least wrong on these runs, by a search over patterns."""
    terms, steps = [0.5, 2.0], [0.5, 2.0]

    def error(terms):
        return max(run.error(shoal, terms) for run in runs)
    best = error(terms)
    while steps[0] > 0.05:
        is_better = False
        for i in range(len(terms)):
            for sign in (1, -1):
                other = list(terms)
                other[i] = max(0.0, other[i] + sign * steps[i])
                value = error(other) if other != terms else best
                if value < best - 1e-7:
                    terms, best, is_better = other, value, True
                    break
        if not is_better:
            steps = [s / 2 for s in steps]
    return terms


def report(title, terms, runs, shoal):
    print(f"\n{title}: " + ", ".join(f"{name} {value:g}" for name, value in zip(TERMS, terms)))
    print(f"{'GPU':<12} {'FIGURE':<20} {'REAL':>9} {'SIMULATED':>10} {'ERROR':>8}  TARGET")
    for run in runs:
        for name, real, simulated, target in run.rows_of(shoal, terms):
            error = 100 * (simulated / real - 1)
            word = "" if target is None else f"{target}%: {'met' if abs(error) <= target else 'MISSED'}"
            print(f"{run.gpu:<12} {name:<20} {real:9.3f} {simulated:10.3f} {error:+7.2f}%  {word}")


def main(shoal, data):
    if not os.path.exists(os.path.join(data, "real_vllm_RTX4090_Llama-3.1-8B.csv")):
        print(f"SKIPPED: no real vLLM runs at {data}")
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = [Run(data, folder, gpu) for gpu in GPUS]
        for run in runs:
            run.skew = 0
        report("all decodes as if they were of one length, without host terms", [0] * len(TERMS), runs, shoal)
        for run in runs:
            run.skew = SKEW
        report("without host terms", [0] * len(TERMS), runs, shoal)
        for run in runs:
            report(f"fitted on the {run.gpu} alone", fit([run], shoal), runs, shoal)
        report("one set for both", fit(runs, shoal), runs, shoal)


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "../../shared/data/llmservingsim"))
