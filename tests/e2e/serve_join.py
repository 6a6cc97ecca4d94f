"""Models join and leave a running server: POST /models/load by path, SIGHUP with another list of models, under load.

usage: serve_join.py SHOAL MODELS_FOLDER
"""
import os
import random
import shutil
import signal
import tempfile
import threading
import time

from serve_shared import Later, Shoal, Stream, body_of, main, paths, test, until

BOSS = {"Authorization": "Bearer boss"}
DONE, FAILED = "are as the configuration says", "nothing changed: "
LONG = 400  # tokens of a stream that lives through a change


class Admin(Shoal):
    """A server with an admin key, which this side always sends."""

    def get(self, path, headers=None, timeout=120):
        return super().get(path, headers or BOSS, timeout)

    def post(self, path, body, headers=None, timeout=120):
        return super().post(path, body, headers or BOSS, timeout)

    def write_config(self, text):
        """All at once, since the server may be reading it."""
        with open(self.config_path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(self.config_path + ".new", self.config_path)

    def load(self, **fields):
        status, _, page = self.post("/models/load", fields)
        return status, page.get("error", {}).get("message", "")

    def remove(self, name):
        status, _, page = self.post("/models/unload", {"model": name, "remove": True})
        return status, page.get("error", {}).get("message", "")

    def names(self):
        return sorted(m["id"] for m in self.state()["data"])

    def reload(self, text):
        """The sentence why nothing changed; "" when everything was applied."""
        self.write_config(text)
        n = self.log().count(DONE) + self.log().count(FAILED)
        self.signal(signal.SIGHUP)
        until(lambda: self.log().count(DONE) + self.log().count(FAILED) > n, pause=0.005)
        return [line for line in self.log().splitlines() if DONE in line or FAILED in line][-1].partition(FAILED)[2]

    def left(self, name):
        """How often a model of this name has left for good."""
        return self.log().count(f"model {name} has left")


def config_of(models, *lines, **of_model):
    text = "admin_key: boss\nplanner: none\n" + "".join(line + "\n" for line in lines) + "models:\n"
    for name, path in models.items():
        text += f"  {name}: {{path: {path}{', ' if of_model.get(name) else ''}{of_model.get(name, '')}}}\n"
    return text


def answers_of(shoal, models):
    """The answer of each file alone: the text of a long completion with a seed."""
    with Shoal(shoal, "--planner", "none", models=paths(models)) as server:
        return {name: server.text(name, "And he", LONG, **SEED) for name in paths(models)}


SEED = {"temperature": 0.9, "seed": 11}


@test
def join_by_path(shoal, models):
    """A file becomes a model, gives the same answers as elsewhere, and leaves with its stream whole."""
    expected = answers_of(shoal, models)
    with Admin(shoal, config=config_of({"tale": paths(models)["tale"]}, f"model_dirs: [{models}]"), wait=None) as server:
        assert server.load(path=paths(models)["cee"], name="c/joined") == (200, "")
        assert server.names() == ["c/joined", "tale"] and server.status("c/joined") == "loaded"
        assert server.model("c/joined")["memory"]["weights_bytes"] > 0
        assert 'shoal_model_status{model_name="c/joined"' in server.get("/metrics")[2]
        assert server.text("c/joined", "And he", LONG, **SEED) == expected["cee"]
        assert server.load(model="c/joined") == (200, "")  # it is a model as any other
        assert server.post("/models/unload", {"model": "c/joined"})[0] == 200
        assert server.text("c/joined", "And he", LONG, **SEED) == expected["cee"]
        streams = [Stream(server, body_of("c/joined", "And he", LONG, **SEED), BOSS).begin() for _ in range(3)]
        assert server.remove("c/joined") == (200, "")
        assert server.names() == ["tale"]
        assert server.post("/v1/completions", body_of("c/joined", "x"))[0] == 404
        assert server.load(path=paths(models)["tale"], name="c/joined") == (200, "")  # the name is free at once
        assert server.text("c/joined", "And he", LONG, **SEED) == expected["tale"]
        for stream in streams:
            stream.finish()
            assert stream.is_whole and stream.text == expected["cee"], stream.got[-300:]
        until(lambda: server.left("c/joined") == 1)
        assert server.text("tale", "And he", LONG, **SEED) == expected["tale"]
        assert server.remove("c/joined") == (200, "")
        until(lambda: server.left("c/joined") == 2)
        until(server.is_clear)


@test
def join_refuses_what_is_not_allowed(shoal, models):
    """Paths, names and sizes from outside: each is refused with a sentence that names it, and nothing is left
    behind."""
    tale, cee = paths(models)["tale"], paths(models)["cee"]
    with tempfile.TemporaryDirectory() as folder:
        inside, outside = os.path.join(folder, "in"), os.path.join(folder, "in-side")  # a prefix of the other's name
        for name in (inside, outside):
            os.mkdir(name)
        shutil.copy(cee, os.path.join(outside, "cee.gguf"))
        shutil.copy(cee, os.path.join(inside, "good.gguf"))
        os.symlink(os.path.join(outside, "cee.gguf"), os.path.join(inside, "link.gguf"))
        os.symlink(os.path.join(inside, "good.gguf"), os.path.join(inside, "near.gguf"))
        os.symlink(outside, os.path.join(inside, "away"))
        os.mkdir(os.path.join(inside, "folder"))
        os.symlink(os.path.join(outside, "cee.gguf"), os.path.join(inside, "folder", "model.safetensors"))
        os.symlink("loop.gguf", os.path.join(inside, "loop.gguf"))
        os.mkfifo(os.path.join(inside, "pipe.gguf"))
        shutil.copy(cee, os.path.join(inside, "p-00001-of-00002.gguf"))
        os.symlink(os.path.join(outside, "cee.gguf"), os.path.join(inside, "p-00002-of-00002.gguf"))
        with open(os.path.join(inside, "bad.gguf"), "wb") as file:
            file.write(b"GGUF" + b"\xff" * 100)
        with Admin(shoal, config=config_of({"tale": tale}, f"model_dirs: [{inside}, {folder}/not-there]"), wait=None) as server:
            assert server.load(path=f"{inside}/near.gguf", name="near") == (200, "")
            assert server.remove("near") == (200, "")
            for path, status, sentence in ((f"{outside}/cee.gguf", 400, "does not lie in one of this server's model_dirs"), (cee, 400, "model_dirs"),
                                           (f"{inside}/link.gguf", 400, "model_dirs"), (f"{inside}/away/cee.gguf", 400, "model_dirs"),
                                           (f"{inside}/../in-side/cee.gguf", 400, "model_dirs"), (f"{inside}/folder", 400, "model_dirs"),
                                           (f"{inside}/p-00001-of-00002.gguf", 400, "model_dirs"), ("/etc/passwd", 400, "model_dirs"), ("/", 400, "model_dirs"),
                                           (f"{inside}/nowhere.gguf", 400, "No such file"), (f"{inside}/good.gguf/x", 400, "Not a directory"),
                                           (f"{inside}/loop.gguf", 400, "symbolic links"), (f"{inside}/pipe.gguf", 400, "neither a regular file"),
                                           (f"{inside}/bad.gguf", 400, "bad.gguf"), ("", 400, "path is empty"), ("a\nb", 400, "control character"),
                                           ("x" * 5000, 400, "path"), (f"{inside}/" + "y" * 300, 400, "too long")):
                got = server.load(path=path, name="new")
                assert got[0] == status and sentence in got[1], (path, got)
            for name, sentence in (("tale", 'a model "tale" already'), ("", "name is empty"), ("a\x01", "control character"), ("n" * 200, "name"), (7, "model")):
                got = server.load(path=f"{inside}/good.gguf", name=name) if name != 7 else server.load(path=f"{inside}/good.gguf", model=7)
                assert got[0] == 400 and sentence in got[1], (name, got)
            for path in (7, None, ["x"], {"a": 1}, True):
                assert server.load(path=path, name="new")[0] in (400, 404), path
            assert "ctx" in server.load(path=f"{inside}/good.gguf", name="new", ctx=100000)[1]
            assert server.load(model="tale", ctx=100)[0] == 400
            assert "of this server's configuration" in server.remove("tale")[1] and server.remove("none")[0] == 404
            for headers, status in (({"Authorization": "Bearer other"}, 401), ({}, 401)):
                assert Shoal.post(server, "/models/load", {"path": f"{inside}/good.gguf"}, headers or {"X": "y"})[0] == status
            until(lambda: server.left("near") == 1)
            assert server.names() == ["tale"] and len(server.text("tale", "And he", 4)) > 0
        with Admin(shoal, config=config_of({"tale": tale}), wait=None) as server:  # without the setting
            got = server.load(path=cee, name="new")
            assert got[0] == 400 and "model_dirs" in got[1] and "names none" in got[1], got
        text = config_of({"tale": tale}, f"model_dirs: [{inside}]").replace("admin_key: boss\n", "")
        with Shoal(shoal, config=text, wait=None) as server:  # without a key, the path stays shut
            status, _, page = server.post("/models/load", {"path": f"{inside}/good.gguf"})
            assert status == 403 and "needs an admin key" in page["error"]["message"], page
            assert server.post("/models/load", {"model": "tale"})[0] == 200


@test
def join_by_reload(shoal, models):
    """SIGHUP with another list: added, removed and changed models during streams. A fault changes nothing."""
    tale, cee = paths(models)["tale"], paths(models)["cee"]
    expected = answers_of(shoal, models)
    with Admin(shoal, config=config_of({"tale": tale, "old": cee}), wait=None) as server:
        streams = [(name, Stream(server, body_of(model, "And he", LONG, **SEED), BOSS).begin())
                   for model, name in (("tale", "tale"), ("old", "cee")) for _ in range(2)]
        assert server.reload(config_of({"tale": tale, "new": cee})) == ""
        assert server.names() == ["new", "tale"] and server.post("/v1/completions", body_of("old", "x"))[0] == 404
        assert server.text("new", "And he", LONG, **SEED) == expected["cee"]
        streams.append(("tale", Stream(server, body_of("tale", "And he", LONG, **SEED), BOSS).begin()))
        assert server.reload(config_of({"tale": cee, "new": cee}, tale="aliases: [t]")) == ""  # another file under the name
        assert server.text("tale", "And he", LONG, **SEED) == server.text("t", "And he", LONG, **SEED) == expected["cee"]
        metrics = server.get("/metrics")[2]
        assert metrics.count('shoal_model_status{model_name="tale"') == 1 and '="old"' not in metrics, metrics
        for name, stream in streams:
            stream.finish()
            assert stream.is_whole and stream.text == expected[name], (name, stream.got[-300:])
        until(lambda: server.left("tale") == server.left("old") == 1)
        good = config_of({"tale": cee, "new": cee}, tale="aliases: [t]")
        for text, sentence in ((config_of({"tale": cee, "new": cee, "more": "/nowhere.gguf"}), "/nowhere.gguf"),
                               (config_of({"more": tale, "bad": "/nowhere.gguf"}), "/nowhere.gguf"), (config_of({}), "expected a mapping"), ("admin_key: boss\nplanner: none\n", "no models"),
                               (config_of({"tale": cee, "new": cee}, "max_batch: 7"), "max_batch"),
                               (config_of({"tale": cee, "new": cee}, new="kv: {min: 1MiB}"), "kv.min"),
                               (config_of({"tale": cee, "new": cee}, new="kv: {max: 5}"), "kv.max is 5 bytes"),
                               (config_of({"tale": cee, "new": cee}, new="rate: 3"), "model new: rate: this changes with a restart only"),
                               (config_of({"tale": cee, "new": cee}, new="ctx: 100000"), "ctx is 100000"),
                               (config_of({"tale": cee, "new": cee}, new="devices: [cpu:99]"), "devices"),
                               (config_of({"tale": cee, "new": cee}, new="aliases: [tale]"), "alias")):
            said = server.reload(text.replace("boss", "other"))
            assert sentence in said, (text, said)
            assert server.names() == ["new", "tale"], text  # and the key is the old one
        assert server.text("t", "And he", LONG, **SEED) == expected["cee"]
        assert server.reload(good) == "" and server.text("new", "And he", 8, **SEED) == expected["cee"][:len(server.text("new", "And he", 8, **SEED))]
        until(server.is_clear)


@test
def join_races(shoal, models):
    """Additions, removals, loads, unloads and reloads at once, during requests to a model that stays and is not
    affected."""
    tale, cee = paths(models)["tale"], paths(models)["cee"]
    dice, is_over, counts = random.Random(5), threading.Event(), {"requests": 0, "joins": 0, "left": 0}
    plain = config_of({"tale": tale}, f"model_dirs: [{models}]")
    more = config_of({"tale": tale, "extra": cee}, f"model_dirs: [{models}]")
    with Admin(shoal, config=plain, wait=None) as server:
        expected = {file: server.text("tale", "And he", 40, **SEED) for file in (tale,)}
        assert server.load(path=cee, name="probe")[0] == 200
        expected[cee] = server.text("probe", "And he", 40, **SEED)
        assert server.remove("probe") == (200, "")
        rss = []

        def ask():
            while not is_over.is_set():
                assert server.text("tale", "And he", 40, **SEED) == expected[tale]
                counts["requests"] += 1

        def change(name):
            for _ in range(6):
                status, why = server.load(path=cee, name=name)
                while status != 200:
                    assert status == 409 and any(word in why for word in ("changing", "being added", "another change", "leaving")), (status, why)
                    time.sleep(0.01)
                    status, why = server.load(path=cee, name=name)
                counts["joins"] += 1
                status, _, page = server.post("/v1/completions", body_of(name, "And he", 40, **SEED))
                assert status == 200 and page["choices"][0]["text"] == expected[cee], page
                if dice.random() < 0.5:
                    assert server.post("/models/unload", {"model": name})[0] in (200, 409)
                stream = Stream(server, body_of(name, "And he", 40, **SEED), BOSS).begin()
                assert server.remove(name) == (200, "")
                stream.finish()
                assert stream.is_whole and stream.text == expected[cee], stream.got[-300:]
                counts["left"] += 1

        def hang_up():
            for i in range(20):
                server.write_config(more if i % 2 == 0 else plain)
                server.signal(signal.SIGHUP)
                is_over.wait(dice.random() * 0.2)

        askers = [Later(ask) for _ in range(2)]
        workers = [Later(change, f"m{i}") for i in range(2)] + [Later(hang_up)]
        for worker in workers:
            worker.result()
            rss.append(server.rss_bytes())
        assert rss[-1] < rss[0] + (64 << 20), rss
        is_over.set()
        for asker in askers:
            asker.result()
        assert server.reload(plain) == "" and FAILED not in server.log(), server.log()[-2000:]
        until(lambda: server.log().count(" has left") == server.log().count(" leaves when"))
        until(server.is_clear)
        assert server.names() == ["tale"] and counts["joins"] == 12 and counts["requests"] > 20, counts
        print(f"join_races: {counts}")


if __name__ == "__main__":
    main()
