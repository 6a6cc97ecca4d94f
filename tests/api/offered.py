"""Calls of offered tools, as models of each format write them, through the grammar of their answers.

usage: offered.py OFFERED SOURCE_ROOT

A valid call passes whole, and one with another name, with a missing argument or with arguments of the wrong type does
not. The vectors of ../shared/data/structured pass too, where they are."""
import json
import os
import subprocess
import sys

EXE, ROOT = sys.argv[1:3]
DATA = os.path.join(ROOT, "..", "shared", "data", "structured")
TOOLS = [{"type": "function", "function": {"name": "get.it", "parameters": {
    "type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}, "required": ["s", "n"]}}},
    {"type": "function", "function": {"name": "none"}}]
BAR, LOW = "\uff5c", "\u2581"


def deep(words):
    return f"<{BAR}{words.replace(' ', LOW)}{BAR}>"


# By format: the mark that opens a section, and a section of calls as (name, arguments).
def one(mark, end, key="arguments"):
    return lambda calls: "\n".join(f'{mark}\n{{"name": "{n}", "{key}": {a}}}\n{end}' for n, a in calls)


def listed(mark, end):
    return lambda calls: mark + "[" + ", ".join(f'{{"name": "{n}", "arguments": {a}}}' for n, a in calls) + "]" + end


FORMS = {
    "hermes": one("<tool_call>", "</tool_call>"),
    "generic": one("<tool_call>", "</tool_call>"),
    "phi4_mini_tag": one("<|tool_call|>", "<|/tool_call|>"),
    "llama3_json": one("<|python_tag|>", "", "parameters"),
    "nemotron": listed("<TOOLCALL>", "</TOOLCALL>"),
    "mistral": listed("[TOOL_CALLS]", ""),
    "granite": listed("<|tool_call|>", ""),
    "functools": listed("functools", ""),
    "phi4_mini": listed("<|tool_call|>", "<|/tool_call|>"),
    "apertus": lambda calls: "<|tools_prefix|>[" + ", ".join(f'{{"{n}": {a}}}' for n, a in calls) + "]<|tools_suffix|>",
    "command_r7b": lambda calls: "<|START_ACTION|>[\n    " + ",\n    ".join(
        f'{{"tool_call_id": "{i}", "tool_name": "{n}", "parameters": {a}}}' for i, (n, a) in enumerate(calls)) + "\n]<|END_ACTION|>",
    "mistral_args": lambda calls: "".join(f"[TOOL_CALLS]{n}[ARGS]{a}" for n, a in calls),
    "mistral_call_id": lambda calls: "".join(f"[TOOL_CALLS]{n}[CALL_ID]id0000{i:03}[ARGS]{a}" for i, (n, a) in enumerate(calls)),
    "functionary_v3.1": lambda calls: "".join(f"<function={n}>{a}</function>" for n, a in calls),
    "kimi_k2": lambda calls: "<|tool_calls_section_begin|>" + "".join(
        f"<|tool_call_begin|>functions.{n}:{i}<|tool_call_argument_begin|>{a}<|tool_call_end|>" for i, (n, a) in enumerate(calls))
        + "<|tool_calls_section_end|>",
    "deepseek_v3": lambda calls: deep("tool calls begin") + "\n".join(
        f"{deep('tool call begin')}function{deep('tool sep')}{n}\n```json\n{a}\n```{deep('tool call end')}" for n, a in calls)
        + deep("tool calls end"),
    "deepseek_v3.1": lambda calls: deep("tool calls begin") + "".join(
        f"{deep('tool call begin')}{n}{deep('tool sep')}{a}{deep('tool call end')}" for n, a in calls) + deep("tool calls end"),
}
FREE = ("harmony", "deepseek_v4", "deepseek_v3.2", "glm", "minimax_m2", "seed_oss", "qwen3_coder", "functionary_v3.2", "lfm2",
        "llama4_pythonic", "llama3_pythonic")
# The vectors' calls have ids beside names there, which the grammar leaves out.
WITH_IDS = ("mistral_nemo",)


def tell(asked):
    text = "".join(json.dumps(row) + "\n" for row in asked)
    done = subprocess.run([EXE], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def check_forms():
    good = [("get.it", '{"s": "a\\"]}</tool_call> <", "n": 3}'), ("none", '{"x": [1, {"y": null}]}'), ("none", "{}")]
    bad = [[("getit", good[0][1])], [("get.it", '{"s": "a"}')], [("get.it", '{"s": 1, "n": 2}')], [("none", "[]")],
           [good[0], ("non", "{}")], [good[1], ("get.it", '{"n": 1.5, "s": ""}')]]
    rows, asked = [], []
    for name, form in FORMS.items():
        for calls in ([good[0]], [good[1]], good):
            text = "Let me see: { \xff\u20ac [" + form(calls)
            rows.append((name, text, True))
        for calls in bad:
            rows.append((name, form(calls), False))
        rows.append((name, "no call, only text {\"name\": ", True))
    for name in FREE:
        rows.append((name, "<tool_call>nonsense", None))
    for name, text, _ in rows:
        asked.append({"format": name, "tools": TOOLS, "text": text})
    for (name, text, is_good), told in zip(rows, tell(asked), strict=True):
        n = len(text.encode())
        assert told["is_constrained"] == (is_good is not None), (name, told)
        if is_good:
            assert told["n_taken"] == n and told["is_complete"], (name, text, text.encode()[:told["n_taken"] + 1], told)
        elif is_good is False:
            assert told["n_taken"] < n, (name, text)
    print(f"{len(FORMS)} formats are constrained, {len(FREE)} are not; {len(rows)} texts")


def check_large():
    """Schemas that are too large together take any object, but the names of the functions still hold."""
    tools = [{"type": "function", "function": {"name": f"f{i}", "parameters": {
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "description": "x" * 1000}}} for i in range(300)]
    for n, calls, is_good in ((2, [("f1", '{"n": 1}')], True), (2, [("f1", '{"m": 1}')], False), (300, [("f299", '{"m": 1}')], True),
                              (300, [("f300", '{"n": 1}')], False)):
        text = FORMS["hermes"](calls)
        told = tell([{"format": "hermes", "tools": tools[:n], "text": text}])[0]
        assert told["is_constrained"] and (told["n_taken"] == len(text)) == is_good, (n, calls, told)


def check_vectors():
    if not os.path.isdir(DATA):
        print("[  SKIPPED ] offered_vectors: no ../shared beside the repository")
        return
    sys.path.insert(0, os.path.join(ROOT, "tests", "calls"))
    import vectors_shared
    with open(os.path.join(DATA, "tool_formats_tools.json"), encoding="utf-8") as f:
        tools = json.load(f)
    rows = [r for r in vectors_shared.lines(DATA, "tool_formats.jsonl") if r["complete"] and r["format"] not in (*WITH_IDS, "gemma4")]
    asked = [{"format": vectors_shared.ROWS.get(r["format"], r["format"]), "tools": tools, "text": r["text"]} for r in rows]
    n = 0
    for row, told in zip(rows, tell(asked), strict=True):
        is_behind = row["starts_in_reasoning"] or row["expected"]["reasoning"]
        n += told["is_constrained"]
        assert told["n_taken"] == len(row["text"].encode()) and told["is_complete"], (row["id"], is_behind, told, row["text"])
    assert n > 150, n
    print(f"{n} answers of constrained formats pass")


def main():
    for name, check in (("offered_forms", check_forms), ("offered_large", check_large), ("offered_vectors", check_vectors)):
        print(f"[ RUN      ] {name}", flush=True)
        check()
        print(f"[       OK ] {name}", flush=True)


main()
