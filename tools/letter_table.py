"""Writes src/template/jinja_letter_table.h: what Python's str methods know of letters and utf8proc's simple mappings do not.

    tools/letter_table.py [OUT]

The facts are those of the Unicode Character Database (SpecialCasing.txt, PropList.txt, Unihan's numeric values), as
Python's unicodedata has them; letters that need more than one letter in upper or title case, and ranges of properties
that no general category tells.
"""
import pathlib
import sys
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent


def letters():
    for c in range(0x110000):
        if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) != "Cn":
            yield chr(c)


def ranges(holds):
    found = []
    for letter in letters():
        if not holds(letter):
            continue
        if found and found[-1][1] == ord(letter) - 1:
            found[-1][1] = ord(letter)
        else:
            found.append([ord(letter), ord(letter)])
    return found


def rows(items, per_line):
    lines = [", ".join(items[i:i + per_line]) for i in range(0, len(items), per_line)]
    return ",\n".join(f"    {line}" for line in lines)


def casing(letter):
    def codes(text):
        return "{ " + ", ".join(f"0x{ord(c):04X}" for c in text) + " }"
    return f"{{ 0x{ord(letter):04X}, {codes(letter.upper())}, {codes(letter.title())} }}"


def table(name, comment, holds):
    items = [f"{{ 0x{a:04X}, 0x{b:04X} }}" for a, b in ranges(holds)]
    return (f"/* {comment} */\nstatic const struct letter_range {name}[] = {{\n"
            f"{rows(items, 4)},\n}};\n")


def main():
    category = unicodedata.category
    special = [casing(c) for c in letters() if len(c.upper()) > 1 or len(c.title()) > 1]
    ignorable = "'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
    text = f'''/* Letters whose case and kind no category and no simple mapping tells.
 * Written by tools/letter_table.py from the Unicode Character Database. */
#pragma once
#include "base/base.h"

struct letter_range {{
    uint32_t first, last;
}};
struct letter_casing {{
    uint32_t letter, upper[3], title[3];
}};
/* clang-format off */
/* Letters with more than one letter in upper or title case. */
static const struct letter_casing special_casing[] = {{
{rows(special, 1)},
}};
'''
    text += table("other_lower", "Lowercase that is not of category Ll.",
                  lambda c: c.islower() and category(c) != "Ll")
    text += table("other_upper", "Uppercase that is not of category Lu.",
                  lambda c: c.isupper() and category(c) != "Lu")
    text += table("other_digit", "Digits that are not of category Nd.",
                  lambda c: c.isdigit() and category(c) != "Nd")
    text += table("other_numeric", "Letters that stand for numbers.",
                  lambda c: c.isnumeric() and category(c)[0] != "N")
    text += table("other_ignorable", "What a final sigma looks past, besides marks, modifiers and formats.",
                  lambda c: c in ignorable)
    text += "/* clang-format on */\n"
    out = sys.argv[1] if len(sys.argv) > 1 else ROOT / "src/template/jinja_letter_table.h"
    pathlib.Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
