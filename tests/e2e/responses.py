"""/v1/responses over raw HTTP: requests become chats, streams add up, answers are kept, shown, deleted and gone on from.

usage: responses.py API_SERVE
"""
import json
import os
import sys
import tempfile

from toy import Server, ask, post, run, test

TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
         {"type": "function", "name": "list", "parameters": {"type": "object"}}, {"type": "web_search"}]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Łódź \\"x\\""}}\n</tool_call>'


def say(answer):
    return f"[say]{answer}[/say]"


def create(s, **body):
    return post(s.port, "/v1/responses", dict({"model": "toy", "max_output_tokens": 500}, **body))


def events_of(s, **body):
    """The events of a stream, whose names and numbers are as they must be."""
    text = ask(s.port, "POST", "/v1/responses", dict({"model": "toy", "max_output_tokens": 500, "stream": True}, **body))[2]
    events = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == "event: " + events[-1]["type"]
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    return events


def plain(items):
    rows = []
    for item in items:
        text = item["arguments"] if item["type"] == "function_call" else item["content"][0]["text"]
        rows.append((item["type"], item.get("name"), text, item["status"]))
    return rows


@test
def a_text_is_answered(s):
    status, _, page = create(s, input=say("Hello."), instructions="Be kind.", metadata={"a": "b"}, temperature=0.5)
    assert status == 200 and page["id"].startswith("resp_") and page["object"] == "response" and page["model"] == "toy"
    assert page["status"] == "completed" and page["error"] is None and page["incomplete_details"] is None
    item = page["output"][0]
    assert item["type"] == "message" and item["role"] == "assistant" and item["id"].startswith("msg_")
    assert item["content"] == [{"type": "output_text", "text": "Hello.", "annotations": []}]
    assert page["instructions"] == "Be kind." and page["metadata"] == {"a": "b"} and page["temperature"] == 0.5 and page["store"]
    usage = page["usage"]
    assert usage["output_tokens"] == 7 and usage["total_tokens"] == usage["input_tokens"] + 7
    assert usage["input_tokens_details"]["cached_tokens"] == 4 and usage["output_tokens_details"] == {"reasoning_tokens": 0}


@test
def a_text_may_name_the_field(s):
    """A small body that looks as if it went on from an answer is read by a worker, and not refused."""
    for text in ("previous_response_id", '"previous_response_id": "resp_1"'):
        status, _, page = create(s, input=text + say("Hello."))
        assert status == 200 and page["output"][0]["content"][0]["text"] == "Hello.", page


@test
def items_are_messages(s):
    """The number of prompt tokens is that of the chat with the same messages."""
    call = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"x"}'}
    fields = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"x"}'}}
    rows = [
        ([{"role": "user", "content": "a"}], [{"role": "user", "content": "a"}]),
        ([{"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "a"}]}, {"role": "user", "content": "b"}],
         [{"role": "developer", "content": "a"}, {"role": "user", "content": "b"}]),
        ([{"role": "user", "content": "a"}, {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
          {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t", "annotations": []}]}, call,
          {"type": "function_call_output", "call_id": "c1", "output": "sun"}],
         [{"role": "user", "content": "a"}, {"role": "assistant", "content": "t", "reasoning_content": "hm", "tool_calls": [fields]},
          {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "sun"}]),
    ]
    chat_tools = [{"type": "function", "function": {k: v for k, v in t.items() if k != "type"}} for t in TOOLS[:2]]
    for items, messages in rows:
        ours = create(s, input=items, tools=TOOLS)[2]["usage"]["input_tokens"]
        chat = post(s.port, "/v1/chat/completions", {"model": "toy", "max_tokens": 500, "messages": messages, "tools": chat_tools})[2]
        assert ours == chat["usage"]["prompt_tokens"], (items, ours, chat)


@test
def calls_and_reasoning_are_items(s):
    page = create(s, input=say("<think>Hm.</think>So. " + CALL + "\n" + CALL), tools=TOOLS)[2]
    city = '{"city": "Łódź \\"x\\""}'
    assert plain(page["output"]) == [("reasoning", None, "Hm.", "completed"), ("message", None, "So.", "completed"),
                                     ("function_call", "weather", city, "completed"), ("function_call", "weather", city, "completed")]
    ids = [item["call_id"] for item in page["output"][2:]]
    assert len(set(ids)) == 2 and page["usage"]["output_tokens_details"]["reasoning_tokens"] == 3
    assert page["tools"] == TOOLS
    assert len(create(s, input=say(CALL + "\n" + CALL), tools=TOOLS, parallel_tool_calls=False)[2]["output"]) == 1


@test
def streams_add_up(s):
    for answer, tools in (("Hello.", []), ("", []), ("<think>Hm.</think>So. " + CALL + "\n" + CALL, TOOLS), (CALL, TOOLS),
                          ("<think>\nHm.\n</think>\n\nYes", []), ("a" * 700, [])):
        whole, events = create(s, input=say(answer), tools=tools)[2], events_of(s, input=say(answer), tools=tools)
        assert [e["type"] for e in events[:2]] == ["response.created", "response.in_progress"]
        last = events[-1]["response"]
        assert events[-1]["type"] == "response." + whole["status"] and plain(last["output"]) == plain(whole["output"])
        assert last["usage"]["output_tokens"] == whole["usage"]["output_tokens"]
        open_items, pieces, done = {}, {}, []
        for event in events[2:-1]:
            kind, index = event["type"], event["output_index"]
            if kind == "response.output_item.added":
                assert index == len(open_items) and event["item"]["status"] == "in_progress"
                open_items[index], pieces[index] = event["item"]["id"], ""
            elif kind == "response.output_item.done":
                assert event["item"]["id"] == open_items[index]
                done.append(event["item"])
            else:
                assert event["item_id"] == open_items[index]
                pieces[index] += event["delta"] if kind.endswith(".delta") else ""
                if kind.endswith("_text.done") or kind.endswith("arguments.done"):
                    assert pieces[index] == event.get("text", event.get("arguments")), event
        assert done == last["output"], (done, last["output"])


@test
def a_broken_call_is_text(s):
    answer = '<tool_call>{"name": "weather", "arguments": {"city": ]'
    whole, events = create(s, input=say(answer), tools=TOOLS)[2], events_of(s, input=say(answer), tools=TOOLS)
    assert plain(whole["output"]) == [("message", None, answer, "completed")]
    assert plain(events[-1]["response"]["output"]) == plain(whole["output"])
    done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    assert [item["status"] for item in done] == ["incomplete", "completed"], done


@test
def a_cut_answer_is_incomplete(s):
    page = create(s, input=say("abcdef"), max_output_tokens=3)[2]
    assert page["status"] == "incomplete" and page["incomplete_details"] == {"reason": "max_output_tokens"}
    assert plain(page["output"]) == [("message", None, "abc", "incomplete")]
    page = create(s, input=say(CALL), tools=TOOLS, max_output_tokens=len(CALL.encode()) - 16)[2]
    assert page["status"] == "incomplete" and page["output"][-1]["status"] == "incomplete"


@test
def a_failure_ends_the_stream(s):
    events = events_of(s, input=say("abcdef"), instructions="[fail=3]")
    assert [e["type"] for e in events[-2:]] == ["error", "response.failed"]
    assert events[-1]["response"]["status"] == "failed" and events[-1]["response"]["error"]["code"] == "server_error"
    assert create(s, input=say("x"), instructions="[fail]")[0] == 500


@test
def structure_is_asked_for(s):
    status, _, page = create(s, input="a", text={"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}})
    assert status == 400 and page["error"]["param"] == "response_format", page  # the toy has no grammars
    assert create(s, input="a", text={"format": {"type": "text"}, "verbosity": "medium"})[0] == 200


@test
def answers_are_kept(s):
    first = create(s, input="Round one." + say("One"), instructions="Old.")[2]
    assert json.loads(ask(s.port, "GET", "/v1/responses/" + first["id"])[2]) == first
    second = create(s, input="Two" + say("Second"), previous_response_id=first["id"])[2]
    assert second["previous_response_id"] == first["id"] and second["output"][0]["content"][0]["text"] == "Second"
    replayed = [{"role": "user", "content": "Round one." + say("One")}] + first["output"] + [{"role": "user", "content": "Two" + say("Second")}]
    assert create(s, input=replayed)[2]["usage"]["input_tokens"] == second["usage"]["input_tokens"]
    third = create(s, input="3", previous_response_id=second["id"])[2]
    assert third["usage"]["input_tokens"] > second["usage"]["input_tokens"]
    events = events_of(s, input="4" + say("Four"), previous_response_id=third["id"])
    last = events[-1]["response"]
    assert json.loads(ask(s.port, "GET", "/v1/responses/" + last["id"])[2]) == last
    status, _, text = ask(s.port, "DELETE", "/v1/responses/" + first["id"])
    assert (status, json.loads(text)) == (200, {"id": first["id"], "object": "response", "deleted": True})
    assert ask(s.port, "GET", "/v1/responses/" + first["id"])[0] == 404
    assert ask(s.port, "DELETE", "/v1/responses/" + first["id"])[0] == 404
    status, _, page = create(s, input="5", previous_response_id=third["id"])
    assert status == 404 and first["id"] in page["error"]["message"], page


@test
def an_answer_that_is_not_stored_is_gone(s):
    page = create(s, input="a", store=False)[2]
    assert page["store"] is False and ask(s.port, "GET", "/v1/responses/" + page["id"])[0] == 404
    status, _, page = create(s, input="a", previous_response_id="resp_00000000" + "0" * 24)
    assert status == 404 and "another gateway" in page["error"]["message"]
    status, _, page = create(s, input="a", previous_response_id=create(s, input="a", store=False)[2]["id"])
    assert status == 404 and "was not stored" in page["error"]["message"]


@test
def the_store_is_bounded(s):
    """1 MiB in all: the oldest leave first, and an answer above a quarter is not kept."""
    page = create(s, input=[{"role": "user", "content": "x"}], metadata={"a": "m" * 300000})[2]
    assert page["store"] is False
    ids = [create(s, input="x", metadata={"a": "m" * 100000})[2]["id"] for _ in range(24)]
    there = [ask(s.port, "GET", "/v1/responses/" + id_)[0] == 200 for id_ in ids]
    assert there == sorted(there) and 3 <= sum(there) <= 10, there


@test
def tenants_do_not_meet(s):
    with Server(s.exe, api_key="k", tenant=["a=ka", "b=kb"]) as other:
        page = post(other.port, "/v1/responses", {"model": "toy", "input": "x"}, x_api_key="ka")[2]
        for key, status in (("ka", 200), ("kb", 404), ("k", 404)):
            assert ask(other.port, "GET", "/v1/responses/" + page["id"], headers={"x-api-key": key})[0] == status
            assert post(other.port, "/v1/responses", {"model": "toy", "input": "y", "previous_response_id": page["id"]},
                        x_api_key=key)[0] == status


@test
def a_file_outlives_the_server(s):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept.db")
        with Server(s.exe, responses=path) as one:
            page = post(one.port, "/v1/responses", {"model": "toy", "input": say("One")})[2]
        with Server(s.exe, responses=path) as two:
            assert json.loads(ask(two.port, "GET", "/v1/responses/" + page["id"])[2]) == page
            again = post(two.port, "/v1/responses", {"model": "toy", "input": "b", "previous_response_id": page["id"]})[2]
            assert again["id"][:13] == page["id"][:13]


@test
def files_that_are_no_store_are_refused(s):
    import subprocess
    import sqlite3
    with tempfile.TemporaryDirectory() as folder:
        bad, foreign = os.path.join(folder, "bad"), os.path.join(folder, "foreign")
        with open(bad, "wb") as file:
            file.write(b"this is no database" * 1000)
        with sqlite3.connect(foreign) as db:
            db.execute("PRAGMA user_version = 7")
        for path, words in ((bad, "can't be used as a database"), (foreign, "format 7"), (folder + "/none/x", "can't be used")):
            done = subprocess.run([s.exe, "responses", path], capture_output=True, text=True, timeout=20)
            assert done.returncode == 2 and words in done.stderr, (path, done)


@test
def errors_have_names(s):
    rows = [({}, "input"), ({"input": 5}, "input"), ({"input": []}, "input"), ({"input": [5]}, "input"),
            ({"input": [{"role": "x", "content": "a"}]}, "input"), ({"input": [{"role": "user"}]}, "input"),
            ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "input"),
            ({"input": [{"type": "item_reference", "id": "x"}]}, "input"), ({"input": [{"type": "function_call", "name": "x"}]}, "input"),
            ({"input": [{"type": "function_call_output", "output": "x"}]}, "input"), ({"input": "a", "background": True}, "background"),
            ({"input": "a", "conversation": "x"}, "conversation"), ({"input": "a", "prompt": {"id": "x"}}, "prompt"),
            ({"input": "a", "truncation": "auto"}, "truncation"), ({"input": "a", "top_logprobs": 3}, "top_logprobs"),
            ({"input": "a", "include": ["message.output_text.logprobs"]}, "include"), ({"input": "a", "tools": 5}, "tools"),
            ({"input": "a", "tools": [{"type": "function"}]}, "tools"), ({"input": "a", "tools": [{}]}, "tools"),
            ({"input": "a", "tool_choice": {"type": "web_search"}}, "tool_choice"), ({"input": "a", "tool_choice": "required"}, "tool_choice"),
            ({"input": "a", "instructions": []}, None), ({"input": "a", "instructions": 5}, "instructions"),
            ({"input": "a", "store": "x"}, "store"), ({"input": "a", "previous_response_id": 5}, "previous_response_id"),
            ({"input": "a", "messages": [5]}, "messages"), ({"input": "a", "max_tokens": 5}, "max_tokens"), ({"input": "a", "n": 2}, "n"),
            ({"input": "a", "reasoning": 5}, "reasoning"), ({"input": "a", "temperature": 7}, "temperature"),
            ({"input": "a", "text": {"verbosity": "low"}}, "verbosity"), ({"input": "a", "lora": "x"}, "lora")]
    for body, param in rows:
        status, _, page = create(s, **body)
        assert status == 400 and (param is None or page["error"]["param"] == param), (body, page)
    for body in ({"truncation": "disabled"}, {"background": False}, {"include": ["reasoning.encrypted_content"]}, {"top_logprobs": 0},
                 {"unknown": 5}, {"tool_choice": "auto"}, {"reasoning": {"summary": "auto"}}, {"conversation": None}, {"service_tier": "auto"},
                 {"tools": [{"type": "web_search"}]}, {"seed": 5, "top_k": 3}, {"stream_options": {"include_obfuscation": False}}):
        assert create(s, input="a", **body)[0] == 200, body
    assert ask(s.port, "GET", "/v1/responses/x/y")[0] == 404
    assert ask(s.port, "GET", "/v1/responses/resp_x?stream=true")[0] == 400
    status, head, _ = ask(s.port, "DELETE", "/v1/responses")
    assert status == 405 and head["allow"] == "POST, OPTIONS"
    with Server(s.exe, strict="1") as strict:
        assert post(strict.port, "/v1/responses", {"model": "toy", "input": "a", "unknown": 5})[0] == 400
        assert post(strict.port, "/v1/responses", {"model": "toy", "input": "a", "tools": TOOLS, "store": True})[0] == 200


@test
def allowed_tools_are_offered_alone(s):
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "list"}]}
    page = create(s, input=say(CALL), tools=TOOLS, tool_choice=choice)[2]
    assert [item["type"] for item in page["output"]] == ["message"]


if __name__ == "__main__":
    with Server(sys.argv[1]) as server:
        server.exe = sys.argv[1]
        run(server)
