"""A manager's monitor: what gateways count reaches it, is kept in a file, and survives the loss of the file and of the manager.

usage: serve_monitor.py SHOAL MODELS_FOLDER
"""
import contextlib
import json
import os
import sqlite3
import time
import urllib.error
import urllib.request

from fleet import Fleet, need_etcd
from serve_shared import body_of, free_port, main, paths, test, until


def get(port, path, key=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except urllib.error.URLError:
        return 0, ""


def service_of(port, name="tale"):
    status, text = get(port, "/monitor")
    return next(s for s in json.loads(text)["services"] if s["name"] == name) if status == 200 else None


def engine_of(port):
    return json.loads(get(port, "/monitor")[1])["engines"][0]


@test
def monitor_counts(shoal, models):
    """Rates, lengths and latencies are those of the requests; the file holds them, and a new one is made when it is removed."""
    need_etcd()
    port = free_port()
    config = (f"monitor_listen: 127.0.0.1:{port}\nmonitor_window: 155s\n"
              f"models:\n  tale: {{ path: {paths(models)['tale']}, preload: true }}\n")
    with Fleet(shoal, None, config=config, n_nodes=1, n_gateways=2, n_managers=1) as fleet:
        fleet.models = {"tale": None}
        fleet.until_loaded()
        until(lambda: get(port, "/health")[1] == '{"status":"ok","leads":true}')
        assert get(port, "/nothing")[0] == 404
        used = []
        for i, n_tokens in enumerate([4, 8, 12, 16] * 3):
            page = fleet.gateways[i % 2].post("/v1/completions", body_of("tale", "And he", n_tokens, ignore_eos=True))[2]
            used.append(page["usage"])
        until(lambda: service_of(port)["n_done"] == 12 and service_of(port)["profile"])
        seen = service_of(port)
        outputs = [u["completion_tokens"] for u in used]
        mean = sum(outputs) / 12
        assert abs(seen["output_tokens"]["mean"] - mean) < 1e-6, (seen, outputs)
        assert abs(seen["output_tokens"]["deviation"] ** 2 - sum((o - mean) ** 2 for o in outputs) / 12) < 1e-3
        assert seen["prompt_tokens"]["mean"] == used[0]["prompt_tokens"] and seen["prompt_tokens"]["deviation"] == 0
        assert seen["n_failed"] == 0 and 0 < seen["ttft_s"]["mean"] < seen["latency_s"]["mean"] <= seen["latency_s_max"]
        assert 0 < seen["tpot_s"]["mean"] < seen["latency_s"]["mean"] and seen["rate_per_s"] > 0 and seen["normalized_latency"]["mean"] > 0
        status, text = get(port, "/metrics")
        assert status == 200 and "shoal_manager_leads 1" in text and 'shoal_monitor_output_tokens_mean{model="tale"} 10' in text, text
        until(lambda: engine_of(port)["n_seen"] > 2)  # work before the first report is a base
        fleet.gateways[0].post("/v1/completions", body_of("tale", "And he", 400, ignore_eos=True))
        engine = until(lambda: engine_of(port) if engine_of(port)["utilisation"] > 0 else None)
        assert 0 < engine["utilisation"] <= 1 and engine["memory_bytes"] >= engine["weights_bytes"] > 0, engine
        check_file(fleet, port)


def rows_of(path):
    try:
        with contextlib.closing(sqlite3.connect(path)) as db:
            return db.execute("select coalesce(sum(n_done), 0) from windows").fetchone()[0]
    except sqlite3.OperationalError:  # it is being made
        return 0


def check_locked(fleet, port, path):
    """Another process locks the file for longer than a bin: the manager answers and leads as before, and the bin is written after it."""
    manager = fleet.managers[0]
    worst_s = 0.0
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("begin immediate")
        end = time.monotonic() + 30
        while "is locked by another process" not in manager.log() and time.monotonic() < end:
            begin = time.monotonic()
            assert get(port, "/health")[1] == '{"status":"ok","leads":true}' and service_of(port) is not None
            worst_s = max(worst_s, time.monotonic() - begin)
            time.sleep(0.05)
        db.execute("rollback")
    assert "is locked by another process" in manager.log() and worst_s < 1, (worst_s, manager.log())  # SQLite waits for 2 s
    until(lambda: "is written again" in manager.log())
    print(f"the slowest answer took {worst_s * 1000:.0f} ms while the file was locked")


def check_file(fleet, port):
    manager = fleet.managers[0]
    path = f"{manager.state_dir}/monitor.db"
    until(lambda: rows_of(path) == 13)
    check_locked(fleet, port, path)
    os.remove(path)
    until(lambda: os.path.exists(path) and rows_of(path) == 13)  # from memory
    assert "was removed" in manager.log()
    manager.kill()
    fleet.managers[0] = manager.again()  # it goes on with the window of its file
    until(lambda: (service_of(port) or {}).get("n_done") == 13)

    def counted():  # the first ones may be the new leader's base
        assert fleet.gateways[0].post("/v1/completions", body_of("tale", "And he", 4, ignore_eos=True))[0] == 200
        return service_of(port)["n_done"] > 13
    until(counted, pause=1)
    fleet.managers[0].kill()
    os.remove(path + "-wal")  # or SQLite mends the file from it
    with open(path, "r+b") as file:
        file.write(os.urandom(5000))
    fleet.managers[0] = fleet.managers[0].again()
    until(lambda: service_of(port) is not None)
    until(lambda: "is damaged" in fleet.managers[0].log())


main()
