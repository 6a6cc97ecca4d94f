#!/usr/bin/env python3
"""Compares our tokenizers with sentencepiece and HF tokenizers on 10,000 mixed lines.

agreement.py AGREEMENT_PROGRAM DATA_DIRECTORY [--lines N]

DATA_DIRECTORY holds llama2_tokenizer.model, gpt2-vocab.json, gpt2-merges.txt, ggml-vocab-*.gguf and
llama3_tokenizer_l3.bin, each perhaps with .xz. Needs the Python packages sentencepiece, tokenizers
and gguf. A line of broken UTF-8 goes to sentencepiece as its bytes; HF tokenizers take only text, so
they see Python's errors='replace' form of it, and decoding must give the raw bytes back. Ends with 0 when every line agrees."""
import argparse
import json
import lzma
import os
import random
import struct
import subprocess
import sys
import tempfile

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.", "I'd've thought they'll say it's what we're",
    "static int find(const char *s, size_t n)\t{ return s[n - 1] == '\\0' ? 1 : -1; }",
    "def f(x):\n    return {'a': x ** 2, \"b\": [1, 2, 3]}  # note\n", "https://example.org/a?b=c&d=%20e",
    "3.14159 1,000,000 2026-11-21 0xDEADBEEF 1e-9", "   leading and   inner    and trailing   ",
    "\t\ttabs\tand\r\nlines\n\n\nmore\r", "DON'T SHOUT, I'LL HEAR YOU'RE", "naïve café Ångström œuvre",
    "中文分词器测试，今天天气很好。", "日本語のテキストを分割する。カタカナ", "한국어 문장을 나누어 봅시다.",
    "Съешь же ещё этих мягких французских булок", "Η γρήγορη αλεπού", "שלום עולם", "مرحبا بالعالم",
    "नमस्ते दुनिया", "สวัสดีชาวโลก", "Tiếng Việt có dấu", "e\u0301 vs \u00e9, \u1112\u1161\u11ab",
    "😀😃🤖 👩‍👩‍👧‍👦 🇩🇪🇯🇵 👍🏽 ❤️", "½ ² Ⅷ ① ٣ ৪ 〇", "“quotes” ‘single’ — dash … ellipsis", "\u200b\u200d\ufeff\u00a0\u3000x",
    "<s> </s> <|endoftext|> [INST] <|im_start|>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "▁under▁score▁",
    "ﬁ ﬂ Ａｂｃ １２３ ｶﾀｶﾅ", "\x00\x01\x7f", "𝕳𝖊𝖑𝖑𝖔 𐍈 𠀀", "!!!???...---===+++///\\\\\\", "$100 €50 £20 ¥1000 100% #1 @me",
]


def scalar(rng):
    kind = rng.random()
    if kind < 0.4:
        return chr(rng.randrange(32, 127))
    if kind < 0.5:
        return rng.choice(" \t\n\r\u00a0\u2003\u3000")
    if kind < 0.7:
        return chr(rng.randrange(0x80, 0x3000))
    if kind < 0.85:
        return chr(rng.randrange(0x3000, 0xD800))
    if kind < 0.95:
        return chr(rng.randrange(0x1F300, 0x1FAFF))
    return chr(rng.choice([rng.randrange(0xE000, 0xFFFE), rng.randrange(0x10000, 0x30000)]))


def make_lines(n, seed=1):
    """n byte strings: sentences, their mixtures, random letters; every tenth is broken UTF-8."""
    rng = random.Random(seed)
    lines = [s.encode() for s in SENTENCES]
    while len(lines) < n:
        kind = len(lines) % 5
        if kind == 0:
            text = rng.choice([" ", "", "\n", "  "]).join(rng.choices(SENTENCES, k=rng.randrange(1, 5)))
        elif kind == 1:
            text = "".join(scalar(rng) for _ in range(rng.randrange(1, 60)))
        elif kind == 2:
            words = [w for s in rng.choices(SENTENCES, k=6) for w in s.split(" ")]
            rng.shuffle(words)
            text = rng.choice([" ", " ", "  ", "\n", " \n", "\t"]).join(words[:rng.randrange(1, 25)])
        elif kind == 3:
            s = rng.choice(SENTENCES)
            a, b = sorted((rng.randrange(len(s) + 1), rng.randrange(len(s) + 1)))
            text = s[a:b] * rng.randrange(1, 4) + "".join(scalar(rng) for _ in range(rng.randrange(8)))
        else:
            text = " ".join(str(rng.randrange(10 ** rng.randrange(1, 9))) if rng.random() < .3 else
                            "".join(rng.choices("etaoinshrdlucmfwyp", k=rng.randrange(1, 12)))
                            for _ in range(rng.randrange(1, 30)))
        raw = text.encode()
        if len(lines) % 10 == 7:
            broken = bytearray(raw)
            for _ in range(rng.randrange(1, 6)):
                broken.insert(rng.randrange(len(broken) + 1), rng.choice([0x80, 0xBF, 0xC0, 0xC3, 0xE2, 0xED, 0xF0, 0xF5, 0xFF]))
            raw = bytes(broken)
        lines.append(raw)
    return lines


def ours(program, card, texts, special=False):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(card, f)
        f.flush()
        data = b"".join(struct.pack("<I", len(t)) + t for t in texts)
        out = subprocess.run([program, f.name] + (["special"] if special else []), input=data, capture_output=True, check=True)
    rows = out.stdout.decode().split("\n")[:-1]
    return [([int(i) for i in r.split("\t")[0].split()], r.split("\t")[1] == "ok") for r in rows]


def read(directory, name):
    path = os.path.join(directory, name)
    if os.path.exists(path):
        return open(path, "rb").read()
    return lzma.open(path + ".xz").read()


def spm_card(model):
    import sentencepiece
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    n = sp.get_piece_size()
    types = [6 if sp.is_byte(i) else 3 if sp.is_control(i) else 2 if sp.is_unknown(i) else 5 if sp.is_unused(i) else 1 for i in range(n)]
    card = dict(kind="spm", tokens=[sp.id_to_piece(i) for i in range(n)], types=types, scores=[sp.get_score(i) for i in range(n)],
                add_space_prefix=True, bos_id=sp.bos_id(), eos_id=sp.eos_id(), unknown_id=sp.unk_id())
    return card, sp


def gguf_fields(raw):
    import gguf
    with tempfile.NamedTemporaryFile(suffix=".gguf") as f:
        f.write(raw)
        f.flush()
        reader = gguf.GGUFReader(f.name)
        return {k: v.contents() for k, v in reader.fields.items() if k.startswith("tokenizer.")}


def gguf_card(fields):
    key = lambda name, default=None: fields.get("tokenizer.ggml." + name, default)
    return dict(kind="spm" if key("model") == "llama" else "bpe", tokens=key("tokens"), types=key("token_type"), scores=key("scores"),
                merges=key("merges", []), pre=key("pre"), add_space_prefix=key("model") == "llama",
                bos_id=key("bos_token_id", -1), eos_id=key("eos_token_id", -1), unknown_id=key("unknown_token_id", -1))


def byte_letters():
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters, n = {}, 0
    for b in range(256):
        letters[b] = chr(b) if b in plain else chr(256 + n)
        n += b not in plain
    return letters


def hf_bpe(tokens, merges, stages, added=(), **model):
    """An HF tokenizer of byte-level BPE that splits by the stages one after another."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers
    seen = {}
    for i, t in enumerate(tokens):
        seen.setdefault(t, i)
    tok = Tokenizer(models.BPE(seen, [tuple(m.split(" ", 1)) for m in merges], **model))
    pre = [pre_tokenizers.Split(Regex(s), "isolated") for s in stages]
    tok.pre_tokenizer = pre_tokenizers.Sequence(pre + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.add_tokens([AddedToken(t, normalized=False) for t in added])
    return tok


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_LETTERS = (r"A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}"
                    r"\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}"
                    r"\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}"
                    r"\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}"
                    r"\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}"
                    r"\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}"
                    r"\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}"
                    r"\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}"
                    r"\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}"
                    r"\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}"
                    r"\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}"
                    r"\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}"
                    r"\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}"
                    r"\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}"
                    r"\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}"
                    r"\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}"
                    r"\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}"
                    r"\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}")
DEEPSEEK = ["[\r\n]", r"\s?[" + DEEPSEEK_LETTERS + "]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"]


def llama3_tokens(raw):
    """The vocabulary of a llama2.c-style .bin: max length, then (score, length, bytes) each."""
    at, tokens = 4, []
    while at < len(raw):
        score, n = struct.unpack_from("<fi", raw, at)
        tokens.append((raw[at + 8:at + 8 + n], score))
        at += 8 + n
    return tokens


def bpe_splits(parts):
    """Merges in rank order from a list of tokens in rank order (as tiktoken files are): for each
    token the last two symbols that its bytes reach with the merges before it."""
    rank = {}
    for i, t in enumerate(parts):
        rank.setdefault(t, i)
    merges = []
    for i, token in enumerate(parts):
        if len(token) < 2 or rank[token] != i:
            continue
        symbols = [token[k:k + 1] for k in range(len(token))]
        while len(symbols) > 2:
            best = min(((rank.get(symbols[k] + symbols[k + 1], 1 << 30), k) for k in range(len(symbols) - 1)))
            if best[0] >= i:
                break
            k = best[1]
            symbols[k:k + 2] = [symbols[k] + symbols[k + 1]]
        if len(symbols) == 2 and symbols[0] in rank and symbols[1] in rank:
            merges.append((symbols[0], symbols[1]))
    return merges


def report(name, lines, mine, theirs, broken_as_text=None):
    bad = [i for i in range(len(lines)) if mine[i][0] != theirs[i]]
    broken = sum(1 for line in lines if line.decode(errors="replace").encode() != line)
    note = ""
    if broken_as_text is not None:
        lost = [i for i in range(len(lines)) if not broken_as_text[i][1]]
        note = f"; {len(lines) - len(lost)} of the raw lines decode to their bytes (where the vocabulary has them)"
        bad += lost
    print(f"{name}: {len(lines) - len(bad)} of {len(lines)} lines agree ({broken} of them broken UTF-8){note}")
    for i in bad[:3]:
        print("  line", repr(lines[i][:80]), "\n   ours  ", mine[i][0][:40], "\n   theirs", theirs[i][:40])
    return not bad


def check_bpe(name, program, card, hf, lines):
    texts = [line.decode(errors="replace") for line in lines]
    theirs = [hf.encode(t, add_special_tokens=False).ids for t in texts]
    mine = ours(program, card, [t.encode() for t in texts])
    raw = ours(program, card, lines)
    held = {ord(c) for c in "".join(t for t, k in zip(card["tokens"], card.get("types") or [1] * len(card["tokens"])) if k == 1 and len(t) == 1)}
    missing = {b for b, c in byte_letters().items() if ord(c) not in held}
    raw = [(ids, ok or any(b in missing for b in line)) for (ids, ok), line in zip(raw, lines)]
    return report(name, lines, mine, theirs, raw)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("program")
    args.add_argument("data")
    args.add_argument("--lines", type=int, default=10000)
    args = args.parse_args()
    lines = make_lines(args.lines)
    good = True
    card, sp = spm_card(read(args.data, "llama2_tokenizer.model"))
    good &= report("llama-2 (sentencepiece)", lines, ours(args.program, card, lines), [sp.encode(line) for line in lines])
    # The files' SentencePiece vocabularies are llama-2's; phi-3 adds tokens behind it.
    for name in ["llama-spm", "phi-3"]:
        card = gguf_card(gguf_fields(read(args.data, f"ggml-vocab-{name}.gguf")))
        plain = [line for line in lines if b"</s>" not in line]
        good &= report(f"{name} (GGUF; sentencepiece)", plain, ours(args.program, card, plain), [sp.encode(line) for line in plain])
    vocab = json.loads(read(args.data, "gpt2-vocab.json"))
    merges = [m for m in read(args.data, "gpt2-merges.txt").decode().split("\n") if m and not m.startswith("#version")]
    tokens = [t for t, _ in sorted(vocab.items(), key=lambda kv: kv[1])]
    card = dict(kind="bpe", tokens=tokens, merges=merges, pre="gpt-2")
    good &= check_bpe("OPT/gpt-2 (HF, vocab.json)", args.program, card, hf_bpe(tokens, merges, [GPT2]), lines)
    for name, stages in [("gpt-2", [GPT2]), ("deepseek-llm", DEEPSEEK)]:
        card = gguf_card(gguf_fields(read(args.data, f"ggml-vocab-{name}.gguf")))
        added = [t for t, k in zip(card["tokens"], card["types"]) if k == 4]
        normal = [t if k == 1 else f"<unused {i}>" if k != 4 else t for i, (t, k) in enumerate(zip(card["tokens"], card["types"]))]
        good &= check_bpe(f"{name} (GGUF; HF)", args.program, card, hf_bpe(normal, card["merges"], stages, added), lines)
    letters = byte_letters()
    spell = lambda raw: "".join(letters[b] for b in raw)
    parts = [t for t, _ in llama3_tokens(read(args.data, "llama3_tokenizer_l3.bin"))][:128000]
    tokens = [spell(t) for t in parts]
    merges = [spell(a) + " " + spell(b) for a, b in bpe_splits(parts)]
    card = dict(kind="bpe", tokens=tokens, merges=merges, pre="llama-bpe", ignore_merges=True)
    good &= check_bpe("llama-3 (HF)", args.program, card, hf_bpe(tokens, merges, [LLAMA3], ignore_merges=True), lines)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
