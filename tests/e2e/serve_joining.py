"""Models that join and leave a cluster with etcd while it runs: deployed by a definition in the store, served, moved, removed.

usage: serve_joining.py SHOAL MODELS_FOLDER
"""
import hashlib
import json
import signal
import time

from fleet import Fleet, Load, bodies_of, do, expected_texts, n_loaded, need_etcd, page_of, verb
from serve_shared import Later, Shoal, Stream, body_of, free_port, main, paths, test, until


def sha256_of(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def config_of(models, more=""):
    return f"keep_alive: 1h\nhold: 60s\nmodel_dirs: ['{models}']\n{more}models:\n  tale: {{ path: {paths(models)['tale']} }}\n"


def names(server):
    return sorted(m["id"] for m in server.state()["data"])


def is_unknown(server, name):
    status, _, page = server.post("/v1/completions", body_of(name, "if (x", 8))
    assert status in (200, 404), (status, page)
    return status == 404


@test
def joining_and_leaving(shoal, models):
    """A deployed model is served by every gateway, alone on its engine and profiled; a restart keeps it, and undeploy makes it unknown."""
    need_etcd()
    file = paths(models)["cee"]
    with Shoal(shoal, models={"cee": file}) as one:
        expected = one.text("cee", "if (x", 40)
    port = free_port()
    with Fleet(shoal, None, config=config_of(models), n_nodes=2, n_managers=1, manager_args=("--monitor-listen", f"127.0.0.1:{port}")) as fleet:
        until(lambda: "placement" in fleet.etcd.keys())
        do(fleet, "deploy", "tale")
        until(lambda: all(n_loaded(g, "tale") == 1 for g in fleet.gateways))
        texts = expected_texts(fleet.gateways[0], bodies_of(["tale"], 4, 60))
        loads = [Load(gateway, texts, 2) for gateway in fleet.gateways]
        do(fleet, "deploy", "cee", "--path", file, "--sha256", sha256_of(file))
        until(lambda: all(names(server) == ["cee", "tale"] for server in fleet.gateways + fleet.nodes))
        until(lambda: all(n_loaded(g, "cee") == 1 for g in fleet.gateways))
        assert [[n_loaded(node, name) for name in ("tale", "cee")] for node in fleet.nodes] in ([[0, 1], [1, 0]], [[1, 0], [0, 1]])
        profile = until(lambda: {row["name"]: row for row in page_of(port, "/monitor")["services"]}.get("cee", {}).get("profile"))
        assert profile["decode_ms"] > 0, profile
        assert [g.text("cee", "if (x", 40) for g in fleet.gateways] == [expected, expected]
        assert "cee" in [row["model"] for row in page_of(port, "/plan")["wanted"]]
        do(fleet, "deploy", "cee", "--path", file, "--sha256", sha256_of(file), "--copies", "2")  # the same definition: only copies
        until(lambda: all(n_loaded(g, "cee") == 2 for g in fleet.gateways))
        assert not any("model cee leaves" in role.log() for role in fleet.gateways + fleet.nodes)
        for i, role in enumerate(fleet.nodes):
            role.kill()
            fleet.nodes[i] = role.again()
        loads[1].finish()
        fleet.gateways[1].kill()
        fleet.gateways[1] = fleet.gateways[1].again()
        fleet.managers[0].kill()
        fleet.managers[0] = fleet.managers[0].again()
        until(lambda: all(n_loaded(g, "cee") == 2 for g in fleet.gateways))
        assert [g.text("cee", "if (x", 40) for g in fleet.gateways] == [expected, expected]
        check_other_life(fleet, file, expected)
        do(fleet, "undeploy", "cee")
        until(lambda: all(names(server) == ["tale"] for server in fleet.gateways + fleet.nodes))
        assert is_unknown(fleet.gateways[0], "cee") and is_unknown(fleet.gateways[1], "cee")
        until(lambda: "cee" not in fleet.etcd.keys()["placement"])
        assert not [key for key in fleet.etcd.keys() if key.endswith("/cee")], fleet.etcd.keys()
        assert "knows no model" in verb(fleet, "deploy", "cee").stderr
        loads[0].finish()
        for load in loads:
            assert load.n_requests > 3 and load.n_lost == 0 and load.n_different == 0, vars(load)


def check_other_life(fleet, file, expected):
    """Another definition of the name replaces the model, and its requests end; the name is never unknown."""
    do(fleet, "deploy", "cee", "--path", file, "--ctx", "128")
    def context(server):
        return json.loads(server.get("/v1/models/cee")[2])["max_model_len"]
    loads = [Load(gateway, {json.dumps(body_of("cee", "if (x", 40)): expected}, 1) for gateway in fleet.gateways]
    until(lambda: all(context(g) == 128 and n_loaded(g, "cee") == 1 for g in fleet.gateways))
    time.sleep(1)
    for load in loads:
        load.finish()
        assert load.n_requests > 1 and load.n_lost == 0 and load.n_different == 0, vars(load)


@test
def joining_is_checked(shoal, models):
    """Operators and stores that ask for what can't be are refused with one sentence; what is there goes on, and a list says who refused."""
    need_etcd()
    file, tale = paths(models)["cee"], paths(models)["tale"]
    with Fleet(shoal, None, config=config_of(models), n_nodes=1, n_gateways=1, n_managers=1) as fleet:
        gateway, node, manager = fleet.gateways[0], fleet.nodes[0], fleet.managers[0]
        until(lambda: "placement" in fleet.etcd.keys())
        whole = gateway.text("tale", "And he", 20)
        for words, part in ((("--url", "ftp://x/y", "--sha256", "0" * 64), "has to begin with http"), (("--url", "http://127.0.0.1:1/x"), "no sha256"),
                            (("--path", file, "--url", "http://x/y"), "not both"), (("--sha256", "0" * 64), "needs --path"),
                            (("--path", file, "--sha256", "00"), "64 hexadecimal"), (("--path", "cee.gguf"), "begin with /"),
                            (("--path", file, "--ctx", "x"), "expected a number"), (("--path", file, "--ctx", "-5"), "ctx"),
                            (("--path", file, "--kv-type", "f8"), "kv_type"), (("--path", file, "--copies", "-1"), "expected 0 to"),
                            (("--path", "/${env.HOME}/x"), "environment")):
            done = verb(fleet, "deploy", "new", *words)
            assert done.returncode != 0 and part in done.stderr and len(done.stderr.splitlines()) == 1, (words, done.stderr)
        done = verb(fleet, "deploy", "tale", "--path", tale)
        assert done.returncode != 0 and "configuration" in done.stderr, done.stderr
        hostile = {"bad": "{", "list": "[]", "text": '"x"', "empty": "", "life": '{"path":"/x"}', "big": '{"life":70000,"path":"/x"}',
                   "key": '{"life":1,"path":"/x","profile":"/etc/passwd"}', "nested": '{"life":1,"path":["/x"]}', "zero": b"\0" * 100,
                   "long": '{"life":1,"path":"/' + "x" * 200000 + '"}', "env": '{"life":1,"path":"/${env.SHOAL_ADMIN_KEY}"}',
                   "twice": '{"life":1,"life":2,"path":"/x"}', "outside": '{"life":1,"path":"/etc/passwd"}', "up": json.dumps({"life": 1, "path": f"{models}/../dev"}),
                   "n" * 200: json.dumps({"life": 1, "path": file}), "a\nb": json.dumps({"life": 1, "path": file}), "tale": json.dumps({"life": 1, "path": file}),
                   "wrong": json.dumps({"life": 1, "path": file, "sha256": "0" * 64}), "bytes": b'{"life":1,"path":"/\xff"}'}
        for name, value in hostile.items():
            fleet.etcd.put(f"desired/definitions/{name}", value)
        until(lambda: all("the deployed model wrong is not used" in role.log() for role in (gateway, node, manager)))
        until(lambda: "refused" in fleet.etcd.keys().get(f"members/node/{node.args[node.args.index('--bus-listen') + 1]}", ""))
        for role in (gateway, node, manager):
            assert role.process.poll() is None
            assert all(f"the deployed model {name} is not used" in role.log() for name in hostile if name.isalpha() and len(name) < 100), role.log()
            assert "passwd" not in role.log() or "model_dirs" in role.log()
        assert names(gateway) == names(node) == ["tale"] and gateway.text("tale", "And he", 20) == whole
        assert "is not a JSON object" in do(fleet, "cluster", "status"), do(fleet, "cluster", "status")
        do(fleet, "deploy", "cee", "--path", file)  # a good one joins beside them
        until(lambda: names(gateway) == ["cee", "tale"] and n_loaded(gateway, "cee") == 1)


@test
def joining_in_a_hurry(shoal, models):
    """A store that takes the same definition out and in again while requests keep the model busy: no process ends, and all of them end well."""
    need_etcd()
    with Fleet(shoal, None, config=config_of(models), n_nodes=1, n_gateways=1, n_managers=1) as fleet:
        gateway = fleet.gateways[0]
        until(lambda: "placement" in fleet.etcd.keys())
        value = json.dumps({"life": 5, "path": paths(models)["cee"]})
        fleet.etcd.put("desired/definitions/cee", value)
        until(lambda: names(gateway) == ["cee", "tale"])
        texts = expected_texts(gateway, bodies_of(["cee"], 2, 450))
        for pause in (0, 0.2, 3.2, 5):
            streams = [Later(Stream(gateway, json.loads(body)).begin().finish) for body in texts]
            fleet.etcd.delete("desired/definitions/cee")
            until(lambda: names(gateway) == ["tale"], pause=0.001)
            time.sleep(pause)
            fleet.etcd.put("desired/definitions/cee", value)
            for stream in streams:
                stream.result()
            until(lambda: names(gateway) == ["cee", "tale"] and not is_unknown(gateway, "cee"))
        assert [gateway.complete(**arguments(body))["choices"][0]["text"] for body in texts] == list(texts.values())
        assert all(role.process.poll() is None for role in fleet.all())


def arguments(text):
    body = json.loads(text)
    return {"n_tokens": body.pop("max_tokens"), **body}


@test
def joining_never_fits(shoal, models):
    """A gateway learns from the manager that a model fits no node: its requests end at once, with the arithmetic."""
    need_etcd()
    with Fleet(shoal, None, config=config_of(models), n_nodes=2, n_gateways=1, n_managers=1, node_args=("--memory", "4MiB")) as fleet:
        gateway = fleet.gateways[0]
        until(lambda: "placement" in fleet.etcd.keys())
        do(fleet, "deploy", "cee", "--path", paths(models)["cee"])
        until(lambda: names(gateway) == ["cee", "tale"])
        status, _, page = gateway.post("/v1/completions", body_of("cee", "if (x", 8))
        assert status == 400 and "MiB" in json.dumps(page), (status, page)  # a request that waits for all of `hold` gets 503


@test
def joining_outlives_the_store(shoal, models):
    """An emptied etcd takes no model away; undeploy works in its new life, too."""
    need_etcd()
    with Fleet(shoal, None, config=config_of(models), n_nodes=1, n_gateways=1, n_managers=1) as fleet:
        gateway = fleet.gateways[0]
        until(lambda: "placement" in fleet.etcd.keys())
        do(fleet, "deploy", "cee", "--path", paths(models)["cee"])
        until(lambda: names(gateway) == ["cee", "tale"] and n_loaded(gateway, "cee") == 1)
        whole = gateway.text("cee", "if (x", 40)
        fleet.etcd.wipe()
        until(lambda: len([k for k in fleet.etcd.keys() if k.startswith("members/")]) == 3)
        for role in fleet.managers + fleet.nodes:
            role.verb_adopt(fleet.etcd.url)
        until(lambda: "deployed cee" in fleet.etcd.keys().get("placement", ""))
        fleet.etcd.kill()  # a list again, in the same life
        fleet.etcd.start()
        time.sleep(5)
        assert names(gateway) == ["cee", "tale"] and gateway.text("cee", "if (x", 40) == whole
        until(lambda: verb(fleet, "undeploy", "cee").returncode == 0)
        until(lambda: names(gateway) == names(fleet.nodes[0]) == ["tale"])
        assert is_unknown(gateway, "cee")


@test
def a_reload_brings_in_no_model(shoal, models):
    """A model that SIGHUP adds would have a life of its own, so that no other process of the cluster knows it. It is refused by name."""
    need_etcd()
    with Fleet(shoal, None, config=config_of(models), n_nodes=1, n_managers=1, n_gateways=1) as fleet:
        for role in fleet.nodes + fleet.gateways:
            role.write_config(config_of(models) + f"  cee: {{ path: {paths(models)['cee']} }}\n")
            role.signal(signal.SIGHUP)
            until(lambda: "get models at the start and by `shoal deploy`" in role.log())
            assert names(role) == ["tale"]


main()
