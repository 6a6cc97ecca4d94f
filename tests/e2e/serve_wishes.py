"""Operators pause and pin models, on one server and in a cluster.

usage: serve_wishes.py SHOAL MODELS_FOLDER
"""
import json
import os

from fleet import Fleet, address_of, do, has_etcd, n_loaded, verb
from serve_shared import Later, Shoal, Stream, body_of, main, paths, test, until
import toy

CORES = sorted(os.sched_getaffinity(0))


def said(server, *words):
    """Returns the output of the verb on this server."""
    code, out, err = server.verb(*words)
    assert code == 0, (words, err)
    return out


def is_refused(server, name):
    """Whether a new request gets the 503 of a paused model, in the shape of its endpoint."""
    status, headers, page = server.post("/v1/completions", body_of(name, "And he", 8))
    if status == 200:
        return False
    error = page["error"]
    assert status == 503 and error["code"] == "model_paused" and error["type"] == "unavailable_error", (status, page)
    assert "paused by an operator" in error["message"], page
    assert int(headers["retry-after"]) > 0 and headers["x-shoal-request-dropped-reason"] == "rejected-model-paused", headers
    status, _, page = server.post("/v1/messages", {"model": name, "max_tokens": 4, "messages": [{"role": "user", "content": "Hi"}]})
    assert status in (400, 503), (status, page)  # 400: the model has no template
    return True


@test
def wishes_pause(shoal, models):
    """A paused model refuses new requests, and those that run end."""
    with Shoal(shoal, models=paths(models)) as server:
        whole = server.text("tale", "And he", 300)
        stream = Stream(server, body_of("tale", "And he", 300)).begin()
        assert said(server, "pause", "tale") == "tale: is paused\n"
        assert is_refused(server, "tale")
        assert server.text("cee", "if (x", 8)
        stream.finish()
        assert stream.is_whole and stream.text == whole
        assert server.model("tale")["paused"] is True and server.model("cee")["paused"] is False
        assert "tale is paused" in said(server, "ps")
        metrics = server.get("/metrics")[2]
        assert [line for line in metrics.splitlines() if "rejected-model-paused" in line and 'model_name="tale"' in line], metrics
        assert said(server, "pause", "tale")  # once more
        assert said(server, "unpause", "tale") == "tale: takes requests again\n"
        assert server.text("tale", "And he", 300) == whole and "paused" not in said(server, "ps")
        for body, status, part in (({"model": "tail"}, 404, "does not exist"), ({}, 400, "model is missing"), ({"model": 3}, 400, "model")):
            got = server.post("/models/pause", body)
            assert got[0] == status and part in json.dumps(got[2]), got


@test
def wishes_pin(shoal, models):
    """A pinned model is on its engine alone; its request moves there and ends the same."""
    if len(CORES) < 2:
        raise toy.Skip("two engines need two cores")
    config = f"keep_alive: 1h\nplanner: none\ndevices: ['cpu:{CORES[0]}', 'cpu:{CORES[1]}']\nmodels:\n  tale: {{ path: {paths(models)['tale']} }}\n"

    def engines():
        return [part["engine"] for part in server.model("tale")["engines"] if part["status"]["value"] == "loaded"]

    with Shoal(shoal, config=config, wait=None) as server:
        whole = server.text("tale", "And he", 400)
        here = until(engines)
        to = 1 - here[0]
        stream = Stream(server, body_of("tale", "And he", 400)).begin()
        reader = Later(stream.finish)
        assert said(server, "pin", "tale", str(to)) == "tale: is pinned\n"
        until(lambda: engines() == [to])
        reader.result()
        assert stream.is_whole and stream.text == whole == server.text("tale", "And he", 400)
        assert f"tale is pinned to engine {to}" in said(server, "ps")
        assert said(server, "unpin", "tale") and "pinned" not in said(server, "ps")
        for body, part in (({"model": "tale"}, "engine is missing"), ({"model": "tale", "engine": 2}, "no engine 2"), ({"model": "tale", "engine": -1}, "engine")):
            status, _, page = server.post("/models/pin", body)
            assert status == 400 and part in json.dumps(page), (body, status, page)


@test
def wishes_cluster(shoal, models):
    """Each gateway and node of a cluster obeys a pause, also after restarts; a pin moves the model, and others wait for an unpin."""
    if not has_etcd():
        raise toy.Skip("etcd (Debian: etcd-server) is not installed")
    config = f"keep_alive: 1h\nhold: 1s\nmodels:\n  tale: {{ path: {paths(models)['tale']} }}\n"
    with Fleet(shoal, None, config=config, n_nodes=2, n_gateways=2, n_managers=1) as fleet:
        nodes, (gateway, other) = fleet.nodes, fleet.gateways
        addresses = [address_of(node) for node in nodes]
        until(lambda: "placement" in fleet.etcd.keys())
        whole = gateway.text("tale", "And he", 400)

        def copies():
            return [n_loaded(node, "tale") for node in nodes]

        to = copies().index(0)
        stream = Stream(gateway, body_of("tale", "And he", 400)).begin()
        reader = Later(stream.finish)
        assert do(fleet, "pin", "tale", f"{addresses[to]}:0") == "tale: is pinned\n"
        until(lambda: copies() == [int(i == to) for i in range(2)])
        reader.result()
        assert stream.is_whole and stream.text == whole
        assert f"tale is pinned to node {addresses[to]} engine 0" in said(gateway, "ps"), said(gateway, "ps")
        for words, part in ((("drain", addresses[to]), "is pinned to node"), (("pin", "tale", "127.0.0.1:1"), "has no node"),
                            (("pin", "tale", f"{addresses[0]}:9"), "no engine 9"), (("pin", "tail", addresses[0]), "knows no model"),
                            (("pause", "tail"), "knows no model")):
            done = verb(fleet, *words)
            assert done.returncode != 0 and part in done.stderr and len(done.stderr.splitlines()) == 1, (words, done.stderr)
        do(fleet, "pause", "tale")
        for server in (gateway, other, *nodes):
            until(lambda s=server: is_refused(s, "tale"))
        status, _, page = gateway.post("/models/unpause", {"model": "tale"})
        assert status == 400 and "store" in json.dumps(page), (status, page)
        gateway.kill()
        gateway = fleet.gateways[0] = gateway.again()
        until(lambda: is_refused(gateway, "tale"))
        do(fleet, "unpause", "tale")
        until(lambda: not is_refused(gateway, "tale"))
        do(fleet, "unpin", "tale")
        do(fleet, "cordon", addresses[to])
        done = verb(fleet, "pin", "tale", addresses[to])
        assert done.returncode != 0 and "uncordon" in done.stderr, done.stderr
        do(fleet, "pin", "tale", addresses[1 - to])
        until(lambda: copies() == [int(i != to) for i in range(2)])
        assert gateway.text("tale", "And he", 400) == whole
        keys = fleet.etcd.keys()
        assert keys["desired/pins/tale"] == addresses[1 - to] and "desired/paused/tale" not in keys, keys


main()
