"""Ollama's endpoints over raw HTTP: options, lines of streams, tools, thinking, errors.

usage: ollama_api.py API_SERVE
"""
import json
import sys

from toy import Server, ask, chat_ids, encode, answer, post, run, test

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Łódź \\"x\\""}}\n</tool_call>'


def say(answer_):
    return [{"role": "user", "content": f"[say]{answer_}[/say]"}]


def lines(s, path, body):
    status, head, text = ask(s.port, "POST", path, dict({"model": "toy"}, **body))
    assert status == 200 and head["content-type"] == "application/x-ndjson", (status, text)
    return [json.loads(line) for line in text.splitlines()]


def chat(s, **body):
    return post(s.port, "/api/chat", dict({"model": "toy", "stream": False}, **body))


def generate(s, **body):
    return post(s.port, "/api/generate", dict({"model": "toy", "stream": False}, **body))


@test
def ollama_chats(s):
    status, _, page = chat(s, messages=say("Hello."))
    assert status == 200 and page["message"] == {"role": "assistant", "content": "Hello."} and page["model"] == "toy"
    assert page["done"] is True and page["done_reason"] == "stop" and page["eval_count"] == 7
    assert page["prompt_eval_count"] == len(chat_ids(say("Hello.")))
    assert page["total_duration"] >= page["eval_duration"] + page["prompt_eval_duration"] and page["load_duration"] >= 0
    assert page["created_at"].endswith("Z") and page["created_at"][10] == "T"
    page = chat(s, messages=say("abcdef"), options={"num_predict": 3})[2]
    assert page["message"]["content"] == "abc" and page["done_reason"] == "length"


@test
def ollama_streams_by_default(s):
    """The lines add up to the whole answer, in each endpoint."""
    for said, tools in (("Hello.", []), ("", []), ("<think>Hm.</think>So. " + CALL + "\n" + CALL, TOOLS), (CALL, TOOLS),
                        ('<tool_call>{"name": "weather", "arguments": {"city": ]', TOOLS)):
        whole = chat(s, messages=say(said), tools=tools)[2]
        got = lines(s, "/api/chat", {"messages": say(said), "tools": tools})
        text = "".join(line["message"]["content"] for line in got)
        thoughts = "".join(line["message"].get("thinking", "") for line in got)
        calls = [call for line in got for call in line["message"].get("tool_calls", [])]
        assert [line["done"] for line in got] == [False] * (len(got) - 1) + [True]
        assert (text, thoughts, calls) == (whole["message"]["content"], whole["message"].get("thinking", ""),
                                           whole["message"].get("tool_calls", [])), (got, whole)
        assert got[-1]["message"]["content"] == "" and got[-1]["eval_count"] == whole["eval_count"]
    assert calls == [] and text == said
    got = lines(s, "/api/generate", {"prompt": "[say]Hello.[/say]"})
    assert "".join(line["response"] for line in got) == "Hello." and got[-1]["done_reason"] == "stop" and len(got) > 3


@test
def ollama_calls(s):
    call = {"function": {"name": "weather", "arguments": {"city": 'Łódź "x"'}}}
    page = chat(s, messages=say(CALL + "\n" + CALL), tools=TOOLS)[2]
    assert page["message"] == {"role": "assistant", "content": "", "tool_calls": [call, call]} and page["done_reason"] == "stop"
    cut = chat(s, messages=say(CALL), tools=TOOLS, options={"num_predict": len(CALL.encode()) - 16})[2]
    assert cut["done_reason"] == "length" and "tool_calls" not in cut["message"] and "Łódź" in cut["message"]["content"]
    many = [*say("x"), {"role": "assistant", "content": "", "tool_calls": [call] * 1025}]
    status, _, page = chat(s, messages=many, tools=TOOLS)
    assert status == 400 and "more than 1024 calls have no result" in json.dumps(page), page
    messages = [*say("x"), {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_name": "weather", "content": "sun"}]
    chat_call = {"id": "call00000", "type": "function", "function": {"name": "weather", "arguments": json.dumps(call["function"]["arguments"], ensure_ascii=False)}}
    same = [*say("x"), {"role": "assistant", "content": "", "tool_calls": [chat_call]},
            {"role": "tool", "name": "weather", "tool_call_id": "call00000", "content": "sun"}]
    stranger = [*messages[:2], {"role": "tool", "tool_call_id": "of another", "content": "sun"}]  # the result of no call
    same_stranger = [*same[:2], {"role": "tool", "tool_call_id": "of another", "content": "sun"}]
    ours, theirs = (post(s.port, path, {"model": "toy", "messages": m, "tools": TOOLS, "stream": False})[2]
                    for path, m in (("/api/chat", stranger), ("/v1/chat/completions", same_stranger)))
    assert ours["prompt_eval_count"] == theirs["usage"]["prompt_tokens"], (ours, theirs)
    ours = chat(s, messages=messages, tools=TOOLS)[2]["prompt_eval_count"]
    theirs = post(s.port, "/v1/chat/completions", {"model": "toy", "messages": same, "tools": TOOLS})[2]["usage"]["prompt_tokens"]
    assert ours == theirs, (ours, theirs)


@test
def ollama_thinks(s):
    page = chat(s, messages=say("<think>Hm.</think>Yes"), think=True)[2]
    assert page["message"] == {"role": "assistant", "content": "Yes", "thinking": "Hm."}
    n = {think: chat(s, messages=say("x"), think=think)[2]["prompt_eval_count"] for think in (None, True, False, "high")}
    assert n[None] < n[True] < n[False] < n["high"], n  # the toy's template prints its variables
    page = generate(s, prompt="[say]<think>Hm.</think>Yes[/say]")[2]
    assert page["response"] == "Yes" and page["thinking"] == "Hm."


@test
def ollama_generates(s):
    page = generate(s, prompt="[say]Hello.[/say]", system="Be kind.")[2]
    assert page["response"] == "Hello." and "message" not in page
    messages = [{"role": "system", "content": "Be kind."}, *say("Hello.")]
    assert page["prompt_eval_count"] == len(chat_ids(messages))
    page = generate(s, prompt="hello [n=20]", raw=True, options={"temperature": 0})[2]
    assert page["response"] == answer(encode("hello [n=20]"), 20) and page["prompt_eval_count"] == len(encode("hello [n=20]"))
    assert generate(s, prompt="hello [n=20]", raw=True, model="org/plain", options={"temperature": 0})[0] == 200


@test
def ollama_options_are_read(s):
    page = chat(s, messages=say("a b c"), options={"stop": ["b"]})[2]
    assert page["message"]["content"] == "a " and page["done_reason"] == "stop"
    fine = [{"num_ctx": 2048, "num_gpu": 1, "mirostat_tau": 5.0}, {"num_predict": -1}, {"seed": 5, "top_k": 40, "top_p": 0.9, "min_p": 0.1},
            {"repeat_penalty": 1.1}, {"mirostat": 0, "tfs_z": 1.0, "typical_p": 1.0}, {"unknown": 3}, {}]
    for options in fine:
        assert chat(s, messages=say("a"), options=options)[0] == 200, options
    refused = [({"options": {"mirostat": 1}}, "mirostat"), ({"options": {"repeat_last_n": 64}}, "repeat_last_n"), ({"options": {"temperature": 7}}, "temperature"),
               ({"options": 5}, "options"), ({"options": {"penalize_newline": False}}, "penalize_newline"), ({"format": 5}, "format"),
               ({"think": 5}, "think"), ({"messages": []}, "messages"), ({"messages": [{"role": "x"}]}, "role"),
               ({"messages": [{"role": "user", "content": "a", "images": ["x"]}]}, "images"), ({"messages": [{"role": "user", "content": 5}]}, "content"),
               ({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "x", "arguments": "{}"}}]}]}, "arguments"),
               ({"template": "x"}, "template"), ({"tools": [{"type": "x"}]}, "tools"), ({"n": 3}, "n"), ({"format": "json"}, "response_format"),
               ({"format": {"type": "object"}}, "response_format"), ({"model": None}, "model"), ({"stream": 5}, "stream")]
    for body, words in refused:
        status, _, page = chat(s, **dict({"messages": say("a")}, **body))
        assert status == 400 and list(page) == ["error"] and words in page["error"], (body, page)
    for body, words in (({"prompt": ""}, "prompt"), ({"prompt": "a", "suffix": "b"}, "suffix"), ({"prompt": "a", "context": [1]}, "context"),
                        ({"prompt": "a", "images": ["x"]}, "images"), ({"prompt": "a", "raw": True, "system": "x"}, "system"),
                        ({"prompt": "a", "model": "org/plain"}, "template")):
        status, _, page = generate(s, **body)
        assert status == 400 and words in page["error"], (body, page)
    assert chat(s, messages=say("a"), model="none")[0] == 404
    with Server(s.exe, strict="1") as strict:
        assert post(strict.port, "/api/chat", {"model": "toy", "messages": say("a"), "options": {"unknown": 3}})[0] == 400


@test
def ollama_failures(s):
    messages = [{"role": "system", "content": "[fail=3]"}, *say("abcdef")]
    got = lines(s, "/api/chat", {"messages": messages})
    assert list(got[-1]) == ["error"] and "".join(line["message"]["content"] for line in got[:-1]) == "abc"
    messages[0]["content"] = "[fail]"
    status, _, page = chat(s, messages=messages)
    assert status == 500 and list(page) == ["error"]


@test
def ollama_models(s):
    tags = json.loads(ask(s.port, "GET", "/api/tags")[2])["models"]
    assert [(m["name"], m["model"], m["details"]["format"]) for m in tags] == [("toy", "toy", "gguf"), ("org/plain", "org/plain", "safetensors")]
    assert tags[0]["modified_at"] == "2023-11-14T22:13:20.000000000Z"
    page = post(s.port, "/api/show", {"model": "toy"})[2]
    assert page["capabilities"] == ["completion", "tools", "thinking"] and page["model_info"]["general.context_length"] == 4096
    assert "<tool_call>" in page["template"]
    assert post(s.port, "/api/show", {"name": "org/plain"})[2]["capabilities"] == ["completion"]
    for body, status in (({"model": "none"}, 404), ({}, 400), ({"model": 5}, 400)):
        got, _, page = post(s.port, "/api/show", body)
        assert got == status and list(page) == ["error"], page
    assert json.loads(ask(s.port, "GET", "/api/version")[2]) == {"version": "0.0-toy"}


if __name__ == "__main__":
    with Server(sys.argv[1]) as server:
        server.exe = sys.argv[1]
        run(server)
