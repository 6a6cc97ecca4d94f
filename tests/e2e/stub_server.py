"""A tiny OpenAI server with answers that are wrong in the way of the model's name.

Models: good, mute, cut, short, long, empty, unfinished, undone, error, html, status500, busy, refused, shouting, fickle, mortal, plain.
Every answer is "w w w ..." with one event a token, of as many tokens as min_tokens and a stop token (which has no text)
make, else of max_tokens; usage is at its end. "mute" has tokens without text; "plain" has neither min_tokens nor usage,
like older servers. After 20 requests for "mortal" a server accepts no more connections. Handler.bodies keeps the
requests.
"""
import http.server
import json
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = {}
    bodies = []
    lock = threading.Lock()

    def log_message(self, *args):
        pass

    def page(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def piece(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, text="", **choice):
        choice.update({"delta": {"content": text}} if self.path == "/v1/chat/completions" else {"text": text})
        self.piece("data: " + json.dumps({"choices": [choice]}) + "\n\n")

    def do_POST(self):
        ask = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            return self.page(200, json.dumps({"count": len(ask["prompt"].split())}).encode())
        if "messages" in ask:
            assert ask["messages"][0]["role"] == "user" and self.path == "/v1/chat/completions"
            ask["prompt"] = "<user> " + ask["messages"][0]["content"]
        model, n = ask["model"], ask["max_tokens"]
        if "stop_token_ids" in ask and model != "plain":
            assert ask["logit_bias"] == {str(ask["stop_token_ids"][0]): 100} and ask["ignore_eos"], ask
            n = min(n, ask["min_tokens"] + 1)
        with self.lock:
            self.bodies.append(ask)
            count = self.asked[model] = self.asked.get(model, 0) + 1
        if model == "mortal" and count >= 20:
            if count == 20:
                threading.Thread(target=lambda: (self.server.shutdown(), self.server.server_close()), daemon=True).start()
            self.close_connection = True
            return self.connection.close()
        if model == "status500":
            return self.page(500, b'{"error": {"message": "out of ideas"}}')
        if model == "busy":
            return self.page(503, b'{"error": {"message": "not now"}}')
        if model == "html":
            return self.page(200, b"<html>hello</html>", "text/html")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.stream(model, n, count, ask)

    def stream(self, model, n, count, ask):
        if self.path == "/v1/chat/completions":  # as vLLM and llama-server begin
            self.piece('data: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": null}}], "usage": null}\n\n')
        n_sent = {"short": n - 1, "long": n + 1, "cut": n // 2, "error": n // 2, "empty": 0}.get(model, n)
        stops = "stop_token_ids" in ask and model != "plain"
        for i in range(0 if model == "mute" else max(n_sent - 1, 0) if stops else n_sent):
            time.sleep(0.0005)
            self.event(text=f"w{count if model == 'fickle' else ''} ", finish_reason=None)
        if model == "cut":
            self.close_connection = True
            return self.connection.close()
        if model == "error":
            self.piece('data: {"error": {"message": "lost my thread"}}\n\n')
            self.piece("")
            return None
        if model != "unfinished":
            self.event(text="", finish_reason="stop" if stops else "length")
        if model != "plain" and ask.get("stream_options", {}).get("include_usage"):
            n_prompt = len(ask["prompt"].split() if isinstance(ask["prompt"], str) else ask["prompt"])
            usage = {"prompt_tokens": n_prompt, "completion_tokens": n_sent}
            self.piece("data: " + json.dumps({"choices": [], "usage": usage}) + "\n\n")
        if model == "shouting":
            self.piece("WELL!\n\n")
        if model != "undone":
            self.piece("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        return None


def start():
    """(server, port); server.shutdown() ends it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server, server.server_address[1]
