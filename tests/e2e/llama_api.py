"""llama-server's own endpoints: /completion, and /tokenize with its names.

usage: llama_api.py API_SERVE
"""
import json
import sys

from toy import Server, answer, ask, encode, error_of, post, run, stream, test

EXE = sys.argv[1]
PATH = "/completion"
PROMPT = "tell me"
N_LONG = 3000


def complete(server, **fields):
    status, _, page = post(server.port, PATH, {"model": "toy", "prompt": PROMPT, "temperature": 0, **fields})
    assert status == 200, page
    return page


def events(server, **fields):
    status, _, text = ask(server.port, "POST", PATH, {"model": "toy", "prompt": PROMPT, "temperature": 0, "stream": True, **fields})
    assert status == 200 and "[DONE]" not in text, text
    return [json.loads(block[6:]) for block in text.split("\n\n") if block]


@test
def whole_answers():
    with Server(EXE) as server:
        ids = encode(PROMPT)
        page = complete(server, n_predict=9, id_slot=3, cache_prompt=True, n_keep=5)
        assert page["content"] == answer(ids, 9) and page["stop"] is True and page["tokens"] == [], page
        assert (page["stop_type"], page["stopping_word"], page["tokens_predicted"], page["tokens_evaluated"]) == ("limit", "", 9, len(ids))
        assert page["prompt"] == "<s>" + PROMPT and page["truncated"] is False and page["model"] == "toy" and page["index"] == 0
        assert page["timings"]["predicted_n"] == 9 and page["timings"]["prompt_n"] + page["timings"]["cache_n"] == len(ids)
        assert page["has_new_line"] is False and page["tokens_cached"] == page["timings"]["cache_n"]
        assert page["generation_settings"]["n_predict"] == 9 and page["generation_settings"]["seed"] == -1
        page = complete(server, n_predict=9, stop=[answer(ids, 9)[3:5]])
        assert page["stop_type"] == "word" and page["stopping_word"] == answer(ids, 9)[3:5] and page["content"] == answer(ids, 9)[:3], page
        for every in ({}, {"n_predict": -1}, {"n_predict": None}, {"n_predict": 4000}):  # up to its end, within the context
            page = complete(server, prompt=PROMPT + "[n=50]", **every)
            assert page["stop_type"] == "eos" and page["content"] == answer(encode(PROMPT + "[n=50]"), 50), page
            assert page["generation_settings"]["n_predict"] == (4000 if every.get("n_predict") == 4000 else -1), page
        page = complete(server, prompt=PROMPT + "[n=9000]", seed=-1)
        assert page["stop_type"] == "limit" and page["tokens_evaluated"] + page["tokens_predicted"] == 4096, page
        page = complete(server, n_predict=0)
        assert (page["content"], page["tokens_predicted"], page["generation_settings"]["n_predict"]) == ("", 0, 0), page
        assert complete(server, n_predict=9, seed=7, temperature=1)["content"] == answer(ids, 9, 7)


@test
def prompts_of_all_forms():
    with Server(EXE) as server:
        ids = encode(PROMPT)
        text = complete(server, n_predict=5)["content"]
        for one in (ids, {"prompt_string": PROMPT}, {"prompt_string": PROMPT, "multimodal_data": []}):
            assert complete(server, prompt=one, n_predict=5)["content"] == text
        pages = complete(server, prompt=[PROMPT, ids, {"prompt_string": "other"}], n_predict=5)
        assert [page["index"] for page in pages] == [0, 1, 2] and pages[0]["content"] == pages[1]["content"] == text != pages[2]["content"]
        for page in pages:  # each has its own times
            times = page["timings"]
            assert times["predicted_n"] == 5 and times["prompt_n"] + times["cache_n"] == page["tokens_evaluated"], page
            assert times["cache_n"] == page["tokens_cached"], page
        assert len(complete(server, n_cmpl=2, n_predict=5)) == 2
        assert complete(server, prompt=[PROMPT], n_predict=5)["content"] == text
        for wrong in (None, 3, [], {}, {"prompt_string": 3}, [1, "a"], [None], ["a", {}], {"prompt_string": "a", "multimodal_data": ["x"]},
                      {"prompt_string": "a", "multimodal_data": "x"}, {"prompt_string": "a", "multimodal_data": {"a": 1}}):
            status, error = error_of(server.port, PATH, {"model": "toy", "prompt": wrong, "n_predict": 1})
            assert (status, error["param"]) == (400, "prompt"), (wrong, error)


@test
def streams_add_up_to_whole_answers():
    with Server(EXE) as server:
        for more in ({}, {"n_predict": 40}, {"n_predict": 40, "stop": ["e"]}, {"prompt": ["a[n=9]", "b[n=7]"]}, {"n_probs": 2, "n_predict": 6}):
            whole = complete(server, return_tokens=True, **more)
            parts = events(server, timings_per_token=True, **more)
            for page in whole if isinstance(whole, list) else [whole]:
                own = [part for part in parts if part["index"] == page["index"]]
                assert [part["stop"] for part in own] == [False] * (len(own) - 1) + [True]
                assert "".join(part["content"] for part in own) == page["content"]
                assert [id_ for part in own for id_ in part["tokens"]] == page["tokens"] and page["tokens"], (own, page)
                assert own[-1]["content"] == "" and own[-1]["tokens_predicted"] == own[-1]["timings"]["predicted_n"] == page["tokens_predicted"]
                assert all(part["timings"]["predicted_n"] > 0 for part in own)
                if "n_probs" in more:
                    shown = [one for part in own for one in part["completion_probabilities"]]
                    assert shown == page["completion_probabilities"] and len(shown) == 6


@test
def log_probabilities():
    with Server(EXE) as server:
        page = complete(server, n_predict=4, n_probs=3, return_tokens=True)
        listed = page["completion_probabilities"]
        assert [one["id"] for one in listed] == page["tokens"] and len(listed) == 4
        for one in listed:
            assert set(one) == {"id", "token", "bytes", "logprob", "top_logprobs"} and one["logprob"] <= 0
            assert bytes(one["bytes"]) == bytes([one["id"]]) and len(one["top_logprobs"]) == 3, one
            assert all(set(top) == {"id", "token", "bytes", "logprob"} for top in one["top_logprobs"])
        assert "completion_probabilities" not in complete(server, n_predict=4, n_probs=0)


@test
def fields_that_are_chosen():
    with Server(EXE) as server:
        page = complete(server, n_predict=4, response_fields=["content", "generation_settings/n_predict", "timings/predicted_n", "nothing/there"])
        assert page == {"content": answer(encode(PROMPT), 4), "generation_settings/n_predict": 4, "timings/predicted_n": 4}, page
        assert len(complete(server, n_predict=4, response_fields=[])) > 10
        parts = events(server, n_predict=4, response_fields=["stop"])
        assert parts[-1] == {"stop": True} and parts[0]["content"], parts


@test
def repeated_prompts_are_bounded():
    """Each answer shows its prompt. Prompts are read back once, on a worker, and all answers together repeat a bounded size."""
    prompt = "\x01" * 100000  # six bytes each in an answer
    with Server(EXE, context=1 << 18) as server:
        page = complete(server, prompt=prompt, n_predict=1)
        assert page["prompt"] == "<s>" + prompt
        status, error = error_of(server.port, PATH, {"model": "toy", "prompt": prompt, "n_predict": 1, "n_cmpl": 128})
        assert (status, error["param"]) == (400, "prompt") and "response_fields" in error["message"], error
        pages = complete(server, prompt=prompt, n_predict=1, n_cmpl=128, response_fields=["index", "generation_settings/n_predict"])
        assert pages == [{"index": i, "generation_settings/n_predict": 1} for i in range(128)]
        assert complete(server, n_predict=1, response_fields=["prompt"]) == {"prompt": "<s>" + PROMPT}


@test
def streams_keep_no_tokens():
    """A stream has ids without a bound on its length, since what was shown is forgotten; a whole answer keeps them all."""
    prompts = [PROMPT + "[n=3]", PROMPT + f"[n={N_LONG}]"] + ["a[n=3]"] * 14
    with Server(EXE, context=1 << 20) as server:
        parts = events(server, prompt=prompts)
        ids = [id_ for part in parts if part["index"] == 1 for id_ in part["tokens"]]
        assert bytes(id_ for id_ in ids if id_ < 256).decode() == answer(encode(prompts[1]), N_LONG) and len(ids) == N_LONG + 1
        status, error = error_of(server.port, PATH, {"model": "toy", "prompt": prompts, "return_tokens": True})
        assert (status, error["param"]) == (400, "max_tokens") and "ids of up to" in error["message"], error
        status, error = error_of(server.port, PATH, {"model": "toy", "prompt": prompts, "stream": True, "n_probs": 1})
        assert (status, error["param"]) == (400, "max_tokens") and "logprobs" in error["message"], error


@test
def values_are_meant_or_refused():
    with Server(EXE) as server:
        for fields in ({"logit_bias": [[97, 1.5], [98, False]]}, {"logit_bias": {"97": 2}}, {"repeat_penalty": 1.0, "repeat_last_n": 64},
                       {"repeat_penalty": 1.3, "repeat_last_n": -1}, {"repeat_penalty": 1.3, "repeat_last_n": 0}, {"samplers": None},
                       {"mirostat": 0, "typical_p": 1, "xtc_probability": 0, "t_max_predict_ms": 0, "lora": [], "min_keep": 0}):
            complete(server, n_predict=2, **fields)
        for fields in ({"logit_bias": [["text", 1]]}, {"logit_bias": [[97]]}, {"logit_bias": [97, 1]}, {"repeat_last_n": 64, "repeat_penalty": 1.2},
                       {"repeat_last_n": "x"}, {"mirostat": 2}, {"lora": [{"id": 0}]}, {"post_sampling_probs": True}, {"n_probs": -1},
                       {"n_probs": 21}, {"n_predict": "x"}, {"return_tokens": 1}, {"response_fields": "content"}, {"response_fields": [""]},
                       {"response_fields": ["a" * 300]}, {"return_progress": True}, {"seed": "x"}, {"n_cmpl": 0}, {"echo": True}, {"prompt_logprobs": 1}, {"samplers": ["top_k"]}):
            status, error = error_of(server.port, PATH, {"model": "toy", "prompt": PROMPT, "n_predict": 2, **fields})
            assert status == 400 and error["message"], (fields, error)


@test
def chats_with_figures():
    """OpenAI's chats have llama-server's times in each event, and counts of tokens."""
    chat = {"model": "toy", "messages": [{"role": "user", "content": PROMPT}]}
    with Server(EXE) as server:
        for more in {}, {"timings_per_token": True}, {"timings_per_token": False}, {"timings_per_token": True, "stream_options": {"include_usage": True}}:
            found = [event for event in stream(server.port, "/v1/chat/completions", dict(chat, **more))[1] if event != "[DONE]"]
            counts = [event["timings"]["predicted_n"] if "timings" in event else None for event in found]
            assert counts[0] is None and counts[-1] == 25 and counts.count(None) == (1 if more.get("timings_per_token") else len(found) - 1), counts
        for path in "/v1/chat/completions/input_tokens", "/chat/completions/input_tokens":
            n = post(server.port, "/v1/chat/completions", dict(chat, max_tokens=1))[2]["usage"]["prompt_tokens"]
            assert post(server.port, path, chat)[2] == {"input_tokens": n}
            assert error_of(server.port, path, {"model": "toy", "messages": []})[0] == 400


@test
def tokens_of_texts():
    with Server(EXE) as server:
        for fields, ids in (({"content": "aé"}, encode("aé", bos=False)), ({"content": "a", "add_special": True}, encode("a")),
                            ({"prompt": "a"}, encode("a")), ({"prompt": "a", "add_special": False}, encode("a", bos=False))):
            assert post(server.port, "/tokenize", {"model": "toy", **fields})[2]["tokens"] == ids
        page = post(server.port, "/tokenize", {"model": "toy", "content": "aé", "with_pieces": True})[2]
        assert page["tokens"] == [{"id": 97, "piece": "a"}, {"id": 0xC3, "piece": [0xC3]}, {"id": 0xA9, "piece": [0xA9]}], page
        assert post(server.port, "/tokenize", {"model": "toy", "content": "<s>", "parse_special": True})[2]["tokens"] == encode("<s>", bos=False)
        assert post(server.port, "/tokenize", {"model": "toy", "content": "<s>", "parse_special": False})[2]["tokens"] == list(b"<s>")
        for wrong in ({"with_pieces": 1}, {"add_special": "x"}, {"parse_special": 1}):
            assert error_of(server.port, "/tokenize", {"model": "toy", "content": "a", **wrong})[0] == 400


if __name__ == "__main__":
    run()
