"""Live re-placement: traffic shifts from one model to another, a copy moves, and nothing is lost.

usage: serve_replan.py SHOAL MODELS_FOLDER
"""
import subprocess
import time

from fleet import Fleet, Load, bodies_of, do, expected_texts, n_loaded, need_etcd, page_of
from serve_shared import free_port, main, paths, test, until


class Shifted:
    """Three engines with room for one model each: two have tale, one has cee, and the requests are for cee."""

    def __init__(self, shoal, models, mode, n_managers=1):
        self.ports = [free_port() for _ in range(n_managers)]
        texts = "".join(f"  {name}: {{ path: {path} }}\n" for name, path in paths(models).items())
        config = f"monitor_window: 6s\nreplan_interval: 4s\nreplacement: {mode}\nkeep_alive: 1h\nmodels:\n{texts}"
        manager_args = [word for port in self.ports for word in ("--monitor-listen", f"127.0.0.1:{port}")]
        self.fleet = Fleet(shoal, None, config=config, n_managers=n_managers, node_args=("--memory", "14MiB"), manager_args=manager_args)

    def __enter__(self):
        fleet = self.fleet.__enter__()
        try:
            self.prepare(fleet)
        except BaseException as fault:
            self.fleet.__exit__(type(fault), fault, None)
            raise
        return self

    def prepare(self, fleet):
        until(lambda: "placement" in fleet.etcd.keys())
        expected = {name: expected_texts(fleet.gateways[0], bodies_of([name], 6, n)) for name, n in (("tale", 60), ("cee", 100))}
        do(fleet, "deploy", "tale", "--copies", "2")
        until(lambda: self.copies() == (2, 1))
        do(fleet, "deploy", "tale", "--copies", "0")
        self.loads = [Load(gateway, expected["cee"], 6) for gateway in fleet.gateways] + [Load(fleet.gateways[0], expected["tale"], 1)]

    def __exit__(self, *error):
        self.fleet.__exit__(*error)

    def copies(self):
        nodes = [node for node in self.fleet.nodes if node.process.poll() is None]
        return tuple(sum(n_loaded(node, name) for node in nodes) for name in ("tale", "cee"))

    def plan(self):
        """The page of the leading manager, or nothing while none leads."""
        return next((page for page in (page_of(port, "/plan") for port in self.ports) if page), {})

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
        until(lambda: it.copies() == (1, 2))
        until(lambda: (it.plan().get("last_move") or "").startswith("done"))
        time.sleep(2)
        assert it.copies() == (1, 2)
        print(it.plan()["said"])
        it.finish()


@test
def replan_advises(shoal, models):
    """By default the manager says what it would move, and moves nothing; it says how many engines each model wants."""
    need_etcd()
    with Shifted(shoal, models, "advise") as it:
        page = until(lambda: it.plan() if (it.plan().get("plan") or {}).get("verdict") == "install" else None)
        moves = page["plan"]["moves"]
        assert page["replacement"] == "advise" and any("cee" in move["loads"] for move in moves), page
        assert page["plan"]["planned"]["normalized_latency"] < page["plan"]["kept"]["normalized_latency"], page
        wanted = {row["model"]: row for row in page["wanted"]}
        assert wanted["cee"]["rate_of_one_engine"] > 0 and wanted["cee"]["copies"] == 1, wanted
        done = subprocess.run([shoal, "plan", "--live", f"127.0.0.1:{it.ports[0]}"], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0 and "cee" in done.stdout and "advise" in done.stdout, (done.stdout, done.stderr)
        done = subprocess.run([shoal, "monitor", f"127.0.0.1:{it.ports[0]}"], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0 and "tale" in done.stdout, (done.stdout, done.stderr)
        assert it.copies() == (2, 1)
        it.finish()


def until_move(it):
    """The manager that begins a move, at the moment of its beginning."""
    return until(lambda: next((m for m in it.fleet.managers if "a move begins" in m.log()), None), pause=0.002)


@test
def replan_manager_dies(shoal, models):
    """The manager is killed as a move begins: nothing is lost, and the next manager brings the copy to where it is needed."""
    need_etcd()
    with Shifted(shoal, models, "on", n_managers=2) as it:
        until_move(it).kill()
        assert min(it.copies()) >= 1
        until(lambda: it.copies()[1] >= 2)
        it.finish()


@test
def replan_node_dies(shoal, models):
    """The node that loads is killed as a move begins: nothing is lost, and the move is abandoned, or was done before."""
    need_etcd()
    with Shifted(shoal, models, "on") as it:
        manager = until_move(it)
        target = next(move["engine"] for move in it.plan()["plan"]["moves"] if "cee" in move["loads"]).split("/")[0]
        i = next(i for i, node in enumerate(it.fleet.nodes) if target in node.args)
        it.fleet.nodes[i].kill()
        until(lambda: "the move is" in manager.log())
        print(*(line for line in manager.log().splitlines() if "the move" in line))
        it.fleet.nodes[i] = it.fleet.nodes[i].again()
        until(lambda: it.copies()[1] >= 2 and it.copies()[0] >= 1)
        it.finish()


main()
