#!/usr/bin/env python3
"""A bound of reasoning, reasoning ahead of structured output, and calls of offered tools that follow their schemas.

The model is random, and its tokenizer gets the marks. Each answer is asked for alone, and among others that make it
preempt: it must be the same."""
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from serve_shared import Shoal

SHOW = "{% for m in messages %}{{ m.content }}{% endfor %}"
THINKS = SHOW + "{% if add_generation_prompt %}<think>{% endif %}{# </think> #}"
MAY_THINK = SHOW + "{# <think> </think> #}"
CALLS = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}" + SHOW + "{# <tool_call> </tool_call> <think> </think> #}"
IDS = {"<think>": 250, "</think>": 251, "<tool_call>": 252, "</tool_call>": 253}
NO_CLOSE = {str(IDS["</think>"]): -100}  # reasoning never ends by itself
TOOL = {"type": "function", "function": {"name": "look", "parameters": {
    "type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 99}, "to": {"enum": ["a", "b"]}},
    "required": ["n", "to"], "additionalProperties": False}}}


def make_model(root, folder):
    to = os.path.join(folder, "model")
    shutil.copytree(os.path.join(root, "tests/golden/data/qwen3"), to)
    path = os.path.join(to, "tokenizer.json")
    tokenizer = json.load(open(path, encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    for content, number in IDS.items():
        del vocabulary[next(key for key, value in vocabulary.items() if value == number)]
        vocabulary[content] = number
        tokenizer["added_tokens"].append({"id": number, "content": content, "single_word": False, "lstrip": False,
                                          "rstrip": False, "normalized": False, "special": "call" in content})
    json.dump(tokenizer, open(path, "w", encoding="utf-8"))
    path = os.path.join(to, "config.json")
    config = json.load(open(path, encoding="utf-8"))
    json.dump({**config, "max_position_embeddings": 1024}, open(path, "w", encoding="utf-8"))
    return to


def ask(port, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps({"model": "tiny", **body}).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as fault:
        return json.load(fault)


def chat(port, **fields):
    page = ask(port, "/v1/chat/completions", {"messages": [{"role": "user", "content": "abc"}], "temperature": 1, "logprobs": True,
                                              "max_tokens": 40, "seed": 3, **fields})
    return page["choices"][0] if "choices" in page else page


def tokens_of(choice):
    assert "logprobs" in choice, choice
    return [token["token"] for token in choice["logprobs"]["content"]]


def check_budgets(port):
    for n, fields in ((0, {"thinking_budget": 0}), (5, {"reasoning": {"max_tokens": 5}}),
                      (20, {"thinking": {"type": "enabled", "budget_tokens": 20}}), (7, {"thinking_token_budget": 7}),
                      (9, {"reasoning_budget": 9})):
        choice = chat(port, logit_bias=NO_CLOSE, ignore_eos=True, **fields)
        tokens = tokens_of(choice)
        assert tokens[n] == "</think>" and "</think>" not in tokens[:n], (n, tokens)
        assert (n > 0) == bool(choice["message"].get("reasoning_content")) and choice["message"]["content"], choice
    for free in ({}, {"reasoning_budget": -1}):
        assert "</think>" not in tokens_of(chat(port, logit_bias=NO_CLOSE, ignore_eos=True, **free))
    for wrong in ({"thinking_budget": -2}, {"reasoning": {"effort": "low"}}, {"reasoning": 3}, {"thinking": {"type": "disabled"}}):
        assert chat(port, **wrong)["error"]["param"] in wrong, wrong
    page = ask(port, "/v1/messages", {"messages": [{"role": "user", "content": "abc"}], "max_tokens": 400, "temperature": 1,
                                      "thinking": {"type": "enabled", "budget_tokens": 6}})
    assert page["content"][0]["type"] == "thinking", page


def check_structure(port):
    """The structure begins behind the reasoning."""
    for fields, is_right in (({"guided_regex": "[a-f]{3}-[0-9]{2}"}, lambda text: re.fullmatch("[a-f]{3}-[0-9]{2}", text)),
                             ({"guided_choice": [" yes", " no "]}, lambda text: text in (" yes", " no ")),
                             ({"guided_json": TOOL["function"]["parameters"]}, lambda text: 1 <= json.loads(text)["n"] <= 99)):
        for n in (0, 4, 11):
            choice = chat(port, thinking_budget=n, logit_bias=NO_CLOSE, max_tokens=200, **fields)
            assert choice.get("finish_reason") == "stop" and is_right(choice["message"]["content"]), (fields, choice)
            assert tokens_of(choice)[n] == "</think>", choice
            assert (n > 0) == bool(choice["message"].get("reasoning_content")), choice
    choice = chat(port, tools=[TOOL], tool_choice="required", thinking_budget=4, logit_bias=NO_CLOSE, max_tokens=200,
                  parallel_tool_calls=False)
    assert choice.get("finish_reason") == "tool_calls" and choice["message"]["reasoning_content"], choice


def preemptions(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        return sum(map(int, re.findall(r"^vllm:num_preemptions_total.* (\d+)$", answer.read().decode(), re.M)))


def check_same(port):
    """Answers that do not fit side by side: they are preempted in their reasoning, in calls and in between."""
    fields = [dict(seed=i, thinking_budget=24 * i, max_tokens=200, logit_bias=NO_CLOSE, ignore_eos=True) for i in range(6)]
    fields += [dict(seed=i, thinking_budget=8 * i, max_tokens=200, logit_bias={**NO_CLOSE, str(IDS["<tool_call>"]): 2.5}, tools=[TOOL],
                    ignore_eos=True) for i in range(6)]
    alone = [tokens_of(chat(port, **one)) for one in fields]
    assert sum(tokens.count("<tool_call>") for tokens in alone) > 8, alone
    together = [None] * len(fields)

    def one(i):
        together[i] = tokens_of(chat(port, **fields[i]))

    n = 0
    for _ in range(10):  # until enough of them met
        threads = [threading.Thread(target=one, args=(i,)) for i in range(len(fields))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert together == alone
        n = preemptions(port)
        if n > 5:
            break
    print(f"{n} preemptions", flush=True)
    assert n > 5, n


def check_open(port):
    """The answer opens its reasoning itself, or does not."""
    bias = {**NO_CLOSE, str(IDS["<think>"]): 100}
    tokens = tokens_of(chat(port, thinking_budget=3, logit_bias=bias, ignore_eos=True, max_tokens=12))
    assert tokens[0] == "<think>" and tokens[4] == "</think>", tokens
    tokens = tokens_of(chat(port, thinking_budget=3, logit_bias={str(i): -100 for i in IDS.values()}, ignore_eos=True))
    assert "</think>" not in tokens, tokens
    for more in ({}, {"enable_thinking": False}):
        choice = chat(port, thinking_budget=3, logit_bias=bias, guided_regex="[a-f]{3}-[0-9]{2}", **more)
        assert re.fullmatch("[a-f]{3}-[0-9]{2}", choice["message"]["content"]), choice
        assert (tokens_of(choice)[0] == "<think>") == (not more), choice


def check_calls(port):
    """A call by the schema follows the mark; the text ahead of it is the same as without the grammar."""
    n_calls = 0
    for seed in range(12):
        fields = dict(tools=[TOOL], seed=seed, max_tokens=500)
        choice = chat(port, logit_bias={str(IDS["<tool_call>"]): 2.5}, **fields)
        for call in choice["message"].get("tool_calls") or []:
            if choice["finish_reason"] == "length" and call is choice["message"]["tool_calls"][-1]:
                continue  # cut
            arguments = json.loads(call["function"]["arguments"])
            assert set(arguments) == {"n", "to"} and 1 <= arguments["n"] <= 99 and arguments["to"] in ("a", "b"), call
            n_calls += 1
        tokens, free = tokens_of(choice), tokens_of(chat(port, logit_bias={str(IDS["<tool_call>"]): 2.5},
                                                         **{**fields, "tools": None, "messages": [{"role": "user", "content":
                                                            json.dumps(TOOL) + "abc"}]}))
        n = tokens.index("<tool_call>") + 1 if "<tool_call>" in tokens else len(tokens)
        assert tokens[:n] == free[:n], (tokens, free)
    print(f"{n_calls} calls", flush=True)
    assert n_calls > 5, n_calls
    # A schema beyond our grammars takes any object, and a contradiction lets no call begin.
    odd = {"type": "function", "function": {"name": "odd", "parameters": {"type": "object", "contains": {"x": 1}}}}
    never = {"type": "function", "function": {"name": "never", "parameters": {
        "type": "object", "properties": {"a": {"type": "string", "enum": [3]}}, "required": ["a"]}}}
    bias = {str(IDS["<tool_call>"]): 100}
    assert tokens_of(chat(port, tools=[odd], logit_bias=bias))[0] == "<tool_call>"
    assert "<tool_call>" not in tokens_of(chat(port, tools=[never], logit_bias=bias))


def refuses(port):
    assert chat(port, thinking_budget=3)["error"]["param"] == "thinking_budget"
    assert ask(port, "/v1/completions", {"prompt": "a", "thinking_budget": 3})["error"]["param"] == "thinking_budget"


def serve(program, model, template, *options, checks):
    with Shoal(program, "--default-chat-template", template, *options, models={"tiny": model}) as server:
        for check in checks:
            begin = time.monotonic()
            check(server.port)
            print(f"{check.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


def main():
    program, root = sys.argv[1:3]
    print("[ RUN      ] thinking_and_calls", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(root, folder)
        serve(program, model, THINKS, checks=[check_budgets, check_structure])
        serve(program, model, MAY_THINK, checks=[check_open])
        serve(program, model, CALLS, checks=[check_calls])
        serve(program, model, SHOW, checks=[refuses])
        serve(program, model, CALLS.replace("{# ", "<think>{# "), "--kv-bytes", "400KiB", "--policy", "db-turn", checks=[check_same])
    print("[       OK ] thinking_and_calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
