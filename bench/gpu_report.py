"""The figures of bench/gpu.sh roofline beside the design targets of docs/CUDA.md.

usage: gpu_report.py ROOFLINE.jsonl...
"""
import json
import os
import sys

BF16_PEAK_TFLOP_S = {"H100": 989, "H200": 989, "A100": 312}  # dense, as NVIDIA's data sheets say


def read(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            rows += [json.loads(line) for line in f if line.startswith("{")]
    return rows


def name_of(row):
    return os.path.basename(row["model"]).removesuffix(".gguf")


def bandwidth_of(rows):
    """GB/s of copies within the device, read and written: the most that either program reached."""
    ours = [r["gb_per_s"] for r in rows if r["what"] == "copy" and r["kind"] == "within the device"]
    theirs = [r["gb_per_s"] for r in rows if r["what"] == "torch_copy"]
    print(f"copy within the device: {max(ours, default=0):.0f} GB/s by Shoal, {max(theirs, default=0):.0f} by PyTorch")
    for row in rows:
        if row["what"] == "copy" and row["kind"] != "within the device":
            print(f"copy {row['kind']}: {row['gb_per_s']:.1f} GB/s")
    return max(ours + theirs, default=0)


def peak_of(rows):
    chip = next((r["device"]["chip"] for r in rows if r["what"] == "machine" and r.get("device")), "")
    measured = max((r["tflop_per_s"] for r in rows if r["what"] == "torch_peak"), default=0)
    stated = next((v for k, v in BF16_PEAK_TFLOP_S.items() if k in chip), 0)
    print(f"{chip}: BF16 peak {stated} TFLOP/s by its data sheet, {measured:.0f} reached by a product of 8192")
    return stated or measured


def verdict(value, target):
    return "" if target is None else ("  met" if value >= target else f"  MISSED: {target:.0%} is the target")


def print_steps(rows, bandwidth, peak):
    print(f"\n{'model':16} {'what':8} {'batch':>5} {'context':>7} {'block':>6} {'ms':>9} {'tokens/s':>9} {'share':>7}  host us")
    for r in rows:
        if r["what"] not in ("decode", "prompt"):
            continue
        where = f"{name_of(r):16} {r['what']:8} {r['batch']:5} {r['context'] + r['new']:7} {r['block_tokens']:5}{'*' if r['shuffled'] else ' '}"
        if "skipped" in r:
            print(f"{where}  skipped: {r['skipped']}")
            continue
        is_decode, four_bit = r["what"] == "decode", "Q4" in name_of(r)
        whole = bandwidth if is_decode else peak
        share = (r["gb_per_s"] if is_decode else r["tflop_per_s"]) / whole if whole else 0
        target = None
        if is_decode and r["batch"] == 1 and not r["shuffled"] and r["context"] < 2048:
            target = 0.5 if four_bit else 0.85 if "BF16" in name_of(r) else None
        if not is_decode and r["new"] == 2048 and "BF16" in name_of(r):
            target = 0.58
        print(f"{where} {r['ms']:9.3f} {r['tokens_per_s']:9.1f} {share:7.1%} {r['host_cpu_us']:8.0f}{verdict(share, target)}")
    print("share: of the copy bandwidth for decodes, of the BF16 peak for prompts; *: blocks in no order")


def print_merged(rows):
    """Merged blocks against a cache that is one block a sequence; at most 2% slower is the target."""
    steps = {(name_of(r), r["batch"], r["context"], r["block_tokens"], r["shuffled"]): r["ms"] for r in rows if r["what"] == "decode" and "ms" in r}
    for (model, batch, context, block, shuffled), ms in steps.items():
        alone = steps.get((model, batch, context, context + 1, False))
        if alone and block != context + 1:
            print(f"{model}, batch {batch}, context {context + 1}: blocks of {block}{' in no order' if shuffled else ''} take {ms / alone:.3f} of "
                  f"a contiguous cache's time{verdict(alone / ms, 1 / 1.02)}")


def print_torch(rows):
    for r in rows:
        if r["what"] != "torch_decode":
            continue
        ours = [s["ms"] for s in rows if s["what"] == "decode" and name_of(s) == "8b-BF16" and s["batch"] == r["batch"] and s["context"] + 1 == r["context"]
                and "ms" in s]
        beside = f", Shoal {ours[0]:.3f} ms: {ours[0] / r['ms']:.2f} of it" if ours else ""
        print(f"PyTorch's captured decode, batch {r['batch']}: {r['ms']:.3f} ms{beside}")
    for r in rows:
        if r["what"] == "torch_product" and r["m"] in (1, 2048):
            print(f"cuBLAS, {r['matrix']} {r['n']} x {r['k']}, {r['m']} rows: {r['ms']:.4f} ms, {r['gb_per_s']:.0f} GB/s of weights, {r['tflop_per_s']:.0f} TFLOP/s")


def main():
    rows = read(sys.argv[1:])
    bandwidth, peak = bandwidth_of(rows), peak_of(rows)
    print_steps(rows, bandwidth, peak)
    print_merged(rows)
    print_torch(rows)
    for r in rows:
        if r["what"] == "load":
            print(f"load {name_of(r)}: {r['packed_bytes'] * 1e-9:.2f} GB in {r['seconds']:.2f} s")


main()
