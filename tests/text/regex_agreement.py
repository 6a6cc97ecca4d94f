#!/usr/bin/env python3
"""Compares our regular expressions with Oniguruma in HF tokenizers: random patterns over a grammar, cut into hard texts.

regex_agreement.py CUTS_PROGRAM [--patterns N] [--seed S] [--write FILE]

A pattern must cut every text as the library does, or be refused. Ends with 0 when there is no silent difference.
--write stores a sample as lines of JSON, which tests/text/regex_test.c reads: pattern, then texts with the ends of
their pieces, or null when the library cannot read the pattern.
"""
import argparse
import collections
import json
import random
import re
import struct
import subprocess
import sys

LETTERS = ["a", "b", "k", "s", "t", "f", "i", "A", "K", "S", "é", "É", "ß", "ſ", "\u212a", "ﬁ", "ﬆ", "中", "ば", "한", "я", "\u0301", "\u0345",
           "1", "²", "½", "٣", "Ⅷ", "_", "-", "'", "’", "!", "$", "+", " ", "\t", "\n", "\r", "\x0b", "\x85", "\u00a0", "\u2028", "\u3000",
           "\u200b", "\u200d", "😀", "👍🏽", "🇩", "Ⓐ", "ǅ", "ʰ", "\u05d0", "\u0660", "\U00010d4a", "\U000116d0", "\U0001e4d0", "\uf8ff", "\x00", "]", "["]
ESCAPES = ["\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\h", "\\H", "\\t", "\\n", "\\r", "\\f", "\\v", "\\e", "\\x41", "\\x{4e00}", "\\u00e9", "\\.",
           "\\-", "\\'", "\\[", "\\]", "\\\\", "\\$", "\\0"]
NAMES = ("L Lu Ll Lt Lm Lo M Mn Mc N Nd Nl No P Pc Pd Ps Po S Sm Sc Sk So Z Zs C Cc Cf Cn Co Han Hiragana Katakana Hangul Latin Greek Cyrillic "
         "Arabic Hebrew Thai Letter Number Punct Space Word Upper Lower Digit Alnum Alpha XDigit Graph Print Any Uppercase_Letter Emoji").split()
BRACKETS = "alnum alpha ascii blank cntrl digit graph lower print punct space upper xdigit word".split()
SPECIAL = ["\\X", "\\R", "\\K", "\\G", "\\N", "\\O", "\\y", "\\pL", "\\q", "\\1", "\\k<n>", "(?~a)", "(?<n>a)", "(?#c)", "(?x:a b)", "\\Z", "\\z", "\\A",
           "\\x80", "\\Qa\\E", "a{,}", "a{3,2}", "a**", "a{2}{3}", "{1}", "(?{x})", "(?(1)a|b)", "\\Aa", "(?i)ß", "(?i)é"]
REAL = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    r"[\p{P}\$\+<=>\^~\|`]+", r"\p{N}{1,3}+|[^\p{N}]+", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\s+$", r"[0-9][0-9][0-9]", r"\d{1,3}(?=(?:\d{3})*\b)",
    r" ?[^(\s|.,!?…。，、।۔،)]+", r"(?<=\p{L})(?=\p{N})", r"\b", r"[^\W\d_]+", r"(?:\r?\n)+", r"[[:punct:]]", r"\w+|[^\w\s]+",
]


class Maker:
    """Patterns over a grammar that covers what tokenizers use and what readers take differently."""

    def __init__(self, rng):
        self.rng = rng

    def literal(self):
        c = self.rng.choice(LETTERS)
        return "\\" + c if c in "$+[]" else c

    def item(self):
        r = self.rng.random()
        if r < .45:
            c = self.rng.choice(LETTERS)
            return "\\" + c if c in "[]-" else c
        if r < .6:
            a, b = self.rng.choice([("a", "z"), ("A", "Z"), ("0", "9"), ("一", "龥"), ("!", "/"), ("à", "ÿ"), ("\\x00", "\\x1f"), ("b", "a")])
            return a + "-" + b
        if r < .75:
            return self.rng.choice(ESCAPES)
        if r < .88:
            return self.rng.choice(["\\p{%s}", "\\P{%s}", "\\p{^%s}"]) % self.rng.choice(NAMES)
        if r < .95:
            return "[:%s%s:]" % (self.rng.choice(["", "^"]), self.rng.choice(BRACKETS))
        return self.rng.choice(["-", "&&", "^", "]", "&", "."])

    def set(self, depth=0):
        parts = [self.item() for _ in range(self.rng.randrange(1, 4))]
        if depth < 2 and self.rng.random() < .12:
            parts.append(self.set(depth + 1))
        if self.rng.random() < .12:
            parts.insert(self.rng.randrange(1, len(parts) + 1), "&&")
            parts.append(self.item())
        return "[" + self.rng.choice(["", "", "^"]) + "".join(parts) + "]"

    def atom(self, depth):
        r = self.rng.random()
        if r < .3:
            return self.literal()
        if r < .4:
            return self.rng.choice(ESCAPES)
        if r < .5:
            return self.rng.choice(["\\p{%s}", "\\P{%s}"]) % self.rng.choice(NAMES)
        if r < .68:
            return self.set()
        if r < .72:
            return "."
        if r < .78:
            return self.rng.choice(["^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z"])
        if r < .96 and depth < 3:
            opening = self.rng.choice(["(", "(?:", "(?i:", "(?m:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?-i:", "(?i-m:", "(?i)", "(?:"])
            return opening + self.pattern(depth + 1) + (")" if opening != "(?i)" else "")
        return self.rng.choice(SPECIAL) if self.rng.random() < .3 else self.literal()

    def branch(self, depth):
        out = ""
        for _ in range(self.rng.randrange(1, 4)):
            atom = self.atom(depth)
            out += atom
            if self.rng.random() < .4 and not re.match(r"[\^$]|\\[bBAzZ]|\(\?(=|!|<|i\))", atom):
                out += self.rng.choice(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}", "{0,1}"]) + self.rng.choice(["", "", "", "?", "+"])
        return out

    def pattern(self, depth=0):
        return "|".join(self.branch(depth) for _ in range(self.rng.choice([1, 1, 2, 3]) if depth else self.rng.randrange(1, 5)))


def make_texts(rng, n):
    words = ["don't", "I'LL", "naïve", "ﬁne", "strasse", "Straße", "STRASSE", "2026", "1,000,000", "中文12", "x\n\ny", "\r\n", "   ", "\n \n", "e\u0301", "ab12cd"]
    texts = ["", "aaaa", "a\n", "\n", "\n\n", "a b\n", "12345678"]
    while len(texts) < n:
        parts = [rng.choice(LETTERS) if rng.random() < .7 else rng.choice(words) for _ in range(rng.randrange(1, 14))]
        texts.append("".join(parts))
    return texts


def theirs(pattern, texts):
    """The ends of the pieces in bytes, per text (None: it gave up); None when the library cannot read the pattern."""
    from tokenizers import Regex, pre_tokenizers
    try:
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
    except Exception:
        return None
    out = []
    for text in texts:
        ends, at = [], 0
        try:
            pieces = split.pre_tokenize_str(text)
        except BaseException as e:  # the library's limit of retries is a panic
            if "retry-limit" not in str(e):
                raise
            out.append(None)
            continue
        for piece, _ in pieces:
            at += len(piece.encode())
            ends.append(at)
        out.append(ends)
    return out


def ours(program, cases):
    data = b""
    for pattern, texts in cases:
        data += struct.pack("<I", len(pattern.encode())) + pattern.encode() + struct.pack("<I", len(texts))
        data += b"".join(struct.pack("<I", len(t.encode())) + t.encode() for t in texts)
    lines = subprocess.run([program], input=data, capture_output=True, check=True).stdout.decode().split("\n")
    out, at = [], 0
    for _, texts in cases:
        if lines[at].startswith("refused"):
            out.append(lines[at])
            at += 1
        else:
            out.append([None if l == "spent" or "spent" in l else [int(x) for x in l.split()] for l in lines[at:at + len(texts)]])
            at += len(texts)
    return out


def compare(program, patterns, rng, n_texts):
    cases = [(p, make_texts(rng, n_texts)) for p in patterns]
    counts, refusals, bad = collections.Counter(), collections.Counter(), []
    for (pattern, texts), mine in zip(cases, ours(program, cases)):
        real = theirs(pattern, texts)
        if isinstance(mine, str):
            counts["refused by both" if real is None else "refused"] += 1
            if real is not None:
                refusals[re.sub(r" at byte .*", "", mine.split(" has ")[-1])] += 1
            continue
        counts["read, which the library cannot" if real is None else "equal"] += 1
        real = real and [m if r is None else r for m, r in zip(mine, real)]
        if real is not None and None in mine:
            counts["texts whose steps ran out"] += mine.count(None)
            real = [m if m is None else r for m, r in zip(mine, real)]
        if real is not None and mine != real:
            counts["equal"] -= 1
            counts["DIFFERENT"] += 1
            i = next(i for i in range(len(texts)) if mine[i] != real[i])
            bad.append((pattern, texts[i], mine[i], real[i]))
    return cases, counts, refusals, bad


def main():
    args = argparse.ArgumentParser()
    args.add_argument("program")
    args.add_argument("--patterns", type=int, default=3000)
    args.add_argument("--texts", type=int, default=40)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--write")
    args = args.parse_args()
    rng = random.Random(args.seed)
    maker = Maker(rng)
    patterns = REAL + [maker.pattern() for _ in range(args.patterns)]
    cases, counts, refusals, bad = compare(args.program, patterns, rng, args.texts)
    print("regular expressions:", ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print("  refused:", "; ".join(f"{n} {what}" for what, n in refusals.most_common(40)))
    for pattern, text, mine, real in bad[:20]:
        print("  pattern", repr(pattern), "text", repr(text), "\n    ours  ", mine, "\n    theirs", real)
    if args.write:
        with open(args.write, "w") as f:
            for pattern, texts in cases:
                real = theirs(pattern, texts)
                rows = None if real is None else [[t, e] for t, e in zip(texts, real)]
                f.write(json.dumps([pattern, rows], ensure_ascii=True) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
