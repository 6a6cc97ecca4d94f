"""The real server with limited memory: engines, requests and answers together stay within it, and a flood of bodies stops nothing.

usage: serve_limits.py SHOAL MODELS_FOLDER
"""
import json
import resource
import socket
import time

from serve_shared import Shoal, body_of, main, paths, test, until

MIB = 1 << 20


def figures(server):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in server.get("/metrics")[2].splitlines() if line[:1] != "#"}


class Body:
    """A request that announces a body and sends it later, on command."""

    def __init__(self, server, n):
        self.sock = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % n)

    def feed(self, n):
        try:
            self.sock.sendall(b" " * n)
        except (ConnectionResetError, BrokenPipeError):
            pass


@test
def limits_are_kept_under_ulimit(shoal, models):
    """Under `ulimit -v` of 1 GiB, half-sent bodies of 16 MiB from one client are refused or wait, and prompts are served."""
    with Shoal(shoal, models=paths(models), limits={resource.RLIMIT_AS: 1 << 30}) as server:
        at_start = figures(server)
        engines = sum(v for k, v in at_start.items() if k.startswith("shoal_engine_memory_bytes"))
        http_max = at_start['shoal_http_memory_bytes{kind="max"}']
        assert engines + http_max < 512 * MIB, (engines, http_max)  # half of what may be mapped
        text = server.text("tale", "And he", 4)
        bodies = [Body(server, 16 * MIB) for _ in range(40)]
        for _ in range(15):
            for body in bodies:
                body.feed(MIB)
            now = figures(server)
            assert now['shoal_http_memory_bytes{kind="held"}'] <= http_max, now
            assert server.text("tale", "And he", 4) == text
        for body in bodies:
            body.sock.close()
        until(lambda: figures(server)['shoal_http_memory_bytes{kind="held"}'] < MIB)
        assert server.text("cee", "if (x", 4) == server.text("cee", "if (x", 4)
        for n in (40000, 400000):  # so is the work of a text
            status, _, page = server.post("/tokenize", {"model": "tale", "prompt": "x " * n})
            assert status == 400 and page["error"]["code"] == "context_length_exceeded", page
        until(server.is_clear)


@test
def limits_of_bodies_are_told(shoal, models):
    """http_memory and body_timeout hold as configured."""
    with Shoal(shoal, "--http-memory", "32MiB", "--body-timeout", "2s", "--planner", "none", models=paths(models)) as server:
        assert figures(server)['shoal_http_memory_bytes{kind="max"}'] == 32 * MIB
        status, _, page = server.post("/v1/completions", json.dumps(body_of("tale", "x", pad="p" * 9 * MIB)))
        assert status == 413 and "larger than the 8388608 bytes" in page["error"]["message"], page
        slow, begun = Body(server, MIB), time.monotonic()
        slow.sock.settimeout(0.2)
        got = b""
        while not got and time.monotonic() < begun + 60:
            slow.feed(10)
            try:
                got = slow.sock.recv(100)
            except (TimeoutError, socket.timeout):
                pass
        assert got.startswith(b"HTTP/1.1 408 ") and time.monotonic() > begun + 1.9, got
        assert server.complete("tale", "x", 2)


if __name__ == "__main__":
    main()
