#!/usr/bin/env python3
"""Writes src/text/unicode_tables.c: the classes of characters as the tokenizers library knows them.

    tools/unicode_tables.py        needs the Python packages tokenizers and unicodedata2

The library's crates carry Unicode's tables of different years, so each class is asked of the library
itself, character by character: what its Digits, Punctuation, Whitespace, BertNormalizer,
StripAccents, Lowercase, NFKD and Precompiled do with it."""
import pathlib
import struct

import tokenizers
import unicodedata2
from tokenizers import normalizers, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHARS = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]


def ranges(belongs):
    """First and last characters of the runs of CHARS that belong."""
    found = []
    for c in CHARS:
        if not belongs(c):
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def one_letter_map():
    """A precompiled character map that makes "b" of "a", and of a cluster that begins with it."""
    units = [0] * 0x400
    units[0] = 256 << 10
    units[0x161] = (0x161 ^ 0x200) << 10 | 1 << 8 | 0x61
    units[0x200] = 0x80000000
    trie = struct.pack("<%dI" % len(units), *units)
    return struct.pack("<I", len(trie)) + trie + b"b\0"


def bert(**on):
    settings = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**settings, **on})


def classes():
    digits = pre_tokenizers.Digits(individual_digits=True)
    punctuation = pre_tokenizers.Punctuation("isolated")
    words = pre_tokenizers.Whitespace()
    clean, plain = bert(clean_text=True), bert(strip_accents=True)
    accents = normalizers.StripAccents()
    cluster = normalizers.Precompiled(one_letter_map())
    nfd, nfkd = normalizers.NFD(), normalizers.NFKD()

    def is_frozen(c):
        char = chr(c)
        moves = nfd.normalize_str("\u0345" + char) != "\u0345" + char or char == "\u0345"
        return (unicodedata2.combining(char) and not moves) or (
            unicodedata2.normalize("NFKD", char) != char and nfkd.normalize_str(char) == char)

    yield "numeric", ranges(lambda c: len(digits.pre_tokenize_str(f"\x01{chr(c)}\x01")) == 3)
    yield "punctuation", ranges(lambda c: len(punctuation.pre_tokenize_str(f"\x01{chr(c)}\x01")) == 3)
    yield "word", ranges(lambda c: len(words.pre_tokenize_str(f"a{chr(c)}a")) == 1)
    yield "control", ranges(lambda c: clean.normalize_str(chr(c)) == "")
    yield "combining", ranges(lambda c: accents.normalize_str(chr(c)) == "")
    yield "nonspacing", ranges(lambda c: plain.normalize_str(chr(c)) == "")
    yield "frozen", ranges(is_frozen)
    yield "extending", ranges(lambda c: cluster.normalize_str("a" + chr(c)) == "b")


def lower_ranges():
    """[first, last, distance] of characters whose lower case is one other character."""
    lower = normalizers.Lowercase()
    found = []
    for c in CHARS:
        mapped = lower.normalize_str(chr(c))
        if len(mapped) != 1 or mapped == chr(c):
            continue
        distance = ord(mapped) - c
        last = found[-1] if found else [0, 0, 0, 0]
        if last[2] == distance and c - last[1] in (1, 2) and last[3] in (0, c - last[1]):
            last[1], last[3] = c, c - last[1]
        else:
            found.append([c, c, distance, 0])
    return found


def lines(items):
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            yield line
            line = "   "
        line += f" {item},"
    yield line


def main():
    out = [
        "/* Written by tools/unicode_tables.py from tokenizers " + tokenizers.__version__ + ": do not edit.",
        " *", " * Classes are runs of characters, {first, behind the last}. */",
        '#include "text/unicode_tables.h"', "", "/* clang-format off */"]
    for name, runs in classes():
        out += [f"static const uint32_t {name}[] = {{"]
        out += lines(f"{edge:#x}" for first, last in runs for edge in (first, last + 1))
        out += ["};"]
    out += ["const struct unicode_table unicode_tables[] = {"]
    names = ["numeric", "punctuation", "word", "control", "combining", "nonspacing", "frozen", "extending"]
    out += [f"    [UNICODE_{name.upper()}] = {{ {name}, COUNT_OF({name}) }}," for name in names] + ["};"]
    out += ["const struct unicode_lower unicode_tables_lower[] = {"]
    rows = lower_ranges()
    out += lines(f"{{ {a:#x}, {b:#x}, {d}, {max(step, 1)} }}" for a, b, d, step in rows)
    out += ["};", "const int unicode_tables_n_lower = COUNT_OF(unicode_tables_lower);", "/* clang-format on */", ""]
    (ROOT / "src/text/unicode_tables.c").write_text("\n".join(out))
    print(f"{len(out)} lines")


if __name__ == "__main__":
    main()
