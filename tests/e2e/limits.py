"""Bounds of the HTTP side and their fair shares: connections, memory for bodies, places in the queue.

usage: limits.py API_SERVE
"""
import contextlib
import json
import resource
import socket
import sys
import threading
import time

import toy
from toy import Server, answer, ask, encode, error_of, run, test, until

EXE = sys.argv[1]
COMPLETIONS = "/v1/completions"
MIB = 1 << 20


def body(prompt="hello", **more):
    return dict({"model": "toy", "prompt": prompt, "temperature": 0}, **more)


class Client:
    """A raw connection from this address."""

    def __init__(self, server, source=None):
        self.sock = socket.create_connection(("127.0.0.1", server.port), timeout=30, source_address=source and (source, 0))

    def send(self, data):
        self.sock.sendall(data)
        return self

    def begin(self, n_body, headers=b"", path=COMPLETIONS):
        """Sends the head of a request, and nothing of its body."""
        return self.send(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n" % (path.encode(), n_body, headers))

    def ask(self, request, headers=b""):
        data = json.dumps(request).encode()
        return self.begin(len(data), headers).send(data)

    def ask_read(self, request):
        """Sends a request, and returns after the server has read the head, so that the connection is no longer idle."""
        data = json.dumps(request).encode()
        self.begin(len(data), b"Expect: 100-continue\r\n")
        assert self.sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        return self.send(data)

    def feed(self, n):
        """Sends n more bytes of a body; false when the server has closed the connection."""
        try:
            self.sock.sendall(b" " * n)
        except (ConnectionResetError, BrokenPipeError):
            return False
        return True

    def post(self, data, headers):
        """The status; 0 when the server closed the connection before all was sent, since a reset may discard the
        answer."""
        self.begin(len(data), headers)
        try:
            self.sock.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            pass
        return self.status()

    def rest(self):
        """More of an answer whose status was read."""
        try:
            return self.sock.recv(500)
        except OSError:
            return b""

    def status(self, seconds=30):
        """The status of the answer: None when there is none yet, 0 when the connection ended without one."""
        self.sock.settimeout(seconds)
        got = b""
        try:
            while len(got) < 12:
                piece = self.sock.recv(12 - len(got))
                if not piece:
                    return 0
                got += piece
        except (TimeoutError, socket.timeout):
            return None
        except ConnectionResetError:
            return 0
        return int(got[9:12])

    def close(self):
        self.sock.close()


@contextlib.contextmanager
def clients(server, n, source=None):
    made = [Client(server, source(i) if callable(source) else source) for i in range(n)]
    try:
        yield made
    finally:
        for client in made:
            client.close()


def metric(server, name, key=""):
    lines = ask(server.port, "GET", "/metrics", headers={"x-api-key": key})[2].splitlines()
    return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + " "))


def held(server, key=""):
    """Bytes that the server holds for clients."""
    return metric(server, 'shoal_http_memory_bytes{kind="held"}', key)


@test
def idle_connections_shut_nobody_out():
    """Connections without a request under way, silent or in the middle of a head, make room for a new one."""
    with Server(EXE, connections=64) as server:
        for words in (b"", b"GET /livez HT"):
            with clients(server, 500) as idle:
                for client in idle[-60:] if words else []:
                    client.send(words)
                for source in (None, "127.0.0.2"):
                    assert ask(server.port, "GET", "/livez", source=source)[0] == 200
                    assert ask(server.port, "POST", COMPLETIONS, body(), source=source)[0] == 200
                assert server.metric("shoal_http_connections") <= 64
                with clients(server, 30, "127.0.0.2") as others:  # another client
                    assert [c.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").status() for c in others] == [200] * 30


@test
def the_longest_idle_goes_first():
    with Server(EXE, connections=16) as server:
        with clients(server, 8) as first, clients(server, 3) as used:
            for client in first[:2]:  # old, but used again
                assert client.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").status() == 200
            with clients(server, 8) as more:
                for client in more:
                    assert client.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").status() == 200
                gone = [c.status(0.3) == 0 for c in first[2:]]
                assert gone == sorted(gone, reverse=True) and any(gone), gone
                first[0].sock.settimeout(0.2)
                with contextlib.suppress(TimeoutError, socket.timeout):
                    while first[0].sock.recv(1000):  # the rest of its answer, and no end
                        pass
                    raise AssertionError("a connection that was used went before idle ones")


@test
def health_is_told_when_all_connections_are_taken():
    with Server(EXE, connections=16) as server:
        with clients(server, 16, lambda i: f"127.0.0.{2 + i}") as busy:
            for client in busy:
                client.ask_read(body("[first=90000]", stream=True))  # idle ones would make room for what reads metrics
            server.wait_live(16)
            for path in ("/livez", "/health", "/readyz", "/metrics", "/version"):
                status, head, page = ask(server.port, "GET", path)
                assert (status, head["connection"]) == (200, "close"), (path, status, page)
            status, head, page = ask(server.port, "POST", COMPLETIONS, body())
            assert status == 503 and json.loads(page)["error"]["code"] == "crowded" and int(head["retry-after"]) >= 1, page
            with clients(server, 300) as idle:  # idle connections beyond the bound do not keep health away either
                assert ask(server.port, "GET", "/livez")[0] == 200
        server.wait_idle()
        until(lambda: ask(server.port, "POST", COMPLETIONS, body())[0] == 200)


@test
def an_address_leaves_connections_for_others():
    with Server(EXE, connections=16) as server:
        with clients(server, 0) as busy:
            for i in range(20):  # one by one, since idle ones would make room
                busy.append(Client(server).ask(body("[first=90000]", stream=True)))
                server.wait_live(min(i + 1, 14))  # 7/8
            assert [c.status(1) for c in busy[14:]] == [503] * 6
            assert ask(server.port, "POST", COMPLETIONS, body(), source="127.0.0.2")[0] == 200
            assert ask(server.port, "POST", COMPLETIONS, body())[0] == 503
    with Server(EXE, connections=16, proxy="127.0.0.1/32") as server:
        with clients(server, 16) as busy:  # a proxy is not limited to a share
            for client in busy:
                client.ask_read(body("[first=90000]", stream=True))
            server.wait_live(16)


@test
def slow_bodies_delay_no_prompts():
    """While one client sends as many large bodies as it can, slowly, its own short prompts and those of others are served."""
    with Server(EXE, memory=128) as server:
        with clients(server, 64) as slow:
            for client in slow:
                client.begin(16 * MIB)
            for _ in range(4):
                for client in slow:
                    client.feed(MIB)
            ends = [client.status(0.02) for client in slow]
            assert 10 < len(ends) - ends.count(None) < 55 and set(ends) <= {None, 0, 503}, ends
            assert 40 * MIB < held(server) < 100 * MIB
            for i in range(81):
                assert ask(server.port, "POST", COMPLETIONS, body(f"short {i} [n=2]"))[0] == 200
            large = body("x" * 20 + " [n=2]", pad="p" * MIB)
            assert ask(server.port, "POST", COMPLETIONS, large, source="127.0.0.2")[0] == 200
            status, _, page = ask(server.port, "POST", COMPLETIONS, body(pad="p" * 16 * MIB))
            assert status == 503 and "hold their share of the memory" in page, page
        until(lambda: held(server) < MIB)
        assert ask(server.port, "POST", COMPLETIONS, large)[0] == 200


@test
def tenants_have_shares_wherever_they_come_from():
    """In memory, too, a tenant is one party whatever its addresses, and two tenants are two parties at one address."""
    keys = {name: b"x-api-key: %s\r\n" % name.encode() for name in ("k1", "k2")}
    with Server(EXE, memory=128, tenant=["one=k1", "two=k2"]) as server:
        with clients(server, 32, lambda i: f"127.0.0.{2 + i % 8}") as slow:
            for client in slow:
                client.begin(16 * MIB, keys["k1"])
            for _ in range(4):
                for client in slow:
                    client.feed(MIB)
            assert held(server, "k2") < 100 * MIB
            large = json.dumps(body("x [n=2]", pad="p" * 3 * MIB))
            assert ask(server.port, "POST", COMPLETIONS, json.dumps(body(pad="p" * 16 * MIB)), {"x-api-key": "k1"})[0] == 503
            assert ask(server.port, "POST", COMPLETIONS, large, {"x-api-key": "k2"})[0] == 200


@test
def a_proxy_speaks_for_its_clients():
    """X-Forwarded-For distinguishes the clients of a trusted proxy, and is ignored from other addresses."""
    for options, status in (({"proxy": "127.0.0.1"}, 200), ({}, 503), ({"proxy": "127.0.0.2"}, 503)):
        with Server(EXE, memory=128, **options) as server, clients(server, 32) as slow:
            for client in slow:
                client.begin(16 * MIB, b"X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\n")
            for _ in range(4):
                for client in slow:
                    client.feed(MIB)
            until(lambda: held(server) > 40 * MIB)  # it has read what they sent
            large, larger = (json.dumps(body("x [n=2]", pad="p" * n * MIB)).encode() for n in (3, 15))
            for of in (b"192.0.2.1", b"6.6.6.6, 192.0.2.1"):
                assert Client(server).post(larger, b"X-Forwarded-For: %s\r\n" % of) in (0, 503)
            answered = Client(server).post(large, b"X-Forwarded-For: 6.6.6.6\r\n")
            assert answered == status or status == 503 and answered == 0, (answered, options)


@test
def a_body_has_until_its_deadline():
    """A body that arrives steadily but too slowly is refused, in either framing."""
    with Server(EXE, body_ms=1500) as server:
        with clients(server, 2) as slow:
            slow[0].begin(MIB)
            slow[1].send(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n")
            begun, ends = time.monotonic(), [None, None]
            while None in ends and time.monotonic() < begun + 20:
                for i, client in enumerate(slow):
                    if ends[i] is None and client.feed(100):
                        ends[i] = client.status(0.05)
            assert ends == [408, 408], ends
            assert 1.4 < time.monotonic() - begun < 15
        assert ask(server.port, "POST", COMPLETIONS, json.dumps(body(pad="p" * 4 * MIB)))[0] == 200  # in time


@test
def tenants_share_the_queue():
    """One tenant may hold 7/8 of its places; the others share the last eighth in the same way."""
    with Server(EXE, requests=16, tenant=["one=k1", "one=k1b", "two=k2"], api_key="all") as server:
        def post(key, **more):
            status, head, text = ask(server.port, "POST", COMPLETIONS, body(**more), {"x-api-key": key})
            return status, head, json.loads(text)
        with clients(server, 14) as greedy:
            for i, client in enumerate(greedy):
                client.ask(body("[first=90000]", stream=True), b"x-api-key: %s\r\n" % [b"k1", b"k1b"][i % 2])
            until(lambda: metric(server, "toy_live_requests", "all") == 14)
            for key in ("k1", "k1b"):
                status, head, page = post(key)
                assert status == 429 and page["error"]["code"] == "queue_full" and int(head["retry-after"]) >= 1, page
                assert "holds its share of the queue (14 of 16 requests, and 2 are free)" in page["error"]["message"], page
                assert head["x-shoal-request-dropped-reason"] == "rejected-queue-full", head
            for key in ("k2", "all"):
                assert post(key)[0] == 200
        until(lambda: metric(server, "toy_live_requests", "all") == 0)
        status, _, page = post("k2", n=15)  # never, even on an idle server
        assert status == 400 and page["error"]["code"] == "too_large" and "this server admits 14 at once" in page["error"]["message"], page
        assert post("k2", n=14)[0] == 200
    with Server(EXE, requests=4) as server:  # without tenants no places are kept free
        assert ask(server.port, "POST", COMPLETIONS, body(n=4))[0] == 200


def limit_addresses(n_bytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))


@test
def a_system_without_memory_is_no_end():
    """The bound is far above what the system gives. Each failure is 503 or a closed connection, and the server recovers."""
    try:
        server = Server(EXE, preexec=limit_addresses(448 * MIB), memory=4096, body=64 * MIB, requests=256)
    except AssertionError:
        print("skipped: under a sanitizer addresses can't be limited")
        return
    statuses = []
    with server:
        for _ in range(3):
            with clients(server, 24, lambda i: f"127.0.0.{2 + i}") as many:
                def send(client):
                    client.begin(40 * MIB)
                    while client.feed(MIB) and client.sent < 39:
                        client.sent += 1
                for client in many:
                    client.sent = 0
                threads = [threading.Thread(target=send, args=(client,)) for client in many]
                for thread in threads:
                    thread.start()
                for _ in range(20):
                    with contextlib.suppress(OSError, IndexError):
                        statuses.append(ask(server.port, "POST", COMPLETIONS, body("s [n=3]"))[0])
                for thread in threads:
                    thread.join()
                ends = [client.status(0.05) for client in many]
                others = [client.rest() for client, end in zip(many, ends) if end not in (None, 0, 503)]
                assert others == [] and 503 in ends + [0], (ends, others)
            until(lambda: ask(server.port, "GET", "/livez")[0] == 200)
            until(lambda: ask(server.port, "POST", COMPLETIONS, body("s [n=3]"))[0] == 200)
        server.wait_idle()
        assert set(statuses) <= {200, 503}, statuses
        page = json.loads(ask(server.port, "POST", COMPLETIONS, body("t [n=3]"))[2])
        assert page["choices"][0]["text"] == answer(encode("t [n=3]"), 3)


@test
def what_never_fits_is_refused_for_good():
    """A body that needs more memory than one request may ever have is 400, not 503, since trying again cannot help."""
    with Server(EXE, memory=32) as server:
        many = json.dumps(body([1] * 1500000))
        assert len(many) < 8 * MIB
        status, error = error_of(server.port, COMPLETIONS, many)
        assert (status, error["code"]) == (400, "too_large") and "http_memory" in error["message"], error
        assert ask(server.port, "POST", COMPLETIONS, json.dumps(body(pad="p" * 10 * MIB)))[0] == 413  # more than a quarter
        until(lambda: held(server) < MIB)
        assert ask(server.port, "POST", COMPLETIONS, body())[0] == 200


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    run()
