#!/usr/bin/env python3
"""Clients and frameworks of this field against the server: `./dev check clients` installs them from PyPI.

    clients_check.py SHOAL MODEL

Each row of the table is a client with its version; each of its columns is something that its users do. The model writes
stories, so what must have a form is asked for with a form: tools that must be called, and schemas."""
import contextlib
import importlib.metadata
import os
import subprocess
import sys
import time
import traceback
import urllib.request

import pydantic

MODEL = "tale"
ASK = [{"role": "user", "content": "Once upon a time"}]
CHECKS = []


class Colour(pydantic.BaseModel):
    """A colour and how strong it is."""
    name: str = pydantic.Field(max_length=12)
    strength: int = pydantic.Field(ge=1, le=9)


TOOL = {"type": "function", "function": {"name": "paint", "description": "paints", "parameters": Colour.model_json_schema()}}


def check(package):
    def add(function):
        CHECKS.append((package, function))
        return function
    return add


def is_text(text):
    assert isinstance(text, str) and text.strip(), text


def is_colour(value):
    Colour.model_validate(value) if isinstance(value, dict) else Colour.model_validate_json(value)


# ---- The official clients. ----

@check("openai")
def chats(base):
    import openai
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="none")
    is_text(client.chat.completions.create(model=MODEL, messages=ASK, max_tokens=20).choices[0].message.content)
    parts = list(client.chat.completions.create(model=MODEL, messages=ASK, max_tokens=20, stream=True, stream_options={"include_usage": True}))
    is_text("".join(p.choices[0].delta.content or "" for p in parts if p.choices))
    assert parts[-1].usage.completion_tokens > 0
    is_text(client.completions.create(model=MODEL, prompt="Once", max_tokens=20).choices[0].text)
    assert MODEL in [m.id for m in client.models.list()]


@check("openai")
def tools_and_forms(base):
    import openai
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="none")
    call = client.chat.completions.create(model=MODEL, messages=ASK, max_tokens=200, tools=[TOOL], tool_choice="required").choices[0].message.tool_calls[0]
    is_colour(call.function.arguments)
    is_colour(client.chat.completions.parse(model=MODEL, messages=ASK, max_tokens=200, response_format=Colour).choices[0].message.parsed.model_dump())
    with client.chat.completions.stream(model=MODEL, messages=ASK, max_tokens=200, response_format=Colour) as stream:
        is_colour(stream.get_final_completion().choices[0].message.parsed.model_dump())
    is_colour(client.responses.parse(model=MODEL, input="Once", max_output_tokens=200, text_format=Colour).output_parsed.model_dump())


@check("openai")
def responses_and_vectors(base):
    import openai
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="none")
    first = client.responses.create(model=MODEL, input="Once", max_output_tokens=20)
    is_text(client.responses.create(model=MODEL, input="And", max_output_tokens=20, previous_response_id=first.id).output_text)
    assert [e.type for e in client.responses.create(model=MODEL, input="Once", max_output_tokens=20, stream=True)][-1] in ("response.completed", "response.incomplete")
    assert len(client.embeddings.create(model=MODEL, input=["a", "b"]).data[1].embedding) > 10


@check("anthropic")
def messages(base):
    import anthropic
    client = anthropic.Anthropic(base_url=base, api_key="none")
    is_text(client.messages.create(model=MODEL, max_tokens=20, messages=ASK).content[0].text)
    with client.messages.stream(model=MODEL, max_tokens=20, messages=ASK) as stream:
        is_text("".join(stream.text_stream))
    assert client.messages.count_tokens(model=MODEL, messages=ASK).input_tokens > 3
    tool = {"name": "paint", "description": "paints", "input_schema": Colour.model_json_schema()}
    is_colour(client.messages.create(model=MODEL, max_tokens=200, messages=ASK, tools=[tool], tool_choice={"type": "any"}).content[0].input)


@check("ollama")
def everything(base):
    import ollama
    client = ollama.Client(base)
    is_text(client.chat(MODEL, ASK, options={"num_predict": 20}).message.content)
    is_text("".join(part.message.content for part in client.chat(MODEL, ASK, stream=True, options={"num_predict": 20})))
    is_text(client.generate(MODEL, "Once", options={"num_predict": 20}).response)
    is_colour(client.chat(MODEL, ASK, format=Colour.model_json_schema(), options={"num_predict": 200}).message.content)
    assert len(client.embed(MODEL, ["a", "b " * 5000]).embeddings[1]) > 10
    assert MODEL in [m.model for m in client.list().models] and client.show(MODEL).modelinfo


# ---- Frameworks. ----

@check("litellm")
def chats_and_tools(base):
    import litellm
    for name, where in (("openai", f"{base}/v1"), ("hosted_vllm", f"{base}/v1"), ("anthropic", base), ("ollama_chat", base)):
        same = {"model": f"{name}/{MODEL}", "api_base": where, "api_key": "none", "messages": ASK}
        is_text(litellm.completion(**same, max_tokens=20).choices[0].message.content)
        is_text("".join(p.choices[0].delta.content or "" for p in litellm.completion(**same, max_tokens=20, stream=True)))
    is_colour(litellm.completion(model=f"openai/{MODEL}", api_base=f"{base}/v1", api_key="none", messages=ASK, max_tokens=200, tools=[TOOL],
                                 tool_choice="required").choices[0].message.tool_calls[0].function.arguments)
    assert len(litellm.embedding(model=f"openai/{MODEL}", api_base=f"{base}/v1", api_key="none", input=["a"]).data[0]["embedding"]) > 10


@check("langchain-openai")
def chats_tools_forms_vectors(base):
    import langchain_openai
    chat = langchain_openai.ChatOpenAI(model=MODEL, base_url=f"{base}/v1", api_key="none", max_tokens=200, temperature=0.5)
    is_text(chat.invoke("Once").content)
    is_text("".join(part.content for part in chat.stream("Once")))
    is_colour(chat.bind_tools([Colour], tool_choice="required").invoke("Once").tool_calls[0]["args"])
    for method in "json_schema", "function_calling":
        is_colour(chat.with_structured_output(Colour, method=method).invoke("Once").model_dump())
    vectors = langchain_openai.OpenAIEmbeddings(model=MODEL, base_url=f"{base}/v1", api_key="none", check_embedding_ctx_length=False)
    assert len(vectors.embed_documents(["a", "b"])[1]) > 10


@check("langchain-anthropic")
def chats_and_calls(base):
    import langchain_anthropic
    chat = langchain_anthropic.ChatAnthropic(model=MODEL, base_url=base, api_key="none", max_tokens=200)
    is_text(chat.invoke("Once").content)
    is_text("".join(part.content if isinstance(part.content, str) else "".join(c.get("text", "") for c in part.content) for part in chat.stream("Once")))
    is_colour(chat.bind_tools([Colour], tool_choice="any").invoke("Once").tool_calls[0]["args"])


@check("langchain-ollama")
def chats_and_vectors(base):
    import langchain_ollama
    chat = langchain_ollama.ChatOllama(model=MODEL, base_url=base, num_predict=200)
    is_text(chat.invoke("Once").content)
    is_colour(chat.with_structured_output(Colour, method="json_schema").invoke("Once").model_dump())
    assert len(langchain_ollama.OllamaEmbeddings(model=MODEL, base_url=base).embed_query("a")) > 10


@check("instructor")
def forms(base):
    import instructor
    import openai
    for mode in instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA:
        client = instructor.from_openai(openai.OpenAI(base_url=f"{base}/v1", api_key="none"), mode=mode)
        is_colour(client.chat.completions.create(model=MODEL, messages=ASK, max_tokens=200, response_model=Colour).model_dump())


@check("llama-index-llms-openai-like")
def texts_and_chats(base):
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai_like import OpenAILike
    llm = OpenAILike(model=MODEL, api_base=f"{base}/v1", api_key="none", is_chat_model=True, is_function_calling_model=True, max_tokens=20)
    is_text(llm.complete("Once").text)
    is_text(llm.chat([ChatMessage(role="user", content="Once")]).message.content)
    is_text([part.message.content for part in llm.stream_chat([ChatMessage(role="user", content="Once")])][-1])


@check("llama-index-embeddings-openai-like")
def vectors(base):
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding
    embedding = OpenAILikeEmbedding(model_name=MODEL, api_base=f"{base}/v1", api_key="none")
    assert len(embedding.get_text_embedding("a")) > 10


@contextlib.contextmanager
def served(shoal, model):
    words = [shoal, "serve", "--model", f"{MODEL}={model}", "--listen", "127.0.0.1:0", "--default-chat-template", "chatml"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        try:
            port = next(int(line.rsplit("port ", 1)[1].rstrip(")\n")) for line in child.stdout if "(port " in line)
            base = f"http://127.0.0.1:{port}"
            for _ in range(600):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{base}/readyz", timeout=5).close()
                    break
                time.sleep(0.1)
            yield base
        finally:
            child.terminate()


def main():
    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", ANONYMIZED_TELEMETRY="False")
    n_failed = 0
    with served(*sys.argv[1:3]) as base:
        for package, function in CHECKS:
            name = f"{package} {importlib.metadata.version(package)}: {function.__name__.replace('_', ' ')}"
            try:
                function(base)
                print(f"passed  {name}", flush=True)
            except Exception:
                n_failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc(limit=-3)}", flush=True)
    print(f"{len(CHECKS) - n_failed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
