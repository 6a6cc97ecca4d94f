"""The fault table: a cluster with etcd answers without pause while each part of it, or a link between two, is broken in turn.

usage: faults.py SHOAL MODELS_FOLDER [RUNS of each slow fault, 3] [HITS of each quick one, 20] [ROW ...]
ROW: a pattern of the shell for names of faults, as 'link*', or for a name and its state, as '*/moving'; without one all rows run. `list`
prints the names.
A quick fault is repeated under one load until it has hit its state often enough: a node counts as hit in prefill or decode when its own
report showed running requests just before, and a move when it was not over at that moment. It prints a row for each fault and fails when a
request was lost, or an answer differs from the undisturbed one. Requests at a gateway that dies end with it: clients see the connection
close and ask again elsewhere, so they are not counted.
"""
import contextlib
import fnmatch
import os
import random
import signal
import sys
import time

import faults_more
from fleet import LEASE_S, Fleet, Load, address_of, bodies_of, expected_texts, insist, need_etcd
from serve_shared import Later, body_of, paths, until
import toy

FAILOVER_S = 8


class Table:
    def __init__(self, n_runs, n_hits):
        self.n_runs, self.n_hits, self.is_bad = n_runs, n_hits, False
        self.fleet = self.texts = self.prefills = None
        print("| fault | state | runs | hits | requests | lost | differing | worst pause (s) | note |\n|---|---|---|---|---|---|---|---|---|", flush=True)

    def take(self, fleet):
        """The rows that follow are of this fleet."""
        until(fleet.leader)
        self.fleet = fleet
        self.texts = expected_texts(fleet.nodes[0], bodies_of(list(fleet.models), 16, 150))
        self.prefills = expected_texts(fleet.nodes[0], prompts_of(list(fleet.models), 64))

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
        print(f"| {fault} | {state} | {self.n_runs} | {self.n_runs} | {n_requests} | {n_lost} | {n_different} | {worst_s:.1f} | {note} |", flush=True)


    def many(self, fault, state, f, are_prompts=False, is_pinned=False):
        """f breaks and mends the fleet once, and returns whether the state was hit. are_prompts: long ones, with short answers."""
        n_runs = n_hits = 0
        loads = [Load(gateway, self.prefills if are_prompts else self.texts, 4) for gateway in self.fleet.gateways]
        time.sleep(0.5)
        while n_hits < self.n_hits and n_runs < 4 * self.n_hits:
            n_hits += f(self.fleet)
            n_runs += 1
            until(lambda: n_members(self.fleet) == len(self.fleet.all()))
            if not is_pinned:
                self.fleet.until_loaded()
        for load in loads:
            load.finish()
        n_requests, n_lost, n_different = (sum(getattr(load, name) for load in loads) for name in ("n_requests", "n_lost", "n_different"))
        worst_s = max(load.worst_s for load in loads)
        self.is_bad = self.is_bad or n_lost + n_different > 0 or n_requests == 0 or n_hits < self.n_hits
        print(f"| {fault} | {state} | {n_runs} | {n_hits} | {n_requests} | {n_lost} | {n_different} | {worst_s:.1f} | |", flush=True)


def n_members(fleet):
    return len([key for key in fleet.etcd.keys() if key.startswith("members/")])


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


def kill_busy_node(fleet):
    """Whether the node had running requests by its own report."""
    i = random.randrange(len(fleet.nodes))
    node = fleet.nodes[i]
    n_running = sum(model["requests_running"] for model in node.state()["data"])
    node.kill()
    fleet.nodes[i] = node.again()
    return n_running > 0


def kill_loading_node(fleet):
    """Whether no model was ready when it died, although it obeyed the manager, which orders loads at once."""
    i = random.randrange(len(fleet.nodes))
    fleet.nodes[i].kill()
    node = fleet.nodes[i] = fleet.nodes[i].again()
    until(lambda: "obeys the manager" in node.log(), pause=0.001)
    node.kill()
    is_hit = node.log().count(" is ready after") < len(fleet.models)
    fleet.nodes[i] = node.again()
    return is_hit


def pinned_node(fleet):
    address = fleet.etcd.keys().get("desired/pins/tale")
    return next((node for node in fleet.nodes if address_of(node) == address), None)


def copies_at(fleet):
    """Which nodes have the model, as a gateway sees them."""
    places = [m["engines"] for m in fleet.gateways[-1].state()["data"] if m["id"] == "tale"][0]
    return {part["device"].split(" ")[0] for part in places if part["status"]["value"] == "loaded"}


def until_moved(fleet):
    until(lambda: copies_at(fleet) == {address_of(pinned_node(fleet))})


def kill_in_move(victim):
    """Pins a model to another node and kills one part as soon as the store has the pin, since a small model has moved before the verb returns.
    Whether the move was not over, as a gateway saw it just before."""
    def kill(fleet):
        source = pinned_node(fleet)
        to = random.choice([node for node in fleet.nodes if node is not source])
        role = {"leader": until(fleet.leader), "target": to, "source": source}[victim]
        pin = Later(insist, fleet, "pin", "tale", address_of(to))
        until(lambda: fleet.etcd.keys().get("desired/pins/tale") == address_of(to), pause=0.001)
        time.sleep(random.uniform(0, 0.01))
        is_hit = copies_at(fleet) != {address_of(to)}
        role.kill()
        pin.result()
        roles = fleet.managers if victim == "leader" else fleet.nodes
        roles[roles.index(role)] = role.again()
        until(fleet.leader)
        until_moved(fleet)
        return is_hit
    return kill


def kill_node_in_election(fleet):
    """A node dies while no manager leads."""
    old, epoch = until(fleet.leader), fleet.epoch()
    old.kill()
    time.sleep(random.uniform(0, LEASE_S))
    kill_busy_node(fleet)
    is_hit = fleet.epoch() == epoch
    fleet.managers[fleet.managers.index(old)] = old.again()
    until(lambda: fleet.epoch() > epoch and fleet.leader())
    return is_hit


def kill_candidate(fleet):
    """The other manager dies while it waits for the dead leader's lease to end; a new one leads after it."""
    old, epoch = until(fleet.leader), fleet.epoch()
    other = next(manager for manager in fleet.managers if manager is not old)
    old.kill()
    time.sleep(random.uniform(0, LEASE_S))
    other.kill()
    is_hit = fleet.epoch() == epoch
    fleet.managers = [manager.again() for manager in fleet.managers]
    until(lambda: fleet.epoch() > epoch and fleet.leader())
    return is_hit


def prompts_of(names, n):
    """Long prompts, which differ from their first token on, and short answers."""
    rng = random.Random(1)
    words = ["the", "old", "sea", "and", "he", "said", "it", "was", "a", "long", "way", "to", "go"]
    return [body_of(names[i % len(names)], " ".join(rng.choice(words) for _ in range(150)), 2) for i in range(n)]


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


def second(fleet):
    return fleet.gateways[1:]


@contextlib.contextmanager
def plain(shoal, models):
    with Fleet(shoal, models, node_args=("--prefix-cache", "false")) as fleet:
        fleet.until_loaded()
        yield fleet


@contextlib.contextmanager
def pinned(shoal, models):
    with plain(shoal, models) as fleet:
        insist(fleet, "pin", "tale", address_of(fleet.nodes[0]))
        until_moved(fleet)
        yield fleet


# Its setting, whether it is quick, fault, state, what it does, and more.
ROWS = [
    (plain, False, "leader, kill -9", "leading", kill_leader, {}),
    (plain, False, "leader, SIGSTOP", "leading", stop_leader, {}),
    (plain, False, "all managers, kill -9, 6 s", "leading, following", kill_all_managers, {}),
    (plain, False, "node, kill -9", "serving", kill_node, {}),
    (plain, True, "node, kill -9", "prefill", kill_busy_node, {"are_prompts": True}),
    (plain, True, "node, kill -9", "decode", kill_busy_node, {}),
    (plain, True, "node, kill -9", "loading", kill_loading_node, {}),
    (plain, True, "node, kill -9", "electing", kill_node_in_election, {}),
    (plain, True, "both managers, kill -9", "electing", kill_candidate, {}),
    (plain, False, "node, SIGSTOP 6 s", "serving", stop_node, {}),
    (plain, False, "2 of 3 nodes, kill -9", "serving", kill_two_nodes, {}),
    (plain, False, "gateway, kill -9", "serving", kill_gateway, {"spared": second}),
    (plain, False, "gateway, SIGSTOP 6 s", "serving", stop_gateway, {"spared": second}),
    (plain, False, "etcd, kill -9, 8 s", "serving", kill_etcd, {}),
    (plain, False, "etcd, SIGSTOP 8 s", "serving", stop_etcd, {}),
    (plain, False, "etcd and a manager, kill -9", "electing", kill_etcd_and_leader, {}),
    (plain, False, "etcd, emptied", "serving", empty_etcd, {}),
    (pinned, True, "leader, kill -9", "moving", kill_in_move("leader"), {"is_pinned": True}),
    (pinned, True, "node that a model comes to, kill -9", "moving", kill_in_move("target"), {"is_pinned": True}),
    (pinned, True, "node that a model leaves, kill -9", "moving", kill_in_move("source"), {"is_pinned": True}),
] + faults_more.ROWS


def main():
    words = sys.argv[3:]
    numbers = [int(word) for word in words if word.isdigit()]
    patterns = [word for word in words if not word.isdigit()] or ["*"]
    if patterns == ["list"]:
        print(*dict.fromkeys(row[2] for row in ROWS), sep="\n")
        return
    chosen = [row for row in ROWS if any(fnmatch.fnmatch(name, pattern) for pattern in patterns for name in (row[2], f"{row[2]}/{row[3]}"))]
    assert chosen, f"no row is named {patterns}: `list` prints the names"
    need_etcd()
    shoal, models = os.path.abspath(sys.argv[1]), paths(os.path.abspath(sys.argv[2]))
    table = Table(numbers[0] if numbers else 3, numbers[1] if len(numbers) > 1 else 20)
    for setting in dict.fromkeys(row[0] for row in chosen):
        try:
            with setting(shoal, models) as fleet:
                table.take(fleet)
                for _, is_quick, fault, state, f, more in (row for row in chosen if row[0] is setting):
                    (table.many if is_quick else table.row)(fault, state, f, **more)
        except toy.Skip as reason:
            print(f"SKIPPED, all rows of {setting.__name__}: {reason}", flush=True)
    sys.exit(1 if table.is_bad else 0)


main()
