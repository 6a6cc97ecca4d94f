"""A cluster with etcd and managers: faults lose nothing, one copy of a model comes when it is wanted, and operators are obeyed.

usage: serve_managed.py SHOAL MODELS_FOLDER
"""
import json
import signal
import subprocess
import time

from fleet import Fleet, Load, address_of, bodies_of, do, expected_texts, n_loaded, need_etcd, verb
from serve_shared import Later, Stream, body_of, main, paths, test, until

FAILOVER_S = 8


def fail_over(fleet, lose):
    """Loses the leader; how long until another leads."""
    old, epoch, begin = fleet.leader(), fleet.epoch(), time.monotonic()
    lose(old)
    until(lambda: fleet.epoch() > epoch and fleet.leader() not in (None, old), pause=0.02)
    return old, time.monotonic() - begin


@test
def managed_nothing_is_lost(shoal, models):
    """The leader, a node and etcd die under load: every answer is whole and the same, and another manager leads in time."""
    need_etcd()
    with Fleet(shoal, paths(models)) as fleet:
        fleet.until_loaded()
        until(fleet.leader)
        texts = expected_texts(fleet.nodes[0], bodies_of(list(fleet.models), 8, 100))
        loads = [Load(gateway, texts, 4) for gateway in fleet.gateways]
        old, failover_s = fail_over(fleet, lambda manager: manager.kill())
        fleet.managers[fleet.managers.index(old)] = old.again()
        fleet.nodes[0].kill()
        time.sleep(0.5)
        fleet.nodes[0] = fleet.nodes[0].again()
        fleet.etcd.kill()
        time.sleep(1)
        fleet.etcd.start()
        until(lambda: f"members/node/{address_of(fleet.nodes[0])}" in fleet.etcd.keys())
        until(lambda: all(n_loaded(g, "tale") == 3 for g in fleet.gateways))
        for load in loads:
            load.finish()
            assert load.n_requests > 20 and load.n_lost == 0 and load.n_different == 0, (load.n_requests, load.n_lost, load.n_different)
        print(f"failover {failover_s:.1f} s, worst pause {max(load.worst_s for load in loads):.1f} s, "
              f"{sum(load.n_requests for load in loads)} requests")
        assert failover_s < FAILOVER_S, failover_s


def copies(fleet):
    return [n_loaded(node, "tale") for node in fleet.nodes]


@test
def managed_operators(shoal, models):
    """Requests bring one copy, and deploy, undeploy, cordon and drain do what they say."""
    need_etcd()
    config = f"keep_alive: 1h\nhold: 1s\nmodels:\n  tale: {{ path: {paths(models)['tale']} }}\n"
    with Fleet(shoal, None, config=config, n_gateways=1, n_managers=1) as fleet:
        gateway = fleet.gateways[0]
        addresses = [address_of(node) for node in fleet.nodes]
        until(lambda: "placement" in fleet.etcd.keys())
        text = gateway.text("tale", "And he", 8)
        time.sleep(0.5)
        assert sum(copies(fleet)) == 1, copies(fleet)
        do(fleet, "deploy", "tale", "--copies", "2")
        until(lambda: sum(copies(fleet)) == 2)
        do(fleet, "undeploy", "tale")
        until(lambda: sum(copies(fleet)) == 0)
        status, _, page = gateway.post("/v1/completions", body_of("tale", "And he", 8))
        assert status == 503 and "ready" in json.dumps(page), (status, page)
        do(fleet, "cordon", addresses[0])
        do(fleet, "cordon", addresses[1])
        do(fleet, "deploy", "tale")
        until(lambda: copies(fleet) == [0, 0, 1])
        do(fleet, "uncordon", addresses[1])
        stream = Stream(gateway, body_of("tale", "And he", 400)).begin()  # its requests move, too
        reader = Later(stream.finish)
        do(fleet, "drain", addresses[2])
        until(lambda: copies(fleet) == [0, 1, 0])
        reader.result()
        assert stream.is_whole and stream.text == gateway.text("tale", "And he", 400)
        assert gateway.text("tale", "And he", 8) == text
        page = do(fleet, "cluster", "status")
        assert f"desired/nodes/{addresses[2]}: drain" in page and "placement: epoch 1" in page, page
        for words, part in ((("deploy", "tail"), "knows no model"), (("drain", "127.0.0.1:1"), "has no node"),
                            (("deploy", "tale", "--copies", "x"), "expected 0 to")):
            done = verb(fleet, *words)
            assert done.returncode != 0 and part in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
        check_adopt(fleet, gateway, text)


def check_adopt(fleet, gateway, text):
    """An emptied etcd is another life of the cluster: nothing is obeyed until it is adopted, and serving goes on."""
    manager = fleet.managers[0]
    fleet.etcd.wipe()
    until(lambda: "cluster adopt" in manager.log())
    until(lambda: len([k for k in fleet.etcd.keys() if k.startswith("members/")]) == 5)
    assert gateway.text("tale", "And he", 8) == text
    done = verb(fleet, "deploy", "tale")
    assert "no placement yet" in done.stderr, done.stderr
    do(fleet, "cluster", "adopt", "--state-dir", manager.state_dir)
    until(lambda: "leader" in fleet.etcd.keys())
    until(lambda: "other life" in fleet.nodes[0].log())  # a node obeys its own memory alone
    for node in fleet.nodes:
        do(fleet, "cluster", "adopt", "--state-dir", node.state_dir)
    until(lambda: fleet.etcd.keys().get("placement", "").count("tale") >= 2)
    do(fleet, "deploy", "tale", "--copies", "3")
    until(lambda: sum(copies(fleet)) == 3)


@test
def managed_half_is_gone(shoal, models):
    """More than half of the nodes vanish at once: the manager orders nothing, and goes on when they are back."""
    need_etcd()
    with Fleet(shoal, {"tale": paths(models)["tale"]}, n_gateways=1, n_managers=1) as fleet:
        fleet.until_loaded()
        manager = fleet.managers[0]
        for node in fleet.nodes[1:]:
            node.kill()
        until(lambda: "vanished at once" in manager.log())
        assert fleet.gateways[0].text("tale", "And he", 8)
        fleet.nodes[1] = fleet.nodes[1].again()
        until(lambda: "plans go on" in manager.log())
        until(lambda: n_loaded(fleet.nodes[1], "tale") == 1)


@test
def managed_settings(shoal, models):
    """Settings that do not fit together are refused in one sentence."""
    model = ("--model", f"tale={paths(models)['tale']}")
    store = ("--store", "http://127.0.0.1:1")
    rows = [(("manager", *model), "store is missing"),
            (("manager", *store, *model), "state_dir is missing"),
            (("manager", *store, "--state-dir", "/tmp", "--bus-listen", "127.0.0.1:0", *model), "bus_listen is for nodes"),
            (("manager", "--store", "127.0.0.1:1", "--state-dir", "/tmp", *model), "not an endpoint of etcd"),
            (("manager", *store, "--state-dir", "/tmp", "--monitor-listen", "0.0.0.0:0", *model), "set admin_key"),
            (("node", *store, "--bus-listen", "127.0.0.1:0", *model), "state_dir is missing"),
            (("serve", *store, *model), "store is for a cluster"),
            (("gateway", *store, "--devices", "cpu", *model), "has no devices"),
            (("gateway", "--store", "https://127.0.0.1:1", *model), "https with certificates"),
            (("gateway", *store, "--store-ca", "a", *model), "come together"),
            (("gateway", *store, "--cluster", "a/b", *model), "cluster is")]
    for words, part in rows:
        done = subprocess.run([shoal, *words], capture_output=True, text=True, timeout=60, check=False)
        sentences = [line for line in done.stderr.splitlines() if line.startswith("shoal: ")]
        assert done.returncode == 2 and len(sentences) == 1 and part in sentences[0], (words, done.returncode, done.stderr)


main()
