#!/usr/bin/env python3
"""Embeddings of a decoder on the real server: its vectors stay the same in chunks of any size, beside other
requests, behind a cached prefix, after preemptions, and on engines that are processes. Forms of the request."""
import base64
import json
import math
import os
import re
import struct
import sys
import urllib.error
import urllib.request

from scores import at_once, call as complete, ids_of, prompts_of
from serve_cluster import cluster, requests_of
from serve_shared import Later, Shoal, until


def post(port, path, **body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def refused(port, path, **body):
    """The status and the sentence of a request that is refused."""
    try:
        page = post(port, path, **body)
    except urllib.error.HTTPError as error:
        page = json.load(error)["error"]
        return error.code, page["message"] if isinstance(page, dict) else page
    raise AssertionError(f"answered: {json.dumps(page)[:200]}")


def embed(port, text, model="tiny", **fields):
    """The vectors of one or several texts."""
    page = post(port, "/v1/embeddings", input=text, model=model, **fields)
    assert [one["index"] for one in page["data"]] == list(range(len(page["data"])))
    return [one["embedding"] for one in page["data"]]


def length(vector):
    return math.sqrt(sum(x * x for x in vector))


def check_forms(port):
    texts = ["Once upon a time", "The fox met a crow", "The fox met a crow"]
    page = post(port, "/v1/embeddings", input=texts, model="tiny")
    vectors = [one["embedding"] for one in page["data"]]
    assert page["object"] == "list" and page["data"][1]["object"] == "embedding" and page["model"] == "tiny"
    assert vectors[1] == vectors[2] != vectors[0]
    assert page["usage"]["prompt_tokens"] == page["usage"]["total_tokens"] == sum(len(ids_of(port, t)) for t in texts)
    assert all(abs(length(v) - 1) < 1e-5 for v in vectors)
    assert embed(port, texts[0])[0] == vectors[0]
    assert embed(port, ids_of(port, texts[0]))[0] == vectors[0]
    assert embed(port, [ids_of(port, t) for t in texts]) == vectors
    coded = embed(port, texts, encoding_format="base64")
    for code, vector in zip(coded, vectors):
        raw = base64.b64decode(code, validate=True)
        floats = struct.unpack(f"<{len(raw) // 4}f", raw)
        assert [float("%.9g" % x) for x in floats] == vector
    short = embed(port, texts[0], dimensions=7)[0]
    assert len(short) == 7 and abs(length(short) - 1) < 1e-5
    scale = length(vectors[0][:7])
    assert all(abs(a - b / scale) < 1e-6 for a, b in zip(short, vectors[0]))
    many = embed(port, ["Once " * (1 + i % 5) for i in range(200)])
    assert len(many) == 200 and many[0] == many[5] and many[0] != many[1]
    ollama = post(port, "/api/embed", model="tiny", input=texts)
    assert ollama["embeddings"] == vectors and ollama["prompt_eval_count"] == page["usage"]["prompt_tokens"]
    assert post(port, "/api/embeddings", model="tiny", prompt=texts[0])["embedding"] == vectors[0]


def check_ranks(port):
    documents = ["The crow flew over the river.", "The fox met a crow", {"text": "Once upon a time"}]
    vectors = embed(port, ["The fox met a crow"] + [d if isinstance(d, str) else d["text"] for d in documents])
    cosines = [sum(a * b for a, b in zip(vectors[0], v)) for v in vectors[1:]]
    for path in "/v1/rerank", "/rerank", "/v2/rerank":
        page = post(port, path, model="tiny", query="The fox met a crow", documents=documents)
        scores = [one["relevance_score"] for one in page["results"]]
        assert scores == sorted(scores, reverse=True) and page["results"][0]["index"] == 1
        for one in page["results"]:
            assert abs(one["relevance_score"] - cosines[one["index"]]) < 1e-5
            text = documents[one["index"]]
            assert one["document"]["text"] == (text if isinstance(text, str) else text["text"])
    top = post(port, "/v1/rerank", model="tiny", query="The fox met a crow", documents=documents, top_n=2,
               return_documents=False)["results"]
    assert len(top) == 2 and "document" not in top[0]
    page = post(port, "/v1/score", model="tiny", text_1="The fox met a crow", text_2=documents)
    assert all(abs(one["score"] - cosine) < 1e-5 for one, cosine in zip(page["data"], cosines))
    pairs = post(port, "/score", model="tiny", text_1=["Once", "The fox"], text_2=["Once", "The fox"])["data"]
    assert [round(one["score"], 5) for one in pairs] == [1, 1]


def check_refusals(port):
    cases = [
        ("/v1/embeddings", {}, "input must be a string"),
        ("/v1/embeddings", {"input": []}, "input must be a string"),
        ("/v1/embeddings", {"input": 5}, "input must be a string"),
        ("/v1/embeddings", {"input": ["a", 5]}, "item 1 is neither"),
        ("/v1/embeddings", {"input": [[1], []]}, "1 to 1048576 token ids"),
        ("/v1/embeddings", {"input": [[1 << 19]]}, "outside of the vocabulary"),
        ("/v1/embeddings", {"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ("/v1/embeddings", {"input": "a", "dimensions": 0}, "dimensions"),
        ("/v1/embeddings", {"input": "a", "dimensions": 60000}, "dimensions is 60000"),
        ("/v1/embeddings", {"input": "a", "truncate_prompt_tokens": 3}, "truncate_prompt_tokens is not supported"),
        ("/v1/embeddings", {"input": "Once upon " * 5000}, "maximum context length"),
        ("/v1/embeddings", {"input": ["a"] * 2049}, "at most 2048"),
        ("/v1/rerank", {"query": "a", "documents": []}, "documents must be"),
        ("/v1/rerank", {"query": "a", "documents": [5]}, "item 0 is neither"),
        ("/v1/rerank", {"query": ["a", "b"], "documents": ["a", "b"]}, "must be one text"),
        ("/v1/rerank", {"documents": ["a"]}, "query must be"),
        ("/v1/score", {"text_1": ["a", "b"], "text_2": ["a"]}, "as many"),
        ("/api/embed", {"input": [[1, 2]]}, "must be a string"),
        ("/api/embeddings", {"prompt": ["a"]}, "must be a string"),
    ]
    for path, body, words in cases:
        code, text = refused(port, path, model="tiny", **body)
        assert code == 400 and words in text, (path, body if len(str(body)) < 200 else "", code, text)
    assert refused(port, "/v1/embeddings", model="none", input="a")[0] == 404


def check_cuts(port, models):
    """Ollama's endpoint cuts a text to the context, unless the client wants an error."""
    def ids_of(port, text, name):
        try:
            return post(port, "/tokenize", model=name, prompt=text)["tokens"]
        except urllib.error.HTTPError:
            return [0] * (1 << 20)  # more than its context

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=60) as answer:
        contexts = {one["id"]: one["max_model_len"] for one in json.load(answer)["data"]}
    for name, n_context in ((name, contexts[name]) for name in models):
        texts = ["Once upon a time there was a little girl. " * 400, "\U0001f98aé " * 3000, "a b " * 500000]
        if name == "tiny":  # texts that are one run of byte tokens, which a cut character would break as a whole
            texts += ["\u200d\U0001f468" * 4000, "Once \u4e9c\u6d41" * 3000, "\u6d41" * 4000, "\ufffd" * 4000]
        for text in texts:
            page = post(port, "/api/embed", model=name, input=[text, "Once"])
            n = page["prompt_eval_count"] - len(ids_of(port, "Once", name))
            assert n_context - 8 <= n <= n_context, (name, n, n_context)
            assert page["embeddings"][1] == embed(port, "Once", model=name)[0]
            # the beginning of the text, as its tokens say
            low, high = 0, 4 * n_context
            while low < high and text.startswith("Once"):
                middle = (low + high + 1) // 2
                low, high = (middle, high) if len(ids_of(port, text[:middle], name)) <= n else (low, middle - 1)
            if text.startswith("Once"):
                assert any(page["embeddings"][0] == embed(port, text[:low - i], model=name)[0] for i in range(8)), name
        code, why = refused(port, "/api/embed", model=name, input=text, truncate=False)
        assert code == 400 and "maximum context length" in why, (code, why)
        assert refused(port, "/v1/embeddings", model=name, input=text)[0] == 400
    assert refused(port, "/api/embed", model="tiny", input="a", truncate=3)[0] == 400


def check_same(port, known):
    prompts = prompts_of(port)
    complete(port, prompt=prompts[0], max_tokens=3)  # its blocks are cached, and may be used
    alone = [embed(port, ids)[0] for ids in prompts]
    known.append(alone)
    assert known[0] == alone
    filler = [lambda: complete(port, prompt="Once upon", max_tokens=100, ignore_eos=True)] * 6
    for _ in range(2):
        together = at_once([(lambda ids=ids: embed(port, ids)[0]) for ids in prompts] + filler)
        assert together[:len(prompts)] == alone
    assert embed(port, prompts) == alone


def check_preempted(port, known):
    """Texts beside long answers that do not fit have the vectors that they have alone."""
    prompts = prompts_of(port)
    asks = [lambda ids=ids: embed(port, ids)[0] for ids in prompts] * 4
    filler = [lambda: complete(port, prompt="Once upon", max_tokens=300, ignore_eos=True)] * 6
    n = 0
    for _ in range(10):  # until some met
        assert at_once(asks + filler)[:len(asks)] == known[0] * 4
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            n = sum(map(int, re.findall(r"^vllm:num_preemptions_total.* (\d+)$", answer.read().decode(), re.M)))
        if n > 5:
            break
    print(f"{n} preemptions", flush=True)
    assert n > 5, n


def serve(program, models, *options, check):
    with Shoal(program, *options, models=models) as server:
        check(server.port)


def check_cluster(program, models, known):
    """Over TCP the vectors are the same, also of texts whose node is killed."""
    with cluster(program, models) as (gateway, nodes):
        check_same(gateway.port, known)
        prompts = prompts_of(gateway.port)
        # Long answers keep the node busy until it is seen, which texts alone are too short for.
        fillers = [Later(complete, gateway.port, prompt="Once upon", max_tokens=400, ignore_eos=True) for _ in range(24)]
        until(lambda: requests_of(nodes[0]) > 0, pause=0.002)
        asks = [Later(embed, gateway.port, ids) for ids in prompts * 30]
        nodes[0].kill()
        assert all(filler.result()["choices"][0]["finish_reason"] == "length" for filler in fillers)
        assert [ask.result()[0] for ask in asks] == known[0] * 30


def main():
    program, root = sys.argv[1:3]
    models = {"tiny": os.path.join(root, "models/tale.gguf")}
    known = []
    print("[ RUN      ] embeddings_of_a_decoder", flush=True)
    encoders = {name: os.path.join(root, "tests/golden/data/encoders", name) for name in ("bert_mean", "roberta", "xlm_roberta")}
    serve(program, {**models, **encoders}, check=lambda port: check_cuts(port, ["tiny", *encoders]))
    serve(program, models,
          check=lambda port: (check_same(port, known), check_forms(port), check_ranks(port), check_refusals(port)))
    serve(program, models, "--chunk-tokens", "16", "--policy", "db-turn", "--kv-bytes", "600KiB",
          check=lambda port: (check_same(port, known), check_preempted(port, known)))
    for options in ("--max-batch", "2"), ("--engines", "processes"):
        serve(program, models, *options, check=lambda port: check_same(port, known))
    check_cluster(program, models, known)
    print("[       OK ] embeddings_of_a_decoder")


if __name__ == "__main__":
    main()
