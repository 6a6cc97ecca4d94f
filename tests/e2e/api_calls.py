"""Calls of tools and reasoning over the toy house: the answer is the text between [say] and [/say] of the prompt.

usage: api_calls.py API_SERVE
"""
import json
import sys

from toy import Server, post, run, stream, test

TOOLS = [{"type": "function", "function": {"name": name, "description": "d", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}} for name in ("weather", "list")]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Łódź \\"x\\"", "days": 2}}\n</tool_call>'
ANSWER = "<think>\nI look.\n</think>\n\nOne moment.\n" + CALL + '\n<tool_call>\n{"name": "list", "arguments": {}}\n</tool_call>'


def body(answer, **more):
    return {"model": "toy", "messages": [{"role": "user", "content": f"[say]{answer}[/say]"}], "temperature": 0, **more}


def ask(s, answer, **more):
    status, _, page = post(s.port, "/v1/chat/completions", body(answer, **more))
    return status, page


def whole(s, answer, **more):
    status, page = ask(s, answer, **more)
    assert status == 200, page
    return page["choices"][0]


def streamed(s, answer, **more):
    """The message that the chunks add up to, its end, and the number of chunks with arguments."""
    message, reason, n_pieces = {"role": "assistant", "content": ""}, None, 0
    status, events = stream(s.port, "/v1/chat/completions", body(answer, **more))
    assert status == 200 and events[-1] == "[DONE]", events
    for event in events[:-1]:
        choice = event["choices"][0]
        delta = choice["delta"]
        reason = choice["finish_reason"] or reason
        for key in ("content", "reasoning_content"):
            if delta.get(key):
                message[key] = message.get(key, "") + delta[key]
        for call in delta.get("tool_calls", []):
            calls = message.setdefault("tool_calls", [])
            if "id" in call:
                assert call["index"] == len(calls)
                calls.append({"id": "", "type": "function", "function": {"name": call["function"]["name"], "arguments": ""}})
            calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
            n_pieces += call["function"]["arguments"] != ""
    return message, reason, n_pieces


@test
def calls_are_told(s):
    choice = whole(s, ANSWER, tools=TOOLS)
    message = choice["message"]
    assert choice["finish_reason"] == "tool_calls"
    assert message["content"] == "One moment." and message["reasoning_content"] == "I look.", message
    assert [(c["type"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message["tool_calls"]] == [
        ("function", "weather", {"city": 'Łódź "x"', "days": 2}), ("function", "list", {})]
    ids = [c["id"] for c in message["tool_calls"]]
    assert len(set(ids)) == 2 and all(len(i) == 9 and i.isalnum() for i in ids)
    assert whole(s, CALL, tools=TOOLS)["message"]["content"] is None


@test
def a_stream_adds_up_to_the_whole(s):
    broken = '<tool_call>\n{"name": "nobody", "arguments": {}}\n</tool_call>'
    for answer in (ANSWER, CALL, "Plain. <tool", broken, CALL[:-30], "<think>a", "", CALL.replace("2", "two"), " " + ANSWER + " Done."):
        choice = whole(s, answer, tools=TOOLS)
        message, reason, n_pieces = streamed(s, answer, tools=TOOLS)
        expected = choice["message"]
        expected["content"] = expected["content"] or ""
        for call in expected.get("tool_calls", []):
            call["id"] = ""
        assert (message, reason) == (expected, choice["finish_reason"]), (message, expected)
        assert answer != CALL or n_pieces > 10


@test
def broken_calls_are_text(s):
    for answer in ('<tool_call>\n{"name": "nobody", "arguments": {}}\n</tool_call>', "<tool_call>{]", "Plain. <tool"):
        choice = whole(s, answer, tools=TOOLS)
        assert choice["message"]["content"] == answer and "tool_calls" not in choice["message"]
        assert choice["finish_reason"] == "stop"


@test
def nothing_is_taken_apart_unasked(s):
    choice = whole(s, CALL)
    assert choice["message"]["content"] == CALL and choice["finish_reason"] == "stop"
    choice = whole(s, CALL, tools=TOOLS, tool_choice="none")
    assert choice["message"]["content"] == CALL
    choice = whole(s, "a <think>b</think>")
    assert choice["message"]["content"] == "a <think>b</think>"
    choice = whole(s, ANSWER, reasoning_format="none")
    assert choice["message"]["content"] == ANSWER


@test
def reasoning_is_split_or_left_out(s):
    assert whole(s, "<think>a</think>b")["message"] == {"role": "assistant", "reasoning_content": "a", "content": "b"}
    assert whole(s, "<think>a</think>b", include_reasoning=False)["message"] == {"role": "assistant", "content": "b"}
    assert streamed(s, "<think>a</think>b")[0] == {"role": "assistant", "reasoning_content": "a", "content": "b"}


@test
def one_call_at_most_if_so_asked(s):
    choice = whole(s, ANSWER, tools=TOOLS, parallel_tool_calls=False)
    assert [c["function"]["name"] for c in choice["message"]["tool_calls"]] == ["weather"]
    assert len(streamed(s, ANSWER, tools=TOOLS, parallel_tool_calls=False)[0]["tool_calls"]) == 1


@test
def an_answer_that_is_cut_keeps_its_calls(s):
    choice = whole(s, CALL, tools=TOOLS, max_tokens=70)
    assert choice["finish_reason"] == "length" and choice["message"]["tool_calls"][0]["function"]["arguments"].startswith('{"city"')


@test
def tools_are_checked(s):
    function = {"name": "f"}
    for tools, words in (("x", "array"), ([1], "type"), ([{"type": "web_search"}], "web_search"), ([{"type": "function"}], "name"),
                         ([{"type": "function", "function": {"name": "a b"}}], "name"),
                         ([{"type": "function", "function": {"name": "f", "parameters": 3}}], "Schema"),
                         ([{"type": "function", "function": function}] * 2, "two functions"),
                         ([{"type": "function", "function": {"name": f"f{i}"}} for i in range(513)], "512")):
        status, page = ask(s, "x", tools=tools)
        assert status == 400 and words in page["error"]["message"] and page["error"]["param"] == "tools", page
    for choice, tools in (("required", None), ("always", TOOLS), ({"type": "function", "function": {"name": "nobody"}}, TOOLS), (3, TOOLS)):
        status, page = ask(s, "x", tools=tools, tool_choice=choice)
        assert status == 400 and page["error"]["param"] == "tool_choice", page


@test
def a_loop_of_calls_reaches_the_template(s):
    messages = [{"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "Rain. [say]So it rains.[/say]"}]
    status, _, page = post(s.port, "/v1/chat/completions", {"model": "toy", "messages": messages, "tools": TOOLS})
    assert status == 200 and page["choices"][0]["message"]["content"] == "So it rains.", page


if __name__ == "__main__":
    with Server(sys.argv[1]) as server:
        run(server)
