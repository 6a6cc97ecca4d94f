"""Live re-placement: traffic shifts from one model to another, a copy moves, and nothing is lost.

usage: serve_replan.py SHOAL MODELS_FOLDER
"""
import json
import subprocess
import time
import urllib.error
import urllib.request

from fleet import Fleet, Load, bodies_of, expected_texts, n_loaded, need_etcd
from serve_shared import free_port, main, paths, test, until


def get(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as reply:
            return json.load(reply)
    except (urllib.error.URLError, ConnectionError):
        return {}


def do(fleet, *words):
    subprocess.run([fleet.shoal, *words, "--store", fleet.etcd.url], check=True, timeout=60, stdout=subprocess.DEVNULL)


def copies(fleet, name):
    return sum(n_loaded(node, name) for node in fleet.nodes if node.process.poll() is None)


class Shifted:
    """Three engines with room for one model each: two have tale, one has cee, and the requests are for cee."""

    def __init__(self, shoal, models, mode, n_managers=1, n_streams=6):
        self.port = free_port()
        texts = "".join(f"  {name}: {{ path: {path} }}\n" for name, path in paths(models).items())
        config = (f"monitor_window: 6s\nreplan_interval: 3s\nreplacement: {mode}\nkeep_alive: 1h\nmodels:\n{texts}")
        self.fleet = Fleet(shoal, None, config=config, n_managers=n_managers, node_args=("--memory", "14MiB"),
                           manager_args=("--monitor-listen", f"127.0.0.1:{self.port}"))
        self.n_streams = n_streams

    def __enter__(self):
        fleet = self.fleet.__enter__()
        until(lambda: "placement" in fleet.etcd.keys())
        self.expected = {}
        for name, n_tokens in (("tale", 60), ("cee", 100)):
            self.expected[name] = expected_texts(fleet.gateways[0], bodies_of([name], 6, n_tokens))
        do(fleet, "deploy", "tale", "--copies", "2")
        until(lambda: (copies(fleet, "tale"), copies(fleet, "cee")) == (2, 1))
        do(fleet, "deploy", "tale", "--copies", "0")
        self.loads = [Load(gateway, self.expected["cee"], self.n_streams) for gateway in fleet.gateways]
        self.loads.append(Load(fleet.gateways[0], self.expected["tale"], 1))
        return self

    def __exit__(self, *error):
        self.fleet.__exit__(*error)

    def plan(self):
        return get(self.port, "/plan")

    def finish(self):
        for load in self.loads:
            load.finish()
            assert load.n_requests > 5 and load.n_lost == 0 and load.n_different == 0, (load.n_requests, load.n_lost, load.n_different)
        print(f"{sum(load.n_requests for load in self.loads)} requests, worst pause {max(load.worst_s for load in self.loads):.1f} s")


@test
def replan_moves(shoal, models):
    """The manager moves a copy to the model with the traffic, and every answer is whole and the same."""
    need_etcd()
    with Shifted(shoal, models, "on") as it:
        until(lambda: copies(it.fleet, "cee") == 2 and copies(it.fleet, "tale") == 1, seconds=60)
        until(lambda: (it.plan().get("last_move") or "").startswith("done"))
        time.sleep(3)
        assert (copies(it.fleet, "tale"), copies(it.fleet, "cee")) == (1, 2)
        print(it.plan()["said"])
        it.finish()


main()
