"""Answers of models in all formats, whole and cut, and calls of real functions, through the parsers.

usage: vectors.py VECTORS SOURCE_ROOT; skips when ../shared/data/structured is not beside the repository
"""
import json
import os
import subprocess
import sys

from vectors_shared import ROWS, lines as lines_of

EXE, ROOT = sys.argv[1:3]
DATA = os.path.join(ROOT, "..", "shared", "data", "structured")
THOUGHTS = {"seed_oss": ("<seed:think>", "</seed:think>"), "command_r7b": ("<|START_THINKING|>", "<|END_THINKING|>"),
            "mistral_ministral3": ("[THINK]", "[/THINK]")}


def tell(rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([EXE], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def loads(text):
    try:
        return json.loads(text)
    except ValueError:
        return f"not JSON: {text}"


def calls_of(text):
    """Each call as (name, arguments, whether it is whole)."""
    calls = []
    for call in text.split("\x1e")[1:]:
        name, arguments = call.split("\x1f")
        is_whole = not arguments.endswith("\x1d")
        calls.append((name, loads(arguments) if is_whole else arguments[:-1], is_whole))
    return calls


def is_right(row, told):
    expected = row["expected"]
    if not told["is_same"]:
        return "pieces of other sizes give another result"
    if expected is None:
        calls_of(told["after"]["calls"])
        return None
    found = told["after"] if row["complete"] else told["before"]
    whole = [(name, arguments) for name, arguments, is_whole in calls_of(found["calls"]) if is_whole]
    partial = [name for name, _, is_whole in calls_of(found["calls"]) if not is_whole]
    if found["text"].strip() != expected["content"].strip():
        return f"text {found['text']!r}"
    if found["reasoning"].strip() != expected["reasoning"].strip():
        return f"reasoning {found['reasoning']!r}"
    if whole != [(c["name"], c["arguments"]) for c in expected["tool_calls"]]:
        return f"calls {found['calls']!r}"
    named = (expected.get("partial_call") or {}).get("name")
    if not row["complete"] and partial != ([named] if named else []):
        return f"the call under way is {partial}"
    if not row["complete"] and not told["after"]["text"].startswith(found["text"]):
        return "the end took text back"
    return None


def run_formats():
    # gemma4 is not supported; the other row says that it begins in reasoning, and has none
    rows = [r for r in lines_of(DATA, "tool_formats.jsonl") if r["format"] != "gemma4" and r["id"] != "given/nemotron_nano_v2/plain_text"]
    with open(os.path.join(DATA, "tool_formats_tools.json"), encoding="utf-8") as f:
        tools = json.load(f)
    asked = []
    for row in rows:
        thought = THOUGHTS.get(row["format"], ("<think>", "</think>"))
        asked.append({"format": ROWS.get(row["format"], row["format"]), "think_open": thought[0], "think_close": thought[1],
                      "tools": tools, "text": row["text"], "starts_in_reasoning": row["starts_in_reasoning"]})
    wrong, n_wishes = [], 0
    for row, told in zip(rows, tell(asked), strict=True):
        why = is_right(row, told)
        if why and (row.get("lossy") or row.get("ambiguous")):
            n_wishes += 1
        elif why:
            wrong.append(f"{row['id']}: {why}: {row['text']!r}")
    print(f"{len(rows)} answers in {len({r['format'] for r in rows})} formats; {n_wishes} that are lossy or ambiguous differ")
    return wrong


def render(form, calls):
    """The calls as a model of this format writes them."""
    dump = [(c["name"], json.dumps(c["arguments"], ensure_ascii=False)) for c in calls]
    if form == "hermes":
        return "\n".join(f'<tool_call>\n{{"name": "{n}", "arguments": {a}}}\n</tool_call>' for n, a in dump)
    if form == "mistral":
        return "[TOOL_CALLS][" + ", ".join(f'{{"name": "{n}", "arguments": {a}}}' for n, a in dump) + "]"
    if form == "llama3_json":
        return "; ".join(f'{{"name": "{n}", "parameters": {a}}}' for n, a in dump)
    if form == "mistral_args":
        return "".join(f"[TOOL_CALLS]{n}[ARGS]{a}" for n, a in dump)
    if form == "llama3_pythonic":
        return "[" + ", ".join(f"{c['name']}({', '.join(f'{k}={v!r}' for k, v in c['arguments'].items())})" for c in calls) + "]"
    if form == "qwen3_coder":
        def value(v):
            return v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)
        return "\n".join(f"<tool_call>\n<function={c['name']}>\n"
                         + "".join(f"<parameter={k}>\n{value(v)}\n</parameter>\n" for k, v in c["arguments"].items())
                         + "</function>\n</tool_call>" for c in calls)
    raise ValueError(form)


def run_calls():
    rows, asked = [], []
    for row in lines_of(DATA, "bfcl_calls.jsonl"):
        for form in ("hermes", "mistral", "llama3_json", "mistral_args", "llama3_pythonic", "qwen3_coder"):
            keys = [k for c in row["calls"] for k in c["arguments"]]
            if form == "llama3_pythonic" and not all(k.isidentifier() for k in keys):
                continue
            rows.append((row, form))
            asked.append({"format": form, "think_open": "<think>", "think_close": "</think>", "tools": row["tools"],
                          "text": render(form, row["calls"]), "starts_in_reasoning": False})
    wrong = []
    for (row, form), told, ask in zip(rows, tell(asked), asked, strict=True):
        found = [(n, a) for n, a, is_whole in calls_of(told["after"]["calls"]) if is_whole]
        if not told["is_same"] or told["after"]["text"] or found != [(c["name"], c["arguments"]) for c in row["calls"]]:
            wrong.append(f"{row['id']} {form}: {found}: {ask['text']!r}")
    print(f"{len(rows)} answers with calls of real functions")
    return wrong


failed = 0
for name, function in (("formats_are_taken_apart", run_formats), ("calls_of_real_functions_are_read", run_calls)):
    print(f"[ RUN      ] {name}", flush=True)
    if not os.path.isdir(DATA):
        print(f"[  REASON  ] {name}: no ../shared beside the repository\n[  SKIPPED ] {name}")
        continue
    wrong = function()
    for line in wrong[:int(os.environ.get("SHOW", "10"))]:
        print(line[:600])
    print(f"{len(wrong)} wrong\n[  FAILED  ] {name}" if wrong else f"[       OK ] {name}")
    failed |= bool(wrong)
sys.exit(failed)
