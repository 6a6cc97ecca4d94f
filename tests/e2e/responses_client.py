"""The official openai package uses /v1/responses: texts, streams, calls, loops, kept answers, errors.

usage: responses_client.py API_SERVE; skips when the package is missing (pip install openai)
"""
import sys

from toy import Server, run, test

try:
    import openai
except ImportError:
    openai = None

TOOLS = [{"type": "function", "name": name, "strict": False, "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
         for name in ("weather", "list")]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Łódź"}}\n</tool_call>'


def say(answer):
    return f"[say]{answer}[/say]"


@test
def responses_text(s, client):
    reply = client.responses.create(model="toy", input=say("Hello."), instructions="Be kind.")
    assert reply.output_text == "Hello." and reply.status == "completed" and reply.usage.output_tokens == 7
    assert client.responses.retrieve(reply.id).output_text == "Hello."
    client.responses.delete(reply.id)
    try:
        client.responses.retrieve(reply.id)
        raise AssertionError("a deleted response is shown")
    except openai.NotFoundError:
        pass


@test
def responses_streams_add_up(s, client):
    for answer, tools in (("Hello.", []), ("<think>Hm.</think>So. " + CALL + "\n" + CALL, TOOLS), (CALL, TOOLS)):
        whole = client.responses.create(model="toy", input=say(answer), tools=tools)
        with client.responses.stream(model="toy", input=say(answer), tools=tools) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            final = stream.get_final_response()
        assert text == whole.output_text == final.output_text
        assert [item.type for item in final.output] == [item.type for item in whole.output]


@test
def responses_loop_of_calls(s, client):
    """Twenty rounds, once with all items sent again and once on top of the kept answer: the prompts are the same."""
    items, previous = [], None
    for i in range(20):
        question = {"role": "user", "content": f"round {i} " + say(CALL)}
        items.append(question)
        whole = client.responses.create(model="toy", input=items, tools=TOOLS, store=False)
        kept = client.responses.create(model="toy", input=[*outputs, question] if i else [question], tools=TOOLS,
                                       previous_response_id=previous)
        call, kept_call = whole.output[0], kept.output[0]
        assert call.type == kept_call.type == "function_call" and call.arguments == kept_call.arguments
        assert abs(whole.usage.input_tokens - kept.usage.input_tokens) == 0, i
        items += [call.to_dict(), {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}]
        outputs = [{"type": "function_call_output", "call_id": kept_call.call_id, "output": "sun"}]
        previous = kept.id


@test
def responses_errors(s, client):
    for kind, fields in ((openai.BadRequestError, {"input": "a", "temperature": 7}), (openai.NotFoundError, {"input": "a", "model": "none"}),
                         (openai.NotFoundError, {"input": "a", "previous_response_id": "resp_x"}),
                         (openai.InternalServerError, {"input": "a", "instructions": "[fail]"})):
        try:
            client.responses.create(**{"model": "toy", **fields})
            raise AssertionError(f"{kind} was expected")
        except kind:
            pass


@test
def responses_fail_in_a_stream(s, client):
    types = []
    try:
        for event in client.responses.create(model="toy", input=say("abcdef"), instructions="[fail=3]", stream=True):
            types.append(event.type)
        assert types[-1] == "response.failed", types
    except openai.APIError:
        pass
    assert "response.created" in types, types


if __name__ == "__main__":
    if openai is None:
        print("[ RUN      ] responses_client\n[  REASON  ] responses_client: the openai package is not installed\n"
              "[  SKIPPED ] responses_client")
        sys.exit(0)
    with Server(sys.argv[1], context=65536) as server:
        run(server, openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0))
