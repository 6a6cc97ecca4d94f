"""The alerts and the Grafana board name only metrics and labels that a running server has, and Prometheus takes them.

usage: monitoring.py SHOAL SOURCE_ROOT; the checks by promtool are skipped where it is not installed
"""
import json
import os
import re
import shutil
import subprocess
import sys

import toy
from serve_metrics import parse
from serve_shared import Shoal

ROOT = os.path.abspath(sys.argv[2])
FOLDER = os.path.join(ROOT, "deploy", "monitoring")
OTHERS = {"up": {"job", "instance"}}  # what Prometheus itself adds
NAME = re.compile(r"\b((?:vllm:|shoal_|process_)\w+|up)(\{[^}]*\})?")


def expressions():
    with open(os.path.join(FOLDER, "grafana.json"), encoding="utf-8") as file:
        board = json.load(file)
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in board["panels"]]
    assert len(set(places)) == len(places) and len({p["id"] for p in board["panels"]}) == len(places)
    yield from (t["expr"] for panel in board["panels"] for t in panel["targets"])
    yield from (v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query")
    with open(os.path.join(FOLDER, "alerts.yml"), encoding="utf-8") as file:
        yield from ("".join(parts) for parts in re.findall(r"expr: (?!\|)(.*)|expr: \|\n((?: {10}.*\n)+)", file.read()))


def every_name_is_measured(shoal):
    n = 0
    with Shoal(shoal, models={"tale": f"{ROOT}/models/tale.gguf"}) as server:
        body = {"model": "tale", "prompt": "Once", "max_tokens": 8}
        assert server.post("/v1/completions", body, {"x-slo-ttft-ms": "60000"})[0] == 200  # a target, which is counted
        samples, _ = parse(server.get("/metrics")[2])
    labels = {}
    for name, pairs in samples:
        labels.setdefault(name, set()).update(label for label, _ in pairs)
    for text in expressions():
        for name, match in NAME.findall(text):
            n += 1
            known = OTHERS.get(name) or labels.get(name)
            assert known is not None, f"{name} is not measured: {text}"
            used = set(re.findall(r"(\w+)=", match)) - {"instance", "job"}
            assert used <= known, f"{name} has no label {used - known}"
    assert n > 40, n


def prometheus_takes_them(_):
    if shutil.which("promtool") is None:
        raise toy.Skip("promtool is not installed")
    for words in (["check", "config", f"{FOLDER}/prometheus.yml"], ["test", "rules", f"{FOLDER}/alerts_test.yml"]):
        done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    toy.TESTS[:] = [every_name_is_measured, prometheus_takes_them]
    toy.run(os.path.abspath(sys.argv[1]))
