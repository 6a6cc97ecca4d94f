#!/usr/bin/env python3
"""Usage and quotas on the real server: what clients and operators see, and what outlives kill -9."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from serve_shared import until


def call(port, path, key, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode() if body else None,
                                     {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as fault:
        return fault.code, json.load(fault), fault.headers


def complete(port, key, **fields):
    return call(port, "/v1/completions", key, {"model": "tiny", "prompt": "Once upon a time", "max_tokens": 8,
                                               "ignore_eos": True, **fields})


def start(program, model, *options):
    server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--model", f"tiny={model}", "--admin-key",
                               "operator", "--tenants", "acme=key-of-acme other=key-of-other", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    for line in server.stdout:
        lines.append(line)
        if match := re.search(r"\(port (\d+)\)", line):
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return server, int(match[1])
    raise SystemExit("".join(lines))


def usage(port):
    status, page, _ = call(port, "/usage", "operator")
    assert status == 200 and page["object"] == "list", page
    return {row["tenant"]: row for row in page["data"]}


def written(path):
    """The output tokens of each tenant in the file."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT tenant, sum(tokens_out) FROM usage GROUP BY tenant"))


def check_usage(program, model, folder):
    path = os.path.join(folder, "usage.db")
    server, port = start(program, model, "--usage-file", path)
    n_prompt = 0
    for _ in range(3):
        status, page, headers = complete(port, "key-of-acme")
        assert status == 200 and headers["x-ratelimit-limit-requests"] is None
        n_prompt += page["usage"]["prompt_tokens"]
    complete(port, "key-of-other", n=2, prompt=["a b c", "d"])
    rows = usage(port)
    acme, other = rows["acme"], rows["other"]
    assert acme["requests"] == 3 and acme["output_tokens"] == 24 and acme["input_tokens"] == n_prompt, acme
    assert other["requests"] == 1 and other["output_tokens"] == 32 and acme["key"] != other["key"], other
    assert 0 < acme["device_seconds"] < 60 and re.fullmatch("[0-9a-f]{8}", acme["key"])
    assert call(port, "/usage", "key-of-acme")[0] == 403 and call(port, "/usage?days=0", "operator")[0] == 400
    assert call(port, "/usage?days=1", "operator")[1]["data"]
    until(lambda: written(path) == {"acme": 24, "other": 32})
    server.send_signal(signal.SIGKILL)
    server.wait()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    server, port = start(program, model, "--usage-file", path)
    assert {name: row["output_tokens"] for name, row in usage(port).items()} == {"acme": 24, "other": 32}
    complete(port, "key-of-acme")
    server.terminate()
    assert server.wait() == 0
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT requests, tokens_out FROM usage WHERE tenant = 'acme'").fetchone() == (4, 32)


def check_quotas(program, model):
    server, port = start(program, model, "--quotas", "acme=rpm:4 *=tpd:20", "--quota-gateways", "2")
    while time.time() % 60 > 30:  # so that the minute does not end meanwhile
        time.sleep(0.5)
    for left in (1, 0):
        status, _, headers = complete(port, "key-of-acme")
        assert status == 200 and headers["x-ratelimit-limit-requests"] == "2"
        assert headers["x-ratelimit-remaining-requests"] == str(left), headers
    status, page, headers = complete(port, "key-of-acme")
    assert status == 429 and page["error"]["code"] == "rate_limit_exceeded", page
    assert 1 <= int(headers["Retry-After"]) <= 60 and headers["x-ratelimit-reset-requests"].endswith("s")
    assert headers["x-ratelimit-remaining-requests"] == "0"
    status, _, headers = complete(port, "key-of-other")
    assert status == 200 and headers["x-ratelimit-limit-tokens"] == "10"
    status, page, headers = complete(port, "key-of-other")
    assert status == 429 and int(headers["Retry-After"]) <= 86400 and "tokens per day" in page["error"]["message"]
    assert complete(port, "operator")[0] == 200
    message = {"model": "tiny", "max_tokens": 4, "messages": [{"role": "user", "content": "x"}]}
    status, page, _ = call(port, "/v1/messages", "key-of-acme", message)
    assert status == 429 and page["error"]["type"] == "rate_limit_error", page
    server.terminate()
    server.wait()
    bad = subprocess.run([program, "serve", "--model", model, "--quotas", "acme=rpm:none"], capture_output=True, text=True,
                         timeout=30)
    assert bad.returncode != 0 and "a quota is NAME=" in bad.stderr + bad.stdout, bad


def main():
    program, root = sys.argv[1:3]
    model = os.path.join(root, "models/tale.gguf")
    print("[ RUN      ] usage_and_quotas", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        check_usage(program, model, folder)
    check_quotas(program, model)
    print("[       OK ] usage_and_quotas")


if __name__ == "__main__":
    main()
