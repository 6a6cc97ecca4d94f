"""Trains four small tokenizers and writes what they must answer.

    tools/tokenizer_golden.py [OUT]          default tests/golden/data/tokenizers

One folder per tokenizer:

    gpt2     byte-level BPE, GPT-2's split pattern
    llama3   byte-level BPE, Llama 3's pattern, ignore_merges, bos added by the post-processor
    qwen2    byte-level BPE, Qwen 2's pattern, NFC normalizer
    spm      SentencePiece BPE with byte fallback, as tokenizer.model and as tokenizer.json
    gemma    the same without a space before a text, lines and runs of spaces being pieces that the
             user defined
    phi3     spm's, with special tokens that swallow the white space behind (or before) them

Each holds tokenizer.json, tokenizer_config.json and vectors.jsonl, a line per text:

    {"text": ..., "ids": [...]}                     special tokens in the text are recognized
    {"text": ..., "ids": [...], "ids_plain": [...]} the same text with them read as plain text

ids come from HF tokenizers without the post-processor (no bos). For spm both libraries are asked
and must agree wherever the text holds no special token; ids_plain is SentencePiece's answer.
"decoded" is there where decoding the ids does not give the text back.
"""
import io
import json
import pathlib
import random
import sys

import sentencepiece
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED = 7
N_TEXTS = 400
N_FEW = 250 # where another tokenizer says the most

# Split patterns as the models publish them.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GEMMA_PIECES = ["\n" * n for n in range(2, 5)] + ["▁" * n for n in range(2, 9)]
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

# Lines in many scripts: training text, and pieces of the test texts.
LINES = [
    "All human beings are born free and equal in dignity and rights.",
    "They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
    "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "Todos los seres humanos nacen libres e iguales en dignidad y derechos.",
    "Все люди рождаются свободными и равными в своём достоинстве и правах.",
    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια.",
    "人人生而自由,在尊严和权利上一律平等。", "他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق.",
    "כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है।",
    "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน", "Tất cả mọi người sinh ra đều được tự do và bình đẳng.",
    "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.", "İstanbul'da IŞIK ışık",
]

# What breaks tokenizers.
ODD = [
    "", " ", "  ", "\n", "\n\n", "\t", "\r\n", " \n", "\n ", "a", " a", "a ", "  a  b   c    ", "\u00a0",
    "a\u00a0b", "\u3000全角 空白", "\u200b", "zero\u200bwidth", "\ufeffbom", "\u2028line", "tab\tin\ttext\t\t",
    "\t\t\tint x;\n\t\t}\n\n\n", "trailing   ", "   leading", "new\n\nlines\n\n\nthree\r\n\r\nwindows",
    "a\n b\n  c\n   d", "\n\n  \n\n x", " \t \n \t x", "1", "12", "123", "1234", "12345678901234567890", "3.14159",
    "1,000,000", "0xDEADBEEF", "v1.2.3-rc4", "a1b2c3", "٣٤٥ ½ Ⅷ ²", "2026-11-21T10:00:00Z", "x=1", "x = 1 ;",
    "I'm you're he'll they've we'd it's can't", "I'M YOU'RE HE'LL IT'S", "'s't're", "don’t", "''''", "O'Neill's",
    "!!!", "...", "?!?!", "-----", "=====>", "/* c */", "//\n", "#!/bin/sh\n", "a_b_c __init__", "CamelCaseWord",
    "snake_case_word", "SHOUTING", "ﬁ ligature", "e\u0301 combining", "é composed", "Å \u212b A\u030a", "ñ n\u0303",
    "q\u0323\u0307 q\u0307\u0323", "\u1100\u1161\u11a8 jamo", "각", "😀", "😀😃😄", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷🇩🇪", "a😀b", " 😀 ",
    "❤️ ♥ ☺", "𝒽𝑒𝓁𝓁𝑜 𐍈 𠜎", "مرحبا بالعالم", "العربية 123 abc", "שלום", "ДОМ дом", "Ελλάδα", "汉字漢字", "カタカナ ひらがな",
    "한국어 텍스트", "ไทย", "हिन्दी", "\u0000", "a\u0000b", "\u0001\u0002\u007f", "\u0085", "▁", "▁a ▁▁b", "a▁b", "Ġ", "ĠaĊ",
    "<0x0A>", "<0x41>", "<unk>", "<s", "<|", "|>", "<|endoftext", "<||>", "[INST] hi [/INST]", "http://example.org/?q=1&r=%20#top",
    "me@example.org", "C:\\path\\to\\file", '{"key": [1, 2.5, null], "b": "\\n"}', "def f(x):\n    return x**2\n",
    "for (int i = 0; i < n; i++)\n\tsum += a[i];\n", "if (!ptr)\n\t\treturn -ENOMEM;\n", "SELECT * FROM t WHERE a <> 'b';",
    "<html><body class=\"x\">&amp;</body></html>", "a" * 100, "ab" * 60, " " * 33, "\n" * 9, "\t" * 7, "é" * 20, "字" * 20,
    "😀" * 10, "0" * 17, "aaaaaaaab", "the the the the", "The quick brown fox jumps over the lazy dog.",
    "replacement \ufffd character", "\ufffd", "mixed 中文 and English и русский",
    "In the beginning God created the heaven and the earth.",
]


# Ranges of characters for random texts; ASCII is the likeliest.
PLANES = [(32, 127)] * 4 + [
    (0xA0, 0x250), (0x300, 0x370), (0x400, 0x500), (0x600, 0x6FF), (0x4E00, 0x9FFF),
    (0x1F300, 0x1F6FF), (0x2000, 0x2070)]


def training_lines():
    """Prose and C from the models' held-out samples, and the lines above a few times over."""
    lines = []
    for name in ("tale", "cee"):
        text = (ROOT / "models" / f"{name}.heldout.txt").read_text()
        lines += [line for line in text.splitlines(keepends=True) if line.strip()]
    return lines + LINES * 5


def texts(specials, n_texts):
    """The odd ones, the lines, texts with special tokens, and random mixtures of all of them."""
    dice = random.Random(SEED)
    words = [w for line in training_lines() for w in line.split()]
    marked = [specials[0], specials[0] * 2,
              f"a{specials[1]}b", f" {specials[1]} ", f"x {specials[-1]}\n",
              f"{specials[0]}Hello, world.{specials[1]}",
              f"{specials[0]} Hello {specials[-1]}  two  ",
              f"\n{specials[1]}\n\n{specials[0]}é", f"{specials[0][:-1]} {specials[0]}"]
    pieces = ODD + LINES + marked
    found = list(dict.fromkeys(pieces))
    while len(found) < n_texts:
        kind = dice.randrange(3)
        if kind == 0:
            text = " ".join(dice.choices(words, k=dice.randint(1, 30)))
        elif kind == 1:
            gap = dice.choice(["", " ", "\n", "\t"])
            text = gap.join(dice.choices(pieces, k=dice.randint(2, 5)))
        else:
            n = dice.randint(1, 24)
            text = "".join(chr(dice.randrange(*dice.choice(PLANES))) for _ in range(n))
        if text not in found and len(text) < 600:
            found.append(text)
    return found


def byte_level(vocab, specials, pattern=None, normalizer=None, ignore_merges=False):
    tok = tokenizers.Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        tok.normalizer = normalizer
    if pattern:
        tok.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    n_special = len(specials)
    tok.train_from_iterator(training_lines(), trainers.BpeTrainer(
        vocab_size=vocab - n_special, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    # As in the published files, the special tokens come after the vocabulary.
    tok.add_special_tokens(list(specials))
    return tok


def sentencepiece_model(vocab, **other):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line.rstrip("\n") for line in training_lines()), model_writer=model,
        vocab_size=vocab, model_type="bpe", byte_fallback=True, character_coverage=0.999,
        normalization_rule_name="identity", split_digits=True, remove_extra_whitespaces=False,
        num_threads=1, minloglevel=2, **other)
    return model.getvalue()


def sentencepiece_as_json(sp):
    """The tokenizer.json that HF's converter makes of a Llama tokenizer.model."""
    n = sp.get_piece_size()
    rank = {sp.id_to_piece(i): i for i in range(n)}
    merges = []
    for piece, result in rank.items():
        if sp.is_control(result) or sp.is_byte(result) or sp.is_unknown(result):
            continue
        halves = [(piece[:k], piece[k:]) for k in range(1, len(piece))]
        merges += [(result, rank[a], rank[b], a, b) for a, b in halves if a in rank and b in rank]
    # The best score first; within one piece by the ids of its halves.
    merges.sort(key=lambda m: (-sp.get_score(m[0]), m[1], m[2]))
    tok = tokenizers.Tokenizer(models.BPE(rank, [(a, b) for *_, a, b in merges], unk_token="<unk>",
                                          fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Sequence([
        normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                     decoders.Fuse(), decoders.Strip(content=" ", left=1)])
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", sp.bos_id())])
    tok.add_special_tokens([tokenizers.AddedToken(t, normalized=False, special=True)
                            for t in ("<unk>", "<s>", "</s>")])
    return tok


def gemma_as_json(sp):
    """The same of a Gemma tokenizer.model: nothing is put before a text."""
    tok = sentencepiece_as_json(sp)
    tok.normalizer = normalizers.Replace(" ", "▁")
    tok.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                     decoders.Fuse()])
    tok.add_tokens([tokenizers.AddedToken(t, normalized=False) for t in GEMMA_PIECES])
    return tok


def vectors(tok, specials, sp, n_texts):
    """One dictionary a text, as the head of this file says."""
    for text in texts(specials, n_texts):
        special = any(s in text for s in specials)
        if tok.token_to_id("▁▁") is not None and "▁" in text:
            continue  # a space to SentencePiece, something else to HF's Gemma
        ids = tok.encode(text, add_special_tokens=False).ids
        entry = {"text": text, "ids": ids}
        if sp:
            plain = sp.encode(text)
            assert special or plain == ids, (text, plain, ids)
        else:
            tok.encode_special_tokens = True
            plain = tok.encode(text, add_special_tokens=False).ids
            tok.encode_special_tokens = False
        if special:
            entry["ids_plain"] = plain
        decoded = tok.decode(ids, skip_special_tokens=False)
        if decoded != text:
            entry["decoded"] = decoded
        yield entry


def save(folder, tok, specials, config, sp_model=None, n_texts=N_TEXTS):
    folder.mkdir(parents=True, exist_ok=True)
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
    sp = None
    if sp_model:
        (folder / "tokenizer.model").write_bytes(sp_model)
        sp = sentencepiece.SentencePieceProcessor(model_proto=sp_model)
    with open(folder / "vectors.jsonl", "w") as file:
        for entry in vectors(tok, specials, sp, n_texts):
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")


def make(out):
    specials = ("<|endoftext|>", "<|fim|>", "<|pad|>")
    save(out / "gpt2", byte_level(640, specials), specials,
         {"tokenizer_class": "GPT2Tokenizer", "bos_token": specials[0], "eos_token": specials[0],
          "add_bos_token": False, "add_prefix_space": False})

    specials = ("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>",
                "<|end_header_id|>")
    tok = byte_level(800, specials, LLAMA3, ignore_merges=True)
    tok.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single=f"{specials[0]} $A", pair=f"{specials[0]} $A {specials[0]} $B",
            special_tokens=[(specials[0], tok.token_to_id(specials[0]))])])
    save(out / "llama3", tok, specials,
         {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": specials[0],
          "eos_token": specials[2]})

    specials = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    save(out / "qwen2", byte_level(720, specials, QWEN2, normalizers.NFC()), specials,
         {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "eos_token": specials[2],
          "add_bos_token": False})

    sp_model = sentencepiece_model(900)
    sp = sentencepiece.SentencePieceProcessor(model_proto=sp_model)
    save(out / "spm", sentencepiece_as_json(sp), ("<s>", "</s>", "<unk>"),
         {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>",
          "unk_token": "<unk>",
          "add_bos_token": True, "add_eos_token": False, "legacy": True}, sp_model)

    tok = sentencepiece_as_json(sp)
    specials = ("<|user|>", "<|end|>", "<unk>", "<|both|>")
    tok.add_special_tokens([tokenizers.AddedToken(t, normalized=False, special=True, rstrip=True,
                                                  lstrip=t == "<|both|>") for t in specials if t != "<unk>"])
    save(out / "phi3", tok, specials,
         {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "<|end|>",
          "unk_token": "<unk>", "add_bos_token": False, "add_eos_token": False}, n_texts=N_FEW)

    sp_model = sentencepiece_model(800, add_dummy_prefix=False,
                                   user_defined_symbols=GEMMA_PIECES)
    sp = sentencepiece.SentencePieceProcessor(model_proto=sp_model)
    save(out / "gemma", gemma_as_json(sp), ("<s>", "</s>", "<unk>"),
         {"tokenizer_class": "GemmaTokenizer", "bos_token": "<s>", "eos_token": "</s>",
          "unk_token": "<unk>", "add_bos_token": True, "add_eos_token": False}, sp_model, n_texts=N_FEW)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/golden/data/tokenizers")
