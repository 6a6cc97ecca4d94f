"""Groups of devices on the real server: two ranks of one core compute each model together.

usage: serve_group.py SHOAL MODELS_FOLDER
"""
import os
import subprocess

from serve_shared import Later, Shoal, body_of, main, paths, test, until

GROUP = ("--devices", "group(cpu:0,cpu:1)", "--memory", "512MiB", "--profile", "0")
CHAIN = ("--devices", "group(cpu:0=2,cpu:1=1)", "--memory", "512MiB", "--profile", "0")
ONE = ("--devices", "cpu:0", "--memory", "512MiB", "--profile", "0")
PROMPTS = {"tale": "Once upon a time there was a king who had a daughter", "cee": "static int init(struct inode *inode)\n{\n"}


def asked():
    """Greedy answers and sampled ones, with what describes and constrains them."""
    for model, prompt in PROMPTS.items():
        for fields in ({}, {"temperature": 0.9, "seed": 3}, {"temperature": 0.7, "seed": 4, "top_p": 0.9, "logprobs": 2}, {"echo": True, "logprobs": 1},
                       {"frequency_penalty": 0.5}, {"guided_regex": "[a-z ,]{20,40}", "ignore_eos": False}, {"n": 2, "seed": 5, "temperature": 1.0}):
            yield {**body_of(model, prompt, 40), **fields}


def answer(server, body):
    status, _, page = server.post("/v1/completions", body)
    assert status == 200, (body, page)
    return page["choices"]


def one_by_one(server):
    return [answer(server, body) for body in asked()]


def together(server, skipped=()):
    later = [None if set(body) & set(skipped) else Later(answer, server, body) for body in asked()]
    return [each and each.result() for each in later]


def compare(expected, got):
    for body, one, other in zip(asked(), expected, got):
        assert other is None or one == other, (body, one, other)


@test
def greedy_texts_are_those_of_one_device(shoal, models):
    with Shoal(shoal, *ONE, models=paths(models)) as server:
        expected = [server.text(model, prompt, 60) for model, prompt in PROMPTS.items()]
    with Shoal(shoal, *GROUP, models=paths(models)) as server:
        assert [server.text(model, prompt, 60) for model, prompt in PROMPTS.items()] == expected
        assert "group(cpu:0,cpu:1)" in server.get("/models")[2], server.state()


@test
def tokens_depend_neither_on_the_batch_nor_on_the_policy(shoal, models):
    with Shoal(shoal, *GROUP, models=paths(models)) as server:
        expected = one_by_one(server)
        compare(expected, together(server))
    for more in (("--policy", "adbs"), ("--policy", "rr", "--speculation", "lookup"), ("--kv", "head-wise"), ("--engines", "processes")):
        with Shoal(shoal, *GROUP, *more, models=paths(models)) as server:
            compare(expected, together(server, ["guided_regex"] if "processes" in more else ()))
            until(server.is_clear)


@test
def a_pipeline_gives_the_answers_of_one_device(shoal, models):
    with Shoal(shoal, *ONE, models=paths(models)) as server:
        expected = one_by_one(server)
    for more in ((), ("--engines", "processes"), ("--speculation", "lookup", "--kv", "head-wise")):
        with Shoal(shoal, *CHAIN, *more, models=paths(models)) as server:
            assert "group(cpu:0=2,cpu:1=1)" in server.get("/models")[2], server.state()
            compare(expected, together(server, ["guided_regex"] if "processes" in more else ()))
            until(server.is_clear)


@test
def processes_that_pack_in_different_ways_do_not_share_weights(shoal, models):
    """A model on one device, in parts on two ranks, and in parts of other layers: each engine has it, and no answer is of another arithmetic."""
    model = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/data/llama")
    body = body_of("llama", PROMPTS["tale"], 30)
    devices = ("cpu:0", "group(cpu:0,cpu:1)", "group(cpu:0=1,cpu:1=1)", "cpu:1")
    expected = []
    for device in devices[:2]:
        with Shoal(shoal, "--devices", device, "--memory", "128MiB", "--profile", "0", models={"llama": model}) as server:
            expected.append(answer(server, body))
    every = [word for device in devices for word in ("--devices", device)]
    with Shoal(shoal, *every, "--engines", "processes", "--memory", "128MiB", "--profile", "0", models={"llama": model}, wait=None) as server:
        until(lambda: [e["status"]["value"] for e in server.state()["data"][0]["engines"]] == ["loaded"] * len(devices))
        for _ in range(3):
            later = [Later(answer, server, body) for _ in range(16)]
            assert all(each.result() in expected for each in later)


@test
def preempted_and_swapped_requests_go_on(shoal, models):
    """A pool for a few requests, and host memory for the KV of others."""
    bodies = [body_of("tale", f"Tale {i}: " + "and the king said " * 8, 200, temperature=0.8, seed=i) for i in range(16)]
    with Shoal(shoal, *GROUP, models={"tale": paths(models)["tale"]}) as server:
        expected = [answer(server, body) for body in bodies]
    for more in ((), ("--swap-bytes", "64MiB")):
        with Shoal(shoal, *GROUP, "--kv-bytes", "384KiB", *more, models={"tale": paths(models)["tale"]}) as server:
            later = [Later(answer, server, body) for body in bodies]
            assert [each.result() for each in later] == expected
            preempted = sum(p["preempted"] for m in server.state()["data"] for p in m["engines"])
            assert preempted > 0, server.state()


@test
def a_model_sleeps_and_wakes(shoal, models):
    with Shoal(shoal, *GROUP, "--sleep-bytes", "64MiB", models={"tale": paths(models)["tale"]}) as server:
        before = server.text("tale", PROMPTS["tale"], 20)
        for _ in range(2):
            assert server.post("/models/tale/sleep", {})[0] == 200
            assert server.status("tale") == "sleeping", server.state()
            assert server.text("tale", PROMPTS["tale"], 20) == before


@test
def what_groups_can_not_do_is_refused(shoal, models):
    for device, part in (("group(cpu:0)", "at least 2 devices"), ("group(cpu:0,cpu:0-1)", "core 0 is in two of its devices"),
                         ("group(cuda:0,cuda:1)", "groups of GPUs are not supported"), ("group(cpu:0,cpu:1", "expected a group"),
                         ("group(cpu:0,cpu:1)x", "expected a group"), ("group(cpu:0=1,cpu:1)", "expected 1 to"),
                         ("group(cpu:0=0,cpu:1=1)", "expected 1 to"), ("group(cpu:0=x,cpu:1=1)", "expected 1 to"), ("group()", "at least 2 devices"), ("group(cpu:0,,cpu:1)", "expected"),
                         ("group(" + ",".join(["cpu:0"] * 60) + ")", "core 0 is in two")):
        done = subprocess.run([shoal, "serve", "--devices", device, "--model", f"tale={paths(models)['tale']}", "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0 and part in done.stderr + done.stdout, (device, done)
    done = subprocess.run([shoal, "serve", *GROUP, "--lanes", "1", "--lanes", "1", "--model", f"tale={paths(models)['tale']}"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "a group of devices computes on one lane" in done.stderr + done.stdout, done


main()
