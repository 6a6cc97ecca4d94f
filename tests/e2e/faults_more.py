"""Rows of the fault table that need a cluster of their own: links, three servers of etcd, full disks, damaged files, clocks."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

from fleet import Etcds, Fleet, address_of, do, insist, n_loaded, word_of
from links import BOTH, FROM, TO, Links
from serve_shared import until
import toy

NODE_ARGS = ("--prefix-cache", "false")


# ---- Links. ----

@contextlib.contextmanager
def links(shoal, models):
    """Every connection of the bus and to etcd goes over a proxy of the test."""
    with Fleet(shoal, models, node_args=NODE_ARGS, links=Links()) as fleet:
        fleet.until_loaded()
        yield fleet


def port_of(node):
    return int(word_of(node, "--bus-listen").rsplit(":", 1)[1])


def pids(*roles):
    return [role.process.pid for role in roles]


def cut(who, where, seconds, way=BOTH):
    """Cuts the links of these roles (of the fleet) to these servers' ports for so long. Something has to be held by that."""
    def f(fleet):
        n = fleet.links.n_held
        with fleet.links.fault(pids(*who(fleet)), where(fleet), way, cut=True):
            time.sleep(seconds)
        assert fleet.links.n_held > n, "nothing was sent over the links that were cut"
    return f


def lose(fleet):
    n = fleet.links.n_lost
    with fleet.links.fault(loss=0.01):
        time.sleep(20)
    assert fleet.links.n_lost > n
    return f"{fleet.links.n_lost - n} packets"


def delay(fleet):
    with fleet.links.fault(delay=0.2):
        begin = time.monotonic()
        fleet.gateways[0].text("tale", "And he", 2)
        assert time.monotonic() - begin > 0.4  # there and back
        time.sleep(20)


def n_over(fleet):
    return sum(node.log().count("the session with the leading manager is over") for node in fleet.nodes)


def cut_leader(way=BOTH):
    """The nodes lose their manager; it has to lead them again afterwards."""
    def f(fleet):
        n = n_over(fleet)
        cut(leader, all_nodes, 10, way)(fleet)
        until(lambda: n_over(fleet) > n)
    return f


def first_gateway(fleet):
    return fleet.gateways[:1]


def first_node(fleet):
    return [port_of(fleet.nodes[0])]


def leader(fleet):
    return [until(fleet.leader)]


def everyone(fleet):
    return fleet.gateways + fleet.managers


def all_nodes(fleet):
    return [port_of(node) for node in fleet.nodes]


def etcd(fleet):
    return [fleet.etcd.port]


def cut_leader_from_etcd(fleet):
    """How long until another manager leads. The old one may not come back as leader of its old epoch."""
    old, epoch, begin = until(fleet.leader), fleet.epoch(), time.monotonic()
    with fleet.links.fault(pids(old), etcd(fleet), cut=True):
        until(lambda: fleet.epoch() > epoch and fleet.leader() not in (None, old), pause=0.02)
        span = time.monotonic() - begin
    return span


LINKS = [
    ("link of a gateway to a node, cut 1 s", cut(first_gateway, first_node, 1)),
    ("link of a gateway to a node, cut 10 s", cut(first_gateway, first_node, 10)),
    ("link of a gateway to a node, cut 60 s", cut(first_gateway, first_node, 60)),
    ("link of a gateway to a node, one way cut 10 s", cut(first_gateway, first_node, 10, TO)),
    ("link of a node to a gateway, one way cut 10 s", cut(first_gateway, first_node, 10, FROM)),
    ("links of all to a node, cut 1 s", cut(everyone, first_node, 1)),
    ("links of all to a node, cut 10 s", cut(everyone, first_node, 10)),
    ("links of all to a node, cut 60 s", cut(everyone, first_node, 60)),
    ("links of the leader to all nodes, cut 10 s", cut_leader()),
    ("links of the leader to all nodes, one way cut 10 s", cut_leader(TO)),
    ("links of all nodes to the leader, one way cut 10 s", cut_leader(FROM)),
    ("link of the leader to etcd, cut", cut_leader_from_etcd),
    ("links of all nodes to etcd, cut 10 s", cut(lambda fleet: fleet.nodes, etcd, 10)),
    ("links of all nodes to etcd, cut 60 s", cut(lambda fleet: fleet.nodes, etcd, 60)),
    ("all links, 1% loss 20 s", lose),
    ("all links, 200 ms delay 20 s", delay),
]


# ---- Three servers of etcd. ----

@contextlib.contextmanager
def etcds(shoal, models):
    if shutil.which("etcdctl") is None:
        raise toy.Skip("etcdctl (Debian: etcd-client) is not installed")
    with Fleet(shoal, models, node_args=NODE_ARGS, etcd=Etcds()) as fleet:
        fleet.until_loaded()
        yield fleet


def kill_one(fleet):
    fleet.etcd.all[0].kill()
    time.sleep(8)
    fleet.etcd.start()


def kill_three(fleet):
    fleet.etcd.kill()
    time.sleep(8)
    fleet.etcd.start()


def kill_a_leader(fleet):
    old, epoch = until(fleet.leader), fleet.epoch()
    old.kill()
    until(lambda: fleet.epoch() > epoch and fleet.leader() not in (None, old), pause=0.05)
    fleet.managers[fleet.managers.index(old)] = old.again()


def roll_back(fleet):
    """The snapshot has an older epoch, since another manager was elected after it. Then no epoch may come twice."""
    fleet.etcd.save()
    kill_a_leader(fleet)
    before = fleet.epoch()
    fleet.etcd.roll_back()
    until(lambda: fleet.leader() is not None and fleet.epoch() > before)
    do(fleet, "deploy", "tale")  # and the new leader is obeyed
    return "a higher epoch follows"


def slow_disk(fleet):
    """Each server stands still for 0.4 of each 0.5 s, one after the other, as if it waited for its disk."""
    end = time.monotonic() + 15
    while time.monotonic() < end:
        for one in fleet.etcd.all:
            one.signal(19)  # SIGSTOP
        time.sleep(0.4)
        for one in fleet.etcd.all:
            one.signal(18)  # SIGCONT
        time.sleep(0.1)


ETCDS = [
    ("etcd, one of three killed, 8 s", kill_one),
    ("etcd, all of three killed, 8 s", kill_three),
    ("etcd of three, rolled back to a snapshot", roll_back),
    ("etcd of three, slow 15 s", slow_disk),
]


# ---- Disks. ----

class Disk:
    """Small file systems in memory, one for the state of each process."""

    def __init__(self):
        self.folders = []

    def make(self):
        folder = tempfile.mkdtemp(prefix="shoal-disk-")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            os.rmdir(folder)
            raise toy.Skip(f"no file system can be mounted here: {done.stderr.strip()}")
        self.folders.append(folder)
        return folder

    def fill(self):
        for folder in self.folders:
            with contextlib.suppress(OSError), open(f"{folder}/full", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))

    def clear(self):
        for folder in self.folders:
            with contextlib.suppress(OSError):
                os.remove(f"{folder}/full")

    def close(self):
        for folder in self.folders:
            subprocess.run(["umount", "-l", folder], check=False)
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def disks(shoal, models):
    disk = Disk()
    try:
        disk.make()
        with Fleet(shoal, models, node_args=NODE_ARGS, states=disk.make) as fleet:
            fleet.disk = disk
            fleet.until_loaded()
            yield fleet
    finally:
        disk.close()


def fill_disks(fleet):
    """No process can write its state. Another manager is elected then, and nodes do not obey it before they can remember it."""
    fleet.disk.fill()
    time.sleep(2)
    kill_a_leader(fleet)
    until(lambda: all("cannot remember" in node.log() for node in fleet.nodes))
    time.sleep(3)
    fleet.disk.clear()
    until(lambda: all(node.log().rstrip().rfind("obeys the manager") > node.log().rfind("refused a manager") for node in fleet.nodes))
    return "nodes obey the new manager when there is room"


DISKS = [("disks of all nodes and managers full, leader killed", fill_disks)]


# ---- Files. ----

@contextlib.contextmanager
def files(shoal, models):
    """Each node has files of its own, and one node is cordoned, so that it has no model in memory."""
    folder = tempfile.mkdtemp(prefix="shoal-files-")
    def of_node(i):
        os.mkdir(f"{folder}/{i}")
        return {name: shutil.copy(path, f"{folder}/{i}") for name, path in models.items()}
    try:
        with Fleet(shoal, models, node_args=NODE_ARGS, files=of_node) as fleet:
            fleet.folder, fleet.good = folder, models
            fleet.until_loaded()
            yield fleet
    finally:
        shutil.rmtree(folder)


def damage_file(fleet):
    """The file of one node is cut in half while the node has the model; then it has to load it anew, can't, and others serve."""
    node = fleet.nodes[0]
    path = f"{fleet.folder}/0/tale.gguf"
    for name in fleet.models:
        insist(fleet, "deploy", name, "--copies", "0")
    insist(fleet, "drain", address_of(node))
    until(lambda: all(n_loaded(node, name) == 0 for name in fleet.models))
    os.truncate(path, os.path.getsize(path) // 2)
    insist(fleet, "uncordon", address_of(node))
    insist(fleet, "deploy", "tale", "--copies", "3")
    until(lambda: "tale can't be loaded" in node.log())
    time.sleep(2)
    shutil.copy(fleet.good["tale"], path)
    insist(fleet, "deploy", "cee", "--copies", "3")
    until(lambda: n_loaded(node, "tale") == 1)
    return "loaded again when the file is whole"


FILES = [("model file of one node, cut in half", damage_file)]


# ---- Clocks. ----

SHIM = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
/* The wall clock, moved by as many seconds as a file says. */
static long step(void)
{
    char text[32] = "";
    int fd = open(getenv("CLOCK_STEP_FILE"), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    (void)!read(fd, text, sizeof text - 1);
    close(fd);
    return atol(text);
}
int clock_gettime(clockid_t id, struct timespec *out)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, out);
    if (code == 0 && id == CLOCK_REALTIME)
        out->tv_sec += step();
    return code;
}
"""


@contextlib.contextmanager
def clocks(shoal, models):
    """Processes whose wall clock is moved by a preloaded library. The clocks that leases and sessions use can't be set on any machine."""
    if shutil.which("cc") is None:
        raise toy.Skip("there is no C compiler for the clock")
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/clock.c", "w", encoding="ascii") as file:
            file.write(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", f"{folder}/clock.so", f"{folder}/clock.c", "-ldl"], check=True)
        env = {"LD_PRELOAD": f"{folder}/clock.so", "CLOCK_STEP_FILE": f"{folder}/step"}
        with Fleet(shoal, models, node_args=NODE_ARGS, env=env) as fleet:
            fleet.clock = f"{folder}/step"
            fleet.until_loaded()
            yield fleet


def step_clocks(fleet):
    for step in (3600, -3600, 0):
        with open(fleet.clock + ".new", "w", encoding="ascii") as file:
            file.write(str(step))
        os.rename(fleet.clock + ".new", fleet.clock)
        created = fleet.gateways[0].complete("tale", "And he", 2)["created"]
        assert abs(created - time.time() - step) < 60, (created, step)  # the clock was moved
        time.sleep(4)
    kill_a_leader(fleet)


CLOCKS = [("wall clocks of all, 1 h forward, 2 h back, leader killed", step_clocks)]

ROWS = [(setting, False, fault, "serving", f, {})
        for setting, rows in ((links, LINKS), (etcds, ETCDS), (disks, DISKS), (files, FILES), (clocks, CLOCKS)) for fault, f in rows]
