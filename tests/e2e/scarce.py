"""Every verb where the system gives little: address space, threads, descriptors, room for files, no reader. No verb
ends by a signal, and each gives a reason: one sentence and an exit code. A server continues if it can.

usage: scarce.py SHOAL SOURCE_ROOT; SCARCE_STEPS=n tries n sizes of the address space for each verb (3).
"""
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

from serve_shared import SECONDS, TESTS, Shoal, body_of, free_port, paths, test, until
import toy

STEPS = int(os.environ.get("SCARCE_STEPS", 3))
STRANGER = 65534  # root has no limit of threads
KIB, MIB = 1 << 10, 1 << 20


class Verbs:
    """Command lines of all verbs, and the paths that they write to."""

    def __init__(self, shoal, root, folder):
        self.shoal, self.folder = shoal, folder
        self.tale, self.models = f"{root}/models/tale.gguf", f"{root}/models"
        self.records, self.log = f"{folder}/records.csv", f"{folder}/engine.log"
        with open(f"{folder}/c.yaml", "w", encoding="utf-8") as file:
            file.write(f"models:\n  tale: {{path: {self.tale}}}\n  cee: {{path: {self.models}/cee.gguf}}\n")
        self.words = {
            "version": ["version"], "show": ["show", self.tale], "config": ["config", "check", f"{folder}/c.yaml"], "keys": ["config", "keys"],
            "run": ["run", self.tale, "And he", "--max-tokens", "4", "--profile", "20ms"],
            "sim": ["sim", "--workload", "sea16", "--requests", "20"], "plan": ["plan", "1x2xa100", "poisson:service=llama-2-7b,rate=1,in=20,out=20"],
            "report": ["report", self.records], "replay": ["replay", self.log], "completion": ["completion", "bash"],
            "ps": ["ps", "--server", "127.0.0.1:1"], "load": ["load", "tale", "--server", "127.0.0.1:1"],
            "bench": ["bench", "127.0.0.1:1", "--workload", "poisson:service=a,rate=5,in=2,out=2", "--requests", "2"],
            "profile": ["profile", self.tale, "--time", "50ms", "--batch", "2", "--prompt", "32"], "repro": ["repro"],
            "serve": ["serve", "--model", f"tale={self.tale}", "--listen", "127.0.0.1:0", "--profile", "20ms"]}
        for words in (["sim", "--workload", "sea16", "--requests", "20", "--csv", self.records], self.words["run"] + ["--log-engine", self.log]):
            subprocess.run([shoal, *words], check=True, capture_output=True, timeout=SECONDS)

    def run(self, words, limit=None, value=0, as_stranger=False, stdout=subprocess.PIPE, close=(), seconds=SECONDS):
        """(exit code, stderr); a server that is up is told to end."""
        def begin():
            if as_stranger and os.geteuid() == 0:
                os.setgroups([])
                os.setgid(STRANGER)
                os.setuid(STRANGER)
            if limit is not None:
                resource.setrlimit(limit, value if isinstance(value, tuple) else (value, value))
            for fd in close:
                os.close(fd)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_")}
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # a search for leaks takes a thread
        process = subprocess.Popen([self.shoal, *words], stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment,
                                   preexec_fn=begin, cwd=self.folder)
        if words[0] == "serve":
            text = b""
            for line in process.stderr:
                text += line
                if b"listening on" in line:
                    process.send_signal(signal.SIGTERM)
            return process.wait(seconds), text.decode(errors="replace")
        _, text = process.communicate(timeout=seconds)
        return process.returncode, text.decode(errors="replace")


def check(what, code, said):
    """No signal. A program that failed has printed why, or the dynamic loader has (127)."""
    assert code >= 0, (what, code, said)
    assert code == 0 or code == 127 and said or "shoal" in said, (what, code, said)
    assert "check failed" not in said, (what, said)


def with_verbs(function):
    def inside(shoal, root):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            function(Verbs(shoal, root, folder))
    inside.__name__ = function.__name__
    return test(inside)


@with_verbs
def scarce_address_space(verbs):
    """Random limits, from the loader's need to a sufficient one."""
    if "Sanitizer" in verbs.run(["version"], resource.RLIMIT_AS, 1 << 30)[1]:
        raise toy.Skip("a build with sanitizers needs terabytes of address space")
    rng = random.Random(1)
    most = {"run": 1500, "serve": 2400, "profile": 150, "sim": 120, "plan": 80, "replay": 120, "repro": 300}
    for name, words in verbs.words.items():
        codes = []
        for _ in range(STEPS):
            n_bytes = rng.randrange(26000, most.get(name, 60) * 1024) * KIB
            code, said = verbs.run(words, resource.RLIMIT_AS, n_bytes)
            check((name, n_bytes), code, said)
            codes.append(code)
        print(f"{name}: {sorted(codes)}")


@with_verbs
def scarce_threads(verbs):
    others = 0
    if os.geteuid() != 0:  # the limit counts all threads of the user
        others = sum(len(os.listdir(f"/proc/{p}/task")) for p in os.listdir("/proc") if p.isdigit() and os.access(f"/proc/{p}/fd", os.R_OK))
    for name in ("show", "run", "sim", "plan", "serve", "profile", "config"):
        for n in range(1, 10) if STEPS > 9 else (1, 2, 4, 7):
            code, said = verbs.run(verbs.words[name], resource.RLIMIT_NPROC, others + n, as_stranger=True)
            check((name, n), code, said)
    code, said = verbs.run(verbs.words["run"], resource.RLIMIT_NPROC, others + 1, as_stranger=True)
    if others == 0:
        assert code == 1 and 'shoal: the system starts no thread "' in said, (code, said)


@with_verbs
def scarce_descriptors(verbs):
    for name, words in verbs.words.items():
        for n in (3, 4, 5, 7, 9, 12, 64) if name in ("run", "serve") else (4, 6):
            code, said = verbs.run(words, resource.RLIMIT_NOFILE, n)
            check((name, n), code, said)
    code, said = verbs.run(verbs.words["serve"] + ["--devices", "cpu:0", "--devices", "cpu"], resource.RLIMIT_NOFILE, (12, 1024))
    assert code == 0, said  # what it may raise it raises


@with_verbs
def scarce_room_for_files(verbs):
    """The limit of a file's size, whose signal ends a process that does not ignore it; and a full disk."""
    sim, run = verbs.words["sim"], verbs.words["run"]
    writers = {"records": [*sim, "--csv", "x.csv"], "page": [*sim, "--html", "x.html"], "plan": [*verbs.words["plan"], "--out", "x.yaml"],
               "report": [*verbs.words["report"], "--html", "x.html"], "steps": [*verbs.words["replay"], "--steps", "x.csv"],
               "log": [*run, "--log-engine", "x.log"], "trace": [*run, "--trace", "x.json"], "bench": [*verbs.words["bench"], "--csv", "y.csv"]}
    for name, words in writers.items():
        for n in (0, 10):
            code, said = verbs.run(words, resource.RLIMIT_FSIZE, n)
            check((name, n), code, said)
            assert name == "bench" or code == 1 and "File too large" in said, (name, code, said)
        code, said = verbs.run([*words[:-1], "/dev/full"])
        check((name, "full"), code, said)
        assert name == "bench" or code == 1 and "No space left" in said, (name, code, said)


@with_verbs
def scarce_readers(verbs):
    """The output has no reader: a full device, closed pipes, closed descriptors."""
    printing = ["version", "show", "keys", "run", "sim", "plan", "report", "replay", "completion", "repro"]
    for name in printing:
        words = verbs.words[name]
        with open("/dev/full", "wb") as full:
            code, said = verbs.run(words, stdout=full)
        assert code == 1 and "not all of the output could be written" in said, (name, code, said)
        reader, writer = os.pipe()
        os.close(reader)
        code, said = verbs.run(words, stdout=writer)
        os.close(writer)
        assert code == 1 and "not all of the output could be written" in said, (name, code, said)
        code, said = verbs.run(words, close=[1])
        assert code == 1 and "not all of the output could be written" in said, (name, code, said)
        code, said = verbs.run(words, close=[0, 2])
        assert code == 0, (name, code, said)


def status(server):
    return server.post("/v1/completions", body_of("tale", "And he", 30))[0]


@test
def scarce_server_goes_on_without_its_files(shoal, root):
    """The engine's log, the trace and the log of a server end at the limit of a file's size; the server does not."""
    models = {"tale": paths(f"{root}/models")["tale"]}
    with tempfile.TemporaryDirectory() as folder:
        log, trace = os.path.join(folder, "engine.log"), os.path.join(folder, "trace.json")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # which the server inherits; Python ignores the signal
        try:
            server = Shoal(shoal, "--log-engine", log, "--trace", trace, "--log-level", "debug", models=models)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        with server:
            for _ in range(60):
                assert status(server) == 200
            assert os.path.getsize(server.log_path) <= 4096
            assert server.stop() == 1  # not all could be written
            server.process.returncode = 0  # as it should be
            assert max(os.path.getsize(log), os.path.getsize(trace)) <= 4096
        with Shoal(shoal, "--trace", "/dev/full", models=models) as server:
            for _ in range(5):
                assert status(server) == 200
            assert server.stop() == 1 and "the trace ends early: No space left on device" in server.log()
            server.process.returncode = 0


@test
def scarce_server_goes_on_without_its_readers(shoal, root):
    """Its stderr is a closed pipe, a full device, or nothing at all. No log line may end the server, or get into a
    socket or a file."""
    tale = f"tale={root}/models/tale.gguf"
    with tempfile.TemporaryDirectory() as folder:
        for how in ("pipe", "full", "closed"):
            port, reader_writer = free_port(), os.pipe()
            os.close(reader_writer[0])
            target = {"pipe": reader_writer[1], "full": os.open("/dev/full", os.O_WRONLY), "closed": None}[how]
            log = os.path.join(folder, how)
            process = subprocess.Popen([shoal, "serve", "--model", tale, "--listen", f"127.0.0.1:{port}", "--log-level", "debug", "--log-engine", log],
                                       stdout=target, stderr=target, stdin=subprocess.DEVNULL,
                                       preexec_fn=(lambda: [os.close(fd) for fd in (0, 1, 2)]) if how == "closed" else None)
            try:
                def answers():
                    assert process.poll() is None, (how, process.returncode)
                    try:
                        return toy.ask(port, "POST", "/v1/completions", body_of("tale", "x", 4))[0] == 200
                    except OSError:
                        return False
                until(answers)
                process.send_signal(signal.SIGTERM)
                assert process.wait(SECONDS) == 0, how
                replayed = subprocess.run([shoal, "replay", log], capture_output=True, text=True, timeout=SECONDS, check=False)
                assert replayed.returncode == 0 and "all equal" in replayed.stdout, (how, replayed)  # no log line in it
            finally:
                process.kill()
                process.wait()
                os.close(reader_writer[1])


@test
def scarce_server_goes_on_without_descriptors(shoal, root):
    """More clients than it may have descriptors, and a reload: it logs this, and continues."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    config = f"models:\n  tale: {{path: {root}/models/tale.gguf, preload: true}}\n"
    try:
        server = Shoal(shoal, config=config, wait=None)
        subprocess.run(["prlimit", "--pid", str(server.process.pid), "--nofile=64:64"], check=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with server:
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(90)]
        until(lambda: "can't accept: Too many open files" in server.log())
        server.signal(signal.SIGHUP)
        until(lambda: "nothing changed: " in server.log())
        assert "Too many open files" in server.log().rpartition("nothing changed: ")[2]
        for client in clients:
            client.close()
        until(lambda: status(server) == 200)
        server.signal(signal.SIGHUP)
        until(lambda: "are as the configuration says" in server.log())


if __name__ == "__main__":
    toy.TESTS[:] = TESTS
    toy.run(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
