#!/usr/bin/env python3
"""Writes random small tokenizers and what the tokenizers library answers, for ./dev test.

    tools/tokenizer_sample.py [OUT]     default tests/golden/data/tokenizers/pipelines.jsonl

The tokenizers are those of tests/text/pipelines.py (./dev check tokenizers compares thousands), with
smaller vocabularies. Lines:

    {"model": {...}}                        a model; later lines count them from 0
    {"texts": [...]}                        the texts of all tokenizers below
    {"spec": {...}, "answers": [[text, ids, ids where special tokens are text or null], ...],
     "decoded": [[ids, text, text without special tokens], ...]}
                                            a tokenizer.json; "model": [number, its settings]

ids are those without special tokens around a text; before and behind it spec's own are put."""
import json
import pathlib
import random
import sys

import tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/text"))
import pipelines # noqa: E402

SEED, N_TOKENIZERS, N_TEXTS, N_DECODED = 5, 64, 12, 5
BIG = ("vocab", "merges")


def split_model(pool, model):
    """The number of the pool's model with the same tokens, and what is set otherwise."""
    for number, entry in enumerate(pool):
        if all(entry["model"].get(key) == model.get(key) for key in BIG):
            return [number, {k: v for k, v in model.items() if k not in BIG}]
    return None


def answers(tok, rng, texts):
    for i in rng.sample(range(len(texts)), N_TEXTS):
        plain, around, as_text = pipelines.reference_encode(tok, texts[i])
        if plain is None or around is None:
            continue
        yield [i, plain, None if as_text == plain else as_text]


def decoded(tok, rng, lists):
    n = tok.get_vocab_size()
    lists = rng.sample(lists, min(3, len(lists))) + [[rng.randrange(n) for _ in range(5)] for _ in range(N_DECODED - 3)]
    for ids in lists:
        wanted = [pipelines.attempt(lambda: tok.decode(ids, skip_special_tokens=skips)) for skips in (False, True)]
        if None not in wanted:
            yield [ids] + wanted


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/golden/data/tokenizers/pipelines.jsonl"
    rng = random.Random(SEED)
    pool = pipelines.make_pool(rng, [], 12)
    texts = [t for t in pipelines.make_texts(rng, pipelines.ADDED, 160) if len(t) < 90 and "\0" not in t]
    lines = [{"model": {k: entry["model"][k] for k in BIG if k in entry["model"]}} for entry in pool] + [{"texts": texts}]
    n = 0
    while n < N_TOKENIZERS:
        spec = pipelines.build(rng, pool, [])
        spec["model"], model = split_model(pool, spec["model"]), spec["model"]
        whole = dict(spec, model=model)
        tok = pipelines.attempt(lambda: tokenizers.Tokenizer.from_str(json.dumps(whole)))
        if tok is None or spec["model"] is None:
            continue
        tok.no_truncation()
        tok.no_padding()
        rows = list(answers(tok, rng, texts))
        if len(rows) < N_TEXTS / 2:
            continue
        lines.append({"spec": spec, "answers": rows, "decoded": list(decoded(tok, rng, [r[1] for r in rows if r[1]]))})
        n += 1
    with open(out, "w") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{out}: {n} tokenizers, {sum(len(line['answers']) for line in lines if 'answers' in line)} texts, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
