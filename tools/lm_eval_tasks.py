#!/usr/bin/env python3
"""lm-eval's loglikelihood tasks against `shoal serve`, for ./dev check lmeval.

    lm_eval_tasks.py ask PROGRAM MODEL OUT    serves the model, runs a task of our own with lm-eval,
                                              and writes what it measured
    lm_eval_tasks.py compare MODEL OUT        compares that with transformers: each log likelihood,
                                              and whether the continuation is the greedy one

MODEL is a folder in Hugging Face's form, with a tokenizer."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

QUESTIONS = [("The crow sat on a", [" branch", " river", " lion of the forest"]),
             ("One day the fox", [" met a crow.", " said nothing", " was 12 years old!"]),
             ("def main(x):", ["\n    return x", " pass", "\tprint('é')"]),
             ("1 + 1 =", [" 2", " 3", " 11"]),
             ("Naïve café, 東京", [" is a", " 大阪", " 🐟"])]
TASK = """task: shoal_choice
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{context}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: 0
target_delimiter: ""
metric_list: [{{metric: acc}}]
"""


def serve(program, model):
    server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--model", f"tiny={model}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in server.stdout:
        if match := re.search(r"\(port (\d+)\)", line):
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return server, int(match[1])
    raise SystemExit("the server did not start")


def post(port, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def greedy(port, context):
    """What the model says by itself; None if its text has other tokens than those drawn, as many texts of random models do."""
    text = post(port, "/v1/completions", {"model": "tiny", "prompt": context, "max_tokens": 1, "temperature": 0, "ignore_eos": True,
                                          "add_special_tokens": False})["choices"][0]["text"]
    before, after = (post(port, "/tokenize", {"model": "tiny", "prompt": words, "add_special_tokens": False})["tokens"]
                     for words in (context, context + text))
    return text if text and text.isprintable() and "\ufffd" not in text and after[:-1] == before else None


def greedy_questions(port, n=3):
    """Contexts that the model continues with a text of one token."""
    found = []
    for a in "abcdefghijklmnopqrstuvwxyz":
        for b in ("the", "of", "in", "12", "x(", "\n"):
            text = greedy(port, f"{a}{b}")
            if text is not None:
                found.append((f"{a}{b}", [" a", text]))
            if len(found) == n:
                return found
    raise SystemExit("no context has a greedy continuation of one token")


def ask(program, model, out):
    import lm_eval
    from lm_eval.tasks import TaskManager
    server, port = serve(program, model)
    folder = tempfile.mkdtemp()
    try:
        data = os.path.join(folder, "questions.json")
        with open(data, "w") as f:
            questions = QUESTIONS + greedy_questions(port)
            for context, choices in questions:
                f.write(json.dumps({"context": context, "choices": choices}) + "\n")
        with open(os.path.join(folder, "choice.yaml"), "w") as f:
            f.write(TASK.format(data=data))
        args = {"model": "tiny", "base_url": f"http://127.0.0.1:{port}/v1/completions",
                "tokenizer_backend": "remote", "num_concurrent": 4, "max_length": 256}
        results = lm_eval.simple_evaluate(model="local-completions", model_args=args, tasks=["shoal_choice"],
                                          task_manager=TaskManager(include_path=folder), log_samples=True,
                                          bootstrap_iters=0)
    finally:
        server.terminate()
        server.wait()
    rows = []
    for sample in results["samples"]["shoal_choice"]:
        for (context, choice), (value, is_greedy) in zip(
                [a.values() if isinstance(a, dict) else a for a in sample["arguments"]],
                [r[0] if isinstance(r[0], (list, tuple)) else r for r in sample["resps"]]):
            rows.append([context, choice, float(value), str(is_greedy) == "True"])
    assert len(rows) == sum(len(choices) for _, choices in questions), rows
    with open(out, "w") as f:
        json.dump(rows, f)


def compare(model_folder, out):
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(model_folder, torch_dtype=torch.float64).eval()
    tokenizer = Tokenizer.from_file(os.path.join(model_folder, "tokenizer.json"))
    rows, n_greedy, worst = json.load(open(out)), 0, 0.0
    for context, choice, value, is_greedy in rows:
        before = tokenizer.encode(context, add_special_tokens=False).ids
        ids = tokenizer.encode(context + choice, add_special_tokens=False).ids
        with torch.no_grad():
            logs = torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)
        n = len(before)
        want = sum(logs[i - 1, ids[i]].item() for i in range(n, len(ids)))
        greedy = all(int(logs[i - 1].argmax()) == ids[i] for i in range(n, len(ids)))
        worst = max(worst, abs(want - value) / max(1.0, abs(want)))
        assert math.isclose(want, value, rel_tol=2e-3, abs_tol=2e-3), (context, choice, want, value)
        assert greedy == is_greedy, (context, choice, greedy, is_greedy)
        n_greedy += greedy
    assert n_greedy > 0
    print(f"lm-eval: {len(rows)} log likelihoods agree with transformers (worst relative error {worst:.2g}; "
          f"{n_greedy} greedy)")


if __name__ == "__main__":
    {"ask": ask, "compare": compare}[sys.argv[1]](*sys.argv[2:])
