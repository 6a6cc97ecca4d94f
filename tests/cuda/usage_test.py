"""Each kernel's registers, spilled bytes and static shared memory against stated limits.

usage: usage_test.py LIMITS FILE.usage...      (what nvcc said; none where it is not installed)
"""
import re
import shutil
import subprocess
import sys

ARCHITECTURES = {"sm_80", "sm_90"}
KERNEL = re.compile(
    r"Compiling entry function '(\w+)' for '(sm_\d+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads"
    r".*?Used (\d+) registers([^\n]*)", re.S)


def read_limits(path):
    """(pattern of names, registers, spilled bytes, static shared bytes), the first that fits counts."""
    fields = [line.split("#")[0].split() for line in open(path, encoding="utf-8")]
    return [(re.compile(f[0]), *map(int, f[1:])) for f in fields if f]


def names_of(mangled):
    if not shutil.which("c++filt") or not mangled:
        return mangled
    text = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True).stdout
    return [line.replace("void ", "").split("(")[0] for line in text.splitlines()]


def kernels_of(path):
    """(name, architecture, registers, spilled bytes, static shared bytes) of each kernel."""
    found = KERNEL.findall(open(path, encoding="utf-8").read())
    for name, row in zip(names_of([row[0] for row in found]), found):
        shared = re.search(r"(\d+) bytes smem", row[5])
        yield name, row[1], int(row[4]), int(row[2]) + int(row[3]), int(shared.group(1)) if shared else 0


def problems_of(kernel, limits):
    name, arch, *taken = kernel
    limit = next((row for row in limits if row[0].search(name)), None)
    if limit is None:
        yield f"{name}: limits.txt has no row for it"
    elif any(a > b for a, b in zip(taken, limit[1:])):
        yield f"{name} on {arch} takes {taken} (registers, spilled bytes, shared bytes), but limits.txt allows {list(limit[1:])}"


def say(test, problems):
    print(f"[ RUN      ] {test}")
    for problem in problems:
        print(f"  {problem}")
    print(f"[  FAILED  ] {test}" if problems else f"[       OK ] {test}")
    return bool(problems)


def main():
    limits, paths = read_limits(sys.argv[1]), sys.argv[2:]
    if not paths:
        print("[  REASON  ] cuda_usage: nvcc is not installed\n[  SKIPPED ] cuda_usage")
        return 77
    kernels, lost = [], []
    for path in paths:
        rows = list(kernels_of(path))
        kernels += rows
        missing = ARCHITECTURES - {row[1] for row in rows}
        lost += [f"{path}: nothing is said of {arch}" for arch in sorted(missing)]
    for row in sorted(kernels, key=lambda row: -row[2])[:12]:
        print("  %3d registers, %2d bytes spilled, %5d of shared memory on %s: %s" % (row[2], row[3], row[4], row[1], row[0]))
    failed = say("cuda_usage_is_known_for_each_architecture", lost)
    failed |= say("cuda_usage_is_within_limits", [p for row in kernels for p in problems_of(row, limits)])
    print(f"  {len(kernels)} kernels")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
