#!/usr/bin/env python3
"""Compares the model directories of ../shared/cases/tokenizers with their expected ids.

cases_agreement.py VOCABULARY_IDS_PROGRAM CASES_DIRECTORY

A directory gives the expected ids for every text, or is refused. Ends with 0 when none differs."""
import collections
import json
import os
import struct
import subprocess
import sys


def ours(program, folder, texts, *flags):
    data = b"".join(struct.pack("<I", len(t)) + t for t in texts)
    lines = subprocess.run([program, folder, *flags], input=data, capture_output=True, check=True).stdout.decode().split("\n")[:-1]
    return lines[0] if lines[0].startswith("refused") else [l.split("\t")[0] for l in lines]


def main():
    program, cases = sys.argv[1:3]
    rows = [json.loads(line) for line in open(os.path.join(cases, "expected.jsonl"), encoding="utf-8")]
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["dir"], row["add_special_tokens"]].append(row)
    n_equal, n_refused, n_bad = 0, 0, 0
    for (name, adds), group in sorted(groups.items()):
        mine = ours(program, os.path.join(cases, name), [r["text"].encode() for r in group], "special", *(["bos"] if adds else []))
        if isinstance(mine, str):
            n_refused += len(group)
            print("  " + name + " is " + mine)
            continue
        for row, ids in zip(group, mine):
            is_equal = ids == " ".join(map(str, row["ids"]))
            n_equal += is_equal
            n_bad += not is_equal
            if not is_equal:
                print("  DIFFERENT", name, repr(row["text"]), "ours", ids, "theirs", row["ids"])
    print(f"cases: {n_equal} equal, {n_refused} refused, {n_bad} different")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
