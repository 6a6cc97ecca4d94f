"""The API's behaviour over the toy house: every field that changes an answer, every way to end, every access check.

usage: api.py API_SERVE
"""
import concurrent.futures
import glob
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import toy
from toy import Server, answer, ask, chat_ids, encode, error_of, post, raw, run, stream, test, until

EXE = sys.argv[1]
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"


def body(prompt="hello", **more):
    return dict({"model": "toy", "prompt": prompt, "temperature": 0}, **more)


def chat(text="hello", **more):
    return dict({"model": "toy", "messages": [{"role": "user", "content": text}], "temperature": 0}, **more)


def user(text):
    return chat_ids([{"role": "user", "content": text}])


def text_of(page, i=0):
    return page["choices"][i]["text"]


def join(events, index=0):
    """The text of a stream's choice, and its finish reason."""
    text, reason = "", None
    for event in events:
        if event == "[DONE]":
            continue
        for choice in event["choices"]:
            if choice["index"] == index:
                text += choice["text"] if "text" in choice else choice["delta"].get("content", "")
                reason = choice["finish_reason"] or reason
    return text, reason


@test
def completion_default_is_16_tokens(s):
    status, head, page = post(s.port, COMPLETIONS, body())
    assert status == 200 and page["object"] == "text_completion" and page["id"].startswith("cmpl-")
    assert text_of(page) == answer(encode("hello"), 16) and page["choices"][0]["finish_reason"] == "length"
    assert page["usage"] == {"prompt_tokens": 6, "completion_tokens": 16, "total_tokens": 22,
                             "prompt_tokens_details": {"cached_tokens": 4}}
    assert page["shoal"]["preemptions"] == 0 and page["timings"]["predicted_n"] == 16
    # A prompt's time is its own, because a request that waits for a place, or for a model to load, computes nothing.
    assert abs(page["timings"]["prompt_ms"] - max(page["shoal"]["ttft_ms"] - page["shoal"]["queue_ms"], 0)) < 0.01, page
    assert head["x-request-id"].startswith("req-")


@test
def chat_answers_until_the_end_token(s):
    status, _, page = post(s.port, CHAT, chat("hello [n=20]"))
    choice = page["choices"][0]
    assert status == 200 and page["object"] == "chat.completion"
    assert choice["message"] == {"role": "assistant", "content": answer(user("hello [n=20]"), 20)}
    assert choice["finish_reason"] == "stop" and page["usage"]["completion_tokens"] == 21


@test
def streams_say_the_same(s):
    for gap in (0, 3):
        prompt = f"hello [n=40] [gap={gap}]"
        status, events = stream(s.port, CHAT, chat(prompt))
        assert status == 200 and events[-1] == "[DONE]"
        deltas = [e["choices"][0]["delta"] for e in events[:-1]]
        assert deltas[0] == {"role": "assistant", "content": ""} and deltas[-1] == {}, deltas
        assert all(list(d) == ["content"] and d["content"] for d in deltas[1:-1]), deltas
        assert [e["choices"][0]["finish_reason"] for e in events[:-1]] == [None] * (len(deltas) - 1) + ["stop"]
        assert len({e["id"] for e in events[:-1]}) == 1 and events[0]["object"] == "chat.completion.chunk"
        assert join(events) == (answer(user(prompt), 40), "stop")
        status, events = stream(s.port, COMPLETIONS, body(prompt, max_tokens=30))
        assert join(events) == (answer(encode(prompt), 30), "length")


@test
def choices_of_a_chat_appear_in_order(s):
    for seed in range(4):
        post(s.port, CHAT, chat("x [n=5]", n=2))  # the toy goes on behind these: with choice 2
        _, events = stream(s.port, CHAT, chat("x [n=5]", n=4, temperature=1, seed=seed))
        choices = [e["choices"][0] for e in events[:-1]]
        assert [c["index"] for c in choices if "role" in c["delta"]] == [0, 1, 2, 3], choices
        whole = post(s.port, CHAT, chat("x [n=5]", n=4, temperature=1, seed=seed))[2]["choices"]
        assert [join(events, i)[0] for i in range(4)] == [c["message"]["content"] for c in whole]


@test
def usage_at_the_end_of_a_stream(s):
    _, events = stream(s.port, CHAT, chat("x [n=5]", stream_options={"include_usage": True}))
    assert all(e["usage"] is None for e in events[:-2])
    assert events[-2]["choices"] == [] and events[-2]["usage"]["completion_tokens"] == 6
    _, events = stream(s.port, CHAT, chat("x [n=5]"))
    assert "usage" not in events[-2] and "timings" in events[-2]


@test
def prompts_of_every_shape(s):
    ids = encode("abc")
    assert text_of(post(s.port, COMPLETIONS, body(ids))[2]) == answer(ids, 16)
    page = post(s.port, COMPLETIONS, body(["a", "bb", "ccc"]))[2]
    assert [text_of(page, i) for i in range(3)] == [answer(encode(t), 16) for t in ("a", "bb", "ccc")]
    assert [c["index"] for c in page["choices"]] == [0, 1, 2] and page["usage"]["completion_tokens"] == 48
    page = post(s.port, COMPLETIONS, body([[1, 2], [3, 4, 5]]))[2]
    assert [text_of(page, i) for i in range(2)] == [answer([1, 2], 16), answer([3, 4, 5], 16)]
    assert text_of(post(s.port, COMPLETIONS, body("", max_tokens=4))[2]) == answer([256], 4)
    _, events = stream(s.port, COMPLETIONS, body(["a", "bb"], n=2))
    assert [join(events, i)[0] for i in range(4)] == [answer(encode(t), 16) for t in ("a", "a", "bb", "bb")]


@test
def content_parts_and_other_chat_fields(s):
    parts = [{"type": "text", "text": "he"}, {"type": "text", "text": "llo"}]
    page = post(s.port, CHAT, chat(parts, max_tokens=8))[2]
    assert page["choices"][0]["message"]["content"] == answer(user("hello"), 8)
    page = post(s.port, CHAT, chat("a", max_tokens=8, chat_template_kwargs={"think": False}))[2]
    ids = chat_ids([{"role": "user", "content": "a"}], '{"think":false}')
    assert page["choices"][0]["message"]["content"] == answer(ids, 8)
    page = post(s.port, CHAT, chat("a", max_tokens=8, add_generation_prompt=False))[2]
    ids = chat_ids([{"role": "user", "content": "a"}], start=False)
    assert page["choices"][0]["message"]["content"] == answer(ids, 8)
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "Well, "}]
    page = post(s.port, CHAT, chat(messages=messages, max_tokens=8, continue_final_message=True))[2]
    assert page["choices"][0]["message"]["content"] == answer(encode("<|a|>user: a<|b|><|a|>assistant: Well,", False), 8)
    status, error = error_of(s.port, CHAT, chat(messages=[{"role": "tool", "content": "x"}]))
    assert status == 400 and "this toy knows no tools" in error["message"]
    status, error = error_of(s.port, CHAT, chat(model="org/plain"))
    assert status == 400 and "no chat template" in error["message"]


@test
def echo_and_zero_tokens(s):
    assert text_of(post(s.port, COMPLETIONS, body("héllo ", echo=True))[2]) == "héllo " + answer(encode("héllo "), 16)
    page = post(s.port, COMPLETIONS, body("hello", echo=True, max_tokens=0))[2]
    assert text_of(page) == "hello" and page["usage"]["completion_tokens"] == 0
    assert text_of(post(s.port, COMPLETIONS, body([104, 105], echo=True, max_tokens=0))[2]) == "hi"
    _, events = stream(s.port, COMPLETIONS, body("hello", echo=True))
    assert join(events)[0] == "hello" + answer(encode("hello"), 16)


@test
def seeds_and_choices(s):
    one = post(s.port, CHAT, chat("x", n=3, seed=7, temperature=1, max_tokens=24))[2]
    two = post(s.port, CHAT, chat("x", n=3, seed=7, temperature=1, max_tokens=24))[2]
    texts = [c["message"]["content"] for c in one["choices"]]
    assert texts == [c["message"]["content"] for c in two["choices"]] and len(set(texts)) == 3
    assert texts[0] == answer(user("x"), 24, seed=7)
    free = {post(s.port, CHAT, chat("x", temperature=1))[2]["choices"][0]["message"]["content"] for _ in range(3)}
    assert len(free) == 3
    assert post(s.port, CHAT, chat("x", seed=-5, temperature=1, max_tokens=8))[2]["choices"][0]["message"]["content"] == \
        answer(user("x"), 8, seed=-5)


def expect_stop(text, stops, include=False):
    """The naive answer: the stop string with the first end cuts the text."""
    ends = [(text.index(stop) + len(stop), stop) for stop in stops if stop in text]
    if not ends:
        return text, None
    end, stop = min(ends, key=lambda e: (e[0], -len(e[1])))
    return text[:end if include else end - len(stop)], stop


@test
def stop_strings(s):
    prompt = "stop here [n=60]"
    whole = answer(encode(prompt), 60)
    for stops in ([whole[9]], [whole[5:9]], [whole[20:25], whole[12:14]], ["never this"], [whole[3:6], whole[4:6]],
                  [whole[10:40]], [whole[30:33] + "#", whole[31:34]]):
        for include in (False, True):
            text, met = expect_stop(whole, stops, include)
            request = body(prompt, max_tokens=60, stop=stops, include_stop_str_in_output=include)
            page = post(s.port, COMPLETIONS, request)[2]
            assert text_of(page) == text, (stops, text_of(page), text)
            assert page["choices"][0]["stop_reason"] == met
            assert page["choices"][0]["finish_reason"] == ("stop" if met else "length")
            _, events = stream(s.port, COMPLETIONS, request)
            assert join(events)[0] == text
            shown = ""
            for event in events[:-1]:
                shown += event["choices"][0]["text"]
                assert text.startswith(shown), "a part of a stop string was sent"
    assert text_of(post(s.port, COMPLETIONS, body(prompt, max_tokens=60, stop=whole[5:9]))[2]) == expect_stop(whole, [whole[5:9]])[0]
    s.wait_idle()


@test
def stop_tokens_and_least_tokens(s):
    prompt = "tokens [n=10]"
    whole = answer(encode(prompt), 40)
    at = next(i for i in range(2, 40) if whole.encode()[i] < 128)
    id_ = whole.encode()[at]
    first = whole.encode().index(id_)
    page = post(s.port, COMPLETIONS, body(prompt, stop_token_ids=[id_]))[2]
    assert page["choices"][0]["finish_reason"] == "stop" and page["choices"][0]["stop_reason"] == id_
    assert text_of(page).encode() == whole.encode()[:first]
    page = post(s.port, COMPLETIONS, body(prompt, max_tokens=30))[2]
    assert page["choices"][0]["finish_reason"] == "stop" and page["choices"][0]["stop_reason"] is None
    page = post(s.port, COMPLETIONS, body(prompt, max_tokens=30, ignore_eos=True))[2]
    assert page["choices"][0]["finish_reason"] == "length" and page["usage"]["completion_tokens"] == 30
    page = post(s.port, COMPLETIONS, body(prompt, max_tokens=30, min_tokens=25))[2]
    assert page["usage"]["completion_tokens"] == 26 and page["choices"][0]["finish_reason"] == "stop"
    early = body(prompt, max_tokens=30, min_tokens=8, ignore_eos=True, stop=[whole[1]])
    assert len(text_of(post(s.port, COMPLETIONS, early)[2])) >= 5


@test
def logprobs_of_chats(s):
    page = post(s.port, CHAT, chat("x", max_tokens=12, logprobs=True, top_logprobs=2))[2]
    content = page["choices"][0]["logprobs"]["content"]
    raw_ids = [toy.token_at(toy.hash_ids(user("x")), i) for i in range(12)]
    assert [t["bytes"] for t in content] == [[i] for i in raw_ids]
    assert all(t["logprob"] == -0.25 and [u["logprob"] for u in t["top_logprobs"]] == [-0.25, -1.25] for t in content)
    _, events = stream(s.port, CHAT, chat("x", max_tokens=12, logprobs=True, top_logprobs=2))
    pieces = [t for e in events[:-1] for c in e["choices"] for t in (c["logprobs"] or {"content": []})["content"]]
    assert pieces == content
    assert post(s.port, CHAT, chat("x", logprobs=False))[2]["choices"][0]["logprobs"] is None


def seconds_of(server, name):
    """The nanoseconds that the threads of this name have run so far."""
    ns = 0
    for task in glob.glob(f"/proc/{server.process.pid}/task/*"):
        with open(task + "/comm") as comm, open(task + "/schedstat") as schedstat:
            ns += int(schedstat.read().split()[0]) if comm.read().strip() == name else 0
    return ns / 1e9


@test
def large_answers_hold_up_nobody(s):
    """A worker writes them, so the thread that serves all streams does little for them."""
    large = chat("large [n=3000]", n=8, max_tokens=2000, logprobs=True, top_logprobs=20)
    with Server(EXE, requests=64) as server:
        before = [seconds_of(server, name) for name in ("api_serve", "api-text")]
        page = post(server.port, CHAT, large)[2]
        after = [seconds_of(server, name) for name in ("api_serve", "api-text")]
        assert after[1] - before[1] > 2 * (after[0] - before[0]), (before, after)
        text = answer(user("large [n=3000]"), 2000)
        for i, choice in enumerate(page["choices"]):
            assert (choice["index"], choice["message"]["content"], choice["finish_reason"]) == (i, text, "length")
            content = choice["logprobs"]["content"]
            assert len(content) == 2000 and all(len(t["top_logprobs"]) == 20 for t in content)
        data = json.dumps(large).encode()
        asked = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (CHAT.encode(), len(data), data)
        got, closed = raw(server.port, asked + b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert closed and got.count(b"HTTP/1.1 200") == 2 and got.endswith(b'{"status":"ok"}'), got[:200]  # asked ahead of it
        for wait_s in (0.02, 0.05, 0.1, 0.2):  # a client that leaves meanwhile takes nothing along
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
                sock.sendall(asked)
                time.sleep(wait_s)
            server.wait_idle()
        assert server.metric("shoal_http_unsent_bytes") == 0


@test
def large_echoes_hold_up_nobody(s):
    """A worker writes them, too, from text that was made of ids once. Answers that no reader could keep up with are
    refused."""
    with Server(EXE, context=1 << 20) as server:
        before = [seconds_of(server, name) for name in ("api_serve", "api-text")]
        for prompt in ("\1" * 19000, "e" * 120000, [101] * 120000):
            text = prompt if isinstance(prompt, str) else "e" * len(prompt)
            for n_tokens in (0, 1):
                page = post(server.port, COMPLETIONS, body(prompt, n=64, max_tokens=n_tokens, echo=True))[2]
                assert all(choice["text"].startswith(text) for choice in page["choices"]), n_tokens
        after = [seconds_of(server, name) for name in ("api_serve", "api-text")]
        assert after[1] - before[1] > after[0] - before[0], (before, after)
        events = stream(server.port, COMPLETIONS, body("e" * 120000, n=64, max_tokens=0, echo=True))[1]
        assert events[-1] == "[DONE]" and join(events, 63)[0] == "e" * 120000
        for prompt in ("\1" * 30000, "e" * 140000, [101] * 140000):
            assert error_of(server.port, COMPLETIONS, body(prompt, n=64, echo=True))[1]["param"] == "echo"
        status, error = error_of(server.port, CHAT, chat("x", n=64, logprobs=True, top_logprobs=20, max_tokens=20000))
        assert (status, error["code"], error["param"]) == (400, "too_large", "max_tokens"), error


@test
def a_few_huge_prompts_hold_up_no_others(s):
    """They take a worker of their own for seconds. Shorter ones, though too long for the thread that serves all,
    overtake them."""
    huge, usual = json.dumps(body([101] * 2000000)), body("x" * 20000 + " [n=1]")
    with Server(EXE, context=1 << 15) as server:
        def seconds(what, status):
            began = time.monotonic()
            assert ask(server.port, "POST", COMPLETIONS, what, timeout=60)[0] == status
            return time.monotonic() - began
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            asks = [pool.submit(seconds, huge, 400) for _ in range(12)]
            longest = 0
            while not all(ask.done() for ask in asks):
                longest = max(longest, seconds(usual, 200))
            slowest = max(ask.result() for ask in asks)
        assert longest < slowest / 6, (longest, slowest)


@test
def many_long_prompts_hold_up_nobody(s):
    """Some are submitted at a time, and others are answered in between. A client that leaves takes the rest of its
    own with it."""
    prompts = [f"{i} [n=3] " + "x" * 3900 for i in range(16)]
    data = json.dumps(body(["[first=60000]" + prompt for prompt in prompts], n=64)).encode()
    with Server(EXE) as server:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as sock:
                sock.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (COMPLETIONS.encode(), len(data), data))
                until(lambda: 0 < server.metric("toy_live_requests") < 1024, pause=0)
            server.wait_idle()
        page = post(server.port, COMPLETIONS, body(prompts, n=64))[2]
        assert [c["index"] for c in page["choices"]] == list(range(1024))
        expected = [answer(encode(prompt), 3) for prompt in prompts]
        assert all(text_of(page, i) == expected[i // 64] for i in range(1024))
        events = stream(server.port, COMPLETIONS, body(prompts, n=64, echo=True))[1]  # megabytes at once: its reader does not lag
        assert events[-1] == "[DONE]" and join(events, 1023) == (prompts[15] + expected[15], "stop")


@test
def logprobs_of_prompts(s):
    """The toy house scores the token at position p with -0.5 - p."""
    page = post(s.port, COMPLETIONS, body("héllo", max_tokens=4, logprobs=2, echo=True))[2]
    choice, logprobs = page["choices"][0], page["choices"][0]["logprobs"]
    assert choice["text"].startswith("héllo") and len(choice["text"]) > 5
    assert logprobs["token_logprobs"] == [None] + [-0.5 - p for p in range(1, 7)] + [-0.25] * 4, logprobs
    assert logprobs["top_logprobs"][0] is None and all(len(top) in (2, 3) for top in logprobs["top_logprobs"][1:])
    assert logprobs["text_offset"][:8] == [0, 0, 1, 1, 2, 3, 4, 5], logprobs
    assert logprobs["tokens"][:3] == ["<s>", "h", "bytes:\\xc3"]
    _, events = stream(s.port, COMPLETIONS, body("héllo", max_tokens=4, logprobs=2, echo=True))
    chunks = [e["choices"][0]["logprobs"] for e in events[:-1] if e["choices"] and e["choices"][0]["logprobs"]]
    for key in logprobs:
        assert sum((chunk[key] for chunk in chunks), []) == logprobs[key], key
    page = post(s.port, COMPLETIONS, body("ab", max_tokens=0, logprobs=0, echo=True))[2]
    assert page["choices"][0]["text"] == "ab" and page["usage"]["completion_tokens"] == 0
    assert page["choices"][0]["logprobs"]["token_logprobs"] == [None, -1.5, -2.5]
    page = post(s.port, COMPLETIONS, body([[97, 98, 99], [100]], max_tokens=2, prompt_logprobs=1, n=2))[2]
    shown = [choice["prompt_logprobs"] for choice in page["choices"]]
    b = str(ord("b"))
    assert shown[0] == shown[1] and shown[2] == shown[3] == [None]
    assert shown[0][0] is None and shown[0][1] == {b: {"logprob": -1.5, "rank": 1, "decoded_token": "b"}}, shown
    page = post(s.port, CHAT, chat("x", max_tokens=2, prompt_logprobs=0))[2]
    assert page["prompt_logprobs"][0] is None and len(page["prompt_logprobs"]) == page["usage"]["prompt_tokens"]
    assert all(len(score) == 1 for score in page["prompt_logprobs"][1:])


@test
def endpoints_are_documented(s):
    page = json.loads(ask(s.port, "GET", "/openapi.json")[2])
    schemas = page["components"]["schemas"]
    assert page["openapi"].startswith("3.1") and len(page["paths"]) > 25
    for path, methods in page["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"] and "default" in operation["responses"]
            for content in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(operation)):
                assert content in schemas, (path, content)
            status, head, _ = ask(s.port, "BREW", path.replace("{id}", "toy"))
            assert status == 405 and method.upper() in head["allow"], (path, method, status, head)


@test
def models_are_described(s):
    info = json.loads(ask(s.port, "GET", "/tokenizer_info?model=toy")[2])
    assert info["bos_token"] == "<s>" and info["eos_token"] and info["model_max_length"] > 0 and "chat_template" in info
    props = json.loads(ask(s.port, "GET", "/props?x=1&model=toy")[2])
    assert props["model_alias"] == "toy" and props["default_generation_settings"]["n_ctx"] == info["model_max_length"]
    assert props["chat_template"] == info["chat_template"] and props["bos_token"] == "<s>"
    for path in "/props", "/tokenizer_info":
        assert ask(s.port, "GET", path + "?model=none")[0] == 404
        assert ask(s.port, "GET", path + "?model=%zz")[0] == 404


@test
def logprobs_of_completions(s):
    page = post(s.port, COMPLETIONS, body("x", max_tokens=12, logprobs=3))[2]
    logprobs = page["choices"][0]["logprobs"]
    assert len(logprobs["tokens"]) == len(logprobs["token_logprobs"]) == len(logprobs["top_logprobs"]) == 12
    assert logprobs["text_offset"][0] == 0 and logprobs["text_offset"] == sorted(logprobs["text_offset"])
    # Offsets count characters, as Python does: a token of plain text is at its offset.
    page = post(s.port, COMPLETIONS, body("x [n=80]", max_tokens=80, logprobs=0))[2]
    text, logprobs = text_of(page), page["choices"][0]["logprobs"]
    assert len(text.encode()) > len(text) + 3, text
    plain = [(t, at) for t, at in zip(logprobs["tokens"], logprobs["text_offset"]) if not t.startswith("bytes:")]
    assert len(plain) > 20 and all(text[at:at + 1] == t for t, at in plain), (text, logprobs)
    _, events = stream(s.port, COMPLETIONS, body("x [n=80]", max_tokens=80, logprobs=0))
    pieces = [at for e in events[:-1] for c in e["choices"] if c["logprobs"] for at in c["logprobs"]["text_offset"]]
    assert pieces == logprobs["text_offset"]
    whole = text_of(post(s.port, COMPLETIONS, body("q [n=50]", max_tokens=50))[2])
    page = post(s.port, COMPLETIONS, body("q [n=50]", max_tokens=50, logprobs=0, stop=[whole[6:8]]))[2]
    kept = "".join(t for t in page["choices"][0]["logprobs"]["tokens"] if not t.startswith("bytes:"))
    assert whole[6:8] not in kept


BAD_FIELDS = [
    ({"temperature": 3}, "temperature"), ({"temperature": "hot"}, "temperature"), ({"top_p": 0}, "top_p"), ({"top_p": 1.5}, "top_p"),
    ({"top_k": -2}, "top_k"), ({"min_p": 2}, "min_p"), ({"n": 0}, "n"), ({"n": 129}, "n"), ({"n": 1.5}, "n"), ({"n": True}, "n"),
    ({"max_tokens": -1}, "max_tokens"), ({"max_tokens": 5000}, "prompt"), ({"min_tokens": 20, "max_tokens": 10}, "min_tokens"),
    ({"frequency_penalty": 3}, "frequency_penalty"), ({"presence_penalty": -3}, "presence_penalty"),
    ({"repetition_penalty": 0}, "repetition_penalty"), ({"stop": [""]}, "stop"), ({"stop": 5}, "stop"), ({"stop": ["a"] * 17}, "stop"),
    ({"stop_token_ids": [999]}, "stop_token_ids"), ({"stop_token_ids": "x"}, "stop_token_ids"), ({"stop_token_ids": [1] * 65}, "stop_token_ids"),
    ({"logit_bias": {"999": 1}}, "logit_bias"), ({"logit_bias": {"1": 101}}, "logit_bias"), ({"logit_bias": {"x": 1}}, "logit_bias"),
    ({"logit_bias": []}, "logit_bias"), ({"logprobs": 21}, "logprobs"), ({"logprobs": True}, "logprobs"), ({"best_of": 2}, "best_of"),
    ({"stream": "yes"}, "stream"), ({"stream_options": {"include_usage": True}}, "stream_options"), ({"seed": 1.5}, "seed"),
    ({"priority": 99999}, "priority"), ({"prompt": 5}, "prompt"), ({"prompt": []}, "prompt"), ({"prompt": [[]]}, "prompt"),
    ({"prompt": ["a", 5]}, "prompt"), ({"prompt": [1, "a"]}, "prompt"), ({"prompt": [999]}, "prompt"), ({"prompt": [-1]}, "prompt"),
    ({"prompt": ["a"] * 129}, "prompt"), ({"model": 5}, "model"), ({"suffix": "x"}, "suffix"), ({"prompt_logprobs": 21}, "prompt_logprobs"), ({"prompt_logprobs": 1, "stream": True}, "prompt_logprobs"),
    ({"guided_json": {"contains": {}}}, "guided_json"), ({"guided_regex": "(a"}, "guided_regex"), ({"guided_choice": []}, "guided_choice"),
    ({"guided_grammar": "a"}, "guided_grammar"), ({"structured_outputs": {"structural_tag": "a"}}, "structured_outputs"),
    ({"logits_processors": ["x"]}, "logits_processors"), ({"use_beam_search": True}, "use_beam_search"),
    ({"response_format": {"type": "xml"}}, "response_format"), ({"mirostat": 2}, "mirostat"), ({"cache_salt": "x"}, "cache_salt"),
    ({"truncate_prompt_tokens": 5}, "truncate_prompt_tokens"), ({"max_tokens": 10 ** 9}, "max_tokens"),
    ({"regex": "a+"}, "regex"), ({"ebnf": "root ::= x"}, "ebnf"), ({"format": "json"}, "format"), ({"lora": [{"id": 0}]}, "lora"),
    ({"lora_path": "a"}, "lora_path"), ({"options": {"num_predict": 5}}, "options"), ({"raw": True}, "raw"), ({"samplers": ["top_k"]}, "samplers"),
    ({"return_token_ids": True}, "return_token_ids"), ({"return_tokens": True}, "return_tokens"), ({"stop_regex": "a"}, "stop_regex"),
    ({"repeat_last_n": 64}, "repeat_last_n"), ({"top_n_sigma": 1}, "top_n_sigma"), ({"do_sample": False}, "do_sample"), ({"n_probs": 3}, "n_probs"),
    ({"stream": True, "stream_options": {"continuous_usage_stats": True}}, "stream_options"), ({"detokenize": False}, "detokenize"),
    ({"verbosity": "low"}, "verbosity"), ({"reasoning_format": "deepseek"}, "reasoning_format"), ({"tools": [{}]}, "tools"), ({"tool_choice": "required"}, "tool_choice"),
    ({"enable_thinking": False}, "enable_thinking"), ({"include_reasoning": False}, "include_reasoning"), ({"min_new_tokens": 3}, "min_new_tokens"),
]
BAD_CHATS = [
    ({"tools": [{"type": "function"}]}, "tools"), ({"reasoning_format": "qwen"}, "reasoning_format"), ({"enable_thinking": 3}, "enable_thinking"),
    ({"tool_choice": "required"}, "tool_choice"), ({"functions": [{}]}, "functions"),
    ({"tool_choice": {"type": "function"}}, "tool_choice"), ({"audio": {"voice": "x"}}, "audio"), ({"modalities": ["text", "audio"]}, "modalities"),
    ({"messages": []}, "messages"), ({"messages": "hi"}, "messages"), ({"messages": [{"role": "king", "content": "x"}]}, "messages"),
    ({"messages": [{"content": "x"}]}, "messages"), ({"messages": [{"role": "user", "content": 5}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages"), ({"messages": [5]}, "messages"),
    ({"messages": [{"role": "assistant", "content": "x", "tool_calls": {}}]}, "messages"), ({"top_logprobs": 2}, "top_logprobs"),
    ({"messages": [{"role": "tool", "content": "x", "tool_call_id": 5}]}, "messages"), ({"function_call": {"name": "f"}}, "function_call"),
    ({"logprobs": 5}, "logprobs"), ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"), ({"echo": True}, "echo"), ({"max_tokens": 0}, "max_tokens"),
    ({"chat_template_kwargs": []}, "chat_template_kwargs"), ({"chat_template": "x"}, "chat_template"), ({"prediction": {"x": 1}}, "prediction"),
    ({"add_generation_prompt": True, "continue_final_message": True}, "continue_final_message"), ({"web_search_options": {}}, "web_search_options"),
]


@test
def bad_biases_are_named(s):
    for biases, said in (({"x": 1}, '"x" is not a token id'), ({"7": 101}, "token id 7 must be between -100 and 100, got 101"),
                         ({"8": "1"}, "token id 8 must be a number"), ({"999": 1}, "token id 999"), ([[1, 2]], "maps token ids to numbers")):
        assert said in error_of(s.port, COMPLETIONS, body(logit_bias=biases))[1]["message"], biases


@test
def bad_fields_are_named(s):
    for path, make, cases in ((COMPLETIONS, body, BAD_FIELDS), (CHAT, chat, BAD_CHATS)):
        for fields, param in cases:
            status, error = error_of(s.port, path, dict(make(), **fields))
            assert status == 400 and error["type"] == "invalid_request_error", (fields, status, error)
            assert error["param"] == param and len(error["message"]) > 10, (fields, error)


@test
def neutral_and_unknown_fields_pass(s):
    neutral = {"tools": [], "tool_choice": "none", "response_format": {"type": "text"}, "suffix": None, "guided_json": None, "user": "me",
               "store": True, "metadata": {}, "something_new": {"x": 1}, "modalities": ["text"], "parallel_tool_calls": True, "n": 1.0,
               "length_penalty": 1, "use_beam_search": False, "top_n_sigma": -1.0, "do_sample": True, "regex": "", "options": {}, "lora": [],
               "verbosity": "medium", "reasoning_format": "none", "return_token_ids": False, "cache_prompt": True, "typical_p": 1.0, "service_tier": "auto", "stop": None, "max_tokens": None, "logit_bias": {"5": -100}}
    assert post(s.port, CHAT, chat("x", **neutral))[0] == 200
    assert post(s.port, COMPLETIONS, body("x", **dict(neutral, best_of=1, suffix="")))[0] == 200
    with Server(EXE, strict="yes") as strict:
        assert error_of(strict.port, CHAT, chat("x", something_new=1)) == \
            (400, {"message": 'unknown field "something_new"', "type": "invalid_request_error", "param": "something_new", "code": None})
        del neutral["something_new"]
        assert post(strict.port, CHAT, chat("x", **neutral))[0] == 200


@test
def models_and_names(s):
    assert [m["id"] for m in json.loads(ask(s.port, "GET", "/v1/models")[2])["data"]] == ["toy", "org/plain"]
    for name in ("org/plain", "org%2Fplain", "org%2fplain"):
        assert json.loads(ask(s.port, "GET", "/v1/models/" + name)[2])["id"] == "org/plain"
    assert json.loads(ask(s.port, "GET", "/v1/models/gpt-toy")[2])["id"] == "toy"
    assert post(s.port, COMPLETIONS, body(model="gpt-toy"))[2]["model"] == "gpt-toy"
    status, error = error_of(s.port, COMPLETIONS, body(model="nobody"))
    assert status == 404 and error["code"] == "model_not_found" and error["param"] == "model"
    request = body()
    del request["model"]
    assert error_of(s.port, COMPLETIONS, request)[1]["param"] == "model"
    assert text_of(post(s.port, COMPLETIONS, body(model="org/plain"))[2]) == answer(encode("hello", True), 16)


@test
def wrong_paths(s):
    for path, said in (("/v1/chat/completion", "there is nothing at /v1/chat/completion, did you mean /v1/chat/completions?"),
                       ("/v1/v1/chat/completions", "there is nothing at /v1/v1/chat/completions, did you mean /v1/chat/completions?"),
                       ("/v1", "there is nothing at /v1"),
                       ("/v1/moderations", "/v1/moderations is not supported: text is generated by /v1/chat/completions and /v1/completions")):
        status, error = error_of(s.port, path, body())
        assert status == 404 and error["code"] == "not_found" and error["message"] == said, error


@test
def the_page_is_there_without_a_key(s):
    for path, type in (("/", "text/html"), ("//", "text/html"), ("/board.js", "text/javascript"), ("/page.css", "text/css")):
        status, head, text = ask(s.port, "GET", path)
        assert status == 200 and head["content-type"].startswith(type) and len(text) > 500, (status, head)
        assert "default-src 'none'" in head["content-security-policy"] and head["x-content-type-options"] == "nosniff"
        assert ask(s.port, "HEAD", path)[0] == 200
        status, head, _ = ask(s.port, "POST", path, body())
        assert status == 405 and head["allow"] == "GET, HEAD, OPTIONS", (status, head)


@test
def base_urls_without_v1_and_slashes_at_the_end(s):
    """Clients with a base URL without /v1, or with paths that end in slashes, are answered, as by llama-server."""
    text = answer(encode("hello"), 16)
    for path in (COMPLETIONS, "/completions", COMPLETIONS + "/", "/completions//"):
        assert text_of(post(s.port, path, body())[2]) == text, path
    for path in (CHAT, "/chat/completions", CHAT + "/", "/chat/completions/"):
        page = post(s.port, path, chat("hi [n=5]"))[2]
        assert page["choices"][0]["message"]["content"] == answer(user("hi [n=5]"), 5), path
    for path in ("/v1/models", "/v1/models/", "/models", "/models/"):
        page = json.loads(ask(s.port, "GET", path)[2])
        assert page["object"] == "list" and [(m["id"], m["aliases"]) for m in page["data"]] == [("toy", ["gpt-toy"]), ("org/plain", [])], page
    for path in ("/v1/models/toy", "/v1/models/toy/", "/models/toy", "/models/gpt-toy/", "/models/org/plain", "/models/org%2Fplain"):
        assert json.loads(ask(s.port, "GET", path)[2])["id"] == ("org/plain" if "plain" in path else "toy"), path
    for path in ("/health/", "/v1/health", "/livez/", "/metrics/", "/api/tags/"):
        assert ask(s.port, "GET", path)[0] == 200, path
    for path in ("/models/no", "/models/sse/x", "/chat/completions/x"):
        assert ask(s.port, "GET", path)[0] == 404, path
    status, head, _ = ask(s.port, "GET", "/completions/")
    assert status == 405 and head["allow"] == "POST, OPTIONS", head


@test
def every_answer_has_a_date(s):
    """RFC 9110, section 6.6.1: whole answers, streams, refusals, and answers to input other than HTTP have a Date."""
    import email.utils
    asks = [b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"nonsense\r\n\r\n"]
    for streams in (False, True):
        data = json.dumps(chat("x [n=2]", stream=streams)).encode()
        asks.append(b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (CHAT.encode(), len(data), data))
    for data in asks:
        got, closed = raw(s.port, data)
        dates = [line[6:].decode() for line in got.split(b"\r\n\r\n")[0].split(b"\r\n") if line.startswith(b"Date: ")]
        assert closed and len(dates) == 1, got
        assert abs(email.utils.parsedate_to_datetime(dates[0]).timestamp() - time.time()) < 30, dates
        assert dates[0] == email.utils.formatdate(email.utils.parsedate_to_datetime(dates[0]).timestamp(), usegmt=True), dates


@test
def compressed_bodies_are_refused(s):
    import gzip
    for text in (json.dumps(body()), json.dumps(body(padding="".join(map(str, range(200000)))))):
        for data, encoding in ((gzip.compress(text.encode()), "gzip"), (text, "br"), (text, "identity, gzip")):
            status, head, page = ask(s.port, "POST", COMPLETIONS, data, {"Content-Encoding": encoding})
            assert status == 415 and head["accept-encoding"] == "identity", (status, page)
            assert json.loads(page)["error"]["code"] == "unsupported_encoding" and "Content-Encoding" in page, page
        for encoding in ("identity", "Identity", ""):
            assert ask(s.port, "POST", COMPLETIONS, text, {"Content-Encoding": encoding})[0] == 200


@test
def context_arithmetic(s):
    status, error = error_of(s.port, COMPLETIONS, body("x" * 200, model="org/plain", max_tokens=100))
    assert (status, error["code"]) == (400, "context_length_exceeded")
    assert error["message"] == ("this model's maximum context length is 256 tokens, but 301 were requested: 201 in the prompt and 100 to generate")
    status, error = error_of(s.port, COMPLETIONS, body("x" * 5000, model="org/plain"))
    assert error["code"] == "context_length_exceeded" and "256" in error["message"]
    assert post(s.port, COMPLETIONS, body("x" * 250, model="org/plain"))[2]["usage"]["completion_tokens"] == 5
    status, error = error_of(s.port, COMPLETIONS, body("x" * 20_000_000))
    assert error["code"] == "context_length_exceeded"


@test
def long_prompts_go_to_workers(s):
    small = body("y [n=3]")
    long = [body("z" * n + " [n=9]", model="toy", max_tokens=12) for n in (3000, 4000)] + [body(list(range(200)) * 20, max_tokens=12)]
    long.append(dict(small, padding="p" * 3_000_000))
    results = [None] * len(long)

    def one(i):
        results[i] = post(s.port, COMPLETIONS, long[i])
    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(long))]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert post(s.port, COMPLETIONS, small)[0] == 200
    for thread in threads:
        thread.join()
    assert all(r[0] == 200 for r in results), results
    assert text_of(results[0][2]) == answer(encode(long[0]["prompt"]), 9)
    assert text_of(results[2][2]) == answer(long[2]["prompt"], 12)


@test
def tokenize_and_back(s):
    page = post(s.port, "/tokenize", {"model": "toy", "prompt": "hé</s>", "return_token_strs": True})[2]
    assert page["tokens"] == encode("hé</s>") and page["count"] == 5 and page["max_model_len"] == 4096 and page["token_strs"][-1] == "</s>"
    assert post(s.port, "/tokenize", {"model": "toy", "prompt": "a", "add_special_tokens": False})[2]["tokens"] == [97]
    assert post(s.port, "/tokenize", chat("hi"))[2]["tokens"] == user("hi")
    assert post(s.port, "/detokenize", {"model": "toy", "tokens": encode("hé 🐟")})[2]["prompt"] == "<s>hé 🐟"
    assert post(s.port, "/tokenize", {"model": "toy", "prompt": "x" * 4095})[2]["count"] == 4096
    for request, field in (({"model": "toy", "prompt": "x" * 4096}, "prompt"), ({"model": "toy", "prompt": "x" * 500000}, "prompt"),
                           ({"model": "org/plain", "prompt": "x" * 270000}, "prompt"), (chat("x" * 5000), "messages")):
        status, error = error_of(s.port, "/tokenize", request)
        assert (status, error["code"], error["param"]) == (400, "context_length_exceeded", field), error
        assert error["message"].startswith("this model's maximum context length is "), error
    assert post(s.port, "/detokenize", {"model": "toy", "tokens": [97] * 4096})[2]["prompt"] == "a" * 4096
    status, error = error_of(s.port, "/detokenize", {"model": "toy", "tokens": [97] * 4097})
    assert (status, error["code"], error["param"]) == (400, "context_length_exceeded", "tokens"), error
    assert error["message"] == "this model's maximum context length is 4096 tokens, but 4097 were given", error
    for path, request in (("/tokenize", {"model": "toy"}), ("/tokenize", {"prompt": "x"}), ("/detokenize", {"model": "toy", "tokens": [999]}),
                          ("/detokenize", {"model": "toy", "tokens": "x"}), ("/detokenize", {"model": "no", "tokens": []})):
        assert error_of(s.port, path, request)[0] in (400, 404), request


@test
def ends_by_misfortune(s):
    expected = {"fail": (500, "server_error", "internal_error"), "late": (504, "timeout_error", "deadline_exceeded"),
                "huge": (400, "invalid_request_error", "too_large"), "cold": (503, "unavailable_error", "model_not_ready"),
                "torn": (503, "unavailable_error", "model_load_failed"), "kill": (503, "unavailable_error", "shutting_down"),
                "full": (429, "rate_limit_error", "queue_full"), "lose": (500, "server_error", "internal_error"),
                "crash": (500, "server_error", "internal_error")}
    for word, (status, type_, code) in expected.items():
        got, head, page = post(s.port, CHAT, chat(f"[{word}]"))
        assert (got, page["error"]["type"], page["error"]["code"]) == (status, type_, code), (word, got, page)
        assert status not in (429, 503) or int(head["retry-after"]) > 0
        got, events = stream(s.port, CHAT, chat(f"[{word}]"))
        assert got == status and events[0]["error"]["code"] == code, (word, got, events)
        at = 3 if word != "full" else 3
        got, events = stream(s.port, CHAT, chat(f"[{word}={at}]"))
        assert got == 200 and "[DONE]" not in events and "error" in events[-1], (word, events)
    assert "toy: it was asked for" in error_of(s.port, CHAT, chat("[fail]"))[1]["message"]
    assert post(s.port, CHAT, chat("[cold]"))[2]["loading"] == {"status": "loaded", "progress": 0.0}
    assert post(s.port, CHAT, chat("[torn]"))[1]["retry-after"] == "10"
    assert post(s.port, CHAT, chat("[late]"))[1]["x-shoal-request-dropped-reason"] == "rejected-deadline"
    assert post(s.port, CHAT, chat("[late=2]"))[1]["x-shoal-request-dropped-reason"] == "evicted-deadline"
    s.wait_idle()


@test
def repeats_are_harmless(s):
    prompt = "[dup] [n=30]"
    _, events = stream(s.port, CHAT, chat(prompt))
    assert join(events) == (answer(user(prompt), 30), "stop")


@test
def request_ids(s):
    assert post(s.port, COMPLETIONS, body(), X_Request_Id="mine-1")[1]["x-request-id"] == "mine-1"
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert post(s.port, COMPLETIONS, body(), traceparent=trace)[1]["x-request-id"] == trace[3:35]
    assert post(s.port, COMPLETIONS, body(), X_Request_Id="has space")[1]["x-request-id"].startswith("req-")
    assert post(s.port, COMPLETIONS, body(temperature=9), X_Request_Id="mine-2")[1]["x-request-id"] == "mine-2"


@test
def deadline_and_target_headers(s):
    for name in ("x-request-deadline-ms", "x-slo-ttft-ms", "x-slo-tpot-ms", "x-slo-e2e-ms"):
        for value in ("-1", "0", "x", "1.5", "99999999999999"):
            status, head, text = ask(s.port, "POST", COMPLETIONS, body(), {name: value})
            assert status == 400 and json.loads(text)["error"]["param"] == name
        assert ask(s.port, "POST", COMPLETIONS, body(), {name: "5000"})[0] == 200
    metrics = ask(s.port, "GET", "/metrics")[2]
    assert 'shoal_slo_met_total{model_name="toy",target="ttft"} 1' in metrics


@test
def cancelled_in_every_state(s):
    before = s.metric("toy_cancelled_total")
    # Each would take more than a minute if it went on.
    cases = [body("[first=90000]", stream=True), body("[first=90000]"), body("[gap=100] [n=1000]", stream=True, max_tokens=900),
             body("[gap=100] [n=1000]", max_tokens=900), body("[gap=100] [n=900]", stream=True, max_tokens=900, n=4)]
    for request in cases:
        for reset in (False, True):
            sock = socket.create_connection(("127.0.0.1", s.port))
            data = json.dumps(request).encode()
            sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
            s.wait_live()
            if reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
            s.wait_idle(20)
    assert s.metric("toy_cancelled_total") - before == 4 * 2 + 4 * 2
    sock = socket.create_connection(("127.0.0.1", s.port))  # while a worker reads it
    data = json.dumps(body("w" * 3000 + "[first=90000]", padding="p" * 8_000_000)).encode()
    sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
    sock.close()
    s.wait_idle(20)


@test
def slow_reader_is_given_up(s):
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", s.port))
        data = json.dumps(body("flood", stream=True, max_tokens=4000, ignore_eos=True, n=128, logprobs=20)).encode()
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
        s.wait_idle(20)
    assert ask(s.port, "GET", "/livez")[0] == 200


@test
def queue_is_bounded(s):
    with Server(EXE, requests=4) as small:
        socks = []
        for _ in range(4):
            sock = socket.create_connection(("127.0.0.1", small.port))
            data = json.dumps(body("[first=90000]", stream=True)).encode()
            sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
            socks.append(sock)
        small.wait_live(4)
        status, head, page = post(small.port, COMPLETIONS, body())
        assert status == 429 and head["x-shoal-request-dropped-reason"] == "rejected-queue-full" and int(head["retry-after"]) >= 1
        assert page["error"]["type"] == "rate_limit_error" and page["error"]["code"] == "queue_full"
        for sock in socks:
            sock.close()
        small.wait_idle()
        assert post(small.port, COMPLETIONS, body())[0] == 200
        for request, param in ((body(n=5), "n"), (body(["a", "b"], n=3), "n"), (body(["a"] * 5), "prompt")):
            status, head, page = post(small.port, COMPLETIONS, request)  # never: there is no use in trying again
            assert status == 400 and page["error"]["code"] == "too_large" and "retry-after" not in head, page
            assert page["error"]["param"] == param and "answers, this server admits 4 at once" in page["error"]["message"], page
        assert post(small.port, COMPLETIONS, body(["a", "b"], n=2))[0] == 200


@test
def keys(s):
    with Server(EXE, api_key="secret", admin_key="boss") as locked:
        p = locked.port
        for headers, status in (({}, 401), ({"Authorization": "Bearer no"}, 401), ({"Authorization": "Bearer secret"}, 200),
                                ({"Authorization": "bearer  secret"}, 200), ({"x-api-key": "secret"}, 200), ({"x-api-key": "boss"}, 200),
                                ({"Authorization": "secret"}, 401), ({"x-api-key": "secret2"}, 401), ({"x-api-key": ""}, 401)):
            assert ask(p, "GET", "/v1/models", headers=headers)[0] == status, headers
            assert ask(p, "POST", COMPLETIONS, body(), headers)[0] == status, headers
        for path in ("/health", "/livez", "/readyz", "/ping"):
            assert ask(p, "GET", path)[0] == 200
        for path in ("/metrics", "/version", "/models", "/api/ps"):
            assert ask(p, "GET", path)[0] == 401
        for path in ("/models/sse", "/api/ps"):
            assert ask(p, "GET", path, headers={"x-api-key": "secret"})[0] == 403
        plain, states = (json.loads(ask(p, "GET", "/models", headers={"x-api-key": key})[2]) for key in ("secret", "boss"))
        assert plain == json.loads(ask(p, "GET", "/v1/models", headers={"x-api-key": "secret"})[2])  # states are for operators
        assert "status" in states["data"][0] and "engines" in states and "engines" not in plain
        assert ask(p, "POST", "/models/unload", {"model": "toy"}, {"x-api-key": "secret"})[0] == 403
    with Server(EXE, api_key="secret") as locked:
        assert ask(locked.port, "POST", "/sleep", headers={"x-api-key": "secret"})[0] == 403
    with Server(EXE, admin_key="boss") as locked:
        assert ask(locked.port, "GET", "/v1/models")[0] == 200 and ask(locked.port, "GET", "/models/sse")[0] == 401
        assert ask(locked.port, "GET", "/models")[2] == ask(locked.port, "GET", "/v1/models")[2]


@test
def lifecycle(s):
    def states():
        return {m["id"]: m["status"]["value"] for m in json.loads(ask(s.port, "GET", "/models")[2])["data"]}

    def wait_for(name, state):
        until(lambda: states()[name] == state)
    watcher = http.client.HTTPConnection("127.0.0.1", s.port, timeout=10)
    watcher.request("GET", "/models/sse")
    changes = watcher.getresponse()
    wait_for("toy", "loaded")
    assert post(s.port, "/models/unload", {"model": "toy"})[2] == {"success": True}
    wait_for("toy", "unloaded")
    assert post(s.port, "/models/load", {"model": "toy"})[2] == {"success": True}
    wait_for("toy", "loaded")
    assert error_of(s.port, "/models/load", {"model": "no"})[0] == 404
    assert error_of(s.port, "/models/load", {})[0] == 400
    assert ask(s.port, "POST", "/models/load", b"")[0] == 400
    assert [m["name"] for m in json.loads(ask(s.port, "GET", "/api/ps")[2])["models"]] == ["toy", "org/plain"]
    assert json.loads(ask(s.port, "GET", "/is_sleeping")[2]) == {"is_sleeping": False}
    assert ask(s.port, "POST", "/sleep?level=1")[0] == 200
    wait_for("org/plain", "unloaded")
    assert json.loads(ask(s.port, "GET", "/is_sleeping")[2]) == {"is_sleeping": True}
    assert json.loads(ask(s.port, "GET", "/api/ps")[2])["models"] == []
    tags = json.loads(ask(s.port, "GET", "/api/tags")[2])["models"]
    assert [m["name"] for m in tags] == ["toy", "org/plain"] and "size_vram" not in tags[0], tags
    assert ask(s.port, "POST", "/wake_up")[0] == 200
    wait_for("org/plain", "loaded")
    seen = []
    while ("toy", "unloaded") not in seen or seen[-1] != ("org/plain", "loaded"):
        line = changes.readline().decode()
        if line.startswith("data: "):
            change = json.loads(line[6:])
            seen.append((change["model"], change["status"]["value"]))
    watcher.close()


@test
def ps_tells_the_memory_of_a_gpu(s):
    """size_vram, as in Ollama, is the memory of a GPU: it is 0 when the engine runs on a CPU."""
    for device, is_gpu in ((None, False), ("cpu:0-1", False), ("cuda:0", True)):
        with Server(EXE, **({"device": device} if device else {})) as server:
            for model in until(lambda: json.loads(ask(server.port, "GET", "/api/ps")[2])["models"]):
                assert model["size"] == 1 << 20 and model["size_vram"] == (1 << 20 if is_gpu else 0), model


@test
def a_watcher_is_pinged(s):
    """A quiet stream of changes is not a dead one."""
    with Server(EXE) as server, socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
        sock.sendall(b"GET /models/sse HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = b""
        while b": ping" not in got:
            got += sock.recv(1000)


@test
def sleep_says_who_stays_awake(s):
    """Any model that fails counts, not just the last one's answer."""
    with Server(EXE) as server:
        for name, other in (("toy", "org/plain"), ("org/plain", "toy")):
            thread = threading.Thread(target=stream, args=(server.port, COMPLETIONS, body("[n=90] [gap=10]", model=name, max_tokens=90)))
            thread.start()
            server.wait_live()
            status, _, page = post(server.port, "/sleep", "")
            assert status == 409 and page["error"]["code"] == "busy", page
            assert page["error"]["message"] == f"{name}: it has requests", page
            states = {m["id"]: m["status"]["value"] for m in json.loads(ask(server.port, "GET", "/models")[2])["data"]}
            assert states == {name: "loaded", other: "unloaded"}, states
            thread.join()
            server.wait_idle()
            assert post(server.port, "/sleep", "")[2] == {"success": True}
            until(lambda: json.loads(ask(server.port, "GET", "/is_sleeping")[2]) == {"is_sleeping": True})
            assert post(server.port, "/wake_up", "")[2] == {"success": True}
            until(lambda: json.loads(ask(server.port, "GET", "/api/ps")[2])["models"][1:])


@test
def metrics_have_the_known_names(s):
    text = ask(s.port, "GET", "/metrics")[2]
    for name in ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:prompt_tokens_total",
                 "vllm:generation_tokens_total", "vllm:request_success_total", "vllm:time_to_first_token_seconds_bucket",
                 "vllm:inter_token_latency_seconds_sum", "vllm:e2e_request_latency_seconds_count", "shoal_requests_total", "shoal_healthy"):
        assert name + "{" in text or name + " " in text, name
    names = [line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)), "a name is announced twice"
    for line in text.splitlines():
        assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2 and float(line.rsplit(" ", 1)[1]) >= 0, line


@test
def cors(s):
    assert "access-control-allow-origin" not in ask(s.port, "GET", "/livez")[1]
    with Server(EXE, cors="https://app.example") as server:
        status, head, _ = ask(server.port, "OPTIONS", CHAT, headers={"Origin": "https://app.example"})
        assert status == 204 and head["access-control-allow-origin"] == "https://app.example"
        assert "authorization" in head["access-control-allow-headers"].lower()
        assert post(server.port, CHAT, chat(max_tokens=2))[1]["access-control-allow-origin"] == "https://app.example"
        for asked, granted in (("authorization,content-type,x-stainless-arch, x-stainless-retry-count", True), ("x-a(b)", False), ("", False),
                               ("x-" + "a" * 3000, False)):
            headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": asked}
            told = ask(server.port, "OPTIONS", CHAT, headers=headers)[1]["access-control-allow-headers"]
            assert told == asked if granted else told.startswith("Authorization, Content-Type, "), (asked, told)
    assert "access-control-allow-headers" not in ask(s.port, "OPTIONS", CHAT, headers=headers)[1]


def stray(port, headers, path="/v1/models", method="GET", data=None):
    """(status, code) of a request. Its Host is the server's own unless the headers have another."""
    status, _, text = ask(port, method, path, data, headers)
    return status, json.loads(text)["error"]["code"] if status != 200 else None


@test
def pages_that_may_not_call(s):
    """A web page that a user opens can send simple requests here. Without a key nothing else keeps it out."""
    refused = (403, "origin_not_allowed")
    evil, text = {"Origin": "http://evil.example"}, {"Content-Type": "text/plain"}
    with Server(EXE) as server:
        p = server.port
        for path, data in (("/sleep", None), ("/wake_up", None), ("/models/unload", '{"model":"toy"}'), (COMPLETIONS, json.dumps(body())),
                           (COMPLETIONS, json.dumps(body("x" * 100000)))):
            for origin in ("http://evil.example", "null", f"http://127.0.0.1:{p + 1}", f"http://127.0.0.1:{p}.evil.example"):
                assert stray(p, dict(text, Origin=origin), path, "POST", data) == refused, (path, origin)
            assert stray(p, {"Host": f"evil.example:{p}", "Origin": f"http://evil.example:{p}"}, path, "POST", data) == refused
        assert json.loads(ask(p, "GET", "/is_sleeping")[2]) == {"is_sleeping": False}
        for host in ("localhost", f"localhost:{p}", "127.0.0.1", "[::1]:80"):
            assert stray(p, {"Host": host}) == stray(p, {"Host": host, "Origin": "http://" + host}) == (200, None)
        for path in ("/livez", "/health"):
            assert ask(p, "GET", path, headers={"Host": "probe.example", **evil})[0] == 200
    for cors, allowed in (("https://app.example", False), ("http://evil.example", True), ("*", True)):
        with Server(EXE, cors=cors) as server:
            assert stray(server.port, evil, COMPLETIONS, "POST", json.dumps(body())) == ((200, None) if allowed else refused)
    with Server(EXE, listen="0.0.0.0:0") as server:
        assert stray(server.port, {"Host": "name.example"}) == (200, None) and stray(server.port, evil) == refused
    with Server(EXE, admin_key="boss") as server:  # generation is open
        assert stray(server.port, evil) == refused and stray(server.port, dict(evil, **{"x-api-key": "boss"})) == (200, None)
        assert stray(server.port, evil, "/sleep", "POST") == (401, "invalid_api_key")
    with Server(EXE, api_key="k") as server:
        assert stray(server.port, {"Host": "name.example", "x-api-key": "k", **evil}) == (200, None)
        assert stray(server.port, evil) == (401, "invalid_api_key")


@test
def drain(s):
    server = Server(EXE, drain_ms=60000)
    results = []

    def one():
        results.append(stream(server.port, CHAT, chat("[n=40] [gap=100]"), timeout=60))
    thread = threading.Thread(target=one)
    thread.start()
    server.wait_live()
    server.signal(signal.SIGTERM)
    until(lambda: ask(server.port, "GET", "/readyz")[0] == 503)
    assert ask(server.port, "GET", "/livez")[0] == 200
    assert ask(server.port, "GET", "/readyz")[0] == 503 and ask(server.port, "GET", "/health")[0] == 503
    status, head, page = post(server.port, COMPLETIONS, body())
    assert status == 503 and head["x-shoal-request-dropped-reason"] == "rejected-draining" and page["error"]["code"] == "draining"
    thread.join()
    assert join(results[0][1]) == (answer(user("[n=40] [gap=100]"), 40), "stop")
    assert server.process.wait(30) == 0


@test
def drain_waits_for_readers(s):
    """A slow reader of an answer that is ready gets the whole of it."""
    server = Server(EXE, drain_ms=60000)
    data = json.dumps(chat("large [n=3000]", n=8, max_tokens=2000, logprobs=True, top_logprobs=20)).encode()
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (CHAT.encode(), len(data), data))
        got = sock.recv(10000)
        server.signal(signal.SIGTERM)
        time.sleep(2)
        got += b"".join(iter(lambda: sock.recv(1 << 20), b""))
    head, page = got.split(b"\r\n\r\n", 1)
    assert b"Content-Length: %d\r\n" % len(page) in head and len(page) > 10 << 20, (head, len(page))
    assert server.process.wait(30) == 0


@test
def drain_has_a_bound_and_a_second_signal_ends_it(s):
    """In both cases waiting clients are told: by an event in a stream, by a page elsewhere."""
    requests = [body("[n=900] [gap=100]", max_tokens=800, stream=streams) for streams in (True, False)]
    data = [json.dumps(r).encode() for r in requests]
    for twice in (False, True):
        server = Server(EXE, drain_ms=90000 if twice else 400)
        results = [None] * 2

        def one(i):
            results[i] = raw(server.port, b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" %
                             (len(data[i]), data[i]), 60)
        threads = [threading.Thread(target=one, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        server.wait_live(2)
        start = time.monotonic()
        server.signal(signal.SIGINT)
        if twice:
            until(lambda: ask(server.port, "GET", "/readyz")[0] == 503)  # two signals at once would be one
            server.signal(signal.SIGINT)
        assert server.process.wait(45) == 0
        took = time.monotonic() - start
        for thread in threads:
            thread.join()
        assert took < 45 if twice else 0.3 < took < 45, took
        for got, closed in results:
            assert b"shutting_down" in got and b"[DONE]" not in got and closed, got[-300:]
        assert results[0][0].startswith(b"HTTP/1.1 200 ") and results[0][0].endswith(b"0\r\n\r\n"), results[0][0][-300:]
        assert results[1][0].startswith(b"HTTP/1.1 503 "), results[1][0]


@test
def a_third_signal_waits_for_nobody(s):
    server = Server(EXE, drain_ms=90000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
        sock.sendall(b"GET /models/sse HTTP/1.1\r\nHost: localhost\r\n\r\n")
        sock.recv(100)
        server.signal(signal.SIGTERM)
        while server.process.poll() is None:  # up to its last moment
            server.signal(signal.SIGTERM)
            time.sleep(0.001)
    assert server.process.returncode == 0


@test
def reload_signal(s):
    with Server(EXE) as server:
        server.signal(signal.SIGHUP)
        assert server.process.stdout.readline() == "reloaded\n"
        assert ask(server.port, "GET", "/livez")[0] == 200


@test
def tls(s):
    import ssl
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",
                        "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem"], check=True, capture_output=True)
        with Server(EXE, cert=folder + "/cert.pem", key=folder + "/key.pem") as server:
            context = ssl.create_default_context(cafile=folder + "/cert.pem")
            connection = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=5)
            times = []
            for _ in range(50):
                start = time.monotonic()
                connection.request("POST", COMPLETIONS, json.dumps(body("x", max_tokens=4)))
                assert text_of(json.loads(connection.getresponse().read())) == answer(encode("x"), 4)
                times.append(time.monotonic() - start)
            assert sorted(times[20:])[2] < 0.035, f"Nagle is back: {times}"  # which would make each of them wait for 40 ms
            connection.request("POST", CHAT, json.dumps(chat("x [n=9]", stream=True)))
            assert connection.getresponse().read().decode().endswith("data: [DONE]\n\n")
            connection.close()
        failed = subprocess.run([EXE, "cert", folder + "/none.pem", "key", folder + "/key.pem"], capture_output=True, text=True)
        assert failed.returncode == 2 and failed.stderr.endswith("none.pem: No such file or directory\n"), failed.stderr
        os.mkfifo(folder + "/pipe.pem")  # which is never filled
        for cert, key in (("pipe", "key"), ("cert", "pipe")):
            words = [EXE, "cert", f"{folder}/{cert}.pem", "key", f"{folder}/{key}.pem"]
            failed = subprocess.run(words, capture_output=True, text=True, timeout=30)
            assert failed.returncode == 2 and failed.stderr.endswith("pipe.pem is not a regular file\n"), failed.stderr
        failed = subprocess.run([EXE, "cert", folder + "/cert.pem", "key", folder + "/cert.pem"], capture_output=True, text=True)
        assert failed.returncode == 2 and "cert.pem holds no private key, in PEM and not encrypted, that belongs to" in failed.stderr, failed.stderr


@test
def listens_where_it_is_told(s):
    with Server(EXE, listen="[::1]:0") as server:
        connection = http.client.HTTPConnection("::1", server.port, timeout=5)
        connection.request("GET", "/livez")
        assert connection.getresponse().status == 200
        connection.close()
    for listen in ("nowhere", "127.0.0.1:x", "300.0.0.1:80", f"127.0.0.1:{s.port}"):
        failed = subprocess.run([EXE, "listen", listen], capture_output=True, text=True)
        assert failed.returncode == 2 and failed.stderr.startswith("listen: "), (listen, failed)


@test
def large_bodies_need_the_key_first(s):
    with Server(EXE, api_key="k", admin_key="a") as locked:
        for path, key, status in ((b"/v1/completions", b"no", 401), (b"/models/load", b"k", 403), (b"/none", b"k", 404), (b"/ping", b"k", 413)):
            got, closed = raw(locked.port, b"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\n"
                              b"Content-Length: 1000000\r\n\r\n" % (path, key))
            assert got.startswith(b"HTTP/1.1 %d " % status) and closed, got
        for line in (b"OPTIONS /v1/completions", b"GET /livez"):
            got, closed = raw(locked.port, line + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert got.startswith(b"HTTP/1.1 413 ") and b"this path accepts no body of more than" in got and closed, got
        got, _ = raw(locked.port, line + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 0.5)
        assert got.startswith(b"HTTP/1.1 200 "), got
        got, _ = raw(locked.port, b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\n"
                     b"Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n", 0.5)
        assert got == b"HTTP/1.1 100 Continue\r\n\r\n", got


@test
def bodies_count_until_they_are_read(s):
    """A client that repeatedly uploads and leaves meets the bound on memory."""
    text = b'{"prompt":[' + b"1," * 1000000 + b"1]}"
    with Server(EXE) as server:
        n_seen = 0
        for _ in range(30):  # until a look falls between a request's coming and its end
            socks = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(12)]
            for sock in socks:
                sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
                sock.close()
            is_over = False
            while not is_over:
                page = dict(line.rsplit(" ", 1) for line in ask(server.port, "GET", "/metrics")[2].splitlines() if line[:1] != "#")
                n_held = int(page['shoal_api_requests{kind="held"}'])
                n_seen = max(n_seen, n_held)
                n_bytes = int(page['shoal_http_memory_bytes{kind="held"}'])
                assert n_bytes >= n_held * len(text), page
                is_over = n_held == 0 and n_bytes < len(text)
            if n_seen > 0:
                break
        assert n_seen > 0
        server.wait_idle()
        assert server.metric('shoal_http_memory_bytes{kind="held"}') < 1 << 20


@test
def ids_go_on_after_a_restart(s):
    last = ""
    for _ in range(3):
        with Server(EXE) as server:
            for _ in range(5):
                _, head, page = post(server.port, COMPLETIONS, body())
                for id_ in (head["x-request-id"].split("-")[1], page["id"].split("-")[1][:16]):
                    assert id_ > last, (id_, last)
                    last = id_


if __name__ == "__main__":
    with Server(EXE) as shared:
        run(shared)
