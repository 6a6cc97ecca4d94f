"""Breaks every rule of tidy.py once, in a tree of its own, and sees that each one is noticed."""
import os
import subprocess
import sys
import tempfile

TIDY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tidy.py")
FILES = {
    "src/LAYERS": "base:\ncore: base kv\nkv: base core\nsim: base\n",
    "src/base/ok.h": "/* A header without a fault. */\n#pragma once\nint ok_add(int a, int b);\n",
    "src/base/ok.c": "/* A file without a fault. */\n#include \"base/ok.h\"\n\nint ok_add(int a, int b)\n{\n"
                     "    return a + b; /* malloc( and rand( in words are no calls */\n}\n",
    "src/base/up.c": "/* Knows what lies above. */\n#include \"kv/kv.h\"\n",
    "src/core/util.c": "/* A name that says nothing. */\n",
    "src/kv/kv.h": "/* Does not compile alone. */\nint kv_size(size_t n);\n",
    "src/kv/pool.h": "/* Comes second in its own file. */\n#pragma once\n",
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


def run(root, *more):
    return subprocess.run([sys.executable, TIDY, root, *more], capture_output=True, text=True).stdout


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
    if passed or not is_quiet:
        print(out)
    for line in passed:
        print(f"not noticed: {line}")
    print(f"[{'       OK ' if not passed else '  FAILED  '}] tidy_notices_every_broken_rule")
    print(f"[{'       OK ' if is_quiet else '  FAILED  '}] tidy_is_quiet_about_what_is_well")
    return 1 if passed or not is_quiet else 0


if __name__ == "__main__":
    sys.exit(main())
