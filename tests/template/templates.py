"""Renders random templates with random conversations beside Python's jinja2 as transformers configures it.

    templates.py RENDERINGS [N] [FIRST_SEED] [FOLDER]
    templates.py RENDERINGS store       makes tests/golden/data/templates_random.jsonl, which `renderings check` reads

A tenth of the N renderings are whole templates of models: those of tools/chat_templates.py, and the files *.jinja of a folder.
Each rendering is equal, or fails in both, or is refused here by name, or exceeds one of the bounds here. Anything else is a
silent difference: it is printed, and the run fails. The counts are printed in any case.
"""
import collections
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import chat_templates  # noqa: E402
import template_golden  # noqa: E402
import template_random  # noqa: E402

SHOWN_MAX = 10
N_STORED, STORED_BYTES_MAX = 500, 700
RENDER_SECONDS_MAX = 10


def reference(env, source, context):
    """("ok", text) or ("error", what), with a bound on the time."""
    def stop(*_):
        raise TimeoutError("too long")
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(RENDER_SECONDS_MAX)
    try:
        text = env.from_string(source).render(**context)
        text.encode()
        return "ok", text
    except Exception as error:  # whatever Python raises is an error of the template
        return "error", f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def ours(program, cases):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for _, source, context in cases:
            file.write(json.dumps({"template": source, "context": context, "time": template_golden.NOW}) + "\n")
        file.flush()
        run = subprocess.run([program, file.name], capture_output=True)
    lines = run.stdout.decode("utf-8", "surrogatepass").split("\n")[:-1]
    if run.returncode != 0 or len(lines) != len(cases):
        sys.exit(f"{program} ended with {run.returncode} after {len(lines)} of {len(cases)} templates: "
                 f"{cases[min(len(lines), len(cases) - 1)][:2]!r}\n{run.stderr.decode()[-2000:]}")
    return [json.loads(line) for line in lines]


# Values of each type that templates meet; their attributes are those of Python's.
VALUES = {"str": "''", "list": "[]", "dict": "{}", "tuple": "()", "int": "1", "float": "1.5", "bool": "true", "None": "none",
          "range": "range(3)", "keys": "{}.keys()", "values": "{}.values()", "items": "{}.items()", "markup": "''|safe",
          "namespace": "namespace()", "cycler": "cycler(1)", "joiner": "joiner()", "undefined": "undefined_name",
          "method": "''.upper", "function": "raise_exception", "type": "dict"}


def attributes(env, text):
    """Names of a value of the reference, and of a loop's and a macro's."""
    seen = []
    env.globals["look"] = lambda value: seen.extend(name for name in dir(value) if not name.startswith("_"))
    try:
        env.from_string(text).render()
    finally:
        del env.globals["look"]
    return seen


def account(program, env):
    """Each filter, test, global and attribute of the reference: as there, or refused by name here. How many are neither."""
    cases = [("filters", name, "{{ ('1'|%s) is defined }}" % name) for name in sorted(env.filters)]
    cases += [("tests", name, "{{ 'a' is %s }}" % name) for name in sorted(env.tests) if name.isalpha()]
    cases += [("globals", name, "{{ %s is defined }}" % name) for name in sorted(env.globals)]
    for kind, text in VALUES.items():
        cases += [(kind, name, "{{ (%s).%s is defined }}" % (text, name)) for name in attributes(env, "{{ look(%s) }}" % text)]
    cases += [("loop", name, "{%% for x in [1] %%}{{ loop.%s is defined }}{%% endfor %%}" % name)
              for name in attributes(env, "{% for x in [1] %}{{ look(loop) }}{% endfor %}")]
    cases += [("macro", name, "{%% macro m() %%}{%% endmacro %%}{{ m.%s is defined }}" % name)
              for name in attributes(env, "{% macro m() %}{% endmacro %}{{ look(m) }}")]
    refused, n_missing = collections.defaultdict(list), 0
    for (kind, name, source), (status, text) in zip(cases, ours(program, [("", source, {}) for *_, source in cases])):
        expected = reference(env, source, {})
        is_known = "no filter named" not in text and "no test named" not in text
        if status == "refused":
            refused[kind].append(name)
        elif not is_known or status != expected[0] or (status == "ok" and text != expected[1]):
            n_missing += 1
            print(f"{kind}: {name} is {text!r} here, and {expected[1]!r} there")
    for kind, n in collections.Counter(kind for kind, *_ in cases).items():
        names = " ".join(refused[kind]) if len(refused[kind]) < n else "all of them"
        print(f"{kind}: {n}" + (f", of which are refused by name: {names}" if refused[kind] else ""))
    return n_missing


def make_cases(n, first, folder, names):
    """[(name, source, context)]"""
    whole = [(name, source) for name, (source, *_) in chat_templates.TEMPLATES.items()]
    if folder:
        whole += [(path.name, path.read_text(encoding="utf-8")) for path in sorted(pathlib.Path(folder).glob("**/*.jinja"))]
    cases = []
    for k in range(n):
        seed = first + k
        if k % 10 == 0:
            name, source = whole[k // 10 % len(whole)]
            cases.append((f"{name} {seed}", source, template_random.conversation(seed)))
        else:
            cases.append((f"seed {seed}", *template_random.case(seed, *names)))
    return cases


def store(env, program, names):
    """Stores for each case the variables that its template names, and Python's rendering; for one that is refused here, only the refusal."""
    path, n_stored = ROOT / "tests/golden/data/templates_random.jsonl", collections.Counter()
    cases = [(source, {k: v for k, v in context.items() if re.search(rf"\b{k}\b", source)})
             for _, source, context in make_cases(2 * N_STORED, 0, None, names) if len(source) < STORED_BYTES_MAX]
    with open(path, "w", encoding="utf-8") as file:
        for (source, context), (status, _) in zip(cases, ours(program, [("", *case) for case in cases])):
            answer = [status, None] if status in ("refused", "bound") else list(reference(env, source, context))
            answer[1] = answer[1] if answer[0] == "ok" else None
            if n_stored[answer[0]] < N_STORED / (1 if answer[0] == "ok" else 5):
                n_stored[answer[0]] += 1
                file.write(json.dumps({"template": source, "context": context, "time": template_golden.NOW, "answer": answer},
                                      ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{path}: {dict(n_stored)}")
    return 0


def main():
    env = template_golden.environment()
    names = sorted(set(env.filters)), sorted(t for t in env.tests if t.isalpha())
    program, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "10000"
    if wanted == "store":
        return store(env, program, names)
    n_missing = account(program, env)
    n, first = int(wanted), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    cases = make_cases(n, first, sys.argv[4] if len(sys.argv) > 4 else None, names)
    answers = ours(program, cases)
    counts, reasons, n_different = collections.Counter(), collections.Counter(), 0
    for (name, source, context), (status, text) in zip(cases, answers):
        kind, expected = reference(env, source, context)
        if status in ("refused", "bound"):
            counts[f"{status} by name, where Python {'renders' if kind == 'ok' else 'fails'}"] += 1
            reasons[("" if name.startswith("seed") else name.split()[0] + ": ") + text.split(": ", 1)[-1]] += 1
        elif (status, kind) == ("error", "error"):
            counts["an error in both"] += 1
        elif (status, kind) == ("ok", "ok") and text == expected:
            counts["equal"] += 1
        else:
            n_different += 1
            if n_different <= SHOWN_MAX:
                shown = source if name.startswith("seed") else context
                print(f"{name}: {shown!r}\n  python {kind}: {expected!r}\n  shoal  {status}: {text!r}")
    for reason, count in reasons.most_common(25):
        print(f"  refused {count} times: {reason}")
    for what, count in sorted(counts.items()):
        print(f"{count} {what}")
    print(f"{n} renderings, {n_different} silent differences")
    return 1 if n_different or n_missing else 0


if __name__ == "__main__":
    sys.exit(main())
