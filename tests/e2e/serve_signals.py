"""Signals to the real server: SIGTERM drains, a second one cuts that off with last replies, SIGHUP reads the settings
again, kill -9 leaves nothing behind.

usage: serve_signals.py SHOAL MODELS_FOLDER
"""
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

from serve_shared import SECONDS, Shoal, Stream, body_of, free_port, main, paths, test, until


def children_of(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(name))
        except (OSError, IndexError):
            pass  # it ended meanwhile
    return found


@test
def signals_sigterm_drains(shoal, models):
    with Shoal(shoal, "--max-batch", "1", "--drain", "100s", models=paths(models)) as server:
        streams = [Stream(server, body_of("tale", "And he", 480, n=12, seed=i)) for i in range(3)]
        streams[0].begin()
        server.signal(signal.SIGTERM)
        until(lambda: "draining" in server.log())
        assert server.get("/livez")[0] == 200
        status, head, text = server.get("/readyz")
        assert status == 503 and int(head["retry-after"]) > 0, text
        assert server.get("/health")[0] == 503
        status, head, page = server.post("/v1/completions", body_of("tale", "x"))
        assert status == 503 and page["error"]["code"] == "draining" and int(head["retry-after"]) > 0, page
        assert head["x-shoal-request-dropped-reason"] == "rejected-draining"
        for stream in streams:
            assert stream.finish().is_whole, stream.got[-500:]
        assert server.process.wait(SECONDS) == 0


@test
def signals_drain_has_a_limit(shoal, models):
    with Shoal(shoal, "--max-batch", "1", "--drain", "300ms", models=paths(models)) as server:
        stream = Stream(server, body_of("tale", "And he", 480, n=60)).begin()
        server.signal(signal.SIGTERM)
        assert server.process.wait(SECONDS) == 0
        stream.finish()
        assert stream.events[-1]["error"]["code"] == "shutting_down", stream.events[-1]


@test
def signals_second_one_stops(shoal, models):
    for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)):
        with Shoal(shoal, "--max-batch", "1", "--drain", "1h", models=paths(models)) as server:
            stream = Stream(server, body_of("tale", "And he", 480, n=100)).begin()
            server.signal(first)
            until(lambda: "draining" in server.log())
            begin = time.monotonic()
            server.signal(second)
            assert server.process.wait(SECONDS) == 0 and time.monotonic() - begin < 20
            assert "stopping: the drain ends now" in server.log()
            stream.finish()
            assert stream.events[-1]["error"]["code"] == "shutting_down", stream.events[-1]


@test
def signals_while_it_ends(shoal, models):
    """A server without work that gets requests again and again, up to its last moment, still ends normally."""
    for _ in range(3):
        with Shoal(shoal, models=paths(models)) as server:
            while server.process.poll() is None:
                server.signal(signal.SIGTERM)
                time.sleep(0.0002)
            assert server.process.returncode == 0, server.log()


@test
def signals_sighup_reloads(shoal, models):
    text = "{more}models:\n" + "".join(f"  {name}:\n    path: {path}\n    preload: true\n" for name, path in paths(models).items())
    with Shoal(shoal, config=text.format(more="log_level: info\napi_key: old-key\nadmin_key: boss\n"), wait=None) as server:
        def chat(key):
            return server.post("/v1/completions", body_of("tale", "x", 2), {"Authorization": f"Bearer {key}", "X-Request-Id": "find-me"})[0]

        def reload(more, said):
            n = server.log().count(said)
            server.write_config(text.format(more=more))
            server.signal(signal.SIGHUP)
            until(lambda: server.log().count(said) > n)
        assert chat("old-key") == 200 and chat("new-key") == 401
        assert "api: cmpl" not in server.log()
        reload("log_level: debug\napi_key: new-key\nadmin_key: boss\n", "are as the configuration says")
        assert chat("old-key") == 401 and chat("new-key") == 200
        until(lambda: re.search(r"debug api: cmpl\S+ \(request find-me, model tale\) after [0-9.]+ ms: answered", server.log()))
        # A bad file changes nothing, and the log has the reason.
        reload("log_level: info\napi_key: third-key\nmax_batches: 7\n", "nothing changed: ")
        assert "max_batches" in server.log().rsplit("nothing changed: ", 1)[1]
        reload("log_level: loud\napi_key: third-key\n", "nothing changed: ")
        os.unlink(server.config_path)
        server.signal(signal.SIGHUP)
        until(lambda: server.log().count("nothing changed: ") == 3)
        assert chat("third-key") == 401 and chat("new-key") == 200
        # While requests run, and again and again.
        stream = Stream(server, body_of("tale", "And he", 400), {"Authorization": "Bearer new-key"}).begin()
        for _ in range(20):
            server.write_config(text.format(more="log_level: warn\napi_key: new-key\nadmin_key: boss\n"))
            server.signal(signal.SIGHUP)
            time.sleep(0.01)
        assert stream.finish().is_whole


@test
def signals_sighup_without_a_file(shoal, models):
    with Shoal(shoal, models=paths(models)) as server:
        server.signal(signal.SIGHUP)
        until(lambda: "are as the configuration says" in server.log())
        assert "restart only" not in server.log() and server.text("tale", "And", 2)


@test
def signals_sighup_reads_no_pipe_again(shoal, models):
    """A file that came through a pipe is gone. Read again it would be a configuration without keys."""
    tale = {"tale": paths(models)["tale"]}
    with tempfile.TemporaryDirectory() as folder:
        pipes = [os.path.join(folder, name) for name in ("config", "key")]
        for pipe, text in zip(pipes, (f"api_key_file: {pipes[1]}\nadmin_key: boss\n", "secret\n")):
            os.mkfifo(pipe)
            threading.Thread(target=lambda pipe=pipe, text=text: open(pipe, "w", encoding="utf-8").write(text)).start()
        with Shoal(shoal, pipes[0], models=tale, wait=None) as server:
            def status(key):
                return server.post("/v1/completions", body_of("tale", "x", 2), {"Authorization": f"Bearer {key}"})[0]
            assert status("secret") == 200 and status("no") == 401
            server.signal(signal.SIGHUP)
            until(lambda: f"nothing changed: {pipes[0]} is not a regular file" in server.log())
            assert status("secret") == 200 and status("no") == 401


@test
def signals_kill_leaves_nothing(shoal, models):
    with Shoal(shoal, models=paths(models)) as server:
        stream = Stream(server, body_of("tale", "And he", 400, n=60)).begin()
        assert children_of(server.process.pid) == []
        port, _ = server.port, stream
        server.process.kill()
        assert server.process.wait(SECONDS) == -signal.SIGKILL
        second = subprocess.Popen([shoal, "serve", "--listen", f"127.0.0.1:{port}", "--model", f"tale={models}/tale.gguf"],
                                  stderr=subprocess.DEVNULL)
        try:  # the port is free at once
            def is_there():
                assert second.poll() is None
                try:
                    return socket.create_connection(("127.0.0.1", port), timeout=5).close() is None
                except OSError:
                    return False
            until(is_there)
            # No second server can take it meanwhile: one sentence, exit code 2.
            third = subprocess.run([shoal, "serve", "--listen", f"127.0.0.1:{port}", "--model", f"tale={models}/tale.gguf"],
                                   capture_output=True, text=True, timeout=SECONDS, check=False)
            assert third.returncode == 2 and "in use" in third.stderr, third
            second.send_signal(signal.SIGTERM)
            assert second.wait(SECONDS) == 0
        finally:
            second.kill()
        server.process.returncode = 0  # it was us


@test
def signals_stop_at_once(shoal, models):
    """A server that is told to end before its engines have reported ends normally."""
    for _ in range(5):
        with Shoal(shoal, models=paths(models), wait=None) as server:
            assert server.stop() == 0


@test
def signals_exit_codes(shoal, models):
    tale = f"tale={models}/tale.gguf"
    for words in (["--listen", "nonsense", "--model", tale], ["--preset", "none", "--model", tale], [], ["--policy", "best", "--model", tale],
                  ["--devices", "gpu:7", "--model", tale], ["--max-batch", "0", "--model", tale], ["/no/such.yaml"],
                  ["--listen", f"127.0.0.1:{free_port()}", "--model", tale, "--model", tale]):
        done = subprocess.run([shoal, "serve", *words], capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 2 and done.stderr.count("shoal: ") >= 1, (words, done)


if __name__ == "__main__":
    main()
