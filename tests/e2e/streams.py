"""A thousand streams at once: each gets its whole, right answer; the worst gap between two events of a stream is stated.

usage: streams.py API_SERVE [N_STREAMS]
"""
import json
import selectors
import socket
import sys
import time

import toy
from toy import Server, answer, chat_ids, run, test

N_TOKENS, GAP_MS = 40, 50


class Client:
    def __init__(self, port, i):
        self.text = f"stream {i} [n={N_TOKENS}] [gap={GAP_MS}]"
        request = json.dumps({"model": "toy", "messages": [{"role": "user", "content": self.text}], "temperature": 0, "stream": True}).encode()
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" %
                          (len(request), request))
        self.sock.setblocking(False)
        self.got, self.last, self.worst = b"", None, 0.0

    def read(self, now):
        piece = self.sock.recv(65536)
        self.got += piece
        if piece and self.last is not None and b"[DONE]" not in piece:
            self.worst = max(self.worst, now - self.last)
        if b"data: " in piece:
            self.last = now
        return bool(piece)

    def check(self):
        content = ""
        data = self.got.split(b"\r\n\r\n", 1)[1]
        body = b""
        while data:  # chunks
            size, data = data.split(b"\r\n", 1)
            body += data[:int(size, 16)]
            data = data[int(size, 16) + 2:]
        events = [e for e in body.decode().split("\n\n") if e.startswith("data: ")]
        assert events[-1] == "data: [DONE]", self.got[-200:]
        for event in events[:-1]:
            content += json.loads(event[6:])["choices"][0]["delta"].get("content", "")
        expected = answer(chat_ids([{"role": "user", "content": self.text}]), N_TOKENS)
        assert content == expected, (content, expected)


def thousand_streams(server, n):
    start = time.monotonic()
    clients = [Client(server.port, i) for i in range(n)]
    connected = time.monotonic() - start
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.sock, selectors.EVENT_READ, client)
    n_open = n
    while n_open:
        for key, _ in selector.select(20):
            if not key.data.read(time.monotonic()):
                selector.unregister(key.data.sock)
                key.data.sock.close()
                n_open -= 1
    took = time.monotonic() - start
    for client in clients:
        client.check()
    worst = max(c.worst for c in clients)
    print(f"{n} streams of {N_TOKENS} tokens, one each {GAP_MS} ms: connected in {connected:.2f} s, all done in {took:.2f} s, "
          f"worst gap {worst * 1e3:.0f} ms")
    server.wait_idle()


@test
def streams_all_complete_and_correct(server):
    thousand_streams(server, int(sys.argv[2]) if len(sys.argv) > 2 else 1000)


@test
def closing_them_all_at_once(server):
    """All clients vanish: every request is cancelled at once."""
    clients = [Client(server.port, i) for i in range(500)]
    server.wait_live(n=400)
    for client in clients:
        client.sock.close()
    start = time.monotonic()
    server.wait_idle()
    print(f"500 clients gone: all given back in {(time.monotonic() - start) * 1e3:.0f} ms")


if __name__ == "__main__":
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Server(sys.argv[1]) as shared:
        run(shared)
