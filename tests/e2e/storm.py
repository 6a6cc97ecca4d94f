"""A storm on the real server: four models, thousands of requests of mixed kinds, random cancels, then a thousand streams at once.

Every answer is compared with the one that the same request gets alone: none is lost or mixed up. At the end no request
and no KV block is left. usage: storm.py SHOAL MODELS_FOLDER [N_REQUESTS] [N_STREAMS]
"""
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

N_KINDS = 48
PROMPTS = ["And the king said", "In the beginning", "static int foo(", "Behold, the man", "#include <", "And it came to pass that",
           "struct device *dev", "Thus saith the LORD", "return", "for (i = 0;"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def body_of(kind, stream):
    rng = random.Random(kind)
    body = {"model": ["tale", "cee", "tale-two", "cee-two"][kind % 4], "prompt": rng.choice(PROMPTS) + " " + "and " * rng.randrange(30),
            "max_tokens": rng.randrange(1, 40), "temperature": rng.choice([0, 0.7, 1.0]), "seed": kind, "stream": stream,
            "ignore_eos": True}
    if rng.random() < 0.3:
        body["top_p"] = 0.9
    if rng.random() < 0.2:
        body["frequency_penalty"] = 0.5
    return json.dumps(body).encode()


async def call(port, kind, stream, cancel_after=None, gaps=None):
    """The answer's text; None when the call was cancelled on purpose."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = body_of(kind, stream)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
                 b"Content-Length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()
    try:
        if cancel_after is not None:
            await asyncio.sleep(cancel_after)
            return None
        got, last = b"", None
        while piece := await reader.read(65536):
            now = time.monotonic()
            if gaps is not None and last is not None:
                gaps.append(now - last)
            last = now
            got += piece
    finally:
        writer.close()
    head, _, rest = got.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    if b"chunked" in head.lower():
        rest = unchunk(rest)
    if status != 200:
        return f"status {status}: {rest[:200]!r}"
    if not stream:
        return json.loads(rest)["choices"][0]["text"]
    events = [e[6:] for e in rest.decode().split("\n\n") if e.startswith("data: ")]
    if events[-1] != "[DONE]":
        return f"the stream broke off: {events[-1]!r}"
    return "".join(json.loads(e)["choices"][0]["text"] for e in events[:-1] if json.loads(e)["choices"])


def unchunk(data):
    out = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        n = int(size, 16)
        out, data = out + data[:n], data[n + 2:]
    return out


async def expect_all(port):
    return [await call(port, kind, False) for kind in range(N_KINDS)]


async def storm(port, expected, n_requests, n_at_once=200):
    rng, wrong, counts = random.Random(5), [], {"answered": 0, "cancelled": 0}
    gate = asyncio.Semaphore(n_at_once)

    async def one(i):
        kind, stream = rng.randrange(N_KINDS), rng.random() < 0.5
        cancel_after = rng.random() * 0.3 if rng.random() < 0.1 else None
        async with gate:
            got = await call(port, kind, stream, cancel_after)
        if got is None:
            counts["cancelled"] += 1
        elif got == expected[kind]:
            counts["answered"] += 1
        else:
            wrong.append((i, kind, got, expected[kind]))
    await asyncio.gather(*(one(i) for i in range(n_requests)))
    return wrong, counts


async def streams(port, expected, n):
    gaps = [[] for _ in range(n)]
    answers = await asyncio.gather(*(call(port, i % N_KINDS, True, None, gaps[i]) for i in range(n)))
    wrong = [(i, a) for i, a in enumerate(answers) if a != expected[i % N_KINDS]]
    return wrong, max((g for gap in gaps for g in gap), default=0.0)


async def state(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    got = await reader.read()
    writer.close()
    return json.loads(got.partition(b"\r\n\r\n")[2])


async def settled(port):
    """The server's state once it is idle, or after a minute."""
    for _ in range(600):
        house = await state(port)
        if all(m["requests_running"] + m["requests_waiting"] == 0 and m["memory"]["kv_used_bytes"] == 0 for m in house["data"]):
            break
        await asyncio.sleep(0.1)
    return house


def verdict(name, problems):
    for problem in problems[:5]:
        print("   ", problem)
    print(f"[  FAILED  ] {name}" if problems else f"[       OK ] {name}", flush=True)
    return not problems


async def main(shoal, models, n_requests, n_streams):
    port, ok = free_port(), True
    server = subprocess.Popen([shoal, "serve", "--listen", f"127.0.0.1:{port}", "--log-level", "warn", "--memory", "96MiB",
                               "--model", f"tale={models}/tale.gguf", "--model", f"cee={models}/cee.gguf",
                               "--model", f"tale-two={models}/tale.gguf", "--model", f"cee-two={models}/cee.gguf"])
    try:
        for _ in range(600):
            try:
                if all(m["status"]["value"] == "loaded" for m in (await state(port))["data"]):
                    break
            except OSError:
                pass
            await asyncio.sleep(0.1)
        expected = await expect_all(port)
        start = time.monotonic()
        wrong, counts = await storm(port, expected, n_requests)
        took = time.monotonic() - start
        print(f"{n_requests} requests over 4 models in {took:.1f} s: {counts['answered']} right answers, {counts['cancelled']} cancelled, "
              f"{len(wrong)} wrong")
        ok &= verdict("storm_every_answer_is_right", wrong)
        house = await settled(port)
        left = [m for m in house["data"] if m["requests_running"] + m["requests_waiting"] or m["memory"]["kv_used_bytes"]]
        ok &= verdict("storm_nothing_is_left", left)
        wrong, gap = await streams(port, expected, n_streams)
        print(f"{n_streams} streams at once: {n_streams - len(wrong)} complete and right, worst gap between two pieces {gap * 1000:.0f} ms")
        ok &= verdict("storm_many_streams", wrong)
        server.send_signal(signal.SIGTERM)
        code = server.wait(timeout=60)
        ok &= verdict("storm_clean_stop", [] if code == 0 else [f"exit code {code}"])
    finally:
        server.kill()
    return 0 if ok else 1


if __name__ == "__main__":
    shoal, models = sys.argv[1], sys.argv[2]
    n_requests = int(os.environ.get("STORM_REQUESTS", sys.argv[3] if len(sys.argv) > 3 else 1000))
    n_streams = int(os.environ.get("STORM_STREAMS", sys.argv[4] if len(sys.argv) > 4 else 200))
    sys.exit(asyncio.run(main(shoal, models, n_requests, n_streams)))
