"""The style guide as a test: each rule prints one line, a broken one with the places.

usage: tidy.py SOURCE_ROOT [BUILD_ROOT]      (the names of exported symbols are read from the libraries in BUILD_ROOT)
"""
import collections
import glob
import os
import re
import subprocess
import sys

import documents
import english

ROOT = sys.argv[1]
BUILD = sys.argv[2] if len(sys.argv) > 2 else None
os.chdir(ROOT)

# --- the numbers -----------------------------------------------------------------------------------------------------

FUNCTION_LINES_MAX = 70
KERNEL_LINES_MAX = 120
KERNEL_ROOMS = ("cpu", "compute", "cuda")
FILE_LINES_WARN = 500
FILE_LINES_MAX = 700
HEADER_LINES_MAX = 200
COLUMNS_MAX = 100
PARAMETERS_MAX = 6
NESTING_MAX = 4
ROOM_PERCENT_MAX = 12  # of the lines of src/
ROOM_LINES_MAX = {"cmd": 6000}  # a thin file a verb, and the wire

# --- exceptions, each with its reason --------------------------------------------------------------------------------

MAY_USE_IF = {"src/base/base.h", "src/cpu/isa.c", "src/cmd/wire.c", "src/cuda/launch.cuh", "src/cuda/ptx.cuh"}
FLAT_ROOMS = {"base", "core"}  # their names drop the room
MORE_PREFIXES = {  # what a header offers beside its own name
    "base/half.c": ["bf16"],
    "base/status.c": ["fault"],
    "base/str.c": ["view", "utf8", "parse"],
    "base/team.c": ["thread", "lock"],
    "cmd/main.c": ["main"],
    "cmd/wire_join.c": ["wire"],
    "kv/shape.c": ["kv_choose"],
    "sim/run.c": ["sim"],
}
DECIDING_ROOMS = ("kv", "predict", "schedule", "route", "place", "engine", "cluster", "workload", "sim")

# A call -> (what to use instead, where it is allowed). A place is a room or a file.
BANNED = {
    "strcpy": ("str_add", ()),
    "strcat": ("str_add", ()),
    "strncpy": ("str_add", ()),
    "sprintf": ("snprintf or str_printf", ()),
    "vsprintf": ("vsnprintf", ()),
    "gets": ("nothing", ()),
    "alloca": ("memory taken at start", ()),
    "rand": ("base/rng.h", ()),
    "srand": ("base/rng.h", ()),
    "random": ("base/rng.h", ()),
    "time": ("base/time.h", ()),
    "gettimeofday": ("base/time.h", ()),
    "clock_gettime": ("base/time.h", ("src/base/time.c",)),
    "malloc": ("base/mem.h, a pile or slots", ("src/base/mem.c",)),
    "calloc": ("base/mem.h, a pile or slots", ("src/base/mem.c",)),
    "realloc": ("base/mem.h, a pile or slots", ("src/base/mem.c",)),
    "free": ("mem_give", ("src/base/mem.c",)),
    "strdup": ("mem_copy_text", ()),
    "pthread_create": ("thread_start or team_open", ("src/base/team.c",)),
    "pthread_mutex_lock": ("lock_take, or a ring", ("src/base/team.c",)),
    "exit": ("a status", ("src/cmd/",)),
}
DECIDING_BANNED = {name: ("base/num.h: libm differs between machines", ()) for name in
                   ("exp", "expf", "exp2", "log", "logf", "log2", "log10", "pow", "powf", "tanh")}
# Rooms whose files may include each other in a circle.
CIRCLES = {"cpu"}
POLICY_ROOMS = {"route", "schedule"}
BAD_FILE_NAMES = {"util", "utils", "helper", "helpers", "common", "misc"}

# --- reading ---------------------------------------------------------------------------------------------------------


class Source:
    """A file, its lines, and the same lines without comments and without the insides of strings."""

    def __init__(self, path):
        self.path = path
        self.text = open(path, encoding="utf-8", errors="replace").read()
        self.lines = self.text.splitlines()
        self.code = strip(self.text).splitlines() if path.endswith((".c", ".h", ".cu", ".cuh")) else self.lines
        parts = path.split("/")
        self.top, self.room = parts[0], parts[1] if len(parts) > 2 else ""
        self.stem = os.path.splitext(parts[-1])[0]


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def strip(text):
    def blank(match):
        token = match.group(0)
        if token[0] == "/":
            return re.sub(r"[^\n]", " ", token)
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        return token if line.lstrip().startswith("#include") else token[0] + token[0]
    return TOKEN.sub(blank, text)


def tracked(*endings):
    """The files of the tree: those that git knows or would add; all, where git is absent."""
    try:
        listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
        names = listing.stdout.split("\n") if listing.returncode == 0 else []
    except FileNotFoundError:
        names = []
    if not names:
        names = [os.path.join(d, f)[2:] for d, _, fs in os.walk(".") for f in fs
                 if not d.startswith(("./build", "./.git"))]
    return sorted(n for n in names if n.endswith(endings) and os.path.isfile(n))


SOURCES = [Source(p) for p in tracked(".c", ".h", ".cu", ".cuh") if p.startswith(("src/", "tests/", "bench/"))]
SRC = [s for s in SOURCES if s.top == "src"]

RULES = []


def rule(function):
    RULES.append(function)
    return function


def warn(words):
    print(f"  note: {words}")


# --- the rules -------------------------------------------------------------------------------------------------------


def read_layers():
    rows = {}
    for line in open("src/LAYERS", encoding="utf-8"):
        line = line.split("#")[0].strip()
        if line:
            room, _, below = line.partition(":")
            rows[room.strip()] = below.split()
    return rows


@rule
def layers_are_kept():
    layers = read_layers()
    for source in SRC:
        allowed = layers.get(source.room)
        if allowed is None:
            yield f"{source.path}: the room {source.room} has no row in src/LAYERS"
            continue
        for n, line in enumerate(source.code, 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            room = match.group(1).split("/")[0]
            if "/" not in match.group(1):
                yield f'{source.path}:{n}: write the room: "{source.room}/{match.group(1)}"'
            elif room != source.room and room not in allowed:
                yield f"{source.path}:{n}: {source.room} may not know {room}"


@rule
def architecture_shows_every_room():
    """docs/ARCHITECTURE.md has each room in a table, and on a floor above all rooms that it may include."""
    path, layers = "docs/ARCHITECTURE.md", read_layers()
    text = open(path, encoding="utf-8").read()
    floors = text.partition("only rooms on lower floors:\n\n")[2].partition("\n\n")[0].splitlines()
    floor_of = {room: -n for n, line in enumerate(floors) for room in line.split()}
    for room, below in layers.items():
        if f"| `{room}` |" not in text:
            yield f"{path}: the room {room} has no row"
        if room not in floor_of:
            yield f"{path}: the room {room} has no floor"
        for other in below:
            if floor_of.get(other, 0) >= floor_of.get(room, 1):
                yield f"{path}: {room} may include {other}, which is not on a lower floor"
    for room in floor_of.keys() - layers.keys():
        yield f"{path}: there is no room {room} in src/LAYERS"


@rule
def layers_have_no_circle():
    layers = read_layers()
    done, path = set(), []

    def visit(room):
        if room in path:
            return f"src/LAYERS: a circle: {' -> '.join(path[path.index(room):] + [room])}"
        if room in done:
            return None
        path.append(room)
        found = next(filter(None, map(visit, layers.get(room, []))), None)
        path.pop()
        done.add(room)
        return found

    for room in layers:
        found = visit(room)
        if found:
            yield found


def circles_of(edges):
    """The sets of stems that lead to each other, each sorted (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(stem):
        index[stem] = low[stem] = len(index)
        stack.append(stem)
        for other in sorted(edges[stem]):
            if other not in index:
                visit(other)
                low[stem] = min(low[stem], low[other])
            elif other in stack:
                low[stem] = min(low[stem], index[other])
        if low[stem] == index[stem]:
            at = stack.index(stem)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for stem in sorted(edges):
        if stem not in index:
            visit(stem)
    return found


@rule
def files_of_a_room_have_no_circle():
    """A file is its x.c and x.h together."""
    edges = collections.defaultdict(lambda: collections.defaultdict(set))
    for source in SRC:
        for match in re.finditer(r'^\s*#\s*include\s+"(\w+)/(\w+)\.h"', "\n".join(source.code), re.M):
            room, stem = match.groups()
            edges[room][stem].update()
            if room == source.room and stem != source.stem:
                edges[room][source.stem].add(stem)
    for room in sorted(set(edges) - CIRCLES):
        for circle in circles_of(edges[room]):
            yield f"src/{room}: a circle of files: {', '.join(circle)}"


def exported():
    """(room, source file, symbol) for every symbol that a room's libraries define."""
    for library in sorted(glob.glob(os.path.join(BUILD, "src", "*", "*.a"))):
        room = library.split("/")[-2]
        listing = subprocess.run(["nm", "-A", "--defined-only", "-g", library], capture_output=True, text=True).stdout
        for line in listing.splitlines():
            fields = line.split()
            member = re.split(r"[:\[\]/]", fields[0].rstrip(":"))
            source = next((m[:-2] for m in reversed(member) if m.endswith((".c.o", ".cu.o"))), None)
            if source and len(fields) == 3 and not fields[2].startswith("_"):
                yield room, source, fields[2]


def stems_of(room, name, symbol):
    """The files that a symbol may be named after: the one that defines it, and the headers of its room that declare it."""
    declared = re.compile(rf"\b{symbol}\b")
    stems = [name.rsplit(".", 1)[0]]
    for source in SRC:
        if source.room == room and source.path.endswith(".h") and source.stem not in stems and \
                any(map(declared.search, source.code)):
            stems.append(source.stem)
    return stems


def prefixes_of(room, stem):
    """kv/pool.c: kv_pool_; pool_ too where no other room has such a file; the room's face or contract: kv_ alone."""
    if stem in (room, "policy"):
        return [room]
    if room in FLAT_ROOMS:
        return [stem]
    rooms = {s.room for s in SRC if s.stem == stem}
    return [f"{room}_{stem}"] + ([stem] if len(rooms) == 1 else [])


@rule
def path_is_the_name():
    if BUILD is None:
        return
    for room, name, symbol in exported():
        path = f"{room}/{name}"
        if not os.path.exists(f"src/{path}"):
            continue  # left over from an older tree
        prefixes = [p for stem in stems_of(room, name, symbol) for p in prefixes_of(room, stem)]
        prefixes += MORE_PREFIXES.get(path, [])
        if not any(symbol == p or symbol.startswith(p + "_") for p in prefixes):
            yield f"src/{path}: {symbol} should begin with {' or '.join(p + '_' for p in prefixes)}"
        elif re.search(r"_(get|do|handle|process)_", symbol):
            yield f"src/{path}: {symbol}: get, do, handle and process say nothing"


@rule
def file_names_say_something():
    for source in SRC:
        if source.stem in BAD_FILE_NAMES:
            yield f"{source.path}: what is in it?"


def functions(source):
    """(name, first line, length, signature) of each function definition: a "{" alone in the first column opens it."""
    start = None
    for i, line in enumerate(source.code):
        if line == "{":
            start = i
            while start > 0 and re.search(r"[^;}\s]\s*$", source.code[start - 1]) and \
                    not source.code[start - 1].startswith("#"):
                start -= 1
            body = i
        elif line.startswith("}") and start is not None:
            signature = " ".join(source.code[start:body])
            match = re.search(r"(\w+)\s*\(", signature)
            yield match.group(1) if match else "?", start + 1, i - start + 1, signature
            start = None


@rule
def functions_are_short():
    for source in SOURCES:
        limit = KERNEL_LINES_MAX if source.room in KERNEL_ROOMS else FUNCTION_LINES_MAX
        for name, line, length, _ in functions(source):
            if length > limit:
                yield f"{source.path}:{line}: {name} has {length} lines, at most {limit}"


def count_parameters(signature):
    inside = signature[signature.find("(") + 1:]
    depth, n = 0, 1
    for c in inside:
        if c == "(":
            depth += 1
        elif c == ")":
            if depth == 0:
                break
            depth -= 1
        elif c == "," and depth == 0:
            n += 1
    return n


@rule
def parameters_are_few():
    known = {"lsq_solve": "the pieces of one equation"}
    for source in SRC:
        for name, line, _, signature in functions(source):
            n = count_parameters(signature)
            if n > PARAMETERS_MAX and name not in known and source.room not in KERNEL_ROOMS:
                yield f"{source.path}:{line}: {name} has {n} parameters, at most {PARAMETERS_MAX}"


@rule
def nesting_is_flat():
    for source in SRC:
        for n, line in enumerate(source.code, 1):
            match = re.match(r"( *)(if|for|while|switch|do)\b", line)
            if match and len(match.group(1)) // 4 > NESTING_MAX:
                yield f"{source.path}:{n}: nested {len(match.group(1)) // 4} deep, at most {NESTING_MAX}"


@rule
def files_are_short():
    for source in SOURCES:
        n = len(source.lines)
        limit = HEADER_LINES_MAX if source.path.endswith(".h") and source.top == "src" else FILE_LINES_MAX
        if n > limit:
            yield f"{source.path}: {n} lines, at most {limit}"
        elif n > FILE_LINES_WARN:
            warn(f"{source.path}: {n} lines; above {FILE_LINES_WARN} a file asks to be cut")


@rule
def rooms_fit_on_a_page():
    lines = collections.Counter()
    for source in SRC:
        lines[source.room] += len(source.lines)
    for room, n in sorted(lines.items()):
        limit = ROOM_LINES_MAX.get(room, n)
        if n > limit:
            yield f"src/{room}: {n} lines, at most {limit}"
        if n * 100 > ROOM_PERCENT_MAX * lines.total():
            yield f"src/{room}: {n} lines of {lines.total()}, at most {ROOM_PERCENT_MAX} of 100"


@rule
def lines_are_short():
    for source in SOURCES:
        for n, line in enumerate(source.lines, 1):
            if len(line) > COLUMNS_MAX:
                yield f"{source.path}:{n}: {len(line)} columns, at most {COLUMNS_MAX}"


@rule
def banned_calls():
    everywhere = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
    deciding = re.compile(r"(?<![\w.>])(" + "|".join(DECIDING_BANNED) + r")\s*\(")
    for source in SRC:
        for n, line in enumerate(source.code, 1):
            found = [(m.group(1), BANNED) for m in everywhere.finditer(line)]
            if source.room in DECIDING_ROOMS:
                found += [(m.group(1), DECIDING_BANNED) for m in deciding.finditer(line)]
            for name, table in found:
                instead, places = table[name]
                if not any(source.path.startswith(place) for place in places):
                    yield f"{source.path}:{n}: {name}(): use {instead}"


@rule
def every_file_has_a_caption():
    for source in SOURCES:
        first = source.lines[0] if source.lines else ""
        if not re.match(r"/\* \S+ \S+", first):
            yield f'{source.path}:1: the first line is the caption: "/* What this file is for."'
    for path in tracked(".py"):
        lines = open(path, encoding="utf-8").read().split("\n")
        first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
        if not re.match(r'("""|# )\S+', first):
            yield f"{path}:1: the first line says what the file is for"


@rule
def headers_are_included_once():
    for source in SRC:
        if source.path.endswith(".h") and "#pragma once" not in source.text:
            yield f"{source.path}: #pragma once"


@rule
def own_header_comes_first():
    for source in SRC:
        own = f"{source.room}/{source.stem}.h"
        includes = [m.group(1) for m in re.finditer(r'^\s*#\s*include\s+[<"]([^>"]+)', "\n".join(source.code), re.M)]
        if source.path.endswith(".c") and own in includes and includes[0] != own:
            yield f'{source.path}: "{own}" comes first, which proves that it compiles alone'


@rule
def headers_compile_alone():
    headers = [s.path for s in SRC if s.path.endswith(".h") and s.room != "cuda"]
    flags = ["gcc", "-std=c17", "-D_GNU_SOURCE", "-Isrc", "-fsyntax-only", "-w", "-x", "c"]
    halves = [headers[0::2], headers[1::2]]  # two compilers side by side
    running = [subprocess.Popen(flags + h, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
               for h in halves if h]
    for process in running:
        errors = process.communicate()[1]
        for line in errors.splitlines():
            if "error:" in line:
                yield line


@rule
def nothing_is_left_for_later():
    words = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    for path in tracked(".c", ".h", ".cu", ".py", ".sh", "meson.build", "dev", "run"):
        for n, line in enumerate(open(path, encoding="utf-8", errors="replace"), 1):
            match = words.search(line)
            if match:
                yield f"{path}:{n}: {match.group(1)}: do it, or write down why not"


def read_untested():
    rows = {}
    for line in open("tests/tidy/untested.txt", encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            path, _, reason = line.partition(":")
            rows[path.strip()] = reason.strip()
    return rows


@rule
def every_source_file_has_a_test_file():
    untested = read_untested()
    tests = {s.path for s in SOURCES if s.top == "tests"}
    for source in SRC:
        if not source.path.endswith(".c"):
            continue
        short = f"{source.room}/{source.stem}.c"
        places = [f"tests/{source.room}/{source.stem}_test.c", f"tests/policy/{source.stem}_test.c",
                  f"tests/ops/{source.stem}_test.c", f"tests/ops/{source.room}_{source.stem}_test.c"]
        if source.room in POLICY_ROOMS:  # a policy of a family, as db_share of db: the family's test has it
            places.append(f"tests/{source.room}/{source.stem.split('_')[0]}_test.c")
        has_test = any(p in tests for p in places)
        if not has_test and not untested.get(short):
            yield f"{source.path}: no {places[0]}, and no reason in tests/tidy/untested.txt"
        elif has_test and short in untested:
            yield f"tests/tidy/untested.txt: {short} has a test now"
    for short in untested:
        if not os.path.exists(f"src/{short}"):
            warn(f"tests/tidy/untested.txt: {short} does not exist (yet)")


@rule
def no_preprocessor_forks():
    for source in SRC:
        if source.path in MAY_USE_IF:
            continue
        for n, line in enumerate(source.code, 1):
            if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line):
                yield f"{source.path}:{n}: #if only in {', '.join(sorted(MAY_USE_IF))}"


@rule
def no_machine_is_named():
    places = re.compile(r"(?<![\w.])/(wo" + r"rk|ro" + r"ot|ho" + r"me/\w+)/")
    for path in tracked(".c", ".h", ".cu", ".py", ".sh", ".md", ".txt", ".build", ".yaml", ".yml", ".json", "dev", "run"):
        if os.path.getsize(path) > 1 << 20:
            continue
        for n, line in enumerate(open(path, encoding="utf-8", errors="replace"), 1):
            match = places.search(line)
            if match:
                yield f"{path}:{n}: {match.group(0)} is somebody's machine"


# Rooms with comments that are still to be rewritten; to be emptied.
ENGLISH_TO_DO = {"tests/cluster", "tests/engine", "tests/route", "tests/schedule"}


def commented():
    """(room, path, text) of each file of src and tests with comments; tidy's own files name what they ban."""
    for path in tracked(".c", ".h", ".cu", ".cuh", ".py"):
        parts = path.split("/")
        if parts[0] in ("src", "tests") and not path.startswith("tests/tidy/"):
            room = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
            yield room, path, open(path, encoding="utf-8", errors="replace").read()


@rule
def comments_are_plain_english():
    done = [found for found in commented() if found[0] not in ENGLISH_TO_DO]
    for _, path, text in done:
        yield from english.comment_faults(path, text)
    yield from english.pronoun_faults(done)


@rule
def comments_cite_what_is_there():
    files = tracked("")
    for room, path, text in commented():
        if room not in ENGLISH_TO_DO:
            yield from english.citation_faults(path, text, files)


@rule
def documents_are_plain_english():
    files = tracked("")
    for path in tracked(".md"):
        yield from documents.faults(path, open(path, encoding="utf-8").read(), files)


def main():
    n_failed = 0
    for check in RULES:
        name = f"tidy_{check.__name__}"
        print(f"[ RUN      ] {name}")
        problems = list(check())
        by_file = collections.Counter(p.split(":")[0] for p in problems)
        for problem in problems[:60]:
            print(f"  {problem}")
        if len(problems) > 60:
            print(f"  ... {len(problems)} places in {len(by_file)} files")
        print(f"[  FAILED  ] {name}" if problems else f"[       OK ] {name}")
        n_failed += bool(problems)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
