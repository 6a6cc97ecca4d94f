#!/usr/bin/env python3
"""Encoders and cross-encoders on the real server: their vectors and scores are those of transformers, and stay the
same beside other requests, whatever the chunks. Requests that such models refuse."""
import json
import os
import sys
import urllib.request

from embeddings import embed, post, refused
from scores import at_once
from serve_shared import Shoal

BOUND = 1e-4  # of the largest number
NAMES = ["bert_mean", "bert_cls", "bert_cross", "roberta", "roberta_cross", "xlm_roberta", "xlm_roberta_cross"]


def data_of(root, name):
    with open(os.path.join(root, "tests/golden/data/encoders", name, "vectors.json"), encoding="utf-8") as file:
        return json.load(file)


def near(found, wanted, name):
    largest = max(abs(x) for x in wanted)
    error = max(abs(a - b) for a, b in zip(found, wanted)) / largest
    assert len(found) == len(wanted) and error < BOUND, (name, error)
    return error


def check_vectors(port, name, data):
    found = embed(port, data["texts"], model=name)
    alone = [embed(port, text, model=name)[0] for text in data["texts"]]
    assert found == alone
    return max(near(a, b, name) for a, b in zip(found, data["vectors"]))


def check_scores(port, name, data):
    found = []
    for query, document in data["pairs"]:
        page = post(port, "/v1/rerank", model=name, query=query, documents=[document])
        found.append(page["results"][0]["relevance_score"])
    first, second = zip(*data["pairs"])
    page = post(port, "/v1/score", model=name, text_1=list(first), text_2=list(second))
    assert [one["score"] for one in page["data"]] == found
    one = post(port, "/v1/score", model=name, text_1=first[0], text_2=list(second[:2]))["data"]
    assert one[0]["score"] == found[0]
    return near(found, data["scores"], name)


def check_all(port, root):
    for name in NAMES:
        data = data_of(root, name)
        error = check_scores(port, name, data) if "pairs" in data else check_vectors(port, name, data)
        print(f"{name}: {error:.2g} of the largest number", flush=True)


def check_together(port, known):
    """Texts of several models and lengths at once."""
    texts = ["river " * n for n in (1, 5, 40, 60)] + ["the fox", "a crow met the fox"]
    asks = [lambda t=t, m=m: embed(port, t, model=m)[0] for t in texts for m in ("bert_mean", "bert_cls", "roberta")]
    known.append([ask() for ask in asks])
    assert known[0] == known[-1]
    for _ in range(3):
        assert at_once(asks * 2) == known[0] * 2
    assert embed(port, texts * 10, model="bert_mean") == known[0][::3] * 10


def check_refusals(port):
    chat = {"messages": [{"role": "user", "content": "a"}]}
    cases = [
        ("/v1/chat/completions", {"model": "bert_mean", **chat}, "is an encoder, which generates no text"),
        ("/v1/completions", {"model": "roberta", "prompt": "a"}, "send texts to /v1/embeddings"),
        ("/api/generate", {"model": "bert_cls", "prompt": "a"}, "generates no text"),
        ("/v1/completions", {"model": "bert_cross", "prompt": "a"}, "/v1/rerank or /v1/score"),
        ("/v1/embeddings", {"model": "bert_cross", "input": "a"}, "scores pairs of texts and makes no embeddings"),
        ("/api/embed", {"model": "roberta_cross", "input": "a"}, "makes no embeddings"),
        ("/v1/embeddings", {"model": "bert_mean", "input": "river " * 127}, "maximum context length is 128"),
        ("/v1/rerank", {"model": "bert_cross", "query": "river " * 64, "documents": ["river " * 64]},
         "maximum context length is 128"),
        ("/v1/embeddings", {"model": "bert_mean", "input": "a", "dimensions": 33}, "has 32"),
    ]
    for path, body, words in cases:
        code, text = refused(port, path, **body)
        assert code == 400 and words in text, (path, code, text)
    assert len(embed(port, "river " * 126, model="bert_mean")[0]) == 32  # exactly the context


def check_models(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=60) as answer:
        models = {one["id"]: one for one in json.load(answer)["data"]}
    assert models["bert_mean"]["task"] == "embed" and models["bert_mean"]["pooling"] == "mean"
    assert models["bert_cls"]["pooling"] == "cls" and models["bert_cls"]["embedding_dimensions"] == 32
    assert models["bert_cross"]["task"] == "score" and models["bert_mean"]["max_model_len"] == 128
    assert models["roberta"]["max_model_len"] == 448 and models["bert_mean"]["kv_type"] == "f32"
    assert post(port, "/api/show", model="bert_mean")["capabilities"] == ["embedding"]


def main():
    program, root = sys.argv[1:3]
    models = {name: os.path.join(root, "tests/golden/data/encoders", name) for name in NAMES}
    known = []
    print("[ RUN      ] encoders", flush=True)
    runs = [([], (check_refusals, check_models)), (["--chunk-tokens", "16", "--policy", "db-turn"], ()),
            (["--engines", "processes", "--max-batch", "2"], ())]
    for options, more in runs:
        with Shoal(program, *options, models=models) as server:
            check_all(server.port, root)
            check_together(server.port, known)
            for check in more:
                check(server.port)
    print("[       OK ] encoders")


if __name__ == "__main__":
    main()
