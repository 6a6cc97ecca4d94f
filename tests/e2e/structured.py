#!/usr/bin/env python3
"""Structured output of the real server: every field, the same answers beside other requests, and
answers that validate by eye."""
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request

from serve_shared import Shoal

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1, "maximum": 50},
                                           "b": {"enum": ["red", "green"]}},
          "required": ["a", "b"], "additionalProperties": False}


def call(port, **fields):
    body = {"model": "tiny", "prompt": "Once upon a time", "max_tokens": 60, "seed": 5, **fields}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["choices"][0]
    except urllib.error.HTTPError as fault:
        return json.load(fault)


def is_colour(text):
    value = json.loads(text)
    return set(value) == {"a", "b"} and 1 <= value["a"] <= 50 and value["b"] in ("red", "green")


CASES = [
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}, is_colour),
    ({"guided_json": json.dumps(SCHEMA)}, is_colour),
    ({"structured_outputs": {"json": SCHEMA}}, is_colour),
    ({"guided_regex": "[a-f]{3}-\\d{2}"}, lambda text: re.fullmatch("[a-f]{3}-[0-9]{2}", text)),
    ({"guided_choice": ["yes", "no", "maybe"]}, lambda text: text in ("yes", "no", "maybe")),
    ({"guided_grammar": 'root ::= "a" ("b" | "c"){2} "d"'}, lambda text: re.fullmatch("a[bc]{2}d", text)),
    ({"grammar": 'start: "x" /[0-9]/~3 "y"'}, lambda text: re.fullmatch("x[0-9]{3}y", text)),
]


def check_hostile(port):
    """A grammar beyond the bounds is an error and no cut answer; others are served meanwhile."""
    rules = "\n".join(f"r{i} ::= [a-z] e [a-z] e" for i in range(2500))
    names = " | ".join(f"r{i}" for i in range(2500))
    ambiguous = f"root ::= x+\nx ::= {names}\n{rules}\ne ::= [a-z]?"
    slow = []
    thread = threading.Thread(target=lambda: slow.append(call(port, guided_grammar=ambiguous)))
    begin = time.monotonic()
    thread.start()
    time.sleep(0.2)
    assert "text" in call(port, max_tokens=4)
    thread.join(30)
    assert slow and "guided_grammar, which is too ambiguous" in slow[0]["error"]["message"], slow
    for field in ({"guided_regex": "(){20000}{20000}{20000}"}, {"guided_regex": "([a-c]?[b-d]?[c-e]?[d-f]?){100}"}):
        call(port, **field)
    assert time.monotonic() - begin < 30, time.monotonic() - begin


def run(port):
    """Answers alone, then all at once among others: they must be the same."""
    alone = [call(port, temperature=1, **fields) for fields, _ in CASES]
    for (fields, is_right), choice in zip(CASES, alone):
        assert choice.get("finish_reason") == "stop" and is_right(choice["text"]), (fields, choice)
    together = [None] * (3 * len(CASES))

    def ask(i):
        fields = CASES[i % len(CASES)][0] if i < 2 * len(CASES) else {}
        together[i] = call(port, temperature=1, **fields)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(together))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(2 * len(CASES)):
        assert together[i]["text"] == alone[i % len(CASES)]["text"], (i, together[i])
    cut = call(port, guided_regex="(ab)+c", max_tokens=3, logit_bias={})
    assert cut["finish_reason"] in ("length", "stop"), cut
    for fields in ({"guided_json": {"contains": {}}}, {"guided_regex": "(a"},
                   {"guided_regex": "a", "guided_choice": ["b"]}, {"guided_regex": "a", "ignore_eos": True}):
        error = call(port, **fields).get("error", {})
        assert error.get("type") == "invalid_request_error", (fields, error)


def post(port, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps({"model": "tiny", **body}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def check_other_endpoints(port):
    """The same structure through /v1/responses and Ollama's endpoints, and calls that must be made."""
    form = {"type": "json_schema", "name": "x", "schema": SCHEMA}
    page = post(port, "/v1/responses", {"input": "Once", "text": {"format": form}, "max_output_tokens": 200, "seed": 5})
    assert page["status"] == "completed" and is_colour(page["output"][0]["content"][0]["text"]), page
    tool = {"name": "pick", "parameters": SCHEMA}
    page = post(port, "/v1/responses", {"input": "Once", "tools": [{"type": "function", **tool}], "tool_choice": "required",
                                        "parallel_tool_calls": False, "max_output_tokens": 200, "seed": 5})
    call = page["output"][0]
    assert call["type"] == "function_call" and call["name"] == "pick" and is_colour(call["arguments"]), page
    named = {"type": "function", "function": tool}
    for seed in range(4):  # a named function is called once, without parallel_tool_calls
        chat = post(port, "/v1/chat/completions", {"messages": [{"role": "user", "content": "Once"}], "tools": [named], "seed": seed,
                                                   "tool_choice": {"type": "function", "function": {"name": "pick"}}, "max_tokens": 200})
        calls = chat["choices"][0]["message"]["tool_calls"]
        assert len(calls) == 1 and is_colour(calls[0]["function"]["arguments"]), chat
    page = post(port, "/v1/responses", {"input": [{"type": "function_call_output", "call_id": call["call_id"], "output": "so"}],
                                        "previous_response_id": page["id"], "max_output_tokens": 5})
    assert page["usage"]["output_tokens"] <= 5 and page["output"], page
    for path, body in (("/api/chat", {"messages": [{"role": "user", "content": "Once"}]}), ("/api/generate", {"prompt": "Once"}),
                       ("/api/generate", {"prompt": "Once", "raw": True})):
        page = post(port, path, {"format": SCHEMA, "stream": False, "options": {"num_predict": 200, "seed": 5}, **body})
        assert page["done_reason"] == "stop" and is_colour(page.get("response") or page["message"]["content"]), page
    page = post(port, "/api/chat", {"format": "json", "stream": False, "messages": [{"role": "user", "content": "Once"}],
                                    "options": {"num_predict": 40}})
    assert page["done_reason"] == "length" or isinstance(json.loads(page["message"]["content"]), dict), page


def check_duress(port):
    """Long answers that do not fit side by side: they are preempted, and stay the same."""
    fields = [dict(guided_regex="([a-z]{1,9} ){200,240}", max_tokens=480, temperature=1, seed=i) for i in range(16)]
    alone = [call(port, **one)["text"] for one in fields]
    together = [None] * len(fields)

    def ask(i):
        together[i] = call(port, **fields[i])["text"]

    n = 0
    for _ in range(10):  # until enough of them met
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(fields))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert together == alone
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            n = sum(map(int, re.findall(r"^vllm:num_preemptions_total.* (\d+)$", answer.read().decode(), re.M)))
        if n > 5:
            break
    print(f"{n} preemptions", flush=True)
    assert n > 5, n


def serve(program, model, *options, checks):
    with Shoal(program, *options, models={"tiny": model}) as server:
        for check in checks:
            check(server.port)


def main():
    program, root = sys.argv[1:3]
    model = os.path.join(root, "models/tale.gguf")
    print("[ RUN      ] structured_output", flush=True)
    serve(program, model, "--default-chat-template", "chatml", checks=[run, check_other_endpoints, check_hostile])
    for more in (), ("--swap-bytes", "8MiB"):
        serve(program, model, "--kv-bytes", "600KiB", "--policy", "db-turn", *more, checks=[check_duress])
    print("[       OK ] structured_output")
    return 0


if __name__ == "__main__":
    sys.exit(main())
