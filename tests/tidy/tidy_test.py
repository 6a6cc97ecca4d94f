"""Breaks every rule of tidy.py once, in a tree of its own, and sees that each one is noticed."""
import os
import subprocess
import sys
import tempfile

import documents
import english

TIDY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tidy.py")
FILES = {
    "src/LAYERS": "base:\ncore: base kv\nkv: base core\nsim: base\n",
    "src/base/ok.h": "/* A header without a fault. */\n#pragma once\nint ok_add(int a, int b);\n",
    "src/base/ok.c": "/* A file without a fault. */\n#include \"base/ok.h\"\n\nint ok_add(int a, int b)\n{\n"
                     "    return a + b; /* malloc( and rand( in words are no calls */\n}\n",
    "src/base/up.c": "/* Knows what lies above. */\n#include \"kv/kv.h\"\n",
    "src/core/util.c": "/* A name that says nothing. */\n",
    "src/kv/kv.h": "/* Does not compile alone. */\nint kv_size(size_t n);\n",
    "src/kv/pool.h": "/* Comes second in its own file. */\n#pragma once\n#include \"kv/round.h\"\n",
    "src/kv/round.h": "/* Leads back to its reader. */\n#pragma once\n#include \"kv/pool.h\"\n",
    "src/kv/pool.c": "/* The wrong name goes out. */\n#include <stddef.h>\n#include \"kv/pool.h\"\n\nint wrong_name(void)\n{\n"
                     "    return 0;\n}\n",
    "src/kv/bad.c": "int no_caption;\n#ifdef X\n#endif\n/* TO" + "DO and " + "x" * 100 + " */\n"
                    "int kv_bad(int a, int b, int c, int d, int e, int f, int g)\n{\n    if (a)\n        if (b)\n"
                    "            if (c)\n                if (d)\n                    if (e)\n"
                    "                        return rand();\n" + "    a++;\n" * 70 + "    return g + f;\n}\n"
                    "/* /wo" + "rk/place */\n",
    "src/kv/a.h": "/* A circle: a knows b. */\n#pragma once\n#include \"kv/b.h\"\n",
    "src/kv/b.h": "/* And b's source knows a. */\n#pragma once\n",
    "src/kv/b.c": "/* Knows a. */\n#include \"kv/b.h\"\n#include \"kv/a.h\"\n",
    "src/odd/who.c": "/* Of all things, whoever reads it, be it anybody, in the place of somebody: NOTHING.md. */\n",
    "src/sim/long.c": "/* A file that never ends. */\n" + "\n" * 800,
    "docs/BAD.md": "# Bad\n\nOf `code`, " + "one word after another " * 8 + "ends. See [it](#nowhere) and `odd/gone.c`.\n",
}

# A comment -> how many faults of its English are found: each rule once, then sentences that are fine.
COMMENTS = {
    "Of two units the first.": 1, "Who waits is told.": 1, "Whose turn it is.": 1, "What is left.": 1, "Where it lies.": 1,
    "That is all.": 1, "It ends.\nNor does it begin.": 1, "Nobody reads it.": 1, "Whoever reads it, returns.": 1,
    "A value, be it small.": 1, "It holds so many bytes.": 1, "A zero in the place of a name.": 1,
    "Of these there is none that fits.": 2, "A list of which one is free.": 1, "Two lines.\n\n- Of the second.": 1,
    "Returns the items, each of which is free.": 0, "Of_two is a name.": 0, "of two units, at the end of a field": 0,
    "Returns false when that is all.": 0,
}


def english_is_read():
    """Each banned opening and phrase is found in C and in Python, strings and code are passed over, and rates are by room."""
    good = True
    for words, expected in COMMENTS.items():
        c = 'int of; /* ' + words + ' */\nconst char *text = "What /* Of */ is it";\n'
        python = '"""' + words + '"""\nWHAT = "Of all"  # and so on\n'
        for path, text in (("a.c", c), ("a.py", python)):
            found = list(english.comment_faults(path, text))
            if len(found) != expected:
                print(f"{path}: {words!r}: {found}, expected {expected}")
                good = False
    many = [("src/a", "src/a/a.c", "/* " + "one word " * 2000 + "who nobody */")]
    few = [("src/a", "src/a/a.c", "/* " + "one word " * 4000 + "who nobody */")]
    cited = "/* See docs/A.md, b.c, docs/NONE.md, gone.h, text/*.c and NAME.py. */"
    missing = list(english.citation_faults("c.c", cited, ["docs/A.md", "src/x/b.c"]))
    return good and list(english.pronoun_faults(many)) and not list(english.pronoun_faults(few)) and len(missing) == 2


def run(root, *more):
    return subprocess.run([sys.executable, TIDY, root, *more], capture_output=True, text=True).stdout


# A line of a document -> what is wrong with it; None: it is well.
DOCUMENT_LINES = {
    "One word after another " * 7 + "makes a long sentence.": "a sentence of",
    "It is short. " * 7: "sentences in a paragraph",
    "Of these it is one.": "opens with",
    "What is it?": None,
    "It goes in the place of another.": "in the place of",
    "Nothing for nobody, and nothing for somebody.": "of who, nobody",
    "It is [here](../gone.md).": "which is not in the tree",
    "It is [there](#nowhere).": "no heading #nowhere",
    "It is [above](#a-heading).": None,
    "It lies in `odd/gone.c`.": "cites odd/gone.c",
    "It lies in `room/there.c`.": None,
    "    of code nothing is read " + "word " * 40: None,
    "| of a table nothing is read | " + "word " * 40 + "|": None,
    "**A lead.** " + "It is short. " * 6: None,
}


def unnoticed_in_documents():
    """The lines of documents with a fault that is not noticed, or noticed without one."""
    for line, fault in DOCUMENT_LINES.items():
        found = list(documents.faults("none.md", f"# A heading\n\n{line}\n", ["src/room/there.c"]))
        if len(found) != (fault is not None) or (fault and fault not in found[0]):
            yield f"{line[:60]}: {found}"


def main():
    with tempfile.TemporaryDirectory() as root:
        for path, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            open(os.path.join(root, path), "w", encoding="utf-8").write(text)
        os.makedirs(os.path.join(root, "tests/tidy"))
        open(os.path.join(root, "tests/tidy/untested.txt"), "w", encoding="utf-8").close()
        build = os.path.join(root, "build/src/kv")
        os.makedirs(build)
        subprocess.run(["gcc", "-I", os.path.join(root, "src"), "-c", os.path.join(root, "src/kv/pool.c"), "-o",
                        os.path.join(build, "pool.c.o")], check=True)
        subprocess.run(["ar", "rc", os.path.join(build, "libkv.a"), os.path.join(build, "pool.c.o")], check=True)
        out = run(root, os.path.join(root, "build"))
    passed = [line for line in out.splitlines() if line.startswith("[       OK ]")]
    is_quiet = "src/base/ok" not in out.replace("src/base/ok.c: no tests", "")
    unnoticed = list(unnoticed_in_documents())
    if passed or not is_quiet:
        print(out)
    for line in unnoticed:
        print(f"in a document: {line}")
    for line in passed:
        print(f"not noticed: {line}")
    print(f"[{'       OK ' if not passed else '  FAILED  '}] tidy_notices_every_broken_rule")
    print(f"[{'       OK ' if is_quiet else '  FAILED  '}] tidy_is_quiet_about_what_is_well")
    print(f"[{'       OK ' if not unnoticed else '  FAILED  '}] tidy_notices_faults_of_documents")
    is_read = english_is_read()
    print(f"[{'       OK ' if is_read else '  FAILED  '}] tidy_reads_the_english_of_comments")
    return 1 if passed or not is_quiet or unnoticed or not is_read else 0


if __name__ == "__main__":
    sys.exit(main())
