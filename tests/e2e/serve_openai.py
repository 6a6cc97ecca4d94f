"""The official openai package against the real server: chats, completions, streams, logprobs, stops, seeds, biases, errors.

usage: serve_openai.py SHOAL MODELS_FOLDER; skips when the package is missing (pip install openai)
"""
import asyncio
import json
import sys

from serve_shared import Shoal, SECONDS, main, paths, test

try:
    import openai
except ImportError:
    openai = None

USER = [{"role": "user", "content": "And the king said unto them, "}]
FULL = {"ignore_eos": True}
SHARED = {}


def client(shoal, models):
    """One server for all tests of this file."""
    if not SHARED:
        SHARED["server"] = Shoal(shoal, models=paths(models))
    return openai.OpenAI(base_url=f"http://127.0.0.1:{SHARED['server'].port}/v1", api_key="any", max_retries=0, timeout=SECONDS)


def raises(error, call):
    try:
        call()
    except error as caught:
        return caught
    raise AssertionError(f"{error.__name__} was expected")


@test
def openai_serve_models(shoal, models):
    ai = client(shoal, models)
    assert [m.id for m in ai.models.list()] == ["tale", "cee"]
    assert ai.models.retrieve("cee").max_model_len == 512 and ai.models.retrieve("cee").kv_type == "f16"
    raises(openai.NotFoundError, lambda: ai.models.retrieve("nobody"))


@test
def openai_serve_needed_calls(shoal, models):
    """A call that is asked for comes from a model that knows no tools, and fits its schema."""
    parameters = {"type": "object", "properties": {"k": {"type": "string", "enum": ["a", "b"]}, "n": {"type": "boolean"}},
                  "required": ["k", "n"], "additionalProperties": False}
    tools = [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in ("f", "g")]
    ai = client(shoal, models)
    for model in ("tale", "cee"):
        for choice, names in (("required", "fg"), ({"type": "function", "function": {"name": "g"}}, "g")):
            told = ai.chat.completions.create(model=model, messages=USER, tools=tools, tool_choice=choice, max_tokens=120,
                                              temperature=0, parallel_tool_calls=False).choices[0]
            (call,) = told.message.tool_calls
            arguments = json.loads(call.function.arguments)
            assert told.finish_reason == "tool_calls" and told.message.content is None and call.function.name in names
            assert set(arguments) == {"k", "n"} and arguments["k"] in "ab" and isinstance(arguments["n"], bool)


@test
def openai_serve_chat(shoal, models):
    ai = client(shoal, models)
    whole = ai.chat.completions.create(model="tale", messages=USER, temperature=0, max_tokens=24, extra_body=FULL)
    assert whole.choices[0].message.role == "assistant" and whole.choices[0].finish_reason == "length"
    assert whole.usage.completion_tokens == 24 and whole.usage.total_tokens == whole.usage.prompt_tokens + 24
    text, usage, reasons = "", None, []
    for chunk in ai.chat.completions.create(model="tale", messages=USER, temperature=0, max_tokens=24, stream=True,
                                            stream_options={"include_usage": True}, extra_body=FULL):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasons += [choice.finish_reason] if choice.finish_reason else []
    assert text == whole.choices[0].message.content and len(text) > 20 and reasons == ["length"]
    assert usage.completion_tokens == 24 and usage.prompt_tokens == whole.usage.prompt_tokens


@test
def openai_serve_completion(shoal, models):
    ai = client(shoal, models)
    for model, prompt in (("tale", "In the beginning"), ("cee", "static int ")):
        whole = ai.completions.create(model=model, prompt=prompt, temperature=0, max_tokens=20, extra_body=FULL)
        stream = ai.completions.create(model=model, prompt=prompt, temperature=0, max_tokens=20, stream=True, extra_body=FULL)
        text = "".join(c.text for chunk in stream for c in chunk.choices)
        assert text == whole.choices[0].text and text and whole.usage.completion_tokens == 20
        echoed = ai.completions.create(model=model, prompt=prompt, temperature=0, max_tokens=20, echo=True, extra_body=FULL)
        assert echoed.choices[0].text == prompt + text
        both = ai.completions.create(model=model, prompt=[prompt, "x"], temperature=0, max_tokens=20, extra_body=FULL)
        assert [c.index for c in both.choices] == [0, 1] and both.choices[0].text == text


@test
def openai_serve_token_prompt(shoal, models):
    ai = client(shoal, models)
    whole = ai.completions.create(model="cee", prompt="return ", temperature=0, max_tokens=8, extra_body=FULL)
    status, _, page = SHARED["server"].post("/tokenize", {"model": "cee", "prompt": "return "})
    assert status == 200, page
    by_ids = ai.completions.create(model="cee", prompt=page["tokens"], temperature=0, max_tokens=8, extra_body=FULL)
    assert by_ids.choices[0].text == whole.choices[0].text
    status, _, back = SHARED["server"].post("/detokenize", {"model": "cee", "tokens": page["tokens"]})
    assert status == 200 and back["prompt"].endswith("return "), back


@test
def openai_serve_n_and_seed(shoal, models):
    ai = client(shoal, models)

    def draw(seed, n=2):
        reply = ai.chat.completions.create(model="tale", messages=USER, temperature=1, seed=seed, n=n, max_tokens=24, extra_body=FULL)
        assert [c.index for c in reply.choices] == list(range(n)) and reply.usage.completion_tokens == 24 * n
        return [c.message.content for c in reply.choices]
    first = draw(7)
    assert first[0] != first[1] and draw(7) == first and draw(8) != first and draw(7, 1) == first[:1]


@test
def openai_serve_logprobs(shoal, models):
    ai = client(shoal, models)
    reply = ai.chat.completions.create(model="tale", messages=USER, temperature=0, logprobs=True, top_logprobs=4, max_tokens=6, extra_body=FULL)
    content = reply.choices[0].logprobs.content
    assert len(content) == 6 and "".join(t.token for t in content) == reply.choices[0].message.content
    for token in content:
        tops = [t.logprob for t in token.top_logprobs]
        assert len(tops) == 4 and tops == sorted(tops, reverse=True) and token.logprob <= 0
        assert token.token == token.top_logprobs[0].token and abs(token.logprob - tops[0]) < 1e-4  # greedy takes the best
    old = ai.completions.create(model="tale", prompt="And", temperature=0, logprobs=3, max_tokens=5, extra_body=FULL).choices[0]
    assert len(old.logprobs.tokens) == len(old.logprobs.token_logprobs) == 5 and "".join(old.logprobs.tokens) == old.text


@test
def openai_serve_stop(shoal, models):
    ai = client(shoal, models)
    whole = ai.completions.create(model="tale", prompt="And the king", temperature=0, max_tokens=30, extra_body=FULL).choices[0].text
    stop = whole[10:14]
    for streams in (False, True):
        reply = ai.completions.create(model="tale", prompt="And the king", temperature=0, max_tokens=30, stop=[stop, "never"],
                                      stream=streams, extra_body=FULL)
        choices = [c for chunk in reply for c in chunk.choices] if streams else reply.choices
        assert "".join(c.text for c in choices) == whole[:whole.index(stop)] and choices[-1].finish_reason == "stop"


@test
def openai_serve_logit_bias(shoal, models):
    ai = client(shoal, models)
    server = SHARED["server"]
    token = server.post("/tokenize", {"model": "cee", "prompt": "return", "add_special_tokens": False})[2]["tokens"][-1]
    reply = ai.completions.create(model="cee", prompt="int x", temperature=0, max_tokens=5, logit_bias={str(token): 100}, extra_body=FULL)
    word = server.post("/detokenize", {"model": "cee", "tokens": [token]})[2]["prompt"]
    assert reply.choices[0].text == word * 5, reply.choices[0].text
    banned = ai.completions.create(model="cee", prompt="int x", temperature=0, max_tokens=5, logprobs=1, extra_body=FULL).choices[0]
    first = server.post("/tokenize", {"model": "cee", "prompt": banned.logprobs.tokens[0], "add_special_tokens": False})[2]["tokens"]
    other = ai.completions.create(model="cee", prompt="int x", temperature=0, max_tokens=5, logit_bias={str(first[0]): -100}, extra_body=FULL)
    assert len(first) > 1 or other.choices[0].text != banned.text


@test
def openai_serve_sampling_fields(shoal, models):
    ai = client(shoal, models)
    plain = ai.chat.completions.create(model="tale", messages=USER, temperature=0, max_tokens=40, extra_body=FULL)
    same = ai.chat.completions.create(model="tale", messages=USER, temperature=1, top_p=1e-9, max_tokens=40, extra_body=FULL)
    assert same.choices[0].message.content == plain.choices[0].message.content
    same = ai.chat.completions.create(model="tale", messages=USER, temperature=1, max_tokens=40, extra_body={**FULL, "top_k": 1})
    assert same.choices[0].message.content == plain.choices[0].message.content
    other = ai.chat.completions.create(model="tale", messages=USER, temperature=0, max_tokens=40, frequency_penalty=2,
                                       presence_penalty=2, extra_body={**FULL, "repetition_penalty": 1.5})
    assert other.choices[0].message.content != plain.choices[0].message.content


@test
def openai_serve_errors(shoal, models):
    ai = client(shoal, models)
    chat = ai.chat.completions.create
    error = raises(openai.NotFoundError, lambda: chat(model="nobody", messages=USER))
    assert error.code == "model_not_found" and "nobody" in str(error)
    for fields in ({"temperature": 9}, {"max_tokens": 0}, {"n": 0}, {"top_p": -1}, {"logit_bias": {"99999": 1}}, {"top_logprobs": 99},
                   {"stop": ["x"] * 99}):
        error = raises(openai.BadRequestError, lambda fields=fields: chat(model="tale", messages=USER, **fields))
        assert error.body["message"] and error.type == "invalid_request_error", fields
    error = raises(openai.BadRequestError, lambda: chat(model="tale", messages=[{"role": "user", "content": "king " * 5000}]))
    assert error.code == "context_length_exceeded"
    error = raises(openai.BadRequestError, lambda: chat(model="tale", messages=USER, tools=[
        {"type": "function", "function": {"name": "f g", "parameters": {}}}]))
    assert "tools" in str(error)


@test
def openai_serve_parallel(shoal, models):
    ai = client(shoal, models)
    prompts = [("tale", "And he"), ("cee", "if (x"), ("tale", "Now"), ("cee", "}\n")] * 8
    alone = {(m, p): ai.completions.create(model=m, prompt=p, temperature=0, max_tokens=12, extra_body=FULL).choices[0].text
             for m, p in set(prompts)}

    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=str(ai.base_url), api_key="any", max_retries=0, timeout=SECONDS) as many:
            async def one(model, prompt):
                stream = await many.completions.create(model=model, prompt=prompt, temperature=0, max_tokens=12, stream=True, extra_body=FULL)
                assert "".join([c.text async for chunk in stream for c in chunk.choices]) == alone[model, prompt]
            await asyncio.gather(*[one(m, p) for m, p in prompts])
    asyncio.run(all_of_them())


@test
def openai_serve_ends_clean(shoal, models):
    client(shoal, models)
    assert SHARED["server"].stop() == 0


if __name__ == "__main__":
    if openai is None:
        print("[ RUN      ] serve_openai\n[  REASON  ] serve_openai: the openai package is not installed\n[  SKIPPED ] serve_openai")
        sys.exit(0)
    try:
        main()
    finally:
        if SHARED:
            SHARED["server"].kill()
