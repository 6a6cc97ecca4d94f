"""The official anthropic package talks to us: messages, streams, tools, thinking, errors, and a long loop of calls.

usage: anthropic_client.py API_SERVE; skips when the package is missing (pip install anthropic)
"""
import json
import sys

from toy import Server, ask, post, run, test

try:
    import anthropic
except ImportError:
    anthropic = None

TOOLS = [{"name": name, "description": "d", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
         for name in ("weather", "list")]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Łódź \\"x\\""}}\n</tool_call>'


def say(answer):
    return [{"role": "user", "content": f"[say]{answer}[/say]"}]


def create(client, answer, **more):
    return client.messages.create(model="toy", max_tokens=500, messages=say(answer), **more)


def streamed(client, answer, **more):
    with client.messages.stream(model="toy", max_tokens=500, messages=say(answer), **more) as stream:
        events = [event.type for event in stream]
        return stream.get_final_message(), events


def plain(message):
    """The blocks without ids, and the end."""
    blocks = []
    for block in message.content:
        fields = block.to_dict()
        fields.pop("id", None)
        fields.pop("citations", None)
        blocks.append(fields)
    return blocks, message.stop_reason, message.stop_sequence, message.usage.output_tokens, message.usage.input_tokens


@test
def anthropic_text(s, client):
    message = create(client, "Hello.")
    assert message.type == "message" and message.role == "assistant" and message.id.startswith("msg_") and message.model == "toy"
    assert [(b.type, b.text) for b in message.content] == [("text", "Hello.")]
    assert message.stop_reason == "end_turn" and message.usage.output_tokens == 7
    assert message.usage.cache_read_input_tokens == 4 and message.usage.input_tokens > 10


@test
def anthropic_streams_add_up(s, client):
    for answer, tools in (("Hello.", []), ("", []), ("<think>Hm.</think>So. " + CALL + "\n" + CALL, TOOLS), (CALL, TOOLS),
                          ("<think>\nHm.\n</think>\n\nYes", []), ("<tool_call>{]", TOOLS)):
        whole, (final, events) = create(client, answer, tools=tools), streamed(client, answer, tools=tools)
        assert plain(whole) == plain(final), (plain(whole), plain(final))
        assert events[0] == "message_start" and events[-1] == "message_stop"
    assert len([e for e in streamed(client, CALL, tools=TOOLS)[1] if e == "input_json"]) > 5


@test
def anthropic_stops(s, client):
    assert plain(create(client, "a b c", stop_sequences=["b"]))[:3] == ([{"type": "text", "text": "a "}], "stop_sequence", "b")
    message = client.messages.create(model="toy", max_tokens=3, messages=say("abcdef"))
    assert plain(message)[:2] == ([{"type": "text", "text": "abc"}], "max_tokens")
    assert client.messages.create(model="toy", max_tokens=10 ** 6, messages=say("abc")).content[0].text == "abc"


@test
def anthropic_thinking(s, client):
    message = create(client, "<think>Hm.</think>Yes", thinking={"type": "enabled", "budget_tokens": 1024})
    assert [(b.type, b.thinking if b.type == "thinking" else b.text) for b in message.content] == [("thinking", "Hm."), ("text", "Yes")]
    prompt = post(s.port, "/apply-template", {"model": "toy", "enable_thinking": True, "messages": [{"role": "user", "content": "x"}]})[2]
    assert prompt["prompt"] == '<|a|>user: x<|b|>{{"enable_thinking":true}}<|a|>assistant: '


@test
def anthropic_count(s, client):
    n = client.messages.count_tokens(model="toy", messages=say("abc"), tools=TOOLS, system="Be kind.").input_tokens
    message = create(client, "abc", tools=TOOLS, system="Be kind.")
    assert n == message.usage.input_tokens + message.usage.cache_read_input_tokens


@test
def anthropic_errors(s, client):
    def raises(kind, call):
        try:
            call()
        except kind as caught:
            return caught
        raise AssertionError(f"{kind} was expected")
    error = raises(anthropic.NotFoundError, lambda: client.messages.create(model="none", max_tokens=5, messages=say("a")))
    assert error.body["type"] == "error" and error.body["error"]["type"] == "not_found_error"
    assert raises(anthropic.BadRequestError, lambda: create(client, "a", extra_body={"temperature": 7})).body["error"]["type"] == "invalid_request_error"
    raises(anthropic.InternalServerError, lambda: create(client, "x", system="[fail]"))
    for body, words in (({}, "max_tokens"), ({"max_tokens": 5}, "messages"), ({"max_tokens": 5, "messages": [3]}, "role"),
                        ({"max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "image"}]}]}, "image"),
                        ({"max_tokens": 5, "messages": say("a"), "system": 5}, "system"),
                        ({"max_tokens": 5, "messages": say("a"), "tools": [{"name": "x"}]}, "input_schema"),
                        ({"max_tokens": 5, "messages": say("a"), "tools": TOOLS, "tool_choice": {"type": "x"}}, "tool_choice"),
                        ({"max_tokens": 5, "messages": say("a"), "mcp_servers": [{}]}, "mcp_servers"),
                        ({"max_tokens": 5, "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": 5}]}]}, "tool_use")):
        status, _, page = post(s.port, "/v1/messages", dict(body, model="toy"))
        assert status == 400 and page["type"] == "error" and words in page["error"]["message"], page
    status, _, text = ask(s.port, "POST", "/v1/messages", {"model": "toy", "max_tokens": 50, "stream": True, "messages": say("abcdef"),
                                                           "system": "[fail=3]"})
    assert status == 200 and text.rstrip().split("\n\n")[-1].startswith("event: error\ndata: "), text


@test
def anthropic_prefill(s, client):
    message = client.messages.create(model="toy", max_tokens=20, messages=say("abc") + [{"role": "assistant", "content": "Well"}])
    assert message.content[0].text == "abc"


@test
def anthropic_loop_of_calls(s, client):
    """20 turns of a coding agent with 40 tools: each answer calls one or two, and each result comes back with the next."""
    tools = [{"name": f"tool_{i}", "description": f"The tool with the number {i}. " * 4, "input_schema": {
        "type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
        "required": ["path"]}} for i in range(40)]
    tools.append({"type": "web_search_20250305", "name": "web_search"})
    system = [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}]
    messages, task = [], "Mend the fault."
    for turn in range(20):
        calls = [{"name": f"tool_{(turn * 7 + k) % 40}", "arguments": {"path": f"src/été_{turn}.c", "lines": [turn, k]}}
                 for k in range(1 + turn % 2)]
        answer = f"<think>Turn {turn}.</think>I look at it. " + "\n".join(
            f"<tool_call>\n{json.dumps(c, ensure_ascii=False)}\n</tool_call>" for c in calls)
        results = [] if turn == 0 else [{"type": "tool_result", "tool_use_id": b.id, "content": [{"type": "text", "text": f"Result {turn}."}],
                                         "is_error": turn % 5 == 0} for b in final.content if b.type == "tool_use"]
        messages.append({"role": "user", "content": results + [{"type": "text", "text": f"{task} [say]{answer}[/say]"}]})
        with client.messages.stream(model="toy", max_tokens=900, messages=messages, tools=tools, system=system,
                                    thinking={"type": "enabled", "budget_tokens": 1024}) as stream:
            final = stream.get_final_message()
        assert final.stop_reason == "tool_use" and [b.type for b in final.content][:2] == ["thinking", "text"]
        assert [(b.name, b.input) for b in final.content if b.type == "tool_use"] == [(c["name"], c["arguments"]) for c in calls]
        messages.append({"role": "assistant", "content": [b.to_dict() for b in final.content]})
    results = [{"type": "tool_result", "tool_use_id": b.id, "content": "Done."} for b in final.content if b.type == "tool_use"]
    messages.append({"role": "user", "content": results + [{"type": "text", "text": "[say]It is mended.[/say]"}]})
    assert client.messages.create(model="toy", max_tokens=99, messages=messages, tools=tools).content[0].text == "It is mended."


if __name__ == "__main__":
    if anthropic is None:
        print("[ RUN      ] anthropic_client\n[  REASON  ] anthropic_client: the anthropic package is not installed\n"
              "[  SKIPPED ] anthropic_client")
        sys.exit(0)
    with Server(sys.argv[1], context=200000) as server:
        run(server, anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.port}", api_key="any", max_retries=0, timeout=60))
