"""A gateway and two nodes as processes of their own, over TCP: the same text, whatever happens to a node.

usage: serve_cluster.py SHOAL MODELS_FOLDER
"""
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

from serve_shared import Later, Shoal, Stream, body_of, free_port, main, paths, test, until

CORES = sorted(os.sched_getaffinity(0))


class Node(Shoal):
    def __init__(self, shoal, models, *args, core=0, bus=None, wait="loaded", config=None):
        self.bus = bus or free_port()
        super().__init__(shoal, "--bus-listen", f"127.0.0.1:{self.bus}", "--devices", f"cpu:{CORES[core % len(CORES)]}", "--max-batch", "2",
                         *args, models=models, verb="node", wait=wait, config=config)


@contextlib.contextmanager
def cluster(shoal, models, *args, n=2):
    """(gateway, nodes); nodes that were killed may stay so."""
    nodes = [Node(shoal, models, *args, core=i) for i in range(n)]
    places = " ".join(f"127.0.0.1:{node.bus}" for node in nodes)
    try:
        with Shoal(shoal, "--nodes", places, *args, models=models, verb="gateway", wait=None) as gateway:
            until(lambda: all(e["status"]["value"] == "loaded" for m in gateway.state()["data"] for e in m["engines"]))
            yield gateway, nodes
    finally:
        for node in nodes:
            with contextlib.suppress(ProcessLookupError):
                node.signal(signal.SIGCONT)
            node.kill()


def expected(node, bodies):
    return [node.post("/v1/completions", body)[2]["choices"][0]["text"] for body in bodies]


def read_all(stream):
    """The longest time between two pieces."""
    longest, last = 0.0, time.monotonic()
    while stream.read():
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    return longest


def requests_of(node):
    return sum(e["requests"] for e in node.state()["engines"])


def bodies_of(n, n_tokens=400):
    return [body_of("tale", "And he", n_tokens, temperature=0.8, seed=i) for i in range(n)]


def lose_one(gateway, nodes, lose, longest_s):
    """Streams run on both nodes when lose() happens to the first: all end with their own text, after a pause at most."""
    bodies = bodies_of(24)
    texts = expected(nodes[1], bodies)
    streams = [Stream(gateway, body) for body in bodies]
    readers = [Later(read_all, stream) for stream in streams]
    until(lambda: requests_of(nodes[0]) > 0 and requests_of(nodes[1]) > 0, pause=0.005)
    lose()
    pauses = [reader.result() for reader in readers]
    for stream, text in zip(streams, texts):
        assert stream.is_whole and stream.text == text, (stream.status, stream.got[-400:])
    assert max(pauses) < longest_s, pauses
    assert gateway.get("/health")[0] == 200
    return max(pauses)


@test
def cluster_same_text(shoal, models):
    with cluster(shoal, paths(models)) as (gateway, nodes):
        for name in paths(models):
            body = body_of(name, "And he", 60, temperature=0.7, seed=5)
            asks = [Later(gateway.post, "/v1/completions", body) for _ in range(12)]
            texts = {ask.result()[2]["choices"][0]["text"] for ask in asks}
            assert texts == set(expected(nodes[0], [body])), texts
        until(lambda: all(node.state()["engines"][0]["steps"] > 0 for node in nodes))
        status, _, page = gateway.post("/models/load", {"model": "tale"})
        assert status >= 400 and "no manager" in json.dumps(page), page


@test
def cluster_kill_a_node(shoal, models):
    one = {"tale": paths(models)["tale"]}
    with cluster(shoal, one) as (gateway, nodes):
        print("longest pause after kill -9:", lose_one(gateway, nodes, nodes[0].kill, 20))
        steps = nodes[1].state()["engines"][0]["steps"]
        assert gateway.text("tale", "And he", 8)
        until(lambda: nodes[1].state()["engines"][0]["steps"] > steps)
        nodes[0] = Node(shoal, one, bus=nodes[0].bus)  # it comes back, and is used again
        def is_used():
            asks = [Later(gateway.text, "tale", "And he", 100) for _ in range(8)]
            assert len({ask.result() for ask in asks}) == 1
            return nodes[0].state()["engines"][0]["steps"] > 0
        until(is_used)


@test
def cluster_stop_a_node(shoal, models):
    """A node that says nothing and keeps its connections: the session ends after 3 s of silence."""
    with cluster(shoal, {"tale": paths(models)["tale"]}) as (gateway, nodes):
        pause = lose_one(gateway, nodes, lambda: nodes[0].signal(signal.SIGSTOP), 30)
        print("longest pause after SIGSTOP:", pause)
        nodes[0].signal(signal.SIGCONT)
        until(lambda: requests_of(nodes[0]) == 0)  # what it had is over there, too
        assert gateway.text("tale", "And he", 8)


@test
def cluster_models_come_when_wanted(shoal, models):
    """Nothing is loaded at the start, and a model that left comes again: the gateway's wishes reach the nodes' managers."""
    config = f"keep_alive: 1s\nmodels:\n  tale: {{ path: {paths(models)['tale']} }}\n"
    node = Node(shoal, None, config=config, wait=None)
    try:
        with Shoal(shoal, "--nodes", f"127.0.0.1:{node.bus}", config=config, verb="gateway", wait=None) as gateway:
            for _ in range(2):
                until(lambda: gateway.status("tale") == "unloaded" and node.status("tale") == "unloaded")
                assert gateway.text("tale", "And he", 8)
    finally:
        node.kill()


@test
def cluster_another_file(shoal, models):
    """A node has another file under the gateway's name: nothing runs on it."""
    node = Node(shoal, {"tale": paths(models)["cee"]})
    try:
        with Shoal(shoal, "--nodes", f"127.0.0.1:{node.bus}", "--hold", "1s", models={"tale": paths(models)["tale"]}, verb="gateway",
                   wait=None) as gateway:
            until(lambda: "connected" in gateway.log())
            status, _, page = gateway.post("/v1/completions", body_of("tale", "And he", 8))
            assert status == 503 and "ready" in json.dumps(page), (status, page)
            assert node.state()["engines"][0]["steps"] == 0
    finally:
        node.kill()


def sign(folder, name):
    """NAME.pem and NAME.key, signed by ca.pem of the folder, which is made when it is not there."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    if not os.path.exists(f"{folder}/ca.pem"):
        openssl("req", "-x509", *key, "-subj", "/CN=test authority", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    with open(f"{folder}/{name}.ext", "w", encoding="ascii") as f:
        f.write(f"subjectAltName=DNS:{name}\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile",
            f"{name}.ext", "-out", f"{name}.pem")


@test
def cluster_certificates(shoal, models):
    one = {"tale": paths(models)["tale"]}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("localhost", "gateway.test", "rogue.test"):
            sign(folder, name)
        def files(name):
            return ("--bus-cert", f"{folder}/{name}.pem", "--bus-key", f"{folder}/{name}.key", "--bus-ca", f"{folder}/ca.pem")
        node = Node(shoal, one, *files("localhost"), "--bus-names", "gateway.test")
        try:
            nodes = ("--nodes", f"localhost:{node.bus}")
            with Shoal(shoal, *nodes, *files("gateway.test"), models=one, verb="gateway", wait=None) as gateway:
                until(lambda: gateway.status("tale") == "loaded")
                assert gateway.text("tale", "And he", 8) == node.text("tale", "And he", 8)
            for rogue in (files("rogue.test"), ()):
                with Shoal(shoal, *nodes, *rogue, "--hold", "1s", models=one, verb="gateway", wait=None) as gateway:
                    status, _, page = gateway.post("/v1/completions", body_of("tale", "And he", 8))
                    assert status == 503, (status, page)
                    assert gateway.status("tale") == "unloaded"
        finally:
            node.kill()


@test
def cluster_settings(shoal, models):
    """Settings that do not fit together are refused in one sentence."""
    model = ("--model", f"tale={paths(models)['tale']}")
    rows = [(("node", *model), "bus_listen is missing"),
            (("gateway", *model), "nodes is missing"),
            (("gateway", "--nodes", "127.0.0.1", *model), "is not HOST:PORT"),
            (("gateway", "--nodes", "127.0.0.1:75000", *model), "is not HOST:PORT"),
            (("gateway", "--nodes", "127.0.0.1:7500=0", *model), "is not HOST:PORT"),
            (("gateway", "--nodes", "127.0.0.1:1 127.0.0.1:1", *model), "twice"),
            (("gateway", "--nodes", "127.0.0.1:1", "--devices", "cpu", *model), "no devices"),
            (("node", "--nodes", "127.0.0.1:1", "--bus-listen", "127.0.0.1:0", *model), "remove one of them"),
            (("gateway", "--nodes", "192.0.2.1:7500", *model), "without TLS"),
            (("node", "--bus-listen", "0.0.0.0:0", *model), "without TLS"),
            (("node", "--bus-listen", "127.0.0.1:0", "--bus-cert", "a", *model), "come together")]
    for words, part in rows:
        done = subprocess.run([shoal, *words, "--listen", f"127.0.0.1:{free_port()}"], capture_output=True, text=True, timeout=60, check=False)
        sentences = [line for line in done.stderr.splitlines() if line.startswith("shoal: ")]
        assert done.returncode == 2 and len(sentences) == 1 and part in sentences[0], (words, done.returncode, done.stderr)


if __name__ == "__main__":
    main()
