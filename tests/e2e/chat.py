"""`shoal chat`: a conversation with a server, through a pipe and in a terminal.

usage: chat.py SHOAL MODELS_FOLDER
"""
import contextlib
import http.server
import json
import os
import pty
import select
import signal
import subprocess
import tempfile
import threading
import time

from serve_shared import SECONDS, Shoal, free_port, main, test


def talk(shoal, port, text, *args):
    """(exit code, output, complaints) of a chat whose input is a pipe."""
    done = subprocess.run([shoal, "chat", *args, "--server", f"127.0.0.1:{port}"], input=text if isinstance(text, bytes) else text.encode(), capture_output=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Terminal:
    """The program in a terminal of its own."""

    def __init__(self, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(words[0], words)
        self.seen = ""

    def say(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text):
        """Waits until this text comes, and returns all before it."""
        end = time.monotonic() + SECONDS
        while text not in self.seen:
            assert time.monotonic() < end, (text, self.seen)
            if select.select([self.fd], [], [], 0.2)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def end(self):
        with contextlib.suppress(OSError):
            while os.read(self.fd, 65536):
                pass
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code


class Stub(http.server.BaseHTTPRequestHandler):
    """Answers each chat with the chunks of the class, and keeps what was asked. A chunk None: it waits until the client leaves."""
    chunks, asked = [], []

    def do_POST(self):
        Stub.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in Stub.chunks:
            if chunk is None:
                self.connection.settimeout(SECONDS)
                with contextlib.suppress(OSError):
                    self.connection.recv(1)
                return
            self.wfile.write(f"data: {json.dumps({'choices': [{'delta': chunk}]})}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def stub(*chunks):
    Stub.chunks, Stub.asked = chunks, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@test
def a_conversation_is_the_one_that_the_api_has(shoal, models):
    with Shoal(shoal, models={"tale": f"{models}/tale.gguf", "cee": f"{models}/cee.gguf"}) as server, tempfile.TemporaryDirectory() as folder:
        text = f"Once upon\n\"\"\"\nthe first\nthe second\n\"\"\"\n/model cee\nint \\\nmain\n/model\n/save {folder}/talk.json\n"
        code, out, wrong = talk(shoal, server.port, text, "tale", "--temperature", "0", "--max-tokens", "9", "--system", "Be brief")
        assert code == 0 and wrong == "" and "* cee" in out and "  tale" in out, (out, wrong)
        with open(f"{folder}/talk.json", encoding="utf-8") as file:
            kept = json.load(file)
        assert [m["content"] for m in kept[::2]] == ["Once upon", "the first\nthe second", "int \nmain"]
        for i in (1, 3, 5):
            answer = server.post("/v1/chat/completions", {"model": "cee" if i == 5 else "tale", "temperature": 0, "max_tokens": 9,
                                                          "messages": [{"role": "system", "content": "Be brief"}, *kept[:i]]})[2]
            assert kept[i] == {"role": "assistant", "content": answer["choices"][0]["message"]["content"]}, (i, kept[i], answer)
        code, out, wrong = talk(shoal, server.port, "hello\n", "nothing")
        assert code == 1 and 'the model "nothing" does not exist here' in wrong, wrong


@test
def commands_change_what_is_sent(shoal, _):
    with stub({"content": "yes"}) as port:
        text = "one\ntwo\n/undo\nthree\n/system Be kind\nfour\n/clear\nfive\n/what\n/save\n/quit\nsix\n"
        code, out, wrong = talk(shoal, port, text, "m")
        assert code == 0 and "there is no command /what" in out and "name is missing" in wrong, (code, out, wrong)
        said = [[m["content"] for m in body["messages"]] for body in Stub.asked]
        assert said == [["one"], ["one", "yes", "two"], ["one", "yes", "three"], ["Be kind", "four"], ["Be kind", "five"]], said


@test
def an_answer_gives_the_terminal_no_commands(shoal, _):
    with stub({"reasoning_content": "hm\x1b]0;t\x07"}, {"content": "a\x1b[2Jb\x9bc\u0085d\x7f\x08\ne\té\n"}) as port:
        code, out, _ = talk(shoal, port, "hello\n", "m")
        assert code == 0 and out.endswith("a?[2Jb?c?d??\ne\té\n\n"), repr(out)
        assert "\x1b" not in out and "hm?]0;t?" in out


@test
def faults_are_one_sentence(shoal, _):
    for words, code, part in ((("--temperature", "warm"), 2, '--temperature: "warm" is no number'), (("a", "b"), 2, '"b" is one argument too many')):
        done = talk(shoal, free_port(), "x\n", *words)
        assert done[0] == code and part in done[2], done
    code, _, wrong = talk(shoal, free_port(), "x\n", "m")
    assert code == 1 and "is shoal serve running?" in wrong, wrong
    with stub({"content": "yes"}) as port:
        code, _, wrong = talk(shoal, port, b"\xff\n", "m")
        assert code == 1 and "not UTF-8 and was not sent" in wrong, wrong
        code, _, wrong = talk(shoal, port, "x\n", b"\xff")
        assert code == 1 and "name or the system text is not UTF-8" in wrong, wrong
        assert Stub.asked == []


@test
def a_terminal_has_a_history_and_ctrl_c_stops_an_answer(shoal, _):
    with stub({"content": "so"}, None) as port:
        terminal = Terminal(shoal, "chat", "m", "--server", f"127.0.0.1:{port}")
        terminal.wait_for("> ")
        terminal.say("first\n")
        terminal.wait_for("so")
        terminal.say("\x03")
        terminal.wait_for("(stopped)")
        terminal.wait_for("> ")
        Stub.chunks = [{"content": "well"}]
        terminal.say("\x1b[A again\n")
        terminal.wait_for("well")
        assert [m["content"] for m in Stub.asked[1]["messages"]] == ["first", "so", "first again"], Stub.asked
        terminal.wait_for("> ")
        terminal.say("\x04")
        assert terminal.end() == 0
        terminal = Terminal(shoal, "chat", "m", "--server", f"127.0.0.1:{port}")
        terminal.wait_for("> ")
        terminal.say("\x03")
        assert terminal.end() == -signal.SIGINT


if __name__ == "__main__":
    main()
