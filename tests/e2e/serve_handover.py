"""Nodes of roles prefill and decode hand the KV of requests over to each other: the texts are those of one engine, whatever happens.

usage: serve_handover.py SHOAL MODELS_FOLDER
"""
import contextlib
import os
import signal
import tempfile
import time

import toy
from links import Cable
from serve_shared import Later, Shoal, Stream, body_of, free_port, main, paths, test, until

CORES = sorted(os.sched_getaffinity(0))
FOLDER = tempfile.TemporaryDirectory()
KINDS = ("threads", "processes")


def placement(role):
    path = os.path.join(FOLDER.name, f"{role}.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"engines:\n  - {{device: cpu-avx2, role: {role}, services: [tale]}}\n")
    return path


class Node(Shoal):
    """A node of one engine of one core. bulk: the port of its door, None for none; shown: the port that others are told."""

    def __init__(self, shoal, models, role, kind, *args, bus=None, bulk=0, shown=None):
        self.bus = bus or free_port()
        self.bulk = bulk if bulk is None else bulk or free_port()
        if self.bulk:
            args += ("--bulk-listen", f"127.0.0.1:{self.bulk}")
        if shown:
            args += ("--bulk-advertise", f"127.0.0.1:{shown}")
        super().__init__(shoal, "--bus-listen", f"127.0.0.1:{self.bus}", "--engines", kind, "--placement", placement(role), "--max-batch", "4",
                         *args, *(() if "--swap-bytes" in args else ("--swap-bytes", "64MiB")), models={"tale": paths(models)["tale"]}, verb="node")

    def total(self, name):
        lines = self.get("/metrics")[2].splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"shoal_kv_{name}_total{{"))


@contextlib.contextmanager
def split(shoal, models, kind, source=(), receiver=(), **more):
    """(gateway, the node that computes prompts, the node that decodes)"""
    nodes = [Node(shoal, models, "prefill", kind, *source, **more), Node(shoal, models, "decode", kind, *receiver)]
    places = " ".join(f"127.0.0.1:{node.bus}" for node in nodes)
    try:
        with Shoal(shoal, "--nodes", places, models={"tale": paths(models)["tale"]}, verb="gateway", wait=None) as gateway:
            until(lambda: all(e["status"]["value"] == "loaded" for m in gateway.state()["data"] for e in m["engines"]))
            until(lambda: gateway.text("tale", "Go", 4) and nodes[0].total("kept") > 0)  # it knows the roles
            yield gateway, *nodes
    finally:
        for node in nodes:
            with contextlib.suppress(ProcessLookupError):
                node.signal(signal.SIGCONT)
            node.kill()


def bodies(n, n_tokens=60):
    return [body_of("tale", "And he said unto them, Go ye " * 4 + str(i), n_tokens, temperature=0.8, seed=i) for i in range(n)]


def alone(shoal, models, asks):
    """The texts of one engine."""
    with Shoal(shoal, "--planner", "none", models={"tale": paths(models)["tale"]}) as server:
        return [ask.result() for ask in [Later(text_of, server, body) for body in asks]]


def text_of(server, body):
    status, _, page = server.post("/v1/completions", body)
    assert status == 200, (status, page)
    return page["choices"][0]["text"]


def ask_all(gateway, asks):
    return [ask.result() for ask in [Later(text_of, gateway, body) for body in asks]]


@test
def nodes_hand_over(shoal, models):
    asks = bodies(16)
    texts = alone(shoal, models, asks)
    for kind in KINDS:
        with split(shoal, models, kind) as (gateway, source, receiver):
            assert ask_all(gateway, asks) == texts
            until(lambda: receiver.total("handed_over") >= 8)  # on a busy machine some are late, and computed again
            until(lambda: source.total("kept") >= receiver.total("handed_over"))  # reports are late, too
            assert ask_all(gateway, asks) == texts


@test
def source_is_killed(shoal, models):
    """kill -9 of the node with the KV, while requests are on their way: they are computed again, and it comes back."""
    asks = bodies(24, 200)
    texts = alone(shoal, models, asks)
    for kind in KINDS:
        with split(shoal, models, kind) as (gateway, source, receiver):
            bus, bulk = source.bus, source.bulk
            streams = [Stream(gateway, body) for body in asks]
            readers = [Later(stream.finish) for stream in streams]
            until(lambda: receiver.total("handed_over") >= 2, pause=0.005)
            source.kill()
            for reader in readers:
                reader.result()
            assert all(stream.is_whole for stream in streams) and [stream.text for stream in streams] == texts
            again = Node(shoal, models, "prefill", kind, bus=bus, bulk=bulk)
            try:
                n = receiver.total("handed_over")
                until(lambda: ask_all(gateway, asks[:4]) == texts[:4] and receiver.total("handed_over") > n)
            finally:
                again.kill()


@test
def source_is_stopped(shoal, models):
    """A node that says nothing and keeps its connections, as requests wait for its blocks."""
    asks = bodies(12, 100)
    texts = alone(shoal, models, asks)
    with split(shoal, models, "threads") as (gateway, source, receiver):
        readers = [Later(text_of, gateway, body) for body in asks]
        until(lambda: receiver.total("handed_over") >= 1, pause=0.005)
        source.signal(signal.SIGSTOP)
        assert [reader.result() for reader in readers] == texts


def cut(before, data):
    """Each connection ends after 30,000 bytes to the receiver."""
    return data if before + len(data) <= 30000 else None


def corrupt(before, data):
    """One byte in 20,000 is another one."""
    return data if before // 20000 == (before + len(data)) // 20000 else data[:-1] + bytes([data[-1] ^ 0x10])


@test
def bad_networks(shoal, models):
    asks = bodies(8, 30)
    texts = alone(shoal, models, asks)
    bulk = free_port()
    for fault in (cut, corrupt):
        cable = Cable(bulk, fault)
        with split(shoal, models, "threads", bulk=bulk, shown=cable.port) as (gateway, source, receiver):
            until(lambda: ask_all(gateway, asks) == texts and receiver.total("handed_over_lost") >= 1)
        cable.listener.close()


@test
def without_a_door(shoal, models):
    """A node without bulk_listen, and one whose host tier is too small for a block: requests are computed again."""
    asks = bodies(6, 30)
    texts = alone(shoal, models, asks)
    for more in ({"bulk": None}, {"receiver": ("--swap-bytes", "4KiB")}):
        with split(shoal, models, "threads", **more) as (gateway, source, receiver):
            until(lambda: ask_all(gateway, asks) == texts and source.total("kept") > 0)
            assert receiver.total("handed_over") == 0


@contextlib.contextmanager
def pair(shoal, models, kind):
    """(gateway, two nodes without roles)"""
    nodes = [Node(shoal, models, "mixed", kind) for _ in range(2)]
    places = " ".join(f"127.0.0.1:{node.bus}" for node in nodes)
    try:
        with Shoal(shoal, "--nodes", places, models={"tale": paths(models)["tale"]}, verb="gateway", wait=None) as gateway:
            until(lambda: all(e["status"]["value"] == "loaded" for m in gateway.state()["data"] for e in m["engines"]))
            yield gateway, *nodes
    finally:
        for node in nodes:
            node.kill()


def n_running(node):
    return sum(model["requests_running"] for model in node.state()["data"])


@test
def node_that_ends(shoal, models):
    """SIGTERM: a node's requests go on at the other one with their KV, and the node ends."""
    asks = bodies(16, 250)
    texts = alone(shoal, models, asks)
    for kind in KINDS:
        with pair(shoal, models, kind) as (gateway, leaving, staying):
            streams = [Stream(gateway, body) for body in asks]
            readers = [Later(stream.finish) for stream in streams]
            until(lambda: n_running(leaving) >= 3, pause=0.005)
            begin = time.monotonic()
            leaving.signal(signal.SIGTERM)
            assert leaving.process.wait(30) == 0
            took_s = time.monotonic() - begin
            for reader in readers:
                reader.result()
            assert all(stream.is_whole for stream in streams) and [stream.text for stream in streams] == texts
            assert staying.total("handed_over") >= 1, (kind, staying.total("handed_over_lost"))
            assert took_s < 12, took_s


if __name__ == "__main__":
    main()
