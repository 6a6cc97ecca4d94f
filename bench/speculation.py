"""Drafts by prompt look-up against none: seconds of the same requests, in turn, and their answers compared.

usage: speculation.py SHOAL MODEL.gguf TEXT [ROUNDS]     one server has the model twice, with speculation off and lookup
Workloads: edit (a passage, and its beginning again), summary (a passage, then a few of its words), free (a passage goes on).
"""
import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def prompts(text, workload, n, n_chars):
    rng = random.Random(7)
    out = []
    for _ in range(n):
        at = rng.randrange(0, max(len(text) - n_chars, 1))
        passage = text[at:at + n_chars]
        if workload == "edit":
            out.append(passage + "\n\n" + passage[:n_chars // 8])
        elif workload == "summary":
            middle = rng.randrange(n_chars // 4, n_chars // 2)
            out.append(passage + "\n\n" + passage[middle:middle + n_chars // 16])
        else:
            out.append(passage)
    return out


async def ask(port, model, prompt, n_answer):
    body = json.dumps({"model": model, "prompt": prompt, "max_tokens": n_answer, "temperature": 0, "ignore_eos": True}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    got = await reader.read()
    writer.close()
    answer = json.loads(got.partition(b"\r\n\r\n")[2])
    if "choices" not in answer:
        sys.exit(f"speculation.py: {answer}")
    return answer["choices"][0]["text"]


async def all_of(port, model, texts, n_answer, n_at_once):
    answers, left = [None] * len(texts), list(range(len(texts)))

    async def worker():
        while left:
            i = left.pop(0)
            answers[i] = await ask(port, model, texts[i], n_answer)
    start = time.monotonic()
    await asyncio.gather(*[worker() for _ in range(n_at_once)])
    return time.monotonic() - start, answers


def cpu_seconds(pid):
    """Of all threads: less disturbed by other work on the machine than seconds of the clock."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def counts(port):
    out = {}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        for line in page.read().decode().splitlines():
            if line.startswith("vllm:spec_decode_num_") and "lookup" in line:
                out[line.partition("{")[0]] = float(line.rpartition(" ")[2])
    return [out.get(f"vllm:spec_decode_num_{k}_total", 0) for k in ("draft_tokens", "accepted_tokens")]


def main():
    shoal, model, text = sys.argv[1:4]
    n_rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    with open(text, encoding="utf-8") as f:
        text = f.read()
    n_chars, n_answer = int(os.environ.get("CHARS", "700")), int(os.environ.get("ANSWER", "128"))
    port = free_port()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(f"listen: 127.0.0.1:{port}\nprefix_cache: false\nmodels:\n"
                f"  off: {{path: {model}, preload: true}}\n  lookup: {{path: {model}, preload: true, speculation: lookup}}\n")
        f.flush()
        server = subprocess.Popen([shoal, "serve", f.name], stderr=subprocess.DEVNULL)
        try:
            for _ in range(600):
                try:
                    if server.poll() is None and urllib.request.urlopen(f"http://127.0.0.1:{port}/health").status == 200:
                        break
                except OSError:
                    time.sleep(0.1)
            for workload in ("edit", "summary", "free"):
                for n_at_once in (1, 32):
                    texts = prompts(text, workload, int(os.environ.get("ALONE", "12")) if n_at_once == 1 else int(os.environ.get("TOGETHER", "64")), n_chars)
                    asyncio.run(all_of(port, "off", texts[:2], 8, 2))
                    asyncio.run(all_of(port, "lookup", texts[:2], 8, 2))
                    before, ratios, cpu_ratios, n_differ = counts(port), [], [], 0
                    for r in range(n_rounds):
                        took, cpu = {}, {}
                        for name in (("off", "lookup"), ("lookup", "off"))[r % 2]:
                            since = cpu_seconds(server.pid)
                            took[name] = asyncio.run(all_of(port, name, texts, n_answer, n_at_once))
                            cpu[name] = cpu_seconds(server.pid) - since
                        n_differ += sum(a != b for a, b in zip(took["off"][1], took["lookup"][1]))
                        ratios.append(took["off"][0] / took["lookup"][0])
                        cpu_ratios.append(cpu["off"] / max(cpu["lookup"], 0.01))
                    time.sleep(0.3)
                    n_drafts, n_accepted = (b - a for a, b in zip(before, counts(port)))
                    n_tokens = n_rounds * len(texts) * n_answer
                    print(f"{workload:8} {n_at_once:3} at once: {statistics.median(ratios):5.2f} times fewer seconds "
                          f"({min(ratios):.2f} to {max(ratios):.2f}; {took['lookup'][0]:.2f} s), "
                          f"{statistics.median(cpu_ratios):.2f} times fewer of the processor, drafts {n_drafts / n_tokens:.2f} and accepted "
                          f"{n_accepted / n_tokens:.2f} a token, {n_differ} answers differ", flush=True)
        finally:
            server.terminate()
            server.wait()


main()
