"""The official openai package talks to us: chats, completions, streams, models, errors, time-outs, parallel calls.

usage: openai_client.py API_SERVE; skips when the package is missing (pip install openai)
"""
import asyncio
import sys

import toy
from toy import Server, answer, chat_ids, encode, run, test

try:
    import openai
except ImportError:
    openai = None

USER = [{"role": "user", "content": "hello [n=20]"}]


@test
def openai_models(s, client):
    assert [m.id for m in client.models.list()] == ["toy", "org/plain"]
    assert client.models.retrieve("org/plain").id == "org/plain"


@test
def openai_chat(s, client):
    reply = client.chat.completions.create(model="toy", messages=USER, temperature=0)
    assert reply.choices[0].message.content == answer(chat_ids(USER), 20)
    assert reply.choices[0].finish_reason == "stop" and reply.usage.completion_tokens == 21
    assert reply.usage.prompt_tokens_details.cached_tokens == 4 and reply._request_id.startswith("req-")


@test
def openai_chat_stream(s, client):
    text, usage = "", None
    for chunk in client.chat.completions.create(model="toy", messages=USER, temperature=0, stream=True,
                                                stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
    assert text == answer(chat_ids(USER), 20) and usage.completion_tokens == 21


@test
def openai_stream_helper(s, client):
    with client.chat.completions.stream(model="toy", messages=USER, temperature=0) as stream:
        final = stream.get_final_completion() if hasattr(stream, "get_final_completion") else None
        for _ in stream:
            pass
    assert final is None or final.choices[0].message.content == answer(chat_ids(USER), 20)


@test
def openai_stream_helper_takes_several_choices(s, client):
    """The helper requires each choice's first chunk in the order of the choices, whichever has its token first."""
    for words in ("[n=20]", "[n=20] [gap=2]", "[n=0]"):
        messages = [{"role": "user", "content": f"hello {words}"}]
        for seed in range(4):
            with client.chat.completions.stream(model="toy", messages=messages, temperature=1, seed=seed, n=3) as stream:
                final = stream.get_final_completion()
            whole = client.chat.completions.create(model="toy", messages=messages, temperature=1, seed=seed, n=3)
            assert [c.index for c in final.choices] == [0, 1, 2]
            assert [c.message.content for c in final.choices] == [c.message.content for c in whole.choices]
            assert all(c.message.role == "assistant" for c in final.choices)


@test
def openai_completion(s, client):
    reply = client.completions.create(model="toy", prompt=["a", "b"], temperature=0, max_tokens=10, n=2, echo=True, logprobs=None)
    assert [c.text for c in reply.choices] == [t + answer(encode(t), 10) for t in ("a", "a", "b", "b")]
    stream = client.completions.create(model="toy", prompt="x", temperature=0, max_tokens=10, stream=True)
    assert "".join(c.choices[0].text for c in stream if c.choices) == answer(encode("x"), 10)


@test
def openai_logprobs(s, client):
    reply = client.chat.completions.create(model="toy", messages=USER, temperature=0, logprobs=True, top_logprobs=3, max_tokens=5)
    content = reply.choices[0].logprobs.content
    assert len(content) == 5 and len(content[0].top_logprobs) == 3 and content[0].logprob == -0.25
    reply = client.completions.create(model="toy", prompt="x", temperature=0, logprobs=2, max_tokens=5)
    assert len(reply.choices[0].logprobs.tokens) == 5


@test
def openai_extra_fields(s, client):
    reply = client.chat.completions.create(model="toy", messages=USER, temperature=0, max_completion_tokens=30, seed=5, user="me",
                                           extra_body={"ignore_eos": True, "min_tokens": 3, "top_k": 5, "priority": -1})
    assert reply.choices[0].finish_reason == "length" and reply.usage.completion_tokens == 30


@test
def openai_errors(s, client):
    for error, call in (
            (openai.NotFoundError, lambda: client.chat.completions.create(model="no", messages=USER)),
            (openai.BadRequestError, lambda: client.chat.completions.create(model="toy", messages=USER, temperature=9)),
            (openai.InternalServerError, lambda: client.chat.completions.create(model="toy", messages=[{"role": "user", "content": "[fail]"}])),
            (openai.RateLimitError, lambda: client.chat.completions.create(model="toy", messages=[{"role": "user", "content": "[full]"}]))):
        try:
            call()
            raise AssertionError(f"{error} was expected")
        except error as e:
            assert e.body["message"], e
    try:
        for _ in client.chat.completions.create(model="toy", messages=[{"role": "user", "content": "[fail=3]"}], stream=True):
            pass
        raise AssertionError("a failure in mid-stream went unnoticed")
    except openai.APIError as e:
        assert "toy: it was asked for" in str(e)


@test
def openai_key(s, client):
    with Server(sys.argv[1], api_key="secret") as locked:
        def with_key(key):
            return openai.OpenAI(base_url=f"http://127.0.0.1:{locked.port}/v1", api_key=key, max_retries=0)
        assert len(list(with_key("secret").models.list())) == 2
        try:
            with_key("wrong").models.list()
            raise AssertionError("the wrong key was taken")
        except openai.AuthenticationError:
            pass


@test
def openai_timeout_cancels(s, client):
    try:
        client.with_options(timeout=0.3).chat.completions.create(model="toy", messages=[{"role": "user", "content": "[first=90000]"}])
        raise AssertionError("no time-out")
    except openai.APITimeoutError:
        s.wait_idle(20)


@test
def openai_async_parallel(s, client):
    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{s.port}/v1", api_key="x", max_retries=0) as many:
            async def one(i):
                messages = [{"role": "user", "content": f"number {i} [n=30] [gap=5]"}]
                text = ""
                async for chunk in await many.chat.completions.create(model="toy", messages=messages, temperature=0, stream=True):
                    text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
                assert text == answer(chat_ids(messages), 30)
            await asyncio.gather(*[one(i) for i in range(100)])
    asyncio.run(all_of_them())


if __name__ == "__main__":
    if openai is None:
        print("[ RUN      ] openai_client\n[  REASON  ] openai_client: the openai package is not installed\n[  SKIPPED ] openai_client")
        sys.exit(0)
    print("openai", openai.__version__)
    with Server(sys.argv[1]) as shared:
        run(shared, openai.OpenAI(base_url=f"http://127.0.0.1:{shared.port}/v1", api_key="x", max_retries=0))
