"""Speculation on the real server: every field of an answer is the same with and without drafts, in engines of both kinds and in chains.

usage: serve_drafts.py SHOAL MODELS_FOLDER
"""
import os
import subprocess
import tempfile

from serve_shared import Later, Shoal, body_of, main, paths, test, until

SMALL = ("--memory", "512MiB")
VERSE = "And the LORD spake unto Moses, saying, Speak unto the children of Israel, and say unto them, "
CODE = "static int f(struct inode *inode)\n{\n\tint err;\n\n\terr = g(inode);\n\tif (err)\n\t\treturn err;\n"


def bodies():
    """Prompts that repeat themselves, with all that may end, bias, constrain or describe an answer."""
    for model, text in (("tale", VERSE), ("cee", CODE)):
        prompt = text * 3
        for fields in ({}, {"temperature": 0.8, "seed": 3}, {"logprobs": 3}, {"temperature": 0.7, "seed": 9, "logprobs": 2, "top_p": 0.9},
                       {"stop": ["unto", "err"]}, {"stop": ["\n"], "include_stop_str_in_output": True}, {"ignore_eos": False, "min_tokens": 5},
                       {"repetition_penalty": 1.3, "frequency_penalty": 0.5}, {"repetition_penalty": 0.7, "presence_penalty": -0.5, "logprobs": 1},
                       {"n": 2, "seed": 1, "temperature": 0.9}, {"echo": True, "logprobs": 1}, {"stop_token_ids": [260, 270, 280]}, {"max_tokens": 1}):
            yield {**body_of(model, prompt, 60), **fields}


GUIDED = [{**body_of("tale", VERSE * 3, 40), "ignore_eos": False, "guided_regex": "[a-z ,]{30,60}"}]


def answer(server, body):
    status, _, page = server.post("/v1/completions", body)
    assert status == 200, (body, page)
    return page["choices"], page["usage"]["completion_tokens"]


def answers(server, asked):
    later = [Later(answer, server, body) for body in asked]
    return [ask.result() for ask in later]


def counted(server, kind):
    lines = server.get("/metrics")[2].splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"vllm:spec_decode_num_{kind}_total{{"))


def agrees(expected, server, asked):
    got = answers(server, asked)
    for body, one, other in zip(asked, expected, got):
        assert one == other, (body, one, other)
    until(lambda: counted(server, "accepted_tokens") > 0)
    assert counted(server, "accepted_tokens") <= counted(server, "draft_tokens") >= counted(server, "drafts") > 0


@test
def drafts_change_no_field_of_an_answer(shoal, models):
    asked = list(bodies()) + GUIDED
    with Shoal(shoal, *SMALL, models=paths(models)) as server:
        expected = [answer(server, body) for body in asked]
        assert counted(server, "draft_tokens") == 0
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        with Shoal(shoal, *SMALL, "--speculation", "lookup", "--log-engine", log, models=paths(models)) as server:
            before = answers(server, GUIDED)
            assert before == expected[-len(GUIDED):] and counted(server, "draft_tokens") == 0, "guided requests have no drafts"
            agrees(expected, server, asked)
        replayed = subprocess.run([shoal, "replay", log], capture_output=True, text=True, timeout=120, check=False)
        assert replayed.returncode == 0 and "all equal" in replayed.stdout, replayed
    with Shoal(shoal, *SMALL, "--speculation", "lookup", "--thresholds", "n_rounds_max=8", "--kv", "head-wise", models=paths(models)) as server:
        agrees(expected, server, asked)
    plain = asked[:-len(GUIDED)]
    with Shoal(shoal, *SMALL, "--speculation", "lookup", "--engines", "processes", models=paths(models)) as server:
        agrees(expected, server, plain)


@test
def a_log_of_scored_prompts_is_replayed(shoal, models):
    """A log has no scores, and memory of bodies that had other content is used again."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        with Shoal(shoal, *SMALL, "--log-engine", log, models={"tale": paths(models)["tale"]}) as server:
            for i in range(6):
                server.complete("tale", VERSE * (6 - i), 40)
                server.complete("tale", VERSE * (i + 1), 20, echo=True, logprobs=1)
        replayed = subprocess.run([shoal, "replay", log], capture_output=True, text=True, timeout=120, check=False)
        assert replayed.returncode == 0 and "all equal" in replayed.stdout, replayed


if __name__ == "__main__":
    main()
