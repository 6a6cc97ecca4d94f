"""A model with a tokenizer that backtracks without end harms only its own requests, and does not keep the server from
stopping.

usage: serve_hostile.py SHOAL MODELS_FOLDER
"""
import json
import os
import shutil
import signal
import tempfile
import time

from serve_shared import Later, Shoal, main, paths, test, until

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "data", "llama3")
BOMB = r"(a+)+b|(?:a|a)*c|."


def make_bomb(folder):
    """A copy of a small model that splits texts by such a pattern."""
    path = os.path.join(folder, "bomb")
    shutil.copytree(GOLDEN, path)
    os.chmod(path, 0o755)
    for name in os.listdir(path):
        os.chmod(os.path.join(path, name), 0o644)
    config = os.path.join(path, "config.json")
    with open(config, encoding="utf-8") as f:
        settings = json.load(f)
    settings["max_position_embeddings"] = 4096  # room for long texts
    with open(config, "w", encoding="utf-8") as f:
        json.dump(settings, f)
    file = os.path.join(path, "tokenizer.json")
    with open(file, encoding="utf-8") as f:
        tokenizer = json.load(f)
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": BOMB}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}
    with open(file, "w", encoding="utf-8") as f:
        json.dump(tokenizer, f)
    return path


def tokenize(server, model, text):
    """(status, the page's JSON as text)"""
    status, _, page = server.post("/tokenize", {"model": model, "prompt": text})
    return status, json.dumps(page)


@test
def hostile_patterns_cost_their_own_requests(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        with Shoal(shoal, models=dict(paths(models), bomb=make_bomb(folder))) as server:
            assert tokenize(server, "bomb", "hello")[0] == 200
            for n in (4000, 20000, 300000):
                begin = time.monotonic()
                status, answer = tokenize(server, "bomb", "a" * n)
                assert status == 400 and "too many steps" in answer, (status, answer)
                assert time.monotonic() - begin < 60
            status, _, page = server.post("/v1/completions", {"model": "bomb", "prompt": "a" * 20000, "max_tokens": 1})
            assert status == 400 and "too many steps" in json.dumps(page), page
            asks = [Later(tokenize, server, "bomb", "a" * 400000) for _ in range(4)]
            assert server.text("tale", "And he", 8)
            assert tokenize(server, "tale", "And he " * 30)[0] == 200
            assert all(ask.result(120)[0] == 400 for ask in asks)
            assert until(server.is_clear)


@test
def hostile_patterns_do_not_keep_it_from_stopping(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        with Shoal(shoal, models=dict(paths(models), bomb=make_bomb(folder))) as server:
            asks = [Later(tokenize, server, "bomb", "a" * 900000) for _ in range(12)]
            time.sleep(0.5)
            for _ in range(3):
                server.signal(signal.SIGTERM)
                time.sleep(0.1)
            server.process.wait(60)  # three signals: at once, but for the text at work
            for ask in asks:
                ask.join(60)
            assert "sanitizer" not in server.log().lower()


if __name__ == "__main__":
    main()
