"""Texts of prompts and answers as lines of tokens for bench_length: `output id id ...`, GPT-2's byte-level BPE.

usage: length_texts.py VOCAB.json MERGES.txt FILE... > tokens.txt    (Python with tokenizers)

FILE is JSON (a list) or JSONL of objects with the prompt in `prompt`, or `instruction` and `input`, and the answer in
`output`, `response` or `completion`: Alpaca's form, AlpacaEval's model_outputs.json, self-instruct's. Lines are shuffled
by a seed, since such files are often sorted by task.
"""
import json
import random
import sys

from tokenizers import ByteLevelBPETokenizer


def objects(path):
    text = open(path, encoding="utf-8").read()
    if text.lstrip().startswith("["):
        return json.loads(text)
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def pair(o):
    prompt = o.get("prompt") or "\n".join(p for p in (o.get("instruction"), o.get("input")) if p)
    answer = o.get("output") or o.get("response") or o.get("completion")
    return (prompt, answer) if prompt and answer else None


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    bpe = ByteLevelBPETokenizer(sys.argv[1], sys.argv[2])
    pairs = sorted({p for path in sys.argv[3:] for p in map(pair, objects(path)) if p})
    random.Random(1).shuffle(pairs)
    for prompt, answer in pairs:
        print(len(bpe.encode(answer).ids), *bpe.encode(prompt).ids)


main()
