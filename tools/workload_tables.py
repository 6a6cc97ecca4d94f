"""Makes src/workload/tables_lengths.c and tables_rates.c: figures of public traces as tables in C.

usage: workload_tables.py DATA_FOLDER [SOURCE_ROOT]

DATA_FOLDER holds the traces as their publishers name them (../shared/data); only figures leave it:
quantiles of lengths, rates by the hour, and shares of classes of clients, each with its source. For every
table the mean that the table yields is printed beside the mean of the rows.
"""
import csv
import io
import json
import lzma
import os
import random
import statistics
import sys

DATA = sys.argv[1]
ROOT = sys.argv[2] if len(sys.argv) > 2 else "."
P = ([0, .005, .01, .02, .035] + [.05 + .02 * i for i in range(46)] +
     [.96, .965, .97, .975, .98, .985, .99, .9925, .995, .9965, .998, .999, 1])
P = [round(p, 6) for p in P]
assert len(P) == 64
GROUPS = 8


def text_of(path):
    path = os.path.join(DATA, path)
    data = lzma.open(path).read() if path.endswith(".xz") else open(path, "rb").read()
    return data.decode()


def rows_of(path):
    return csv.DictReader(io.StringIO(text_of(path)))


def pairs_of(path, prompt, output):
    pairs = [(int(r[prompt]), int(r[output])) for r in rows_of(path)]
    return [(i, o) for i, o in pairs if i > 0 and o > 0]


def mooncake(path):
    rows = [json.loads(line) for line in text_of(path).splitlines()]
    return [(r["input_length"], r["output_length"]) for r in rows if r["input_length"] and r["output_length"]]


# --- quantiles ---------------------------------------------------------------------------------------------------


def quantiles(values):
    """64 points; the last is set so that the last cell has the mean that it has in the rows."""
    values = sorted(values)
    n = len(values)
    points = [values[min(int(p * n), n - 1)] for p in P]
    top = values[int(P[-2] * n):]
    if len(top) > 1:
        points[-1] = min(max(round(2 * statistics.fmean(top) - points[-2]), points[-2]), values[-1])
    return points


def mean_of(points):
    return sum((P[i + 1] - P[i]) * (points[i] + points[i + 1]) / 2 for i in range(63))


def joint(pairs, groups):
    """Prompts' quantiles, and the outputs' of each equal share of the rows by prompt; ties are shuffled."""
    random.Random(1).shuffle(pairs)
    pairs.sort(key=lambda pair: pair[0])
    n = len(pairs)
    outputs = [quantiles([o for _, o in pairs[g * n // groups:(g + 1) * n // groups]]) for g in range(groups)]
    return quantiles([i for i, _ in pairs]), outputs


def lines(values, width=100, indent=8):
    out, line = [], " " * indent
    for value in values:
        word = f"{value},"
        if len(line) + 1 + len(word) > width:
            out.append(line)
            line = " " * indent
        line += (" " if line.strip() else "") + word
    return out + [line]


def percentile(values, p):
    values = sorted(values)
    return values[min(int(p * len(values)), len(values) - 1)]


def emit_joint(name, source, pairs, groups, out):
    prompt, outputs = joint(pairs, groups)
    ins, outs = [i for i, _ in pairs], [o for _, o in pairs]
    ident = name.replace("-", "_")
    out.append(f"static const int32_t {ident}_prompt[WORKLOAD_QUANTILES] = {{")
    out += lines(prompt, indent=4)
    out.append("};")
    out.append(f"static const int32_t {ident}_output[{groups}][WORKLOAD_QUANTILES] = {{")
    for group in outputs:
        out.append("    {")
        out += lines(group)
        out.append("    },")
    out.append("};")
    got = mean_of(prompt), statistics.fmean(mean_of(g) for g in outputs)
    want = statistics.fmean(ins), statistics.fmean(outs)
    print(f"{name:24} rows {len(pairs):7}  prompt {want[0]:9.1f} table {got[0]:9.1f} ({got[0] / want[0] - 1:+.2%})"
          f"  output {want[1]:8.1f} table {got[1]:8.1f} ({got[1] / want[1] - 1:+.2%})")
    return (f'    {{ "{name}", "{source}",\n      {len(pairs)}, {want[0]:.2f}, {want[1]:.2f}, '
            f"{percentile(ins, .5)}, {percentile(ins, .99)}, {percentile(outs, .5)}, {percentile(outs, .99)},\n"
            f"      {groups}, {ident}_prompt, {ident}_output }},")


def longbench():
    """Its tasks' mean lengths alone are public here: prompts lognormal about the task's mean (1.35 tokens an English
    word, 0.7 a Chinese character, sigma 0.5), outputs uniform up to the task's maximum."""
    dice, pairs = random.Random(2), []
    for row in rows_of("longbench/longbench_task_lengths.csv"):
        mean = float(row["avg_input_words_or_zh_chars"]) * (0.7 if row["language"] == "ZH" else 1.35)
        for _ in range(int(row["samples"]) * 4):
            prompt = max(int(mean * dice.lognormvariate(-0.125, 0.5)), 1)
            pairs.append((prompt, dice.randint(1, int(row["max_new_tokens"]))))
    return pairs


# --- ServeGen ----------------------------------------------------------------------------------------------------

LANGUAGE = ["m-large", "m-mid", "m-small"]
N_TOP, N_HOURS = 4, 168


def servegen_clients():
    """{model: {client: {"rate": {window: rate}, "shape": [(rate, dist, p1)], ...}}} and the lengths' histograms."""
    clients = {}
    for row in rows_of("servegen/clients.csv.xz"):
        client = clients.setdefault(row["model"], {}).setdefault(int(row["client"]), {"hours": [0.0] * N_HOURS, "shapes": []})
        t, rate = int(row["t0_s"]), float(row["rate_rps"])
        if t // 3600 < N_HOURS:
            client["hours"][t // 3600] += rate / 6
            client["shapes"].append((rate, row["dist"], float(row["p1"]), float(row["cv"])))
    for line in text_of("servegen/lengths.tsv.xz").splitlines():
        fields = line.split("\t")
        if len(fields) < 6 or fields[0] not in clients or fields[3] not in ("input_tokens", "output_tokens") or fields[4] == "0":
            continue
        client = clients[fields[0]].get(int(fields[1]))
        if client is None:
            continue
        histogram = client.setdefault(fields[3], {})
        for pair in fields[5].split(" "):
            value, _, count = pair.partition(":")
            histogram[int(float(value))] = histogram.get(int(float(value)), 0) + float(count)
    return clients


def weighted_median(pairs):
    pairs = sorted(pairs)
    half, total = sum(w for _, w in pairs) / 2, 0
    for value, weight in pairs:
        total += weight
        if total >= half:
            return value
    return pairs[-1][0]


def merged(group, field):
    """A pooled histogram, each client's weighing its rate, as 20,000 equal draws."""
    pool = {}
    for client in group:
        histogram = client.get(field, {})
        total = sum(histogram.values())
        for value, count in histogram.items():
            if value > 0 and total > 0:
                pool[value] = pool.get(value, 0) + count / total * sum(client["hours"])
    values, total, at = sorted(pool), sum(pool.values()), 0.0
    draws, n = [], 20000
    for value in values:
        at += pool[value] / total * n
        draws += [value] * (int(at + .5) - len(draws))
    return draws or [1]


def servegen_classes(clients):
    """The largest clients each alone, the others in two classes by their mean prompts."""
    order = sorted(clients.values(), key=lambda c: -sum(c["hours"]))
    with_lengths = [c for c in order if c.get("input_tokens") and c.get("output_tokens")]
    top, rest = with_lengths[:N_TOP], with_lengths[N_TOP:]

    def mean(client):
        h = client["input_tokens"]
        return sum(v * n for v, n in h.items()) / sum(h.values())
    middle = weighted_median([(mean(c), sum(c["hours"])) for c in rest])
    classes = [[c] for c in top]
    classes += [[c for c in rest if mean(c) < middle], [c for c in rest if mean(c) >= middle]]
    classes = [c for c in classes if c]
    all_hours = sum(sum(c["hours"]) for c in order)
    known = sum(sum(c["hours"]) for group in classes for c in group)
    print(f"  clients {len(order)}, with lengths {len(with_lengths)} carrying {known / all_hours:.0%} of the requests")
    return classes


def emit_servegen(out_lengths, out_rates, heads):
    clients = servegen_clients()
    rows = []
    for model in LANGUAGE:
        classes = servegen_classes(clients[model])
        total = sum(sum(c["hours"]) for group in classes for c in group)
        mean_rps = sum(sum(c["hours"]) for c in clients[model].values()) / N_HOURS
        for k, group in enumerate(classes):
            name = f"servegen-{model}-{k}"
            ins, outs = merged(group, "input_tokens"), merged(group, "output_tokens")
            random.Random(k).shuffle(outs)
            heads.append(emit_joint(name, f"ServeGen, arXiv 2505.09999, Apache-2.0: {model}, class {k}",
                                    list(zip(ins, outs)), 1, out_lengths))
            hours = [sum(c["hours"][h] for c in group) for h in range(N_HOURS)]
            shapes = [s for c in group for s in c["shapes"]]
            cv = weighted_median([(s[3], s[0]) for s in shapes])
            ident = name.replace("-", "_")
            out_rates.append(f"static const float {ident}_hours[] = {{")
            out_rates += lines(factors(hours), indent=4)
            out_rates.append("};")
            rows.append(f'    {{ "{model}", "{name}", {mean_rps:.5g}, {sum(hours) / total:.5f}, {min(max(cv, 1), 8):.3f},\n'
                        f"      {{ 3600, {N_HOURS}, {ident}_hours }} }},")
    return rows


# --- rates by the clock -----------------------------------------------------------------------------------------------


def seconds_of(stamp):
    day, clock = stamp.split(" ")
    h, m, s = clock.split(":")
    return int(day.split("-")[2]) * 86400 + int(h) * 3600 + int(m) * 60 + float(s)


def emit_profile(name, source, times, step_s, out):
    """Counts by the step, and the variation of the gaps on the clock that runs with the rate."""
    first, last = min(times), max(times)
    n = int((last - first) // step_s)
    counts = [0] * n
    for t in times:
        if int((t - first) // step_s) < n:
            counts[int((t - first) // step_s)] += 1
    ident = name.replace("-", "_")
    out.append(f"static const float {ident}_rates[] = {{")
    out += lines(factors(counts), indent=4)
    out.append("};")
    before = [0]
    for c in counts:
        before.append(before[-1] + c)

    def at(t):
        i = min(int((t - first) // step_s), n - 1)
        return before[i] + counts[i] * min((t - first) / step_s - i, 1)
    warped = [at(t) for t in sorted(times) if t < first + n * step_s]
    gaps = [b - a for a, b in zip(warped, warped[1:])]
    cv = statistics.pstdev(gaps) / statistics.fmean(gaps)
    print(f"{name:24} {len(times)} arrivals in {n} steps of {step_s} s, cv on the rate's clock {cv:.2f}")
    return f'    {{ "{name}", "{source}",\n      {len(times) / (last - first):.4f}, {cv:.3f}, {{ {step_s}, {n}, {ident}_rates }} }},'


def factors(counts):
    mean = statistics.fmean(counts)
    words = [f"{c / mean:.3g}" for c in counts]
    return [w + ("F" if "." in w or "e" in w else ".0F") for w in words]


def main():
    lengths, rates, heads, profiles = [], [], [], []
    azure = "Azure/AzurePublicDataset (Splitwise, ISCA 2024), CC-BY-4.0"
    conv, code = (f"azure-llm-2023/AzureLLMInferenceTrace_{x}.csv" for x in ("conv", "code"))
    moon = "Mooncake, FAST 2025, Apache-2.0"
    for name, source, pairs in [
        ("azure-conv", azure, pairs_of(conv, "ContextTokens", "GeneratedTokens")),
        ("azure-code", azure, pairs_of(code, "ContextTokens", "GeneratedTokens")),
        ("mooncake", moon + ": conversations", mooncake("mooncake/conversation_trace.jsonl.xz")),
        ("mooncake-synthetic", moon + ": synthetic", mooncake("mooncake/synthetic_trace.jsonl.xz")),
        ("sharegpt-turns", "ShareGPT V3 by AKafakA/vidur_opt_scheduler, MIT",
         pairs_of("sharegpt/sharegpt_V3_format_lens.csv.xz", "num_prefill_tokens", "num_decode_tokens")),
        ("sharegpt-first", "ShareGPT's first turns by Helix, ASPLOS 2025, Apache-2.0",
         pairs_of("helix/shared_gpt_lens.csv.xz", "input_tokens", "output_tokens")),
        ("alpaca", "Alpaca by Helix, ASPLOS 2025, Apache-2.0",
         pairs_of("helix/alpaca_lens.csv", "input_tokens", "output_tokens")),
        ("arxiv", "arXiv summarization by microsoft/vidur, MIT",
         pairs_of("arxiv-summarization/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv.xz",
                  "num_prefill_tokens", "num_decode_tokens")),
        ("lmsys", "LMSYS by microsoft/apex_plus, MIT",
         pairs_of("apex-plus/llama_lmsys_05.csv", "input_tokens", "output_tokens")),
        ("creation", "creative writing by microsoft/apex_plus, MIT",
         pairs_of("apex-plus/llama_creation_05.csv", "input_tokens", "output_tokens")),
        ("longbench", "LongBench's tasks' means (THUDM/LongBench, MIT); a stand-in", longbench()),
    ]:
        heads.append(emit_joint(name, source, pairs, GROUPS, lengths))
    servegen_lengths = []
    servegen_heads = []
    classes = emit_servegen(servegen_lengths, rates, servegen_heads)
    for name, path in ("azure-conv", conv), ("azure-code", code):
        times = [seconds_of(r["TIMESTAMP"]) for r in rows_of(path)]
        profiles.append(emit_profile(name, azure, times, 60, rates))
    hours = [int(r["hour_start_s"]) // 3600 for r in rows_of("burstgpt-derived/hourly_requests_61d.csv")]
    counts = [int(r["requests_in_sessions_starting"]) for r in rows_of("burstgpt-derived/hourly_requests_61d.csv")]
    by_hour = [0] * 168
    for h, c in zip(hours, counts):
        if h < 168:
            by_hour[h] += c
    rates.append("static const float burstgpt_rates[] = {")
    rates += lines(factors(by_hour), indent=4)
    rates.append("};")
    profiles.append('    { "burstgpt", "BurstGPT (HPMLL/BurstGPT), CC-BY-4.0: its first week",\n'
                    f"      {sum(by_hour) / 168 / 3600:.4f}, 1, {{ 3600, 168, burstgpt_rates }} }},")
    guide = [max(j for j in range(63) if P[j] <= i / 256) for i in range(256)]
    points = ["const double workload_tables_p[WORKLOAD_QUANTILES] = {"] + lines([f"{p:.6g}" for p in P], indent=4) + ["};"]
    points += ["const uint8_t workload_tables_guide[WORKLOAD_QUANTILES_GUIDE] = {"] + lines(guide, indent=4) + ["};"]
    write("tables_lengths.c", points + lengths, heads)
    write("tables_servegen.c", servegen_lengths, servegen_heads)
    write("tables_rates.c", rates, profiles, classes)


CAPTIONS = {
    "tables_lengths.c": "Lengths of public traces as quantiles (tables.h).",
    "tables_servegen.c": "Lengths of ServeGen's clients as quantiles (tables.h): the four largest of each\n * language model "
                         "alone, the others in two classes, their lengths pooled by rate.",
    "tables_rates.c": "Rates of public traces by the clock (tables.h): minutes of Azure's hour, hours of the first\n"
                      " * week of BurstGPT and of ServeGen's classes of clients.",
}


def write(name, body, heads, classes=None):
    words = "length" if classes is None else "rate"
    variable = {"tables_lengths.c": "lengths", "tables_servegen.c": "servegen", "tables_rates.c": "rates"}[name]
    out = [f"/* {CAPTIONS[name]}", " *", " * Made by tools/workload_tables.py: change the script, not the figures. */",
           '#include "workload/tables.h"', "", "/* clang-format off */"] + body
    kind = "workload_joint_table" if words == "length" else "workload_rate_table"
    out += [f"const struct {kind} workload_tables_{variable}[] = {{"] + heads + ["};"]
    out += [f"const uint32_t workload_tables_n_{variable} = COUNT_OF(workload_tables_{variable});"]
    if classes:
        out += ["const struct workload_client_class workload_tables_classes[] = {"] + classes + ["};"]
        out += ["const uint32_t workload_tables_n_classes = COUNT_OF(workload_tables_classes);"]
    open(os.path.join(ROOT, "src/workload", name), "w").write("\n".join(out) + "\n")
    print(f"{name}: {len(out)} lines")


main()
