#!/usr/bin/env python3
"""llama-server's own tests against Shoal: `./dev check llamaserver` installs them from PyPI.

    llama_suite.py run SHOAL ROOT PYTHON TESTS    runs them, and prints a table of results by file and by cause
    llama_suite.py serve ...                      stands for llama-server: starts Shoal and translates what it does not have

The adapter maps options, defaults that are options there, and names. Of the models that these tests download,
stories260K is used where ../shared has it. Others are replaced by it, or by one of ours, so that their texts and counts
differ."""
import collections
import datetime
import glob
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET

# Files whose tests need what Shoal does not have; the reason stands in the table.
CAUSES = [
    (r"unit\.test_vision_api", "models that read images"),
    (r"unit\.test_mcp_servers|unit\.test_tools_builtin|unit\.test_proxy", "llama-server's own MCP servers, tools and proxy"),
    (r"unit\.test_router", "llama-server's router of child processes"),
    (r"unit\.test_slot_save|unit\.test_kv_keep_only_active|unit\.test_ctx_shift", "slots of KV that a client names, shifted contexts"),
    (r"unit\.test_infill", "/infill"),
    (r"unit\.test_security.*cors", "CORS for every origin, which llama-server allows by default"),
    (r"unit\.test_metrics|unit\.test_sleep|unit\.test_stream", "llama-server's own metrics, sleep and resumed streams"),
    (r"unit\.test_lora", "LoRA"),
    (r"unit\.test_speculative", "draft models"),
    (r"unit\.test_embedding|unit\.test_rerank", "embedding and reranking models"),
    (r"unit\.test_compat_gcp", "Google's prediction protocol"),
]
REASONS = [
    (r"match_regex|re_content|assert False\b.*regex", "the text of another model"),
    (r"(4\d\d|5\d\d) == 200\b", "a field or an endpoint that is refused"),
    (r"\b\d{1,2} == \d{1,2}\b", "counts of another template, tokenizer or cache"),
    (r"Server process died|did not start", "the server did not start: an option that has no counterpart"),
]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- The adapter. ----

REFUSED = ("--lora", "--model-draft", "--mmproj-url", "--models-dir", "--models-preset", "--mcp-servers-config",
           "--mcp-servers-json", "--tools", "--ui-mcp-proxy", "--slot-save-path", "--context-shift", "--spec-type")


class Options:
    def __init__(self, words):
        self.words = {}
        for i, word in enumerate(words):
            if word.startswith("-"):
                has_value = i + 1 < len(words) and (not words[i + 1].startswith("-") or words[i + 1].lstrip("-").isdigit())
                self.words[word] = words[i + 1] if has_value else ""
        for name in REFUSED:
            if name in self.words:
                sys.exit(f"the adapter has no counterpart of {name}")

    def get(self, name, default=None):
        return self.words.get(name, default)


def lengthen(path, to):
    """Copies a GGUF file with a context of 2048, since llama-server lets a context exceed the model's own."""
    data = open(path, "rb").read()
    at = data.index(b"llama.context_length") + len(b"llama.context_length") + 4
    with open(f"{to}.{os.getpid()}", "wb") as f:
        f.write(data[:at] + (2048).to_bytes(4, "little") + data[at + 4:])
    os.replace(f"{to}.{os.getpid()}", to)


def start_shoal(options, port):
    name = options.get("--alias") or "model"
    n_slots = int(options.get("--parallel", 1))
    n_ctx = int(options.get("--ctx-size", 512)) // n_slots
    shared = os.path.join(os.environ["SUITE_ROOT"], "../shared/data/tiny-models/stories260Ktok512.gguf")
    model = os.path.join(os.environ["SUITE_FOLDER"], "stories.gguf")
    if not os.path.exists(shared):
        model = os.path.join(os.environ["SUITE_ROOT"], "models/tale.gguf")
    elif not os.path.exists(model):
        lengthen(shared, model)
    config = os.path.join(os.environ["SUITE_FOLDER"], f"shoal-{port}.yaml")
    template = options.get("--chat-template-file") or "chatml"
    if options.get("--chat-template") not in (None, "chatml"):  # a text, which ours is only with braces
        template = os.path.join(os.environ["SUITE_FOLDER"], f"template-{port}")
        with open(template, "w", encoding="utf-8") as f:
            f.write(options.get("--chat-template"))
    with open(config, "w", encoding="utf-8") as f:
        json.dump({"models": {name: {"path": model, "ctx": min(n_ctx, 512), "chat_template": template}},
                   "listen": f"127.0.0.1:{port}"}, f)
    words = [os.environ["SUITE_SHOAL"], "serve", config, "--profile", "0ms"]
    if options.get("--api-key"):
        words += ["--api-key", options.get("--api-key")]
    return subprocess.Popen(words), name, n_ctx, n_slots


def renamed(data):
    """An answer of OpenAI's endpoints, or an event of one: this server's name, and no text beside a role."""
    page = json.loads(data)
    page["system_fingerprint"] = "b0-shoal"
    for choice in page.get("choices", []):
        if choice.get("delta", {}).get("role") and choice["delta"].get("content") == "":
            choice["delta"]["content"] = None
    return json.dumps(page).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    shoal = None  # port
    about = None

    def log_message(self, *_):
        pass

    def ask(self, method, path, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.shoal, timeout=120)
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def reply(self, status, page, content="application/json"):
        data = page if isinstance(page, bytes) else json.dumps(page).encode()
        self.send_response(status)
        self.send_header("Content-Type", content)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def with_defaults(self, body):
        """A server's options are defaults of its requests here, and the model's name has no meaning there."""
        about = self.about
        if "model" in body or not about["multiple"]:
            body["model"] = about["name"]
        limit = about["n_predict"]
        key = next((k for k in ("max_tokens", "max_completion_tokens") if body.get(k) is not None), "max_tokens")
        if limit > 0:
            body[key] = min(body.get(key, limit) if body.get(key, limit) >= 0 else limit, limit)
        elif (body.get(key) or 0) < 0:
            body.pop(key)
        body.setdefault("seed", about["seed"])
        if body.get("seed") == -1:
            body.pop("seed")
        body.setdefault("temperature", about["temperature"])
        return body

    def add_variables(self, body):
        """Those that llama-server gives each chat template."""
        today, own = datetime.datetime.now(), body.get("chat_template_kwargs")
        functions = "\n".join(json.dumps(tool) for tool in body.get("tools") or [] if isinstance(body.get("tools"), list))
        if isinstance(own, (dict, type(None))):
            body["chat_template_kwargs"] = {"date_string": today.strftime("%d %b %Y"), "datetime": today.strftime("%b %d %Y %H:%M:%S GMT"),
                                            "functions": functions, "enable_thinking": self.about["reasoning"] != "off", **(own or {})}

    def with_native_defaults(self, body):
        about = self.about
        n = body.get("n_predict", body.get("max_tokens"))
        if about["n_predict"] > 0 and isinstance(n, (int, type(None))):
            body["n_predict"] = about["n_predict"] if n is None or n < 0 else min(n, about["n_predict"])
        if body.get("seed") is None:
            body["seed"] = about["seed"]
        body.setdefault("temperature", about["temperature"])
        return body

    def pass_on(self, method, body):
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length", "connection")}
        path = self.path
        try:
            value = json.loads(body) if body else None
        except ValueError:
            value = None
        if isinstance(value, dict):
            path = {"/completions": "/completion", "/responses": "/v1/responses"}.get(path, path)
            if path == "/completion":
                value = self.with_native_defaults(value)
            elif path.endswith("completions"):
                value = self.with_defaults(value)
            elif path.endswith("responses"):
                value.setdefault("max_output_tokens", max(self.about["n_predict"], 16))
            if re.search(r"chat/completions|apply-template", path):
                self.add_variables(value)
                value.setdefault("add_special_tokens", self.about["adds_bos"])
            value["model"] = self.about["name"]
            body = json.dumps(value).encode()
        answer = self.ask(method, path, body, headers)
        data = answer.read() if answer.getheader("Content-Length") else None
        if data is not None and answer.status == 200 and path.endswith("completions"):
            data = renamed(data)
        if path == "/props" and answer.status == 200:
            page = json.loads(data)
            params = {"seed": self.about["seed"], "temperature": self.about["temperature"], "n_predict": self.about["n_predict"]}
            page.update(total_slots=self.about["n_slots"], model_path="tale.gguf",
                        default_generation_settings={"n_ctx": self.about["n_ctx"], "params": params})
            data = json.dumps(page).encode()
        self.send_response(answer.status)
        for key, text in answer.getheaders():
            if key.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                self.send_header(key, text)
        if data is not None:
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        self.send_header("Connection", "close")
        self.end_headers()
        for line in answer:
            is_event = line.startswith(b"data: {") and path.endswith("completions")
            self.wfile.write(b"data: " + renamed(line[6:]) + b"\n" if is_event else line)
            self.wfile.flush()
        self.close_connection = True

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            self.pass_on(self.command, body)
        except (ConnectionError, http.client.HTTPException, TimeoutError) as fault:
            self.close_connection = True
            print("adapter:", fault, flush=True)

    do_GET = do_POST = do_DELETE = do_OPTIONS = do_HEAD = handle_any


def serve(words):
    options, port = Options(words), free_port()
    child, name, n_ctx, n_slots = start_shoal(options, port)
    Handler.shoal = port
    Handler.about = {"name": name, "n_ctx": n_ctx, "n_slots": n_slots, "seed": int(options.get("--seed", -1)), "multiple": False,
                     "temperature": float(options.get("--temp", 0.8)), "n_predict": int(options.get("--n-predict", -1)), "reasoning": options.get("--reasoning", "auto"), "adds_bos": not options.get("--chat-template-file")}
    signal.signal(signal.SIGTERM, lambda *_: (child.terminate(), os._exit(0)))
    host = (options.get("--host") or "127.0.0.1").split(",")[0]
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            if child.poll() is not None:
                sys.exit(f"shoal ended with {child.returncode}")
            time.sleep(0.05)
    server = http.server.ThreadingHTTPServer((host, int(options.get("--port", 8080))), Handler)
    server.daemon_threads = True
    threading.Thread(target=lambda: (child.wait(), os._exit(1)), daemon=True).start()
    server.serve_forever()


# ---- The run. ----

def cause_of(name, text):
    for pattern, cause in CAUSES:
        if re.search(pattern, name):
            return cause
    for pattern, cause in REASONS:
        if re.search(pattern, text):
            return cause
    return "another difference"


def run(shoal, root, python, tests):
    folder = os.path.abspath("build/llamaserver")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "llama-server")
    with open(program, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec {sys.executable} {os.path.abspath(__file__)} serve "$@"\n')
    os.chmod(program, 0o755)
    report = os.path.join(folder, "report.xml")
    seconds = int(os.environ.get("SUITE_SECONDS", 1200))
    env = {**os.environ, "LLAMA_SERVER_BIN_PATH": program, "SUITE_SHOAL": os.path.abspath(shoal), "SUITE_ROOT": os.path.abspath(root),
           "SUITE_FOLDER": folder, "PORT": str(free_port())}
    words = [os.path.abspath(python), "-m", "pytest", "-q", "-m", "not slow", f"--junitxml={report}", "--timeout=30",
             *[os.path.relpath(path, tests) for path in sorted(glob.glob(os.path.join(tests, "unit", "test_*.py")))]]
    with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        child = subprocess.Popen(words, cwd=tests, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # with its servers
            print(f"stopped after {seconds} s")
            return 1
    by_file, by_cause, others = collections.defaultdict(collections.Counter), collections.Counter(), []
    for case in ET.parse(report).iter("testcase"):
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        kind = "failed" if bad is not None else "skipped" if case.find("skipped") is not None else "passed"
        by_file[case.get("classname")][kind] += 1
        if bad is not None:
            text = (bad.get("message") or "") + (bad.text or "")
            cause = cause_of(f"{case.get('classname')}::{case.get('name')}", text)
            by_cause[cause] += 1
            if cause == "another difference":
                others.append(f"{case.get('classname')}::{case.get('name')}: {(bad.get('message') or '').splitlines()[0][:150] if bad.get('message') else ''}")
    total = collections.Counter()
    for name, counts in sorted(by_file.items()):
        total.update(counts)
        print(f"{name:40} {counts['passed']:4} passed {counts['failed']:4} failed {counts['skipped']:4} skipped")
    for cause, n in by_cause.most_common():
        print(f"{n:4} failed: {cause}")
    print("\n".join(others))
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 0 if total["passed"] >= int(os.environ.get("SUITE_PASSED_MIN", 0)) else 1


if __name__ == "__main__":
    sys.exit(serve(sys.argv[2:]) if sys.argv[1] == "serve" else run(*sys.argv[2:6]))
