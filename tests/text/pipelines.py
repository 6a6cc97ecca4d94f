#!/usr/bin/env python3
"""Compares random tokenizer.json files with the tokenizers library, token by token.

    pipelines.py ANSWERS_PROGRAM [--tokenizers N] [--texts N] [--seed N] [--first N] [--directories N]

Each tokenizer is a random legal combination of normalizers, pre-tokenizers, a model (trained on a few
KB of hard text), added tokens with random flags, a post-processor and a decoder. The library and
tests/serve/tokenizer_answers.c encode the same texts, with special tokens around them, without, and with
special tokens in them read as text; and decode the ids, with and without special tokens, whole and as
a stream. A tokenizer that Shoal refuses is counted, by the steps that it has; one that answers
differently fails the run. The last lines count how often each kind of step was equal and refused.

Directories are the same with a tokenizer_config.json, special_tokens_map.json and added_tokens.json that
name random tokens, and are compared with transformers. tools/tokenizer_sample.py stores a few small
tokenizers with their answers, for ./dev test."""
import argparse
import base64
import collections
import copy
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import tokenizers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LINES = [
    "The quick brown fox jumps over the lazy dog.", "I'd've thought they'll say it's what we're; don't!",
    "static int find(const char *s, size_t n)\t{ return s[n - 1] == '\\0' ? 1 : -1; }",
    "def f(x):\n    return {'a': x ** 2, \"b\": [1, 2, 3]}  # note\n", "https://example.org/a?b=c&d=%20e",
    "3.14159 1,000,000 2026-11-21 0xDEADBEEF 1e-9", "   leading and   inner    and trailing   ",
    "\t\ttabs\tand\r\nlines\n\n\nmore\r", "DON'T SHOUT, I'LL HEAR YOU'RE", "naïve café Ångström œuvre ÉCOLE",
    "中文分词器测试，今天天气很好。", "日本語のテキストを分割する。カタカナ ガギグ", "한국어 문장을 나누어 봅시다. 각",
    "Съешь же ещё этих мягких французских булок", "Η γρήγορη αλεπού ΑΣ Σ", "שלום עולם", "مرحبا بالعالم",
    "नमस्ते दुनिया क्षेत्र", "สวัสดีชาวโลก", "Tiếng Việt có dấu", "İstanbul IŞIK ıßẞ", "e\u0301 vs \u00e9, \u1112\u1161\u11ab",
    "a\u0323\u0307 a\u0307\u0323 \u0344 \u0958 \u212b ä\u0323", "😀😃🤖 👩‍👩‍👧‍👦 🇩🇪🇯🇵 👍🏽 ❤️", "½ ² Ⅷ ① ٣ ৪ 〇 ㎏ ﷺ",
    "“quotes” ‘single’ — dash … ellipsis", "\u200b\u200d\ufeff\u00a0\u3000x\u2028y\u0085z", "ﬁ ﬂ Ａｂｃ １２３ ｶﾞﾀｶﾅ ﬁ\u0301",
    "▁under▁score▁ _a_ __b__", "<s> </s> <|endoftext|> [INST] <|im_start|> [CLS]a[SEP]", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\x01\x7f\x8f", "𝕳𝖊𝖑𝖑𝖔 𐍈 𠀀𐐀", "!!!???...---===+++///\\\\\\ $100 €50 100% #1 @me", "word word. word, word! n't do not 's 've",
    "<0x41> <0x0A> <0xE4>", "x\u0301\u0302\u0303 ©\u200d® ก็", "\U00010D50 \U0001E5D0 \u1c89 \u0897 \ua7dc \U00016EA0",
]
WORDS = sorted({w for line in LINES for w in line.split()})
ADDED = ["<s>", "</s>", "<unk>", "<pad>", "[CLS]", "[SEP]", "[MASK]", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "ing",
         "the", "É", "é", "e\u0301", " x", "foo bar", "▁the", "12", "Ａｂ", "ﬁ", "DON'T", "\n", "  ", "a", "do not", "quick", "中文"]
SPECIALS = ["<unk>", "<s>", "</s>", "[CLS]", "[SEP]", "<pad>"]


def training_lines(rng, n=120):
    for _ in range(n):
        yield rng.choice(LINES) if rng.random() < .5 else " ".join(rng.choices(WORDS, k=rng.randrange(3, 14)))


def character(rng):
    kind = rng.random()
    if kind < .45:
        return chr(rng.randrange(32, 127))
    if kind < .55:
        return rng.choice(" \t\n\r\u00a0\u2003\u3000▁_")
    if kind < .65:
        return chr(rng.randrange(0x300, 0x370))
    if kind < .8:
        return chr(rng.randrange(0x80, 0x3000))
    if kind < .9:
        return chr(rng.randrange(0x3000, 0xD800))
    return chr(rng.choice([rng.randrange(0xF900, 0xFFFE), rng.randrange(0x10000, 0x20000), rng.randrange(0x1F300, 0x1FAFF)]))


def make_texts(rng, added, n):
    """Sentences, their mixtures, random characters, and added tokens in between."""
    texts = ["", " ", "  ", "\n", "a", " a", "a ", "aa", "▁", "é"] + LINES
    pieces = LINES + WORDS + [a for a in added] * 4
    while len(texts) < n:
        kind = rng.randrange(4)
        if kind == 0:
            text = rng.choice(["", " ", "  ", "\n"]).join(rng.choices(pieces, k=rng.randrange(1, 5)))
        elif kind == 1:
            text = "".join(character(rng) for _ in range(rng.randrange(1, 24)))
        elif kind == 2:
            s = rng.choice(LINES)
            a, b = sorted((rng.randrange(len(s) + 1), rng.randrange(len(s) + 1)))
            text = s[a:b] * rng.randrange(1, 3) + rng.choice(pieces) + "".join(character(rng) for _ in range(rng.randrange(4)))
        else:
            words = rng.choices(WORDS + added * 2, k=rng.randrange(1, 12))
            text = rng.choice([" ", "", " ", "  "]).join(w.upper() if rng.random() < .1 else w for w in words)
        texts.append(text)
    return texts[:n]


# --- steps ---

def charsmaps():
    """SentencePiece's own character maps, in base64."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as proto
    found = []
    for rule in ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES * 3), model_writer=model, vocab_size=300, model_type="unigram",
            normalization_rule_name=rule, minloglevel=2, num_threads=1, hard_vocab_limit=False)
        spec = proto.ModelProto.FromString(model.getvalue()).normalizer_spec
        found.append(base64.b64encode(spec.precompiled_charsmap).decode())
    return found


def pattern(rng, regexes, texts):
    return {"Regex": rng.choice(regexes)} if rng.random() < .6 else {"String": rng.choice(texts)}


def normalizer(rng, maps):
    kind = rng.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "Replace", "Replace", "Prepend",
                       "BertNormalizer", "Precompiled", "Nmt"])
    step = {"type": kind}
    flag = lambda: rng.random() < .5
    if kind == "Strip":
        step.update(strip_left=flag(), strip_right=flag())
    elif kind == "Replace":
        step.update(pattern=pattern(rng, [" {2,}", r"\s+", r"\d", "[aeiou]", r"(?<=a)b", "x*", "``|''"], [" ", "▁", "a", "the", "  ", "\n"]),
                    content=rng.choice(["▁", " ", "", "xy", "\"", "é"]))
    elif kind == "Prepend":
        step.update(prepend=rng.choice(["▁", "▁", " ", "xy", "é"]))
    elif kind == "BertNormalizer":
        step.update(clean_text=flag(), handle_chinese_chars=flag(), strip_accents=rng.choice([None, True, False]), lowercase=flag())
    elif kind == "Precompiled":
        if not maps:
            return {"type": "NFKC"}
        step.update(precompiled_charsmap=rng.choice(maps))
    return step


def splitter(rng, is_byte_level=False):
    kind = rng.choice(["Metaspace", "Metaspace", "Split", "Split", "Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit",
                       "BertPreTokenizer", "CharDelimiterSplit"])
    if is_byte_level and kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Metaspace") and rng.random() < .7:
        kind = "Split"
    step = {"type": kind}
    flag = lambda: rng.random() < .5
    if kind == "Metaspace":
        step.update(replacement=rng.choice("▁▁▁_é"), prepend_scheme=rng.choice(["first", "always", "never"]), split=flag())
    elif kind == "Split":
        step.update(pattern=pattern(rng, [GPT2, LLAMA3, r"\d", r"\d{1,3}", r"\s+", r"\w+", r"\p{N}", r"\p{L}+", "[a-m]", r"(?=[A-Z])", "",
                                          r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥]+", "a|b", "e*"],
                                    [" ", "▁", "e", "th", "the", "", "."]),
                    behavior=rng.choice(BEHAVIORS), invert=rng.random() < .3)
    elif kind == "Digits":
        step.update(individual_digits=flag())
    elif kind == "Punctuation":
        step.update(behavior=rng.choice(BEHAVIORS))
    elif kind == "CharDelimiterSplit":
        step.update(delimiter=rng.choice(" _.ae▁"))
    return step


def byte_level(rng):
    return {"type": "ByteLevel", "add_prefix_space": rng.random() < .4, "trim_offsets": rng.random() < .5, "use_regex": rng.random() < .6}


def sequence(steps, key):
    if not steps:
        return None
    return steps[0] if len(steps) == 1 else {"type": "Sequence", key: steps}


def decoder_step(rng):
    kind = rng.choice(["Replace", "ByteFallback", "Fuse", "Strip", "Metaspace", "WordPiece", "BPEDecoder", "ByteLevel", "CTC"])
    step = {"type": kind}
    if kind == "Replace":
        step.update(pattern=pattern(rng, ["▁+", "e", r"\s"], ["▁", "▁", "##", "th", " "]), content=rng.choice([" ", "", "x", "▁▁"]))
    elif kind == "Strip":
        step.update(content=rng.choice("  ▁e"), start=rng.randrange(3), stop=rng.randrange(2))
    elif kind == "Metaspace":
        step.update(replacement=rng.choice("▁▁_"), prepend_scheme=rng.choice(["first", "always", "never"]), split=True)
    elif kind == "WordPiece":
        step.update(prefix="##", cleanup=rng.random() < .5)
    elif kind == "BPEDecoder":
        step.update(suffix="</w>")
    elif kind == "ByteLevel":
        step.update(add_prefix_space=True, trim_offsets=True, use_regex=True)
    elif kind == "CTC":
        step.update(pad_token="<pad>", word_delimiter_token="|", cleanup=True)
    return step


def decoder(rng, model):
    spaces = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": rng.randrange(1, 3), "stop": rng.randrange(2)}
    kind = rng.random()
    if kind < .12:
        return None
    if kind < .3:
        steps = [decoder_step(rng) for _ in range(rng.randrange(1, 4))]
    elif model["style"] == "bytes":
        steps = [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}]
    elif model["style"] == "suffix":
        steps = [{"type": "BPEDecoder", "suffix": "</w>"}]
    elif model["style"] == "pieces":
        steps = [{"type": "WordPiece", "prefix": "##", "cleanup": rng.random() < .5}]
    else:
        steps = rng.choice([[spaces, {"type": "ByteFallback"}, {"type": "Fuse"}, strip], [spaces, {"type": "ByteFallback"}, {"type": "Fuse"}],
                            [{"type": "Metaspace", "replacement": "▁", "prepend_scheme": rng.choice(["first", "always", "never"]), "split": True}],
                            [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}],
                            [{"type": "ByteFallback"}, {"type": "Fuse"}, spaces]])
    return sequence(steps, "decoders")


# --- models ---

def train(rng, style, maps):
    """A model's JSON. style tells which steps fit it."""
    size = rng.randrange(150, 420)
    lines = list(training_lines(rng))
    if style == "bytes":
        tok = Tokenizer(models.BPE())
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=rng.random() < .5)
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) if rng.random() < .7 else []
        trainer = trainers.BpeTrainer(vocab_size=size + 256, show_progress=False, initial_alphabet=alphabet, special_tokens=SPECIALS)
    elif style == "marks":
        tok = Tokenizer(models.BPE(unk_token="<unk>"))
        tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=rng.choice(["always", "first", "never"]), split=rng.random() < .7)
        trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=SPECIALS, limit_alphabet=rng.choice([40, 90, 1000]))
    elif style == "suffix":
        tok = Tokenizer(models.BPE(unk_token="<unk>"))
        tok.pre_tokenizer = pre_tokenizers.Whitespace()
        trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=SPECIALS, end_of_word_suffix="</w>",
                                      limit_alphabet=rng.choice([40, 1000]))
    elif style == "prefix":
        tok = Tokenizer(models.BPE(unk_token="<unk>"))
        tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=SPECIALS, continuing_subword_prefix="##",
                                      limit_alphabet=rng.choice([40, 1000]))
    elif style == "pieces":
        tok = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tok.normalizer = normalizers.BertNormalizer()
        tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=size, show_progress=False, special_tokens=SPECIALS, limit_alphabet=rng.choice([60, 1000]))
    else:
        tok = Tokenizer(models.Unigram())
        tok.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=size + 500, show_progress=False, special_tokens=SPECIALS, unk_token="<unk>")
    tok.train_from_iterator(lines, trainer)
    model = json.loads(tok.to_str())["model"]
    if style in ("marks", "unigram") and rng.random() < .6:
        add_bytes(model, rng.choice([256, 256, 200]))
    return {"style": style, "model": model}


def add_bytes(model, n):
    names = [f"<0x{b:02X}>" for b in range(n)]
    if model["type"] == "Unigram":
        model["vocab"] = model["vocab"][:6] + [[name, 0.0] for name in names] + model["vocab"][6:]
    else:
        for name in names:
            model["vocab"].setdefault(name, len(model["vocab"]))
    model["byte_fallback"] = True


def vary(rng, model):
    """The same model with other settings."""
    model = copy.deepcopy(model)
    flag = lambda p=.5: rng.random() < p
    if model["type"] == "BPE":
        model["fuse_unk"] = flag()
        model["ignore_merges"] = flag(.3)
        model["unk_token"] = "<unk>" if flag(.7) else None
        model["dropout"] = rng.choice([None, None, 0.0])
        if flag(.15):
            model["byte_fallback"] = not model["byte_fallback"]
        if flag(.15):
            model["merges"] = [m for m in model["merges"] if flag(.9)]
        if flag(.1):
            model["merges"] = [" ".join(m) for m in model["merges"] if " " not in m[0] + m[1]]
    elif model["type"] == "WordPiece":
        model["max_input_chars_per_word"] = rng.choice([100, 100, 5])
    else:
        model["byte_fallback"] = flag()
        if flag(.3):
            model["vocab"] = [[t, round(s, rng.choice([1, 3]))] for t, s in model["vocab"]]
        if flag(.2):
            model["vocab"].append([model["vocab"][10][0], -3.5])
    return model


def ids_of(model):
    if model["type"] == "Unigram":
        return {t: i for i, (t, _) in enumerate(model["vocab"])}
    return model["vocab"]


def post_processor(rng, ids):
    cls, sep = rng.sample(sorted(ids), 2)
    pair = lambda t: [t, ids[t]]
    flag = lambda: rng.random() < .5
    bert = {"type": "BertProcessing", "sep": pair(sep), "cls": pair(cls)}
    roberta = {"type": "RobertaProcessing", "sep": pair(sep), "cls": pair(cls), "trim_offsets": flag(), "add_prefix_space": flag()}
    special = lambda t: {"SpecialToken": {"id": t, "type_id": 0}}
    single = [special(cls)] * rng.randrange(3) + [{"Sequence": {"id": "A", "type_id": 0}}] + [special(sep)] * rng.randrange(3)
    template = {"type": "TemplateProcessing", "single": single,
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {t: {"id": t, "ids": [ids[t]] * rng.choice([1, 1, 2]), "tokens": [t]} for t in (cls, sep)}}
    for t in template["special_tokens"].values():
        t["tokens"] = t["tokens"] * len(t["ids"])
    plain = {"type": "ByteLevel", "add_prefix_space": flag(), "trim_offsets": flag(), "use_regex": flag()}
    kind = rng.randrange(8)
    if kind < 2:
        return None
    if kind == 7:
        return {"type": "Sequence", "processors": rng.sample([plain, rng.choice([template, bert, roberta])], 2)}
    return [plain, bert, roberta, template, template][kind - 2]


def added_tokens(rng, ids, n_model):
    chosen = rng.sample(ADDED, rng.randrange(0, 9))
    for t in SPECIALS[:3]:
        if rng.random() < .7 and t not in chosen:
            chosen.append(t)
    rows, next_id = [], n_model
    flag = lambda p: rng.random() < p
    for content in chosen:
        at = ids.get(content)
        if at is None:
            at, next_id = next_id, next_id + 1
        special = flag(.5)
        rows.append({"id": at, "content": content, "single_word": flag(.2), "lstrip": flag(.2), "rstrip": flag(.2),
                     "normalized": flag(.5), "special": special})
    return rows


def build(rng, pool, maps):
    entry = rng.choice(pool)
    style = entry["style"]
    model = vary(rng, entry["model"])
    ids = ids_of(model)
    steps = [normalizer(rng, maps) for _ in range(rng.choice([0, 0, 0, 1, 1, 1, 2, 3]))]
    if style == "bytes":
        splits = [splitter(rng, True) for _ in range(rng.choice([0, 0, 1, 1, 2]))] + [byte_level(rng)]
        if rng.random() < .1:
            splits = splits[:-1]
            steps.append({"type": "ByteLevel"})
        elif rng.random() < .15:
            splits += [splitter(rng, True)]
    elif style in ("marks", "unigram") and rng.random() < .4:
        steps += rng.choice([[{"type": "Prepend", "prepend": "▁"}], []]) + [{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
        splits = [splitter(rng) for _ in range(rng.choice([0, 0, 1]))]
    else:
        splits = [splitter(rng) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
        if style in ("suffix", "prefix", "pieces") and rng.random() < .7:
            splits.append({"type": rng.choice(["Whitespace", "WhitespaceSplit", "BertPreTokenizer"])})
        if style in ("marks", "unigram") and rng.random() < .5:
            splits.append({"type": "Metaspace", "replacement": "▁", "prepend_scheme": rng.choice(["first", "always", "never"]),
                           "split": rng.random() < .5})
    cut = {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
    pad = {"strategy": {"Fixed": 30}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"}
    return {"version": "1.0", "truncation": cut if rng.random() < .05 else None, "padding": pad if rng.random() < .05 else None,
            "added_tokens": added_tokens(rng, ids, len(model["vocab"])), "normalizer": sequence(steps, "normalizers"),
            "pre_tokenizer": sequence(splits, "pretokenizers"), "post_processor": post_processor(rng, ids),
            "decoder": decoder(rng, entry), "model": model}


def kinds(spec):
    """The parts of a tokenizer, for the counts."""
    def names(step, inner):
        if step is None:
            return ["none"]
        return [n for s in step[inner] for n in names(s, inner)] if step["type"] == "Sequence" else [step["type"]]
    found = {("model", spec["model"]["type"])}
    for key, inner in (("normalizer", "normalizers"), ("pre_tokenizer", "pretokenizers"), ("decoder", "decoders"), ("post_processor", "processors")):
        found |= {(key, name) for name in names(spec[key], inner)}
    for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
        if any(t[flag] for t in spec["added_tokens"]):
            found.add(("added token", flag))
    return found


# --- the two sides ---

class Ours:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, kind, content):
        data = content.encode()
        self.process.stdin.write(kind.encode() + struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the answers program ended")
        return line.decode()[:-1]

    def encode(self, text):
        return [[int(i) for i in part.split()] if not part.startswith("error") else part for part in self.ask("T", text).split("\t")]

    def decode(self, ids):
        return [bytes.fromhex(part).decode(errors="surrogateescape") for part in self.ask("I", " ".join(map(str, ids))).split("\t")]


def attempt(call):
    """The library's answers; None when it raises or panics."""
    try:
        return call()
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return None


def reference_encode(tok, text):
    def ids(special, parses):
        tok.encode_special_tokens = not parses
        return attempt(lambda: tok.encode(text, add_special_tokens=special).ids)
    return [ids(False, True), ids(True, True), ids(False, False)]


def has_broken_run(spec, tok, ids, skips):
    """A run of byte tokens that is not UTF-8."""
    special = {t["content"] for t in spec["added_tokens"] if t["special"]}
    run, runs = b"", []
    for i in ids:
        token = tok.id_to_token(i)
        if token is None or (skips and token in special):
            continue
        is_byte = len(token) == 6 and token.startswith("<0x") and token.endswith(">") and attempt(lambda: int(token[3:5], 16)) is not None
        if is_byte:
            run += bytes([int(token[3:5], 16)])
        else:
            runs.append(run)
            run = b""
    for r in runs + [run]:
        if r.decode(errors="replace").encode() != r:
            return True
    return False


def compare(spec, tok, ours, rng, texts, counts):
    """The first difference as a text, None when there is none."""
    names = ["ids", "ids with special tokens", "ids with special tokens as text"]
    lists = []
    for text in texts:
        wanted, got = reference_encode(tok, text), ours.encode(text)
        for name, w, g in zip(names, wanted, got):
            if w is None:
                counts["the library raises"] += 1
            elif g != w:
                return f"{name} of {text!r}:\n    ours   {g}\n    theirs {w}"
            else:
                counts["texts"] += 1
        if wanted[1]:
            lists.append(wanted[1])
    n_tokens = tok.get_vocab_size()
    lists = rng.sample(lists, min(len(lists), 40)) + [[rng.randrange(n_tokens) for _ in range(rng.randrange(1, 9))] for _ in range(20)] + [[]]
    for ids in lists:
        wanted = [attempt(lambda: tok.decode(ids, skip_special_tokens=skips)) for skips in (False, True)]
        got = ours.decode(ids)
        for i, (name, g) in enumerate(zip(["text", "text without special tokens", "stream", "stream without special tokens"], got)):
            w = wanted[i % 2]
            if w is None:
                counts["the library raises"] += 1
            elif g == w:
                counts["decoded"] += 1
            elif i >= 2 and has_broken_run(spec, tok, ids, i == 3):
                counts["streams of broken bytes"] += 1
            else:
                return f"{name} of {ids}:\n    ours   {g!r}\n    theirs {w!r}"
    return None


# --- the files beside tokenizer.json ---

ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]


def flags(rng):
    return {name: rng.random() < .3 for name in ("lstrip", "rstrip", "normalized", "single_word")}


def special(rng, names):
    content = rng.choice(names)
    return content if rng.random() < .6 else {"content": content, **flags(rng)}


def other_files(rng, spec):
    """tokenizer_config.json, special_tokens_map.json and added_tokens.json, each perhaps None."""
    ids = ids_of(spec["model"])
    names = [t for t in ADDED + SPECIALS if t.strip()] + rng.sample([t for t in ids if t.strip()], 3)
    known = {t["content"] for t in spec["added_tokens"]}
    settings, specials, added = {}, None, None
    for role in rng.sample(ROLES, rng.randrange(4)):
        settings[role] = special(rng, names)
    if rng.random() < .3:
        settings["additional_special_tokens"] = [special(rng, names) for _ in range(rng.randrange(3))]
    if rng.random() < .5:
        rows = {}
        for t in spec["added_tokens"]:
            if rng.random() < .7:
                rows[str(t["id"])] = {k: v for k, v in t.items() if k != "id"}
        if rng.random() < .5 and rows:
            rng.choice(list(rows.values())).update(flags(rng))
        settings["added_tokens_decoder"] = rows
    else:
        if rng.random() < .6:
            specials = {role: special(rng, names) for role in rng.sample(ROLES, rng.randrange(4))}
        if rng.random() < .6:
            free = max([len(ids) - 1] + [t["id"] for t in spec["added_tokens"]]) + 1
            new = [t for t in rng.sample(ADDED, 3) if t not in known and t not in ids]
            added = {t["content"]: t["id"] for t in spec["added_tokens"] if rng.random() < .4}
            added.update({t: free + i for i, t in enumerate(new)})
    return settings if settings or rng.random() < .5 else None, specials, added


def compare_directories(args, pool, maps, ours):
    """Directories with other files, against transformers; returns how many differ."""
    from transformers import PreTrainedTokenizerFast
    from transformers.utils import logging
    logging.set_verbosity_error()
    tally, counts = collections.Counter(), collections.Counter()
    for k in range(args.directories):
        rng = random.Random(args.seed * 7000003 + k)
        spec = build(rng, pool, maps)
        spec.update(decoder={"type": "Fuse"}, padding=None)  # transformers takes its pad_token for a named one
        files = dict(zip(("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"), other_files(rng, spec)))
        with tempfile.TemporaryDirectory() as directory:
            for name, content in [("tokenizer.json", spec)] + list(files.items()):
                if content is not None:
                    (pathlib.Path(directory) / name).write_text(json.dumps(content))
            theirs = attempt(lambda: PreTrainedTokenizerFast.from_pretrained(directory))
            said = ours.ask("D", directory)
            if theirs is None or said != "open":
                tally["not loaded by transformers" if theirs is None else "refused: " + said[:60]] += 1
                continue
            tok = theirs._tokenizer
            tok.no_truncation()
            tok.no_padding()
            names = [t.content for t in tok.get_added_tokens_decoder().values()]
            difference = compare(spec, tok, ours, rng, make_texts(rng, names, args.texts), counts)
        tally["equal" if difference is None else "different"] += 1
        if difference is not None and tally["different"] <= 3:
            print(f"directory {k} differs: {difference}\n  {json.dumps(files, ensure_ascii=False)}\n  {shrink(spec)}", flush=True)
    print("directories with other files, against transformers: " + ", ".join(f"{n} {what}" for what, n in tally.most_common()))
    return tally["different"]


def shrink(spec):
    small = copy.deepcopy(spec)
    small["model"]["vocab"] = f"({len(small['model']['vocab'])})"
    if "merges" in small["model"]:
        small["model"]["merges"] = f"({len(small['model']['merges'])})"
    text = json.dumps(small, ensure_ascii=False)
    return text if len(text) < 6000 else text[:6000] + "..."


def make_pool(rng, maps, n):
    styles = ["bytes", "marks", "unigram", "pieces", "suffix", "prefix"]
    return [train(rng, styles[i % len(styles)], maps) for i in range(n)]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("program")
    args.add_argument("--tokenizers", type=int, default=3000)
    args.add_argument("--texts", type=int, default=200)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--first", type=int, default=0)
    args.add_argument("--directories", type=int, default=500)
    args = args.parse_args()
    maps = charsmaps()
    pool = make_pool(random.Random(args.seed), maps, 36)
    ours = Ours(args.program)
    equal, refused, reasons = collections.Counter(), collections.Counter(), collections.Counter()
    counts, n_failed, n_equal, n_unread = collections.Counter(), 0, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "tokenizer.json"
        for k in range(args.first, args.tokenizers):
            rng = random.Random(args.seed * 1000003 + k)
            spec = build(rng, pool, maps)
            texts = make_texts(rng, [t["content"] for t in spec["added_tokens"]], args.texts)
            path.write_text(json.dumps(spec))
            tok = attempt(lambda: Tokenizer.from_file(str(path)))
            if tok is None:
                n_unread += 1
                continue
            tok.no_truncation()
            tok.no_padding()
            said = ours.ask("D", directory)
            if said != "open":
                reasons[said] += 1
                refused.update(kinds(spec))
                continue
            difference = compare(spec, tok, ours, rng, texts, counts)
            if difference is None:
                n_equal += 1
                equal.update(kinds(spec))
                continue
            n_failed += 1
            if n_failed <= 5:
                print(f"tokenizer {k} differs: {difference}\n  {shrink(spec)}", flush=True)
    print(f"\ntokenizers {tokenizers.__version__}; seed {args.seed}")
    print(f"{'kind':40} equal  refused")
    for kind in sorted(set(equal) | set(refused)):
        print(f"{': '.join(kind):40} {equal[kind]:5}  {refused[kind]:7}")
    print("\nrefused, and why:")
    for why, n in reasons.most_common():
        print(f"{n:5}  {why.removeprefix('refused ')[:150]}")
    print(f"\n{n_equal} tokenizers equal, {n_failed} different, {sum(reasons.values())} refused, {n_unread} that the library does not load; "
          + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    if args.directories:
        n_failed += compare_directories(args, pool, maps, ours)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
