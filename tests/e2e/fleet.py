"""A whole cluster on the loopback: etcd, managers, nodes and gateways, for tests that break parts of it."""
import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import toy
from serve_shared import Later, Shoal, Stream, body_of, free_port, until

CORES = sorted(os.sched_getaffinity(0))
ETCD = "/usr/bin/etcd"
LEASE_S = 5


def has_etcd():
    return os.access(ETCD, os.X_OK)


def need_etcd():
    if not has_etcd():
        raise toy.Skip("etcd (Debian: etcd-server) is not installed")


class Etcd:
    """One etcd with a folder and ports of its own. It runs without fsync, since no machine dies here."""

    def __init__(self, name="s", peer=None, peers=None):
        """peers: the whole --initial-cluster of several servers; then none of them waits for an answer here."""
        self.folder = tempfile.mkdtemp(prefix="shoal-etcd-")
        self.name, self.port, self.peer, self.process = name, free_port(), peer or free_port(), None
        self.url = f"http://127.0.0.1:{self.port}"
        self.peers = peers or f"{name}=http://127.0.0.1:{self.peer}"
        self.start(is_waited_for=peers is None)

    def start(self, is_waited_for=True):
        peer = f"http://127.0.0.1:{self.peer}"
        self.process = subprocess.Popen(
            [ETCD, "--name", self.name, "--data-dir", f"{self.folder}/data", "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", self.peers, "--unsafe-no-fsync",
             "--logger=zap", "--log-level=error", "--experimental-watch-progress-notify-interval", "1s"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        if is_waited_for:
            until(self.answers)

    def call(self, path, body):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, json.dumps(body).encode()), timeout=30) as reply:
            return json.load(reply)

    def answers(self):
        try:
            return bool(self.call("/v3/kv/range", {"key": "eA=="}))
        except OSError:
            return False

    def keys(self, prefix="/shoal/shoal/"):
        def text(data):
            return base64.b64decode(data).decode(errors="replace")
        def code(data):
            return base64.b64encode(data.encode()).decode()
        got = self.call("/v3/kv/range", {"key": code(prefix), "range_end": code(prefix[:-1] + chr(ord(prefix[-1]) + 1))})
        return {text(kv["key"])[len(prefix):]: text(kv.get("value", "")) for kv in got.get("kvs", [])}

    def put(self, key, value, prefix="/shoal/shoal/"):
        def code(data):
            return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()
        self.call("/v3/kv/put", {"key": code(prefix + key), "value": code(value)})

    def delete(self, key, prefix="/shoal/shoal/"):
        self.call("/v3/kv/deleterange", {"key": base64.b64encode((prefix + key).encode()).decode()})

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def wipe(self):
        self.kill()
        shutil.rmtree(f"{self.folder}/data")
        self.start()

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Etcds:
    """Three servers of one etcd. Calls go to the first that answers."""

    def __init__(self):
        ports = [free_port() for _ in range(3)]
        peers = ",".join(f"s{i}=http://127.0.0.1:{port}" for i, port in enumerate(ports))
        self.all = [Etcd(f"s{i}", port, peers) for i, port in enumerate(ports)]
        self.url = " ".join(one.url for one in self.all)
        until(lambda: all(one.answers() for one in self.all))

    def one(self):
        return until(lambda: next((one for one in self.all if one.process.poll() is None and one.answers()), None))

    def keys(self):
        return self.one().keys()

    def put(self, key, value):
        self.one().put(key, value)

    def control(self, *words):
        subprocess.run(["etcdctl", *words], check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "ETCDCTL_API": "3"})

    def save(self):
        """A snapshot of all keys."""
        self.control("--endpoints", self.one().url, "snapshot", "save", f"{self.all[0].folder}/snapshot")

    def kill(self):
        for one in self.all:
            one.kill()

    def start(self):
        for one in self.all:
            if one.process.poll() is not None:
                one.start(is_waited_for=False)
        until(lambda: all(one.answers() for one in self.all))

    def roll_back(self):
        """All servers begin anew with the snapshot."""
        self.kill()
        for one in self.all:
            shutil.rmtree(f"{one.folder}/data")
            self.control("snapshot", "restore", f"{self.all[0].folder}/snapshot", "--name", one.name, "--data-dir", f"{one.folder}/data",
                         "--initial-cluster", one.peers, "--initial-advertise-peer-urls", f"http://127.0.0.1:{one.peer}")
        self.start()

    def close(self):
        for one in self.all:
            one.close()


class Role(Shoal):
    """A process of the cluster, with a folder that outlives it."""

    def __init__(self, shoal, store, verb, models, *args, state=None, **more):
        self.state_dir = state or tempfile.mkdtemp(prefix="shoal-state-")
        self.args = (shoal, store, verb, models, *args)
        self.more = more
        own = ("--state-dir", self.state_dir) if verb != "gateway" else ()
        super().__init__(shoal, "--store", store, "--store-lease", f"{LEASE_S}s", *own, *args, models=models, verb=verb, wait=None, **more)

    def answers(self):
        if self.args[2] != "manager":
            return super().answers()
        assert self.process.poll() is None, f"the manager ended with {self.process.returncode}:\n{self.log()}"
        return True

    def again(self):
        """The same process, started anew."""
        return type(self)(*self.args, state=self.state_dir, **self.more)

    def verb_adopt(self, store):
        subprocess.run([self.shoal, "cluster", "adopt", "--store", store, "--state-dir", self.state_dir], check=True, stdout=subprocess.DEVNULL)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGCONT)
        self.kill()


class Fleet:
    def __init__(self, shoal, models, *args, n_nodes=3, n_gateways=2, n_managers=2, node_args=(), manager_args=(), links=None, etcd=None, states=None,
                 files=None, **more):
        """links: all connections of the bus and to etcd go over it. states: makes the state_dir of a node or manager. files: of each node's models."""
        self.etcd = etcd or Etcd()
        self.shoal, self.models, self.links = shoal, models, links
        store = f"http://127.0.0.1:{links.open(self.etcd.port)}" if links else self.etcd.url
        self.nodes, self.managers, self.gateways = [], [], []
        try:
            self.managers = [Role(shoal, store, "manager", models, *manager_args[i:i + 2], *args, state=states and states(), **more)
                             for i in range(0, 2 * n_managers, 2)]
            for i in range(n_nodes):
                port = free_port()
                place = ("--bus-advertise", f"127.0.0.1:{links.open(port)}") if links else ()
                self.nodes.append(Role(shoal, store, "node", files(i) if files else models, "--bus-listen", f"127.0.0.1:{port}", *place, "--devices",
                                       f"cpu:{CORES[i % len(CORES)]}", "--max-batch", "4", *node_args, *args, state=states and states(), **more))
            self.gateways = [Role(shoal, store, "gateway", models, *args, **more) for _ in range(n_gateways)]
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            for role in self.all():
                print(f"--- {role.args[2]}\n" + role.log()[-3000:])
        self.close()

    def all(self):
        return self.managers + self.nodes + self.gateways

    def close(self):
        for role in self.all():
            role.end()
            shutil.rmtree(role.state_dir, ignore_errors=True)
        self.etcd.close()
        if self.links:
            self.links.close()

    def leader(self):
        """The manager that the store names and that says so itself, or None."""
        value = self.etcd.keys().get("leader", "")
        for manager in self.managers:
            if value.endswith(f":{manager.process.pid}") and manager.process.poll() is None:
                return manager
        return None

    def epoch(self):
        return int(self.etcd.keys().get("epoch", "0"))

    def until_loaded(self, n_copies=None):
        """Every gateway sees this many engines with each model, or one on each node."""
        wanted = n_copies or len(self.nodes)
        until(lambda: all(n_loaded(g, name) >= wanted for g in self.gateways for name in self.models))


def word_of(role, key):
    return role.args[role.args.index(key) + 1]


def address_of(node):
    return word_of(node, "--bus-advertise" if "--bus-advertise" in node.args else "--bus-listen")


def verb(fleet, *words):
    """An operator's `shoal WORDS` on the store, as it ended."""
    return subprocess.run([fleet.shoal, *words, "--store", fleet.etcd.url], capture_output=True, text=True, timeout=60, check=False)


def do(fleet, *words):
    """Returns what the verb prints. The verb has to succeed."""
    done = verb(fleet, *words)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def insist(fleet, *words):
    """An operator tries again until the store and the leader are there."""
    until(lambda: verb(fleet, *words).returncode == 0)


def page_of(port, path):
    """A page of a manager's own endpoint; empty while it has none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as reply:
            return json.load(reply)
    except OSError:
        return {}


def n_loaded(server, name):
    rows = [m for m in server.state()["data"] if m["id"] == name]
    return sum(e["status"]["value"] == "loaded" for m in rows for e in m["engines"])


def bodies_of(names, n, n_tokens):
    return [body_of(names[i % len(names)], "And he", n_tokens, temperature=0.8, seed=i) for i in range(n)]


class Load:
    """Streams at a gateway, in waves until it is told to stop; each text is compared with the undisturbed one."""

    def __init__(self, gateway, texts, n_streams=8):
        self.gateway, self.texts, self.is_over = gateway, texts, False
        self.n_requests = self.n_lost = self.n_different = 0
        self.worst_s = 0.0
        self.bodies, self.n_streams = list(texts), n_streams
        self.readers = [Later(self.read, i) for i in range(n_streams)]

    def read(self, first):
        k = first
        while not self.is_over:
            text = self.bodies[k % len(self.bodies)]
            k += self.n_streams
            self.one(json.loads(text), self.texts[text])

    def one(self, body, expected):
        try:
            stream = Stream(self.gateway, body)
            last = time.monotonic()
            while stream.read():
                now = time.monotonic()
                self.worst_s, last = max(self.worst_s, now - last), now
        except OSError:
            self.n_lost += not self.is_over
            time.sleep(0.1)
            return
        self.n_requests += 1
        self.n_lost += not stream.is_whole
        self.n_different += stream.is_whole and stream.text != expected

    def finish(self):
        self.is_over = True
        for reader in self.readers:
            reader.result()


def expected_texts(node_or_gateway, bodies):
    return {json.dumps(body): node_or_gateway.post("/v1/completions", body)[2]["choices"][0]["text"] for body in bodies}
