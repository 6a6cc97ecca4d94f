"""The official ollama package talks to us: chats, streams, texts, tools, thinking, models, errors.

usage: ollama_client.py API_SERVE; skips when the package is missing (pip install ollama)
"""
import sys

from toy import Server, run, test

try:
    import ollama
except ImportError:
    ollama = None

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Łódź"}}\n</tool_call>'


def weather(city: str) -> str:
    """The weather.

    Args:
        city: a city
    """
    return "sun in " + city


def say(answer):
    return [{"role": "user", "content": f"[say]{answer}[/say]"}]


@test
def client_chats(s, client):
    reply = client.chat(model="toy", messages=say("Hello."), options={"seed": 5, "num_ctx": 2048, "temperature": 0.5})
    assert reply.message.content == "Hello." and reply.done and reply.done_reason == "stop" and reply.eval_count == 7
    parts = list(client.chat(model="toy", messages=say("Hello."), stream=True))
    assert "".join(part.message.content for part in parts) == "Hello." and parts[-1].done and len(parts) > 3


@test
def client_generates(s, client):
    assert client.generate(model="toy", prompt="[say]Hello.[/say]").response == "Hello."
    assert "".join(p.response for p in client.generate(model="toy", prompt="[say]Hello.[/say]", stream=True)) == "Hello."


@test
def client_calls_functions(s, client):
    """Ten rounds, in which the functions are Python's own."""
    messages = []
    for i in range(10):
        messages += [{"role": "user", "content": f"round {i} [say]{CALL}[/say]"}]
        reply = client.chat(model="toy", messages=messages, tools=[weather])
        call = reply.message.tool_calls[0].function
        assert call.name == "weather" and call.arguments == {"city": "Łódź"}
        messages += [reply.message, {"role": "tool", "tool_name": call.name, "content": weather(**call.arguments)}]
    streamed = [part for part in client.chat(model="toy", messages=messages[:1], tools=[weather], stream=True) if part.message.tool_calls]
    assert len(streamed) == 1 and streamed[0].message.tool_calls[0].function.arguments == {"city": "Łódź"}


@test
def client_thinks(s, client):
    reply = client.chat(model="toy", messages=say("<think>Hm.</think>Yes"), think=True)
    assert reply.message.thinking == "Hm." and reply.message.content == "Yes"


@test
def client_sees_models(s, client):
    assert [m.model for m in client.list().models] == ["toy", "org/plain"]
    assert "tools" in client.show("toy").capabilities and client.ps().models


@test
def client_gets_errors(s, client):
    for status, fields in ((404, {"model": "none"}), (400, {"options": {"mirostat": 1}}), (500, {"messages": [{"role": "user", "content": "[fail]"}]})):
        try:
            client.chat(**{"model": "toy", "messages": say("a"), **fields})
            raise AssertionError("an error was expected")
        except ollama.ResponseError as caught:
            assert caught.status_code == status and caught.error, caught
    try:
        list(client.chat(model="toy", messages=[{"role": "user", "content": "abc [fail=3]"}], stream=True))
        raise AssertionError("an error was expected")
    except ollama.ResponseError:
        pass


if __name__ == "__main__":
    if ollama is None:
        print("[ RUN      ] ollama_client\n[  REASON  ] ollama_client: the ollama package is not installed\n"
              "[  SKIPPED ] ollama_client")
        sys.exit(0)
    with Server(sys.argv[1]) as server:
        run(server, ollama.Client(host=f"http://127.0.0.1:{server.port}"))
