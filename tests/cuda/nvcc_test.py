"""Compiles every kernel with nvcc for sm_80 and sm_90, where nvcc is installed: no warning, no spill beyond the stated ones,
and no more registers and static shared memory than limits.txt allows.

usage: nvcc_test.py SOURCE_ROOT BUILD_FOLDER FILE.cu...      (writes BUILD_FOLDER/nvcc_report.txt)
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

ARCHITECTURES = ("80", "90")
FLAGS = ["-std=c++17", "-O3", "-fmad=false", "-Xptxas", "-v", "-Xcompiler", "-Wall,-Wextra", "-Werror", "all-warnings"]


def find_nvcc():
    places = [os.environ.get("NVCC"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"]
    return next((p for p in places if p and os.path.exists(p)), None)


def read_limits(path):
    """(pattern of kernel names, registers, spilled bytes, static shared bytes), the first that fits counts."""
    rows = []
    for line in open(path, encoding="utf-8"):
        fields = line.split("#")[0].split()
        if fields:
            rows.append((re.compile(fields[0]), *map(int, fields[1:])))
    return rows


def compile_file(nvcc, root, build, name):
    command = [nvcc] + FLAGS + [f"-I{root}/src"]
    for arch in ARCHITECTURES:
        command += ["-gencode", f"arch=compute_{arch},code=sm_{arch}"]
    command += ["-c", f"{root}/src/cuda/{name}", "-o", f"{build}/nvcc_{name}.o"]
    if shutil.which("ccache"):
        command.insert(0, "ccache")
    return subprocess.run(command, capture_output=True, text=True)


KERNEL = re.compile(
    r"Compiling entry function '(\w+)' for '(sm_\d+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads"
    r".*?Used (\d+) registers([^\n]*)", re.S)


def kernels_of(text):
    """(name, architecture, registers, spilled bytes, static shared bytes) of each kernel."""
    filt = shutil.which("c++filt")
    for name, arch, stores, loads, registers, rest in KERNEL.findall(text):
        if filt:
            name = subprocess.run([filt, name], capture_output=True, text=True).stdout.strip().split("(")[0]
        shared = re.search(r"(\d+) bytes smem", rest)
        yield name.replace("void ", ""), arch, int(registers), int(stores) + int(loads), int(shared.group(1)) if shared else 0


def main():
    root, build, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    nvcc = find_nvcc()
    if nvcc is None:
        print("[  REASON  ] cuda_nvcc: nvcc is not installed\n[  SKIPPED ] cuda_nvcc")
        return 77
    limits = read_limits(f"{root}/tests/cuda/limits.txt")
    rows, problems = [], []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        runs = list(pool.map(lambda name: compile_file(nvcc, root, build, name), names))
    for name, run in zip(names, runs):
        if run.returncode != 0:
            problems.append(f"{name}: {run.stdout}{run.stderr}")
        rows += kernels_of(run.stdout + run.stderr)
    for name, arch, registers, spilled, shared in rows:
        limit = next((row for row in limits if row[0].search(name)), None)
        if limit is None:
            problems.append(f"{name}: limits.txt has no row for it")
        elif registers > limit[1] or spilled > limit[2] or shared > limit[3]:
            problems.append(f"{name} ({arch}): {registers} registers, {spilled} bytes spilled, {shared} bytes of shared memory; "
                            f"limits.txt allows {limit[1]}, {limit[2]}, {limit[3]}")
    with open(f"{build}/nvcc_report.txt", "w", encoding="utf-8") as out:
        out.write("registers  spilled  shared  arch   kernel\n")
        for name, arch, registers, spilled, shared in sorted(rows):
            out.write(f"{registers:9}  {spilled:7}  {shared:6}  {arch}  {name}\n")
    for test, bad in (("cuda_nvcc_compiles_kernels", [p for p in problems if ": " in p]),
                      ("cuda_nvcc_saw_kernels_for_both", [] if len(rows) >= 2 * len(names) else ["too few kernels"])):
        print(f"[ RUN      ] {test}")
        for problem in bad:
            print(f"  {problem}")
        print(f"[  FAILED  ] {test}" if bad else f"[       OK ] {test}")
    print(f"  {len(rows)} kernels; the report is {build}/nvcc_report.txt")
    return 1 if problems or len(rows) < 2 * len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
