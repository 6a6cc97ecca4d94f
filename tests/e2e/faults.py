"""The fault table: a cluster with etcd answers without pause while each part of it is killed, stopped or emptied in turn.

usage: faults.py SHOAL MODELS_FOLDER [RUNS of each fault, 3]
It prints a row for each fault and fails when a request was lost, or an answer differs from the undisturbed one. Requests at a gateway that
dies end with it: clients see the connection close and ask again elsewhere, so they are not counted.
"""
import os
import signal
import sys
import time

from fleet import Fleet, Load, bodies_of, expected_texts
from serve_shared import paths, until

FAILOVER_S = 8


class Table:
    def __init__(self, fleet, texts, n_runs):
        self.fleet, self.texts, self.n_runs, self.is_bad = fleet, texts, n_runs, False
        self.failovers = []
        print("| fault | state | runs | requests | lost | differing | worst pause (s) | note |\n|---|---|---|---|---|---|---|---|", flush=True)

    def row(self, fault, state, f, spared=None):
        """f breaks and mends the fleet; `spared` tells which gateways are asked (all)."""
        n_requests = n_lost = n_different = 0
        worst_s, notes = 0.0, []
        for _ in range(self.n_runs):
            loads = [Load(gateway, self.texts, 4) for gateway in (spared(self.fleet) if spared else self.fleet.gateways)]
            time.sleep(0.5)
            notes.append(f(self.fleet))
            time.sleep(1)
            for load in loads:
                load.finish()
                n_requests, n_lost, n_different = n_requests + load.n_requests, n_lost + load.n_lost, n_different + load.n_different
                worst_s = max(worst_s, load.worst_s)
            until(lambda: len([k for k in self.fleet.etcd.keys() if k.startswith("members/")]) == len(self.fleet.all()))
            self.fleet.until_loaded()
            until(self.fleet.leader)
        note = "; ".join(sorted({n for n in notes if isinstance(n, str)}))
        spans = [n for n in notes if isinstance(n, float)]
        if spans:
            note = f"another manager led after {max(spans):.1f} s at most"
            self.is_bad = self.is_bad or max(spans) > FAILOVER_S
        self.is_bad = self.is_bad or n_lost + n_different > 0 or n_requests == 0
        print(f"| {fault} | {state} | {self.n_runs} | {n_requests} | {n_lost} | {n_different} | {worst_s:.1f} | {note} |", flush=True)


def next_leader(fleet, old, epoch):
    begin = time.monotonic()
    until(lambda: fleet.epoch() > epoch and fleet.leader() not in (None, old), pause=0.02)
    return time.monotonic() - begin


def kill_leader(fleet):
    old, epoch = fleet.leader(), fleet.epoch()
    old.kill()
    span = next_leader(fleet, old, epoch)
    fleet.managers[fleet.managers.index(old)] = old.again()
    return span


def stop_leader(fleet):
    old, epoch = fleet.leader(), fleet.epoch()
    old.signal(signal.SIGSTOP)
    span = next_leader(fleet, old, epoch)
    old.signal(signal.SIGCONT)
    return span


def kill_all_managers(fleet):
    for manager in fleet.managers:
        manager.kill()
    time.sleep(6)
    fleet.managers = [manager.again() for manager in fleet.managers]


def kill_node(fleet):
    fleet.nodes[0].kill()
    time.sleep(2)
    fleet.nodes[0] = fleet.nodes[0].again()


def kill_node_that_loads(fleet):
    fleet.nodes[0].kill()
    for _ in range(3):
        fleet.nodes[0] = fleet.nodes[0].again()
        until(lambda: "obeys the manager" in fleet.nodes[0].log(), pause=0.001)
        fleet.nodes[0].kill()
    fleet.nodes[0] = fleet.nodes[0].again()


def stop_node(fleet):
    fleet.nodes[1].signal(signal.SIGSTOP)
    time.sleep(6)
    fleet.nodes[1].signal(signal.SIGCONT)


def kill_two_nodes(fleet):
    for node in fleet.nodes[:2]:
        node.kill()
    time.sleep(7)
    fleet.nodes[:2] = [node.again() for node in fleet.nodes[:2]]


def kill_gateway(fleet):
    fleet.gateways[0].kill()
    time.sleep(2)
    fleet.gateways[0] = fleet.gateways[0].again()


def stop_gateway(fleet):
    fleet.gateways[0].signal(signal.SIGSTOP)
    time.sleep(6)
    fleet.gateways[0].signal(signal.SIGCONT)


def kill_etcd(fleet):
    fleet.etcd.kill()
    time.sleep(8)
    fleet.etcd.start()


def stop_etcd(fleet):
    fleet.etcd.signal(signal.SIGSTOP)
    time.sleep(8)
    fleet.etcd.signal(signal.SIGCONT)


def kill_etcd_and_leader(fleet):
    fleet.etcd.kill()
    leader = fleet.managers[0]
    leader.kill()
    time.sleep(3)
    fleet.etcd.start()
    fleet.managers[0] = leader.again()


def empty_etcd(fleet):
    fleet.etcd.wipe()
    time.sleep(3)
    for role in fleet.managers + fleet.nodes:
        role.verb_adopt(fleet.etcd.url)
    until(lambda: "placement" in fleet.etcd.keys())
    return "adopted after 3 s"


def main():
    shoal, models = os.path.abspath(sys.argv[1]), paths(os.path.abspath(sys.argv[2]))
    n_runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with Fleet(shoal, models) as fleet:
        fleet.until_loaded()
        until(fleet.leader)
        table = Table(fleet, expected_texts(fleet.nodes[0], bodies_of(list(models), 16, 150)), n_runs)
        second = lambda fleet: fleet.gateways[1:]
        table.row("leader, kill -9", "leading", kill_leader)
        table.row("leader, SIGSTOP", "leading", stop_leader)
        table.row("all managers, kill -9, 6 s", "leading, following", kill_all_managers)
        table.row("node, kill -9", "serving", kill_node)
        table.row("node, kill -9 three times", "loading", kill_node_that_loads)
        table.row("node, SIGSTOP 6 s", "serving", stop_node)
        table.row("2 of 3 nodes, kill -9", "serving", kill_two_nodes)
        table.row("gateway, kill -9", "serving", kill_gateway, second)
        table.row("gateway, SIGSTOP 6 s", "serving", stop_gateway, second)
        table.row("etcd, kill -9, 8 s", "serving", kill_etcd)
        table.row("etcd, SIGSTOP 8 s", "serving", stop_etcd)
        table.row("etcd and a manager, kill -9", "electing", kill_etcd_and_leader)
        table.row("etcd, emptied", "serving", empty_etcd)
    sys.exit(1 if table.is_bad else 0)


main()
