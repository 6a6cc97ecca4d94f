"""Models come and go on the real server: loading on demand, room for one of two, keep-alive, loads that fail, the verbs.

usage: serve_lifecycle.py SHOAL MODELS_FOLDER
"""
import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time

from serve_shared import SECONDS, Later, Shoal, Stream, Watcher, body_of, main, paths, refused, test, until


def config_of(models, *lines, **of_model):
    """A YAML file of both models that loads none at start. of_model: more lines of one."""
    text = "\n".join(lines) + "\nmodels:\n"
    for name, path in models.items():
        text += f"  {name}:\n    path: {path}\n" + "".join(f"    {line}\n" for line in of_model.get(name, []))
    return text


def need_mib(shoal, models):
    """The memory that each model takes, from a server with room for all, and the rest that the pool needs."""
    with Shoal(shoal, "--planner", "none", models=paths(models)) as server:
        return {m["id"]: (m["memory"]["weights_bytes"] + m["memory"]["activation_bytes"]) / 2**20 for m in server.state()["data"]}


@test
def lifecycle_loads_on_demand(shoal, models):
    with Shoal(shoal, config=config_of(paths(models), "keep_alive: 1h"), wait=None) as server:
        assert server.status("tale") == server.status("cee") == "unloaded"
        asks = [Later(server.text, "tale", "And he", 8) for _ in range(5)]
        texts = {ask.result() for ask in asks}
        assert len(texts) == 1
        assert until(lambda: server.status("tale") == "loaded") and server.status("cee") == "unloaded"
        # Unloaded by hand: the next request loads it again, with the same answer.
        assert server.post("/models/unload", {"model": "tale"})[0] == 200
        assert until(lambda: server.status("tale") == "unloaded")
        assert server.model("tale")["memory"]["weights_bytes"] == 0, server.state()
        assert server.text("tale", "And he", 8) in texts
        assert server.post("/models/load", {"model": "cee"})[0] == 200
        assert until(lambda: server.status("cee") == "loaded")
        assert server.post("/models/load", {"model": "cee"})[0] == 200  # it is there already
        assert server.post("/models/load", {"model": "nobody"})[0] == 404


@test
def lifecycle_one_fits_of_two(shoal, models):
    """Memory for only one model at a time: every request is answered, and no model with work is evicted."""
    need = need_mib(shoal, models)
    memory = max(need.values()) + 6
    assert memory < sum(need.values()), need
    config = config_of(paths(models), f"memory: {int(memory)}MiB", "planner: none", "keep_alive: 1h")
    with Shoal(shoal, config=config, wait=None) as server:
        expected = {}
        for _ in range(3):
            for name, prompt in (("tale", "And he"), ("cee", "if (x")):
                text = server.text(name, prompt, 8)
                assert expected.setdefault(name, text) == text
                other = server.model("cee" if name == "tale" else "tale")
                assert other["memory"]["weights_bytes"] == 0 and other["status"]["value"] != "loaded", other
        # A long stream on one: the other waits for its end, then has its turn.
        long = Stream(server, body_of("tale", "And he", 490, n=12)).begin()
        waits = Later(server.text, "cee", "if (x", 8)
        long.finish()
        assert long.is_whole and len(long.events) > 490, long.got[-600:]
        assert '"preemptions":0' in long.got.decode(), long.got[-600:]
        assert waits.result() == expected["cee"] and waits.ended > long.ended
        # Both at once, many of each: each turn evicts the other.
        asks = [Later(server.text, *pair, 8) for pair in [("tale", "And he"), ("cee", "if (x")] * 8]
        assert [ask.result() for ask in asks] == [expected["tale"], expected["cee"]] * 8
        assert until(server.is_clear)


@test
def lifecycle_no_model_is_kept_out(shoal, models):
    """A model that is never idle makes room for one that is waited for, after 30 s. Its requests wait in turn, and
    lose nothing."""
    memory = f"memory: {int(max(need_mib(shoal, models).values())) + 6}MiB"
    with Shoal(shoal, config=config_of(paths(models), memory, "planner: none", "keep_alive: 1h"), wait=None) as server:
        expected = server.text("tale", "And he", 300)
        is_over = threading.Event()

        def ask_on():
            n = 0
            while not is_over.is_set():
                assert server.text("tale", "And he", 300) == expected
                n += 1
            return n

        clients = [Later(ask_on) for _ in range(4)]
        began = time.monotonic()
        assert server.text("cee", "if (x", 8)
        took = time.monotonic() - began
        is_over.set()
        assert all(client.result() > 0 for client in clients) and 29 < took < 100, took
        assert server.log().count("waited long for its memory") == 1, server.log()
        assert until(server.is_clear)


@test
def lifecycle_slices_keep_their_model(shoal, models):
    """Requests that a router holds between two slices keep their model: it isn't unloaded for the other at every
    slice, and read again."""
    memory = f"memory: {int(max(need_mib(shoal, models).values())) + 6}MiB"
    config = config_of(paths(models), memory, "planner: none", "keep_alive: 1h", "preset: scls",
                       "router_thresholds: [n_slice=16, interval_ns_min=1500, interval_factor=0]")
    with Shoal(shoal, config=config, wait=None) as server:
        asks = [Later(server.text, *pair, 60) for pair in [("tale", "And he"), ("cee", "if (x")] * 3]
        assert len({ask.result() for ask in asks}) == 2
        assert server.log().count("another model needs its memory") <= 1, server.log()
    # Two that need the space of the other's model do not keep each other.
    memory = f"memory: {int(sum(need_mib(shoal, models).values()) * 1024) + 1200}KiB"
    config = config_of(paths(models), memory, "planner: none", "keep_alive: 1h", "preset: scls", "router_thresholds: [n_slice=600, interval_ns_min=300]")
    with Shoal(shoal, config=config, wait=None) as server:
        assert server.text("tale", "And he", 8) and server.text("cee", "if (x", 8)
        asks = [Later(server.complete, *pair, 490) for pair in (("tale", "And he"), ("cee", "if (x"))]
        assert [ask.result()["usage"]["completion_tokens"] for ask in asks] == [490, 490]


@test
def lifecycle_space_beside_another(shoal, models):
    """A request with a cache that fits only without the other model: that model leaves if it may, else the request
    is refused at once."""
    memory = f"memory: {int(sum(need_mib(shoal, models).values()) * 1024) + 1200}KiB"
    for pinned in (False, True):
        lines = ["pinned: true"] if pinned else []
        config = config_of(paths(models), memory, "planner: none", "keep_alive: 1h", "hold: 3s", tale=lines)
        with Shoal(shoal, config=config, wait=None) as server:
            text = server.text("tale", "And he", 8), server.text("cee", "if (x", 8)
            assert server.status("tale") == server.status("cee") == "loaded"
            began = time.monotonic()
            status, _, page = server.post("/v1/completions", body_of("cee", "if (x", 490))
            took = time.monotonic() - began
            if pinned:
                assert status == 400 and page["error"]["code"] == "too_large" and took < 3, (page, took)
                assert "beside pinned models" in page["error"]["message"], page
                assert server.status("tale") == "loaded"
            else:
                assert status == 200 and page["usage"]["completion_tokens"] == 490, page
                assert until(lambda: server.status("tale") == "unloaded")
            assert (server.text("tale", "And he", 8), server.text("cee", "if (x", 8)) == text
            assert until(server.is_clear)


@test
def lifecycle_what_has_begun_keeps_its_space(shoal, models):
    """A pinned model that joins while an answer needs its memory comes after it, also between slices. A request for
    as much memory is then refused."""
    memory = f"memory: {int(sum(need_mib(shoal, models).values()) * 1024) + 1200}KiB"
    for lines in ([], ["router: scls", "router_thresholds: [n_slice=64, interval_ns_min=300]"]):
        config = config_of(paths(models), memory, "planner: none", "keep_alive: 1h", "hold: 3s", *lines, tale=["pinned: true"])
        with Shoal(shoal, config=config, wait=None) as server:
            long = Stream(server, body_of("cee", "if (x", 490)).begin()
            pinned = Later(server.post, "/v1/completions", body_of("tale", "And he", 8))
            assert long.finish().is_whole and '"finish_reason":"length"' in long.got.decode(), long.got[-600:]
            assert pinned.result()[0] in (200, 503)  # a slow machine: it waited for 3 s
            assert server.text("tale", "And he", 8) and until(lambda: server.status("tale") == "loaded")
            status, _, page = server.post("/v1/completions", body_of("cee", "if (x", 490))
            assert status == 400 and page["error"]["code"] == "too_large", page
            assert server.text("cee", "if (x", 8) and until(server.is_clear)


@test
def lifecycle_busy_is_not_unloaded(shoal, models):
    with Shoal(shoal, "--max-batch", "1", models=paths(models)) as server:
        long = Stream(server, body_of("tale", "And he", 490, n=30)).begin()
        status, _, page = server.post("/models/unload", {"model": "tale"})
        assert status == 409 and "busy" in page["error"]["message"], (status, page)
        code, _, said = server.verb("unload", "tale")
        assert code == 1 and "busy" in said, (code, said)
        assert long.finish().is_whole


@test
def lifecycle_never_fits(shoal, models):
    need = need_mib(shoal, models)
    assert need["tale"] < need["cee"] - 1
    config = config_of(paths(models), f"memory: {int(need['cee'] * 1.0)}MiB", "planner: none")
    with Shoal(shoal, config=config, wait=None) as server:
        begin = time.monotonic()
        status, _, page = server.post("/v1/completions", body_of("cee", "if"))
        assert status == 400 and page["error"]["code"] == "too_large", (status, page)
        assert "cee needs about" in page["error"]["message"] and "pinned models keep 0.0 MiB" in page["error"]["message"], page
        assert time.monotonic() - begin < 30
        status, _, page = server.post("/models/load", {"model": "cee"})
        assert status == 400 and "MiB" in page["error"]["message"], (status, page)
        assert server.text("tale", "And he", 4)


@test
def lifecycle_keep_alive(shoal, models):
    config = config_of(paths(models), "keep_alive: 1500ms", "planner: none", cee=["pinned: true", "preload: true"])
    with Shoal(shoal, config=config, wait=None) as server:
        until(lambda: server.status("cee") == "loaded")
        # Short requests, which may fall between two reports, keep it as well.
        ends, begun = [], time.monotonic()
        while time.monotonic() < begun + 5:
            server.text("tale", "And he", 1)
            ends.append(time.monotonic())
            time.sleep(0.3)
        n_gaps = sum(b - a > 1.2 for a, b in zip(ends, ends[1:]))  # a loaded machine: it may have gone meanwhile
        assert server.log().count("load: tale is ready") <= 1 + n_gaps, server.log()
        assert until(lambda: server.status("tale") == "unloaded") and server.status("cee") == "loaded"
        assert server.text("tale", "And he", 2)


@test
def lifecycle_progress(shoal, models):
    """A watcher receives every change in order, however short a state is: a demo model loads in milliseconds."""
    with Shoal(shoal, config=config_of(paths(models), "planner: none"), wait=None) as server:
        watcher = Watcher(server)
        assert server.text("tale", "And he", 2)
        assert server.post("/models/unload", {"model": "tale"})[0] == 200
        assert server.text("cee", "if (x", 2)
        changes = watcher.until(("cee", "loaded"))
        known = {"tale": ["unloaded"], "cee": ["unloaded"]}
        for change in changes:
            assert change["status"].get("progress", 1) <= 1, change
            states = known[change["model"]]
            if change["status"]["value"] != states[-1]:  # the same again with more progress, or draining
                states.append(change["status"]["value"])
        assert known == {"tale": ["unloaded", "loading", "loaded", "unloaded"], "cee": ["unloaded", "loading", "loaded"]}, changes
        assert [c["memory"]["weights_bytes"] > 0 for c in changes if c["status"]["value"] in ("unloaded", "loaded")
                and "draining" not in c["status"]] == [False, False, True, False, True], changes


@test
def lifecycle_bad_files(shoal, models):
    """Reported at start in one sentence. A file that is missing when it is needed fails only that load."""
    with open(f"{models}/tale.gguf", "rb") as f:
        content = f.read()
    with Shoal(shoal, models={"tale": f"{models}/tale.gguf"}) as server:
        folder = server.folder.name
        bad = os.path.join(folder, "bad.gguf")
        for what in (content[:1000], b"GGUF" + b"\xff" * 500, b"", content[:len(content) // 2]):
            with open(bad, "wb") as f:
                f.write(what)
            with refused(shoal, "--model", f"bad={bad}") as sentence:
                assert "bad" in sentence and len(sentence) < 400, sentence
        with refused(shoal, "--model", f"bad={folder}/nothing.gguf") as sentence:
            assert "nothing.gguf" in sentence, sentence
        gone = os.path.join(folder, "gone.gguf")
        shutil.copy(f"{models}/tale.gguf", gone)
        config = config_of({"gone": gone, "cee": f"{models}/cee.gguf"})
        with Shoal(shoal, config=config, wait=None) as second:
            os.rename(gone, gone + ".away")
            for _ in range(2):  # the second is told from memory
                status, head, page = second.post("/v1/completions", body_of("gone", "And"))
                assert status == 503 and page["error"]["code"] == "model_load_failed" and head["retry-after"] == "10", (status, page)
                assert "gone.gguf" not in json.dumps(page), page  # paths are for the log and for admins
            status, head, page = second.post("/models/load", {"model": "gone"})
            assert status == 503 and page["error"]["code"] == "model_load_failed" and head["retry-after"] == "10", (status, page)
            assert "gone.gguf" in page["error"]["message"], page
            status, _, page = second.post("/wake_up", "")  # of both models: the last one alone loads well
            assert status == 503 and page["error"]["code"] == "model_load_failed", (status, page)
            assert page["error"]["message"].startswith("gone: ") and "gone.gguf" in page["error"]["message"], page
            assert second.text("cee", "if (x", 4)
            assert second.status("gone") == "failed" and "gone.gguf" in second.model("gone")["status"]["reason"], second.state()
            line, = [line for line in second.verb("ps", "--wide")[1].splitlines() if line.startswith("gone ")]
            assert line.split()[1] == "failed" and "gone.gguf: No such file" in line, line
            with open(gone, "wb") as f:
                f.write(content[:len(content) // 2])
            status, _, page = second.post("/models/load", {"model": "gone"})
            assert status == 503 and "gone.gguf" in page["error"]["message"], (status, page)
            os.rename(gone + ".away", gone)  # back: an operator's load tries again at once
            assert second.post("/models/load", {"model": "gone"})[0] == 200
            assert second.model("gone")["status"] == {"value": "loaded"}, second.state()
            assert second.text("gone", "And he", 4) == server.text("tale", "And he", 4)


@test
def lifecycle_file_is_cut_while_it_loads(shoal, models):
    """When another file is copied over a model that is being loaded, that breaks the load, but not the server, nor
    its later answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(f"{models}/tale.gguf", folder)
        with Shoal(shoal, "--planner", "none", models={**paths(models), "tale": path}) as server:
            expected = {name: server.text(name, "And he", 20) for name in ("tale", "cee")}
            rng = random.Random(1)
            def cut():
                for _ in range(100):
                    os.truncate(path, rng.randrange(2 << 20))
                    time.sleep(rng.random() / 100)
                    shutil.copy(f"{models}/tale.gguf", path)
                    time.sleep(rng.random() / 50)
            cutting = Later(cut)
            while cutting.is_alive():
                assert server.post("/models/load", {"model": "tale"})[0] in (200, 503)
                assert server.post("/models/unload", {"model": "tale"})[0] == 200
            cutting.result()
            assert server.post("/models/load", {"model": "tale"})[0] == 200
            assert {name: server.text(name, "And he", 20) for name in expected} == expected


@test
def lifecycle_verbs(shoal, models):
    with Shoal(shoal, "--planner", "none", config=config_of(paths(models), "admin_key: open-sesame"), wait=None) as server:
        key = ("--key", "open-sesame")

        def verb(*words):
            code, out, err = server.verb(*words, *key)
            assert code == 0, (words, code, out, err)
            return out
        code, _, said = server.verb("ls")
        assert code == 1 and "key" in said
        assert [line.split()[:2] for line in verb("ls").splitlines()[1:]] == [["tale", "unloaded"], ["cee", "unloaded"]]
        verb("load", "tale")
        rows = {line.split()[0]: line.split() for line in verb("ps").splitlines()[1:] if line.split()}
        assert rows["tale"][2].startswith("cpu:") and any(word.startswith("cpu:") and "(engine" in rows[word] for word in rows), rows
        assert rows["tale"][1] == "loaded" and float(rows["tale"][3]) > 0 and rows["cee"][1] == "unloaded", rows
        data = {m["id"]: m for m in json.loads(verb("ps", "--json"))["data"]}
        assert data["tale"]["status"]["value"] == "loaded" and data["tale"]["memory"]["weights_bytes"] > 0
        verb("unload", "tale")
        assert "tale" in verb("ls") and "loaded" not in [line.split()[1] for line in verb("ls").splitlines()[1:]]
        code, _, said = server.verb("load", "nobody", *key)
        assert code == 1 and "nobody" in said
    done = subprocess.run([shoal, "ps", "--server", f"127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 1 and done.stderr.startswith("shoal: "), done.stderr


if __name__ == "__main__":
    main()
