#!/usr/bin/env python3
"""Answers of /v1/responses that other gateways keep: three servers go on from each other's answers, with the client's key."""
import json
import os
import socket
import sys
import threading
import time
import unittest.mock
import urllib.error
import urllib.request

from serve_shared import Shoal, free_port


def post(port, body, key, path="/v1/responses", method="POST"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode() if body else None,
                                     {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as fault:
        return fault.code, json.load(fault)


def say(port, text, key, previous=None, **more):
    return post(port, {"model": "tiny", "input": text, "max_output_tokens": 8, "seed": 1, **({"previous_response_id": previous} if previous else {}),
                       **more}, key)


def silent():
    """A peer that takes connections and says nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    kept = []
    threading.Thread(target=lambda: [kept.append(listener.accept()) for _ in range(100)], daemon=True).start()
    return listener.getsockname()[1]


def check(program, model):
    ports = [free_port() for _ in range(3)]
    config = {"models": {"tiny": {"path": model, "ctx": 512}}, "default_chat_template": "chatml", "api_key": "common", "tenants": ["acme=a", "bee=b"]}
    servers = []
    try:
        for port in ports:
            peers = [f"http://127.0.0.1:{other}" for other in ports if other != port]
            with unittest.mock.patch("serve_shared.free_port", return_value=port):
                servers.append(Shoal(program, config=json.dumps({**config, "responses_peers": peers}), wait=None))
        a, b, c = (server.port for server in servers)
        _, first = say(a, "Once", "a")
        _, second = say(b, "upon", "a", first["id"])
        _, third = say(c, "a time", "a", second["id"])
        _, local_first = say(a, "Once", "a")
        _, local_second = say(a, "upon", "a", local_first["id"])
        _, local_third = say(a, "a time", "a", local_second["id"])
        assert third["output"][0]["content"] == local_third["output"][0]["content"], (third, local_third)
        assert third["usage"]["input_tokens"] == local_third["usage"]["input_tokens"] > second["usage"]["input_tokens"], third
        # Another tenant, and the plain key, find nothing of it anywhere; a wrong key is refused here already.
        for key in ("b", "common"):
            status, page = say(b, "upon", key, first["id"])
            assert status == 404 and page["error"]["param"] == "previous_response_id", page
            assert post(a, None, key, f"/v1/responses/{first['id']}/round", "GET")[0] == 404
        assert say(b, "upon", "wrong", first["id"])[0] == 401
        assert post(a, None, "wrong", f"/v1/responses/{first['id']}/round", "GET")[0] == 401
        assert post(a, None, "a", f"/v1/responses/{first['id']}/round", "DELETE")[0] == 404
        for bad in ("resp_00000000", "../../health", "resp_" + "f" * 200, "x y"):
            assert say(b, "upon", "a", bad)[0] == 404, bad
        assert post(a, None, "a", f"/v1/responses/{first['id']}", "DELETE")[0] == 200
        status, page = say(c, "more", "a", third["id"])  # its first round is gone
        assert status == 404 and first["id"] in page["error"]["message"], page
        servers[0].kill()
        status, page = say(c, "more", "a", first["id"])
        assert status == 503 and "does not answer" in page["error"]["message"], page
    finally:
        for server in servers:
            server.kill()


def check_silence(program, model):
    """A silent peer costs a bounded time, and other requests do not wait for it."""
    config = {"models": {"tiny": {"path": model, "ctx": 512}}, "default_chat_template": "chatml",
              "responses_peers": [f"http://127.0.0.1:{silent()}"]}
    with Shoal(program, config=json.dumps(config), wait=None) as server:
        assert say(server.port, "a", "")[0] == 200  # it is loaded
        answers, begin = [], time.monotonic()
        threads = [threading.Thread(target=lambda: answers.append(say(server.port, "a", "", "resp_00000000"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        assert say(server.port, "a", "")[0] == 200 and time.monotonic() - begin < 15, time.monotonic() - begin
        for thread in threads:
            thread.join()
        assert [status for status, _ in answers] == [503] * 4 and time.monotonic() - begin < 60, answers


def check_chain(program, model):
    """A conversation of four rounds, all of them behind a silent peer, costs one wait for it."""
    config = {"models": {"tiny": {"path": model, "ctx": 512}}, "default_chat_template": "chatml"}
    with Shoal(program, config=json.dumps(config), wait=None) as far:
        peers = [f"http://127.0.0.1:{silent()}", f"http://127.0.0.1:{far.port}"]
        with Shoal(program, config=json.dumps({**config, "responses_peers": peers}), wait=None) as server:
            assert say(server.port, "a", "")[0] == 200
            previous = None
            for _ in range(4):
                previous = say(far.port, "a", "", previous)[1]["id"]
            begin = time.monotonic()
            status, page = say(server.port, "a", "", previous)
            assert status == 200 and time.monotonic() - begin < 9, (page, time.monotonic() - begin)


def main():
    program, root = sys.argv[1:3]
    model = os.path.abspath(os.path.join(root, "models/tale.gguf"))
    print("[ RUN      ] responses_of_other_gateways", flush=True)
    check(program, model)
    check_silence(program, model)
    check_chain(program, model)
    print("[       OK ] responses_of_other_gateways")
    return 0


if __name__ == "__main__":
    sys.exit(main())
