#!/usr/bin/env python3
"""Compares directories with a tokenizer.model and other files beside it with transformers' LlamaTokenizer (the slow one).

slow_agreement.py VOCABULARY_IDS_PROGRAM [--models N] [--texts N] [--seed S]

Models are trained as in sentencepiece_agreement.py; added_tokens_decoder, or special_tokens_map.json and
added_tokens.json, name random tokens. Ids must be equal with special tokens looked for, or the directory refused."""
import argparse
import collections
import json
import logging
import os
import random
import sys
import tempfile

import sentencepiece as spm

import sentencepiece_agreement as spa

TOKENS = ["<|im_start|>", "<|im_end|>", "<tool>", "[X]", " <sp>", "<sp> ", "é!", "the", "ab", "▁zz", "<s>", "</s>", "<unk>", "<a b>", "\n\n", "12"]


def token(rng, text, flag):
    return dict(content=text, special=rng.random() < .6, lstrip=flag(.2), rstrip=flag(.3), normalized=flag(.3), single_word=flag(.04))


def write_files(rng, folder, n_pieces, processor):
    """Writes settings that name added tokens. Returns how many there are."""
    flag = lambda p: rng.random() < p
    settings = dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    if flag(.6):
        settings["legacy"] = flag(.5)
    if flag(.3):
        settings["add_prefix_space"] = flag(.5)
    texts = rng.sample([t for t in TOKENS if t not in ("<s>", "</s>", "<unk>")], rng.randrange(0, 6))
    if flag(.6):
        decoder = {str(processor.piece_to_id(t)): dict(token(rng, t, lambda p: False), special=True) for t in ("<unk>", "<s>", "</s>")}
        at = n_pieces
        for text in texts:
            known = processor.piece_to_id(text) if processor.piece_to_id(text) != processor.unk_id() else -1
            if known < 0 or flag(.5):
                known, at = at, at + 1
            decoder[str(known)] = token(rng, text, flag)
        settings["added_tokens_decoder"] = decoder
    else:
        json.dump({t: n_pieces + i for i, t in enumerate(texts)}, open(os.path.join(folder, "added_tokens.json"), "w"))
        special = dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>")
        if texts and flag(.5):
            special["additional_special_tokens"] = texts[:2]
        json.dump(special, open(os.path.join(folder, "special_tokens_map.json"), "w"))
    json.dump(settings, open(os.path.join(folder, "tokenizer_config.json"), "w"))
    return texts


def make_texts(rng, n, names):
    pieces = names + ["<s>", "</s>", "<unk>"] + spa.WORDS[:20] + [" ", "  ", "\n", "▁", "a", "é"]
    texts = [t.decode(errors="ignore") for t in spa.make_texts(rng, n // 2)]
    while len(texts) < n:
        texts.append("".join(rng.choice(pieces) + rng.choice(["", "", " "]) for _ in range(rng.randrange(1, 9))))
    return texts


def main():
    args = argparse.ArgumentParser()
    args.add_argument("program")
    args.add_argument("--models", type=int, default=100)
    args.add_argument("--texts", type=int, default=100)
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    logging.disable(logging.WARNING)
    from transformers import LlamaTokenizer
    rng = random.Random(args.seed)
    corpus = spa.make_corpus(rng)
    counts, n_bad = collections.Counter(), 0
    for i in range(args.models):
        options = spa.random_options(rng)
        for key in ("unk_piece", "bos_piece", "eos_piece", "unk_id", "bos_id", "eos_id", "pad_id", "control_symbols"):
            options.pop(key, None)
        if options["model_type"] in ("char", "word"):
            options["model_type"] = "bpe"
        options["treat_whitespace_as_suffix"] = False
        model = spa.train(options, corpus)
        if model is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tokenizer.model"), "wb") as f:
                f.write(model.SerializeToString())
            processor = spm.SentencePieceProcessor(model_proto=model.SerializeToString())
            names = write_files(rng, folder, len(model.pieces), processor)
            texts = make_texts(rng, args.texts, names)
            mine = spa.ours(args.program, folder, [t.encode() for t in texts], "special")
            if isinstance(mine, str):
                counts["refused: " + mine.split(": ", 1)[1].translate({ord(d): None for d in "0123456789"})] += 1
                continue
            theirs = LlamaTokenizer.from_pretrained(folder)
            wrong = [(t, a[0], b) for t, a in zip(texts, mine) for b in [theirs.encode(t, add_special_tokens=False)] if a[0] != b]
            counts["DIFFERENT" if wrong else "equal"] += 1
            n_bad += bool(wrong)
            if wrong:
                print("  model", i, {k: v for k, v in options.items() if k in ("model_type", "normalization_rule_name", "remove_extra_whitespaces", "add_dummy_prefix")}, open(os.path.join(folder, "tokenizer_config.json")).read()[:1500], "\n    ", len(wrong), wrong[0])
    for what, n in sorted(counts.items()):
        print(f"  {n} {what}")
    print(f"added tokens beside tokenizer.model: {args.models} models, {n_bad} silent differences")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
