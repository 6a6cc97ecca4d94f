#!/usr/bin/env python3
"""Compares tokenizer.model and GGUF files with sentencepiece: trains small models with options in random combination.

sentencepiece_agreement.py VOCABULARY_IDS_PROGRAM [--models N] [--texts N] [--seed S] [--keep FOLDER] [--write FILE]

Every model must give the ids and the decoded text that sentencepiece gives for each of hard texts, or be refused. The same
model as a GGUF file (tokenizer.ggml.model "llama" or "t5") must do so too, when GGUF has keys for all of its settings.
Ends with 0 when there is no silent difference; prints equal and refused models by kind. --write stores small models
with the library's answers as lines of JSON, which tests/serve/model_card_test.c reads: the model in hexadecimal, then
texts in hexadecimal with their ids and what these decode to.
"""
import argparse
import collections
import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as pb

from agreement import SENTENCES, scalar

# Rules of a character map: code points and what they become.
RULES = ["41\t61", "42\t62", "20 20\t20", "C9\t45", "65 301\tE9", "FB01\t66 69", "3000\t20", "9\t20", "200B\t", "66 6F 6F\t62 61 72", "2581\t5F", "61 62 63 64\t78"]
SYMBOLS = ["<|im_start|>", "<sep>", "ab", "abc", "aa", "é", "▁", "▁▁", "▁a", "the", "中文", "12", "\n", "  ", "<a b>", "ﬁ", "x▁y", "e"]
WORDS = ("the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what all were we "
         "when your can said there use an each which she do how their if will up other about out many then them these so some her would make "
         "naïve café straße 2026 1,000 don't I'll 中文 分词 テスト привет мир").split()


def make_corpus(rng):
    lines = [" ".join(rng.choices(WORDS, k=rng.randrange(3, 14))) + rng.choice([".", "!", "", "  ", " 12"]) for _ in range(160)]
    return lines + SENTENCES


def random_options(rng):
    flag = lambda p=.5: rng.random() < p
    symbols = rng.sample(SYMBOLS, rng.randrange(1, 6)) if flag(.5) else []
    o = dict(model_type=rng.choice(["unigram", "bpe", "unigram", "bpe", "unigram", "bpe", "char", "word"]), vocab_size=rng.choice([150, 200, 300, 500]),
             normalization_rule_name=rng.choice(["identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"]),
             remove_extra_whitespaces=flag(), add_dummy_prefix=flag(.7), treat_whitespace_as_suffix=flag(.25), byte_fallback=flag(.5),
             split_by_unicode_script=flag(), split_by_number=flag(), split_by_whitespace=flag(.7), split_digits=flag(.3),
             allow_whitespace_only_pieces=flag(.3), character_coverage=rng.choice([1.0, .99, .98]), hard_vocab_limit=False,
             max_sentencepiece_length=rng.choice([4, 8, 16]), user_defined_symbols=symbols,
             control_symbols=rng.sample(["<ctl>", "<2ja>", "[MASK]"], 2) if flag(.3) else [])
    if flag(.2):
        o["escape_whitespaces"] = False
    if flag(.15):
        o["rules"] = rng.sample(RULES, rng.randrange(2, 9))
    if flag(.2):
        o.update(rng.choice([dict(unk_id=1, bos_id=0, eos_id=2), dict(bos_id=-1, eos_id=-1), dict(pad_id=3), dict(unk_id=2, bos_id=1, eos_id=0, pad_id=3)]))
    if flag(.2):
        o.update(unk_piece="[UNK]", bos_piece="[BOS]", eos_piece="[EOS]")
    if flag(.2):
        o["unk_surface"] = rng.choice(["??", "", " "])
    if o["byte_fallback"]:
        o["vocab_size"] += 256
    return o


def train(options, corpus):
    """The bytes of a model; None where sentencepiece does not train one."""
    options = dict(options)
    escapes = options.pop("escape_whitespaces", True)
    rules = options.pop("rules", None)
    if rules is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False) as f:
            f.write("\n".join(rules) + "\n")
        options["normalization_rule_tsv"] = f.name
        del options["normalization_rule_name"]
    try:
        return train_sized(options, corpus, escapes)
    finally:
        if rules is not None:
            os.unlink(options["normalization_rule_tsv"])


def train_sized(options, corpus, escapes):
    for size in [options["vocab_size"], 400, 700]:
        options["vocab_size"] = size
        out = io.BytesIO()
        try:
            spm.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=out, num_threads=1, minloglevel=9, **options)
        except (RuntimeError, OSError):
            continue
        model = pb.ModelProto()
        model.ParseFromString(out.getvalue())
        if not escapes:
            model.normalizer_spec.escape_whitespaces = False
        return model
    return None


def damage(rng, model):
    """Changes that a file may have: unused pieces, equal scores, a score of zero, spaces in a user-defined symbol."""
    kind = rng.random()
    normal = [p for p in model.pieces if p.type == 1]
    if kind < .25:
        for piece in rng.sample(normal, min(len(normal), rng.randrange(1, 60))):
            piece.type = 5
    elif kind < .4:
        for piece in rng.sample(normal, min(len(normal), rng.randrange(1, 60))):
            piece.score = rng.choice([-1.0, -2.0, 0.0, -0.0, 1.0])
    elif kind < .45:
        for piece in rng.sample(normal, min(len(normal), 3)):
            piece.type = 4
    return model


def make_texts(rng, n):
    texts = [b"", b" ", b"  ", b"a", b" a", b"a ", b"  a  b  ", "▁".encode(), "▁a".encode(), "a▁ b".encode(), b"\n", b"\t\n ", b"<s>a</s>", b"<unk>", b"[UNK]x",
             b"aaaaaaaaaaaaaaaaaaaaaaaaa", "ﬁ①½Å Ⅷ".encode(), "ＡＢＣ　１２".encode(), b"\xff\xfea", b"a\xe4\xb8", "e\u0301e\u0301".encode(), b"<0x41>", b"\x00a\x00",
             "\u200b\u200da\u00ad".encode(), b"<|im_start|>a b<a b>"]
    pieces = SENTENCES + SYMBOLS + WORDS
    while len(texts) < n:
        kind = rng.random()
        if kind < .6:
            text = rng.choice(["", " ", "  "]).join(rng.choices(pieces, k=rng.randrange(1, 7)))
        elif kind < .8:
            text = "".join(rng.choice(SYMBOLS + ["a", "b", "e", " ", "t", "h"]) for _ in range(rng.randrange(1, 25)))
        else:
            text = "".join(scalar(rng) for _ in range(rng.randrange(1, 30)))
        raw = text.encode()
        if rng.random() < .07:
            at = rng.randrange(len(raw) + 1)
            raw = raw[:at] + bytes([rng.choice([0x80, 0xC3, 0xE2, 0xF0, 0xFF])]) + raw[at:]
        texts.append(raw)
    return texts


def ours(program, folder, texts, *flags):
    data = b"".join(struct.pack("<I", len(t)) + t for t in texts)
    lines = subprocess.run([program, folder, *flags], input=data, capture_output=True, check=True).stdout.decode().split("\n")[:-1]
    if lines and lines[0].startswith("refused"):
        return lines[0]
    rows = [line.split("\t") for line in lines]
    return [([int(i) for i in a.split()] if "error" not in a else a, bytes.fromhex(b)) for a, b in rows]


def reference(processor, texts):
    """Ids, and what decoding those that are known gives."""
    out = []
    for text in texts:
        ids = processor.encode(text)
        known = [i for i in ids if not processor.is_unknown(i)]
        out.append((ids, processor.decode(known).encode() if known else b""))
    return out


def compare(program, model, texts, folder):
    with open(os.path.join(folder, "tokenizer.model"), "wb") as f:
        f.write(model.SerializeToString())
    mine = ours(program, folder, texts)
    try:
        processor = spm.SentencePieceProcessor(model_proto=model.SerializeToString())
    except RuntimeError as e:
        return "refused by both" if isinstance(mine, str) else "READ, WHICH SENTENCEPIECE CANNOT", (str(e), mine)
    if isinstance(mine, str):
        return "refused: " + mine.split(": ", 1)[1], None
    theirs = reference(processor, texts)
    for text, a, b in zip(texts, mine, theirs):
        if a != b:
            return "DIFFERENT", (text, a, b)
    return "equal", None


def has_gguf_form(model):
    """GGUF has no keys for these, and cuts texts at user-defined tokens first."""
    kinds = {p.type for p in model.pieces}
    return 4 not in kinds and not model.trainer_spec.treat_whitespace_as_suffix and model.normalizer_spec.escape_whitespaces


def write_gguf(model, path):
    import gguf
    is_unigram = model.trainer_spec.model_type == 1
    writer = gguf.GGUFWriter(path, "llama")
    pieces = list(model.pieces)
    ids = {name: next((i for i, p in enumerate(pieces) if p.type == kind and p.piece == text), -1)
           for name, kind, text in (("bos", 3, model.trainer_spec.bos_piece), ("eos", 3, model.trainer_spec.eos_piece))}
    writer.add_tokenizer_model("t5" if is_unigram else "llama")
    writer.add_token_list([p.piece for p in pieces])
    writer.add_token_scores([p.score for p in pieces])
    writer.add_token_types([p.type for p in pieces])
    writer.add_add_space_prefix(model.normalizer_spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(model.normalizer_spec.remove_extra_whitespaces)
    if model.normalizer_spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(model.normalizer_spec.precompiled_charsmap)
    writer.add_unk_token_id(next((i for i, p in enumerate(pieces) if p.type == 2), 0))
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    for name, add in (("bos", writer.add_bos_token_id), ("eos", writer.add_eos_token_id)):
        if ids[name] >= 0:
            add(ids[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def compare_gguf(program, model, texts, folder):
    path = os.path.join(folder, "model.gguf")
    write_gguf(model, path)
    mine = ours(program, path, texts)
    if isinstance(mine, str):
        return "GGUF refused: " + mine.split(": ", 1)[1], None
    theirs = reference(spm.SentencePieceProcessor(model_proto=model.SerializeToString()), texts)
    for text, a, b in zip(texts, mine, theirs):
        if a != b:
            return "DIFFERENT", ("GGUF", text, a, b)
    return "GGUF equal", None


def store(model, texts, file):
    """A line for the sample, of small models only."""
    raw = model.SerializeToString()
    if len(raw) > 6500:
        return 0
    processor = spm.SentencePieceProcessor(model_proto=raw)
    rows = [[text.hex(), ids, back.hex()] for text, (ids, back) in zip(texts, reference(processor, texts))]
    file.write(json.dumps([raw.hex(), rows]) + "\n")
    return 1


def main():
    args = argparse.ArgumentParser()
    args.add_argument("program")
    args.add_argument("--models", type=int, default=300)
    args.add_argument("--texts", type=int, default=200)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--keep")
    args.add_argument("--write")
    args = args.parse_args()
    rng = random.Random(args.seed)
    corpus = make_corpus(rng)
    counts, n_bad = collections.Counter(), 0
    sample = open(args.write, "w", encoding="ascii") if args.write else None
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.models):
            options = random_options(rng)
            model = train(options, corpus)
            if model is None:
                counts["options that sentencepiece does not train"] += 1
                continue
            model, texts = damage(rng, model), make_texts(rng, args.texts)
            verdict, why = compare(args.program, model, texts, folder)
            counts[options["model_type"] + ": " + verdict] += 1
            if verdict == "equal" and sample is not None:
                store(model, texts, sample)
            if verdict == "equal" and has_gguf_form(model):
                verdict, why = compare_gguf(args.program, model, texts, folder)
                counts[options["model_type"] + ": " + verdict] += 1
            if verdict in ("DIFFERENT", "READ, WHICH SENTENCEPIECE CANNOT"):
                n_bad += 1
                print("  model", i, options, "\n    ", why if n_bad < 8 else "")
                if args.keep:
                    shutil.copy(os.path.join(folder, "tokenizer.model"), os.path.join(args.keep, f"{i}.model"))
    for what, n in sorted(counts.items()):
        print(f"  {n} {what}")
    print(f"sentencepiece: {args.models} models, {args.texts} texts each, {n_bad} silent differences")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
