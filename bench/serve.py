"""What the server reaches: tokens/s and latencies at 1 and 8 streams, memory, start-up, the share of time outside the kernels.

usage: serve.py SHOAL MODEL.gguf [N_PROMPT] [N_ANSWER]     closed loop, token-id prompts, greedy, end of text ignored
"""
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


async def get(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    got = await reader.read()
    writer.close()
    return int(got.split()[1]), got.partition(b"\r\n\r\n")[2]


async def stream(port, rng, n_prompt, n_answer):
    """One request; its time to the first token and the times of all tokens."""
    body = json.dumps({"model": "m", "prompt": [rng.randrange(300, 30000) for _ in range(n_prompt)], "max_tokens": n_answer,
                       "temperature": 0, "ignore_eos": True, "stream": True}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    start, times = time.monotonic(), []
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    while line := await reader.readline():
        if line.startswith(b"data: {"):
            times.append(time.monotonic() - start)
    writer.close()
    return times


async def level(port, n_streams, n_prompt, n_answer, n_each):
    rngs = [random.Random(i) for i in range(n_streams)]

    async def worker(rng):
        return [await stream(port, rng, n_prompt, n_answer) for _ in range(n_each)]
    start = time.monotonic()
    requests = [r for worker_requests in await asyncio.gather(*map(worker, rngs)) for r in worker_requests]
    took = time.monotonic() - start
    ttft = sorted(r[0] for r in requests)
    tpot = sorted((r[-1] - r[0]) / (len(r) - 1) for r in requests)
    rate = len(requests) * n_answer / took
    print(f"{n_streams} stream{'s' if n_streams > 1 else ' '}: {rate:7.1f} tokens/s out, TTFT p50 {ttft[len(ttft) // 2] * 1e3:.0f} ms "
          f"max {ttft[-1] * 1e3:.0f} ms, TPOT p50 {tpot[len(tpot) // 2] * 1e3:.1f} ms")
    return rate


def memory_mib(pid):
    for line in open(f"/proc/{pid}/smaps_rollup"):
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


async def main(shoal, model, n_prompt, n_answer):
    port, start = free_port(), time.monotonic()
    server = subprocess.Popen([shoal, "serve", "--listen", f"127.0.0.1:{port}", "--model", f"m={model}", "--log-level", "warn",
                               "--memory", "2GiB", "--prefix-cache", "false"])
    try:
        while True:
            try:
                if (await get(port, "/readyz"))[0] == 200 and \
                        json.loads((await get(port, "/models"))[1])["data"][0]["status"]["value"] == "loaded":
                    break
            except OSError:
                pass
            await asyncio.sleep(0.01)
        print(f"{os.path.basename(model)}: ready after {(time.monotonic() - start) * 1e3:.0f} ms, {memory_mib(server.pid):.0f} MiB")
        await level(port, 1, n_prompt, 16, 1)
        for n_streams, n_each in ((1, 3), (8, 2)):
            await level(port, n_streams, n_prompt, n_answer, n_each)
        print(f"after the run: {memory_mib(server.pid):.0f} MiB")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[3:5]] + [128, 128][len(sys.argv) - 3:]
    asyncio.run(main(sys.argv[1], sys.argv[2], *numbers[:2]))
