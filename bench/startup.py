"""How long a server needs until a model answers, and what memory it takes meanwhile.

usage: startup.py SHOAL MODEL.gguf [TIMES]

For each start: seconds until the first token of a first request (the file in the page cache after the first start), the peak of resident memory, its parts at
the end, and the peak over the packed weights. The server's KV pool is not touched before it is used, so it does not count.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def status(pid):
    fields = (line.split() for line in open(f"/proc/{pid}/status"))
    return {f[0].rstrip(":"): int(f[1]) / 1024 for f in fields if len(f) > 2 and f[2] == "kB"}


def start(shoal, model):
    port, begin = free_port(), time.monotonic()
    words = [shoal, "serve", "--listen", f"127.0.0.1:{port}", "--model", f"m={model}", "--log-level", "warn", "--memory", "3GiB"]
    server = subprocess.Popen(words)
    body = json.dumps({"model": "m", "prompt": [5, 6, 7], "max_tokens": 1}).encode()
    try:
        while True:
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"})
                urllib.request.urlopen(request, timeout=120).read()
                return time.monotonic() - begin, status(server.pid)
            except (urllib.error.URLError, ConnectionError):
                if server.poll() is not None:
                    sys.exit("the server ended")
                time.sleep(0.005)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def main(shoal, model, times=5):
    shown = json.loads(subprocess.run([shoal, "show", model, "--json"], check=True, capture_output=True, text=True).stdout)
    packed = shown["weights_bytes"] / 1048576
    for i in range(int(times)):
        seconds, memory = start(shoal, model)
        print(f"{os.path.basename(model)}: first token after {seconds:.2f} s; resident at most {memory['VmHWM']:.0f} MiB, now {memory['RssAnon']:.0f} MiB of its own "
              f"and {memory['RssFile']:.0f} MiB of files; packed weights {packed:.0f} MiB: peak {memory['VmHWM'] / packed:.3f} of them", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4])
