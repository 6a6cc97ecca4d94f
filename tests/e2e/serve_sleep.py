"""Models sleep and wake on the real server: on CPUs, and on an emulated GPU where there is one.

usage: serve_sleep.py SHOAL MODELS_FOLDER [PLUGIN]      (PLUGIN: libshoal_cuda.so over the emulated GPU)
"""
import json
import os
import shutil
import sys
import tempfile
import threading
import time

import toy
from serve_shared import Later, Shoal, main, paths, test, until

SLEEP = ("--sleep-bytes", "64MiB", "--profile", "0", "--memory", "256MiB")
DEVICES = [("--devices", "cpu:0")] + ([("--devices", "cuda:0")] if len(sys.argv) > 3 else [])


class House:
    """A server whose program and model files lie in a folder of the test's."""

    def __init__(self, shoal, models, *options, names=("tale",), wait="loaded"):
        self.folder = tempfile.TemporaryDirectory()
        own = self.path("shoal")
        shutil.copy2(shoal, own)
        if len(sys.argv) > 3:
            shutil.copy2(sys.argv[3], self.path("libshoal_cuda.so"))
        for name in names:
            shutil.copy2(paths(models)["tale"], self.path(name))
        self.server = Shoal(own, *options, models={name: self.path(name) for name in names}, wait=wait)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def __enter__(self):
        return self

    def __exit__(self, *of):
        self.server.__exit__(*of)
        self.folder.cleanup()

    def memory(self, name):
        return self.server.model(name)["memory"]


@test
def routes_outlive_bodies_of_wrong_types(shoal, models):
    """With one model, which is also that of requests that name none."""
    bodies = ({"model": [None, None]}, {"model": {}}, {"model": 1, "name": 2}, {"name": [1]}, {"path": 1, "model": 2}, [], "1")
    with House(shoal, models, *SLEEP) as house:
        document = json.loads(house.server.get("/openapi.json")[2])
        routes = [path for path, verbs in document["paths"].items() if "post" in verbs and "{" not in path and path not in ("/sleep", "/wake_up", "/ping")]
        assert "/models/sleep" in routes and len(routes) > 30, routes
        for path in routes:
            for body in bodies:
                status = toy.ask(house.server.port, "POST", path, body)[0]
                assert status in (400, 404), (path, body, status)
        assert house.server.process.poll() is None and house.memory("tale")


@test
def a_request_wakes_a_model_whose_file_is_gone(shoal, models):
    for devices in DEVICES:
        with House(shoal, models, *devices, *SLEEP) as house:
            server = house.server
            before = server.text("tale", "Once upon a time", 5)
            weights = house.memory("tale")["weights_bytes"]
            os.rename(house.path("tale"), house.path("elsewhere"))
            os.truncate(house.path("elsewhere"), 0)  # reading a page of it would end the server
            for _ in range(2):
                assert server.post("/models/tale/sleep", {})[0] == 200
                assert server.status("tale") == "sleeping", server.state()
                asleep = until(lambda: (lambda m: m if m["weights_bytes"] == 0 else None)(house.memory("tale")))
                assert asleep["sleep_bytes"] == weights and asleep["activation_bytes"] == asleep["kv_used_bytes"] == 0, asleep
                assert f'shoal_sleep_bytes{{model_name="tale"}} {weights}' in server.get("/metrics")[2]
                assert "sleeping" in server.verb("ps")[1]
                assert server.text("tale", "Once upon a time", 5) == before, devices
            assert server.status("tale") == "loaded" and house.memory("tale")["sleep_bytes"] == 0
            assert "shoal_wakes_total{model_name=\"tale\"} 2" in server.get("/metrics")[2]
            part, = server.model("tale")["engines"]
            assert part["wakes"] == 2 and part["load_ms"] > 0, part
            assert ("of a plain copy to the device" in server.log()) == ("cuda" in devices[1])
            assert "tale is awake after" in server.log()


@test
def sleep_under_load_loses_nothing(shoal, models):
    for devices in DEVICES:
        with House(shoal, models, *devices, *SLEEP) as house:
            server, n = house.server, 24 if "cpu" in devices[1] else 8
            expected = [server.text("tale", f"Tale {i % 3}", 4) for i in range(3)]
            texts, is_over, n_slept = {}, threading.Event(), [0]

            def ask(first):
                for i in range(first, n, 2):
                    time.sleep(0.3 if i % 4 < 2 else 0)  # a lull, in which it may sleep
                    texts[i] = server.text("tale", f"Tale {i % 3}", 4)

            def lull():
                while not is_over.is_set():
                    status, _, page = server.post("/models/tale/sleep", {})
                    assert status in (200, 409), page  # 409: it has requests
                    n_slept[0] += status == 200
            threads, lulling = [Later(ask, i) for i in range(2)], Later(lull)
            try:
                for thread in threads:
                    thread.result()
            finally:
                is_over.set()
            lulling.result()
            assert [texts.get(i) for i in range(n)] == [expected[i % 3] for i in range(n)], texts
            assert n_slept[0] > 0


@test
def all_models_sleep_as_vllms_do(shoal, models):
    """At level 1 those that fit into sleep_bytes sleep, and the others are unloaded; at level 2 all are unloaded."""
    with House(shoal, models, "--devices", "cpu:0", "--sleep-bytes", "3MiB", names=("one", "two")) as house:
        server = house.server
        weights = house.memory("one")["weights_bytes"]
        assert weights <= 3 << 20 < 2 * weights, weights
        assert server.post("/sleep?level=1", {})[0] == 200
        assert until(lambda: sorted(server.status(name) for name in ("one", "two")) == ["sleeping", "unloaded"])
        assert '"is_sleeping":true' in server.get("/is_sleeping")[2]
        assert server.post("/wake_up", {})[0] == 200
        assert {server.status(name) for name in ("one", "two")} == {"loaded"}
        assert server.post("/sleep?level=2", {})[0] == 200
        assert {server.status(name) for name in ("one", "two")} == {"unloaded"}
        assert server.post("/sleep?level=3", {})[0] == 400


@test
def a_sleep_without_room_is_refused_with_the_arithmetic(shoal, models):
    with House(shoal, models, "--sleep-bytes", "1000") as house:
        status, _, page = house.server.post("/models/tale/sleep", {})
        assert status >= 400 and "MiB of host memory to sleep" in page["error"]["message"], page
        assert house.server.status("tale") == "loaded"
    with House(shoal, models) as house:
        status, _, page = house.server.post("/models/tale/sleep", {})
        assert status >= 400 and "no sleep_bytes" in page["error"]["message"], page
        for path in ("/models/tale/dream", "/models/sleep/", "/models//sleep"):
            assert house.server.post(path, {})[0] in (400, 404), path
        assert house.server.post("/models/none/sleep", {})[0] == 404


@test
def idle_models_sleep_instead_of_leaving(shoal, models):
    """After their keep-alive, and for another model's memory; an unload ends a sleep."""
    with House(shoal, models, *SLEEP, "--keep-alive", "300ms") as house:
        server = house.server
        before = server.text("tale", "Once", 4)
        until(lambda: server.status("tale") == "sleeping")
        os.remove(house.path("tale"))
        assert server.text("tale", "Once", 4) == before
        code, said, _ = server.verb("sleep", "tale")
        assert (code, said) == (0, "tale: sleeps\n"), (code, said)
        code, said, _ = server.verb("wake", "tale")
        assert (code, said) == (0, "tale: is awake\n"), (code, said)
        assert server.post("/models/sleep", {"model": "tale"})[0] == 200
        assert server.post("/models/unload", {"model": "tale"})[0] == 200
        assert server.status("tale") == "unloaded" and house.memory("tale")["sleep_bytes"] == 0
        assert server.post("/models/load", {"model": "tale"})[0] >= 400  # its file is gone

main()
