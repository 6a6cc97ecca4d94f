"""Every endpoint with every field of the wrong type, and every endpoint with clients that leave.

Each place of each rich body, at every depth, becomes each kind of JSON value. Each request gets exactly one answer, and
nothing lives on afterwards: no request, no seat, no byte of the account.

usage: wrong_types.py API_SERVE SHOAL MODEL; the last two serve what the toy house does not have. TYPES_SEED=N plants other samples, TYPES_ALL=1 sends all of them
"""
import copy
import json
import os
import random
import re
import socket
import struct
import sys

from serve_shared import Shoal
from toy import Server, ask, run, test, until

EXE, SHOAL, MODEL = sys.argv[1:4]
SEED, IS_ALL = int(os.environ.get("TYPES_SEED", 1)), "TYPES_ALL" in os.environ
VALUES = [None, True, False, 0, -1, 3, 1 << 62, -(1 << 63), 1.5, -0.0, 1e300, "", "x", "é" * 300, "true", [], [None], [[]], [{}], ["x", 1], {}, {"a": 1},
          {"type": "text"}, {"type": 7}, {"model": [1]}]
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "strict": False,
                                         "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}
SAMPLING = {"max_tokens": 2, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "min_p": 0.1, "frequency_penalty": 0.1, "presence_penalty": 0.1,
            "repetition_penalty": 1.1, "logit_bias": {"3": 1}, "seed": 3, "n": 2, "min_tokens": 0, "ignore_eos": False, "stop": ["q", "w"],
            "stop_token_ids": [7], "priority": 1, "user": "u", "skip_special_tokens": True, "include_stop_str_in_output": True,
            "stream": False, "guided_choice": None, "structured_outputs": None, "thinking_budget": None, "metadata": {"a": "b"}}
CHAT = {"model": "toy", "messages": [
    {"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "hi [n=3]"}], "name": "n"},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "r"},
    {"role": "tool", "tool_call_id": "c1", "content": "1"}, {"role": "user", "content": "more"}],
        **SAMPLING, "logprobs": True, "top_logprobs": 2, "tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": True,
        "stream_options": None, "chat_template_kwargs": {"a": 1}, "reasoning_effort": "low", "add_generation_prompt": True,
        "continue_final_message": False, "response_format": {"type": "text"}, "reasoning": {"max_tokens": None}, "include_reasoning": True,
        "prompt_logprobs": None, "max_completion_tokens": 2, "modalities": ["text"]}
COMPLETION = {"model": "toy", "prompt": ["a [n=3]", "b"], **SAMPLING, "logprobs": 2, "echo": True, "best_of": 2, "suffix": None, "prompt_logprobs": 1}
MESSAGES = {"model": "toy", "max_tokens": 3, "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}], "messages": [
    {"role": "user", "content": [{"type": "text", "text": "hi [n=3]"}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"},
                                      {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "1"}], "is_error": False}]}],
            "stop_sequences": ["q"], "temperature": 0.5, "top_p": 0.9, "top_k": 3, "stream": False, "metadata": {"user_id": "u"},
            "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}], "tool_choice": {"type": "auto"},
            "thinking": {"type": "disabled"}, "service_tier": "auto"}
RESPONSES = {"model": "toy", "input": [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi [n=3]"}]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "t"}], "content": [{"type": "reasoning_text", "text": "t"}]},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c1", "output": "1"},
    {"role": "user", "content": "more"}], "instructions": "i", "max_output_tokens": 16, "temperature": 0.5, "top_p": 0.9, "stream": False,
             "store": True, "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}], "tool_choice": "auto",
             "parallel_tool_calls": True, "reasoning": {"effort": "low", "summary": "auto"}, "text": {"format": {"type": "text"}},
             "metadata": {"a": "b"}, "previous_response_id": None, "truncation": "disabled", "include": [], "user": "u"}
OLLAMA = {"model": "toy", "stream": False, "format": "", "think": False, "keep_alive": "5m", "truncate": True, "options": {
    "num_predict": 3, "temperature": 0.5, "top_k": 3, "top_p": 0.9, "min_p": 0.1, "seed": 3, "stop": ["q"], "repeat_penalty": 1.1,
    "presence_penalty": 0.1, "frequency_penalty": 0.1, "num_ctx": 512, "num_gpu": 1}}
OLLAMA_CHAT = {**OLLAMA, "messages": [
    {"role": "user", "content": "hi [n=3]"}, {"role": "assistant", "content": "", "thinking": "t",
                                              "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
    {"role": "tool", "tool_name": "f", "content": "1"}], "tools": [TOOL]}
LLAMA = {"model": "toy", "prompt": ["a [n=3]", {"prompt_string": "b"}, [97, 98]], "n_predict": 3, "seed": 3, "n_probs": 2, "return_tokens": True,
         "logit_bias": [[97, 1.5], [98, False]], "response_fields": None, "repeat_penalty": 1.1, "repeat_last_n": -1, "id_slot": -1,
         "cache_prompt": True, "n_keep": 0, "n_cmpl": 2, "timings_per_token": True, "stop": ["q"], "temperature": 0.5, "top_k": 3, "stream": False}
EMBED = {"model": "toy", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2, "user": "u", "add_special_tokens": True, "priority": 1}
RERANK = {"model": "toy", "query": "q", "documents": ["a", {"text": "b"}], "top_n": 1, "return_documents": True}
SCORE = {"model": "toy", "text_1": "a", "text_2": ["a", "b"]}
BODIES = {"ChatRequest": CHAT, "CompletionRequest": COMPLETION, "MessagesRequest": MESSAGES, "ResponsesRequest": RESPONSES,
          "LlamaRequest": LLAMA, "EmbeddingsRequest": EMBED, "RerankRequest": RERANK, "ScoreRequest": SCORE, "OllamaChatRequest": OLLAMA_CHAT,
          "OllamaTextRequest": {**OLLAMA, "prompt": "hi [n=3]", "system": "s", "raw": False, "images": [], "suffix": "", "context": []},
          "OllamaEmbedRequest": {"model": "toy", "input": ["a", "b"], "dimensions": 2, "truncate": True, "options": {"num_ctx": 9}, "keep_alive": 0},
          "TokenizeRequest": {"model": "toy", "prompt": "a", "content": None, "add_special_tokens": True, "return_token_strs": True,
                              "with_pieces": True, "add_special": True, "messages": None, "add_generation_prompt": True},
          "DetokenizeRequest": {"model": "toy", "tokens": [97, 98]}, "NameRequest": {"model": "toy", "name": "toy", "verbose": True},
          "LoadRequest": {"model": "toy", "path": None, "name": None, "ctx": None}, "UnloadRequest": {"model": "toy", "remove": False},
          "PinRequest": {"model": "toy", "engine": 0}, None: {"level": 1, "model": "toy"}}


def places(value, path=()):
    """Paths of all values below this one, itself included."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield from places(child, path + (key,))


def with_value(body, path, value):
    if not path:
        return value
    body = copy.deepcopy(body)
    at = body
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return body


def endpoints(server):
    """[(method, path, body)] of the table of endpoints, as the server describes it."""
    document = json.loads(ask(server.port, "GET", "/openapi.json")[2])
    for path, verbs in document["paths"].items():
        for verb, one in verbs.items():
            if verb not in ("get", "post", "delete"):
                continue
            schema = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
            name = schema.rsplit("/", 1)[-1] or None
            yield verb.upper(), re.sub(r"\{[^}]*\}", "toy", path), BODIES[name] if verb == "post" else None


def message(method, path, body, number):
    data = b"" if body is None and method != "POST" else json.dumps(body).encode()
    return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: t{number}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n").encode() + data


class Connection:
    """One keep-alive connection that counts the answers on it."""

    def __init__(self, port):
        self.port, self.socket, self.got = port, None, b""

    def read_until(self, what):
        while not what(self.got):
            piece = self.socket.recv(1 << 20)
            assert piece, ("the connection was closed", self.got[-300:])
            self.got += piece

    def exchange(self, method, path, body, number):
        """Sends the request and a ping behind it. Returns the status of the request's only answer."""
        if self.socket is None:
            self.socket, self.got = socket.create_connection(("127.0.0.1", self.port), timeout=60), b""
        self.socket.sendall(message(method, path, body, number) + message("GET", "/livez", None, f"{number}-end"))
        end = f"t{number}-end".encode()
        self.read_until(lambda got: end in got and got.endswith(b"}") or got.endswith(b"\n0\r\n\r\n") and end in got)
        heads = re.findall(rb"HTTP/1\.1 (\d+)[^\r\n]*\r\n(?:[^\r\n]+\r\n)*?[Xx]-[Rr]equest-[Ii]d: (t[0-9a-z-]+)\r\n", self.got)
        ids = [name.decode() for _, name in heads]
        assert ids == [f"t{number}", f"t{number}-end"], (method, path, body, self.got[:1500])
        self.got = b""
        return int(heads[0][0])


def is_endless(path):
    return path == "/models/sse"


def requests(server, n_each):
    rng = random.Random(SEED)
    for method, path, body in endpoints(server):
        if is_endless(path):
            continue
        yield method, path, body
        if body is None:
            continue
        mutants = [with_value(body, place, value) for place in places(body) for value in VALUES]
        mutants += [with_value(dict(body, stream=True), place, rng.choice(VALUES)) for place in places(body)] if "stream" in body else []
        for mutant in rng.sample(mutants, len(mutants) if IS_ALL else min(n_each, len(mutants))):
            yield method, path, mutant


def metric(server, name, kind=""):
    found = re.search(rf"^{name}({{[^}}]*{kind}[^}}]*}})? ([0-9.e+]+)$", ask(server.port, "GET", "/metrics")[2], re.M)
    return float(found[2])


def check_idle(server, before):
    until(lambda: metric(server, "shoal_api_requests", "held") == 0)
    until(lambda: metric(server, "shoal_http_memory_bytes", "held") <= before + (1 << 20))
    assert ask(server.port, "GET", "/health")[0] == 200
    for _ in range(2):  # whatever was unloaded or paused
        ask(server.port, "POST", "/models/unpause", {"model": "toy"})
        status, _, text = ask(server.port, "POST", "/v1/completions", {"model": "toy", "prompt": "a", "max_tokens": 2})
    assert status == 200, text


def walk(server, n_each):
    """Sends all; returns {status: requests} and the paths whose plain body is taken."""
    connection, statuses, taken = Connection(server.port), {}, set()
    assert ask(server.port, "POST", "/v1/chat/completions", CHAT)[0] == 200
    before = metric(server, "shoal_http_memory_bytes", "held")
    for n, (method, path, body) in enumerate(requests(server, n_each)):
        status = connection.exchange(method, path, body, n)
        statuses.setdefault(status, []).append((method, path, body))
        assert status < 500 or status == 503, (status, method, path, body)
        if status == 200:
            taken.add(path)
        if path in ("/models/pause", "/models/pin", "/models/unload", "/sleep"):  # so that others are answered
            for undo, more in ("/models/unpause", {"model": "toy"}), ("/models/unpin", {"model": "toy"}), ("/models/load", {"model": "toy"}):
                connection.exchange("POST", undo, more, n)
    connection.socket.close()
    print({status: len(some) for status, some in sorted(statuses.items())}, flush=True)
    check_idle(server, before)
    assert set(statuses) <= {200, 400, 403, 404, 405, 409, 503}
    assert min(len(statuses[200]), len(statuses[400])) > sum(map(len, statuses.values())) / 20
    return taken


@test
def wrong_types_get_one_answer():
    for options in {}, {"models": 1}, {"strict": 1}:
        with Server(EXE, **options) as server:
            taken = walk(server, 150)
        assert taken >= {"/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses", "/api/chat", "/api/generate", "/completion",
                         "/tokenize", "/detokenize", "/apply-template", "/models/load", "/models/unload", "/models/sleep"} or options, taken


@test
def wrong_types_get_one_answer_of_a_real_model():
    with Shoal(SHOAL, "--default-chat-template", "chatml", models={"toy": MODEL}) as server:
        taken = walk(server, 25)
    assert taken >= {"/v1/embeddings", "/v1/rerank", "/v1/score", "/api/embed", "/models/pause", "/models/unpause", "/models/pin"}, taken


def leave(port, data, how, rng):
    """Sends some or all of a request, reads nothing or something, and leaves by an end or a reset."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
        head = data.index(b"\r\n\r\n") + 4
        cuts = {"in the head": rng.randrange(1, head), "behind the head": head, "in the body": rng.randrange(head, len(data) + 1)}
        sock.sendall(data[:cuts.get(how, len(data))])
        if how == "behind the first byte":
            sock.settimeout(5)
            sock.recv(1)
        if rng.random() < 0.5:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@test
def clients_that_leave_leave_nothing():
    rng = random.Random(SEED)
    with Server(EXE) as server:
        n = 0
        for round_ in range(8 if IS_ALL else 2):
            for method, path, body in endpoints(server):
                text = json.dumps(body).replace("[n=3]", "[gap=20] [n=900]").replace('"max_tokens": 2', '"max_tokens": 900')
                slow = json.loads(text)
                streams = [slow] + ([dict(slow, stream=True)] if slow and "stream" in slow else [])
                for how in ("in the head", "behind the head", "in the body", "at once", "behind the first byte"):
                    for one in streams:
                        if how == "behind the first byte" and one is slow and slow is not None and "stream" in slow:
                            continue  # its first byte comes with the last one
                        n += 1
                        leave(server.port, message(method, path, one, n), how, rng)
        print(f"{n} clients left")
        check_idle(server, 1 << 20)
        until(lambda: metric(server, "shoal_http_connections") <= 2)


if __name__ == "__main__":
    run()
