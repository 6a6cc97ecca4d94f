"""Renders random templates with random conversations beside Python's jinja2 as transformers configures it.

    templates.py RENDERINGS [N] [FIRST_SEED] [FOLDER]

A tenth of the N renderings are whole templates of models: those of tools/chat_templates.py, and the files *.jinja of a folder.
Each rendering is equal, or fails in both, or is refused here by name, or exceeds one of the bounds here. Anything else is a
silent difference: it is printed, and the run fails. The counts are printed in any case.
"""
import collections
import json
import pathlib
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


def main():
    program, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    first, folder = int(sys.argv[3]) if len(sys.argv) > 3 else 1, sys.argv[4] if len(sys.argv) > 4 else None
    env = template_golden.environment()
    cases = make_cases(n, first, folder, (sorted(set(env.filters)), sorted(t for t in env.tests if t.isalpha())))
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
    return 1 if n_different else 0


if __name__ == "__main__":
    sys.exit(main())
