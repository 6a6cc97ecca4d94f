"""Two engines in one server: each serves its permitted models, requests spread, and a seed draws the same tokens on
both.

usage: serve_engines.py SHOAL MODELS_FOLDER; on a machine with one core both engines share it
"""
import os
import time

from serve_shared import Later, Shoal, Stream, body_of, main, paths, test, until

CORES = sorted(os.sched_getaffinity(0))
DEVICES = ("--devices", f"cpu:{CORES[0]}", "--devices", f"cpu:{CORES[-1]}" if len(CORES) > 1 else "cpu")


def steps(server):
    return [e["steps"] for e in server.state()["engines"]]


def parts_of(server, name):
    """{engine: status} of a model."""
    return {e["engine"]: e["status"]["value"] for e in server.model(name)["engines"]}


@test
def engines_same_models(shoal, models):
    with Shoal(shoal, *DEVICES, models=paths(models)) as server:
        until(lambda: all(list(parts_of(server, name).values()) == ["loaded", "loaded"] for name in paths(models)))
        before = steps(server)
        # One after the other they go to the first engine (no requests, the lower number). Together they spread.
        alone = {}
        for kind in range(6):
            model, prompt = (("tale", "And he"), ("cee", "if (x"))[kind % 2]
            alone[kind] = body_of(model, prompt, 200, temperature=0.8, seed=kind)
            alone[kind] = (alone[kind], server.post("/v1/completions", alone[kind])[2]["choices"][0]["text"])
        middle = until(lambda: steps(server)[0] > before[0] and steps(server))  # reports lag a little
        asks = [(Later(server.post, "/v1/completions", body), text) for body, text in list(alone.values()) * 4]
        for ask, text in asks:
            status, _, page = ask.result()
            assert status == 200 and page["choices"][0]["text"] == text
        until(server.is_clear)
        after = until(lambda: all(a > m for a, m in zip(steps(server), middle)) and steps(server))
        share = (after[0] - middle[0]) / (sum(after) - sum(middle))
        assert 0.1 < share < 0.9, (before, middle, after)


@test
def engines_cancel(shoal, models):
    with Shoal(shoal, "--max-batch", "1", *DEVICES, models=paths(models)) as server:
        streams = [Stream(server, body_of("tale", "And he", 480, n=40, seed=i)) for i in range(4)]
        for stream in streams[:2]:
            stream.begin()
        until(lambda: sum(e["requests"] > 0 for e in server.state()["engines"]) == 2)
        for stream in streams:
            stream.close()
        begin = time.monotonic()
        until(server.is_clear)
        until(lambda: all(e["requests"] == 0 for e in server.state()["engines"]))  # as their next reports say
        assert time.monotonic() - begin < 30
        assert server.text("tale", "And he", 4)


@test
def engines_different_models(shoal, models):
    config = "models:\n"
    for (name, path), device in zip(paths(models).items(), (DEVICES[1], DEVICES[3])):
        config += f"  {name}:\n    path: {path}\n    preload: true\n    devices: [{device}]\n"
    with Shoal(shoal, *DEVICES, config=config) as server:
        if DEVICES[1] != DEVICES[3]:
            assert parts_of(server, "tale")[0] == "loaded" and parts_of(server, "tale").get(1, "unloaded") == "unloaded"
            assert parts_of(server, "cee")[1] == "loaded" and parts_of(server, "cee").get(0, "unloaded") == "unloaded"
        before = steps(server)
        server.text("cee", "if (x", 50)
        until(lambda: steps(server)[1] > before[1])
        assert steps(server)[0] == before[0]
        server.text("tale", "And he", 50)
        until(lambda: steps(server)[0] > before[0])
        asks = [Later(server.text, *pair, 30) for pair in [("tale", "And he"), ("cee", "if (x")] * 10]
        assert len({ask.result() for ask in asks}) == 2
        # Unloading removes it from all engines. The next request loads it where it may be.
        assert server.post("/models/unload", {"model": "cee"})[0] == 200
        until(lambda: server.status("cee") == "unloaded")
        assert server.text("cee", "if (x", 4)
        until(lambda: parts_of(server, "cee").get(1) == "loaded")


if __name__ == "__main__":
    main()
