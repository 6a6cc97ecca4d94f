"""Plants faults into the kernels, one at a time, and runs the test program that must find each.

usage: planted.py SOURCE_ROOT BUILD_ROOT [number...]

A fault is a piece of a kernel's source and what replaces it. The mutated file is compiled with the command of the real one
and linked in its place. The same build without the fault must pass, so that it is the fault that fails. The programs whose names end in _race look for missing barriers.
"""
import json
import os
import shlex
import subprocess
import sys

FAULTS = [  # what it is, file, a piece of it, what replaces it, the program that finds it
    ("a missing barrier between filling a stage and reading it", "tile_blocks.cu",
     "__syncthreads(); /* the other stage's readers are done as well */", "", "matrix_race"),
    ("a copy that is not waited for", "tile_halves.cu", "ptx_copy_wait<STAGES - 2>();", "ptx_copy_wait<STAGES - 1>();", "matrix"),
    ("a stage that is filled while it is read", "tile_halves.cu", "(step + STAGES - 1) % STAGES * STAGE_BYTES;",
     "(step + STAGES) % STAGES * STAGE_BYTES;", "matrix_race"),
    ("a missing barrier ahead of the next keys", "attend_tiles.cu", "__syncthreads(); /* all are done with the keys */", "",
     "attend_race"),
    ("a missing barrier ahead of the next values", "attend_tiles.cu", "__syncthreads(); /* all are done with the values */", "",
     "attend_race"),
    ("a missing barrier between weights and values", "attend.cu", "__syncthreads(); /* weights are there */", "", "attend_race"),
    ("a missing barrier of a warp", "heads.cu", "        x[i] = x[i] * inverse * weight[i];\n    __syncwarp();",
     "        x[i] = x[i] * inverse * weight[i];", "heads_race"),
    ("sums that are written again too early", "rows.cu", "__syncthreads(); /* sums may be written again */", "", "rows_race"),
    ("a row behind the last one", "few.cu", "output < p.weight.n_rows && row < p.n_rows)", "output < p.weight.n_rows)", "matrix"),
    ("an output behind the last one", "tile_blocks.cu", "if (out < p.weight.n_rows)", "if (true)", "matrix"),
    ("the other sub-block's columns", "tile_blocks.cu", "a[2 - 2 * s] = a[3 - 2 * s] = 0;", "a[2 * s] = a[1 + 2 * s] = 0;",
     "matrix"),
    ("another layer's block", "cache.cuh", "layer_head * sequence.stride", "head * sequence.stride", "heads"),
    ("a stale position behind the row's own", "attend.cuh", "item.sequence.n_before + item.row - item.sequence.first_row",
     "item.sequence.n_before + item.row - item.sequence.first_row + 1", "attend"),
    ("a window that is one position too long", "attend.cuh", "last - v.window + 1 > 0 ? last - v.window + 1", "last - v.window > 0 ? last - v.window",
     "attend"),
    ("a piece that is not merged", "attend.cu", "for (int i = 1; i < n_pieces; i++) {", "for (int i = 2; i < n_pieces; i++) {", "attend"),
    ("a piece in another one's place", "attend.cu", "int slot = item.piece - item.first / CUDA_PIECE;",
     "int slot = blockIdx.x;", "attend"),
    ("one candidate too many among equals", "draw.cu", "rank < n_at", "rank <= n_at", "draw"),
    ("a missing barrier ahead of the walk over tiles", "draw.cu", "    __syncthreads();\n    if (threadIdx.x == 0) {\n        int equal_weight",
     "    if (threadIdx.x == 0) {\n        int equal_weight", "draw_race"),
    ("a missing barrier ahead of the fold over warps", "few_tiles.cu", "    __syncthreads();\n", "", "matrix_race"),
    ("a missing barrier ahead of the fold over warps", "few_halves.cu", "    __syncthreads();\n", "", "matrix_race"),
    ("a partial sum that is added twice", "few_tiles.cu", "warp + 8 * half_of + 16", "warp + 8 * half_of", "matrix"),
    ("columns behind the last one", "few_halves.cu", "bool is_in = eight + t < n_eights;", "bool is_in = true;", "matrix"),
    ("a graph with the addresses of another cache", "graphs.c", "is_same_cache(&a->cache, &b->cache)", "true", "graphs"),
    ("a graph whose inputs moved", "pass.c", "ops->is_step ? ops->n_rows : pass->n_sequences", "pass->n_sequences", "graphs"),
    ("keys of a row that fills up a batch", "heads.cu", "    if (index < 0)\n        return;\n", "", "graphs"),
    ("a sum of half a block", "matrix.cu", "sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);", "", "matrix"),
]


def mutated(root, name, old, new):
    text = open(f"{root}/src/cuda/{name}", encoding="utf-8").read()
    if text.count(old) != 1:
        raise SystemExit(f"planted.py: {name} has {text.count(old)} times: {old}")
    return text.replace(old, new)


def run(command, folder, seconds=100):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, shell=isinstance(command, str), timeout=seconds)


class Build:
    def __init__(self, root, build):
        self.root, self.build = os.path.abspath(root), os.path.abspath(build)
        self.commands = json.load(open(f"{build}/compile_commands.json", encoding="utf-8"))

    def plant(self, fault, place):
        """Builds the program with the fault in it; returns its path, or says why there is none."""
        _, name, old, new, program = fault
        mode = "_race" if program.endswith("_race") else ""
        units = self.users_of(name) if name.endswith(".cuh") else [name]
        os.makedirs(f"{place}/cuda", exist_ok=True)
        open(f"{place}/cuda/{name}", "w", encoding="utf-8").write(mutated(self.root, name, old, new))
        objects = []
        for unit in units:
            if unit != name:
                open(f"{place}/cuda/{unit}", "w", encoding="utf-8").write(open(f"{self.root}/src/cuda/{unit}", encoding="utf-8").read())
            objects.append(self.compile(unit, mode, place))
        link = run(f"ninja -t commands tests/cuda/{program.replace('_race', '')}_test{mode} | tail -1", self.build).stdout.strip()
        out = f"{place}/{program}"
        words = shlex.split(link)
        words[words.index("-o") + 1] = out
        at = next(i for i, word in enumerate(words) if word.endswith(".c.o") or word.endswith(".cpp.o"))
        result = run(words[:at] + objects + words[at:], self.build)
        if result.returncode != 0:
            raise SystemExit(f"planted.py: {result.stderr}")
        return out

    def users_of(self, header):
        """The kernel files that include a header, directly or by way of attend.cuh."""
        users = [n for n in sorted(os.listdir(f"{self.root}/src/cuda")) if n.endswith(".cu")]
        names = {header} | ({"attend.cuh"} if header == "cache.cuh" else set())
        return [n for n in users if any(f'"cuda/{h}"' in open(f"{self.root}/src/cuda/{n}", encoding="utf-8").read() for h in names)]

    def compile(self, unit, mode, place):
        is_kernel = unit.endswith(".cu")
        wrapped = unit.replace(".", "_") + mode + ".cpp" if is_kernel else "src/cuda/" + unit
        entry = next(c for c in self.commands if c["file"].endswith("/" + wrapped))
        words = shlex.split(entry["command"])
        words[words.index("-c") + 1] = f"{place}/cuda/{unit}"
        words[words.index("-o") + 1] = f"{place}/{unit}.o"
        words = [w for w in words if w not in ("-MD", "-Werror")]
        at = words.index("-c")
        words[at:at] = ["-x", "c++"] if is_kernel else []
        words.insert(2 if words[0].endswith("ccache") else 1, f"-I{place}")
        for flag in ("-MQ", "-MF"):
            i = words.index(flag)
            del words[i:i + 2]
        result = run(words, self.build)
        if result.returncode != 0:
            raise SystemExit(f"planted.py: {' '.join(words)}\n{result.stderr}")
        return f"{place}/{unit}.o"


def main():
    build = Build(sys.argv[1], sys.argv[2])
    chosen = [int(n) for n in sys.argv[3:]] or range(len(FAULTS))
    n_missed, passing = 0, set()
    for n in chosen:
        fault = FAULTS[n]
        place = f"{build.build}/tests/cuda/planted/{n}"
        pair = (fault[1], fault[4])
        if pair not in passing:
            whole = run([build.plant(fault[:3] + (fault[2], fault[4]), place)], place)
            if whole.returncode != 0:
                raise SystemExit(f"planted.py: {pair}: fails without a fault\n{whole.stdout}{whole.stderr}")
            passing.add(pair)
        program = build.plant(fault, place)
        result = run([program], place)
        is_found = result.returncode != 0
        n_missed += not is_found
        text = result.stderr + result.stdout
        words = next((line for line in text.splitlines() if "race on" in line or "ERROR" in line or "emulate:" in line), "")
        print(f"[{'       OK' if is_found else '  FAILED '} ] planted_{n}: {fault[0]} ({fault[1]}, {fault[4]}): {words[:150]}", flush=True)
    print(f"{len(chosen) - n_missed} of {len(chosen)} planted faults were found")
    return 1 if n_missed else 0


if __name__ == "__main__":
    sys.exit(main())
