"""An engine stops making progress while it has work: /health reports it, /livez does not, and all continues when the
engine does.

One thread of the running server is stopped by ptrace, as a debugger would: the lane that computes, or the engine's own.
usage: serve_stall.py SHOAL MODELS_FOLDER
"""
import contextlib
import ctypes
import os
import subprocess
import sys
import time

from serve_shared import Shoal, Stream, body_of, main, paths, test, until

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


def ptrace(request, thread):
    if LIBC.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}: {os.strerror(ctypes.get_errno())}")


def may_trace():
    """May this process stop a thread of its child? (Containers may forbid it.)"""
    child = subprocess.Popen(["sleep", "100"])
    try:
        ptrace(SEIZE, child.pid)
        ptrace(INTERRUPT, child.pid)
        os.waitpid(child.pid, WALL)
        ptrace(DETACH, child.pid)
        return True
    except OSError as error:
        print(f"[  REASON  ] serve_stall: {error}")
        return False
    finally:
        child.kill()
        child.wait()


def thread_of(server, name):
    folder = f"/proc/{server.process.pid}/task"
    for thread in os.listdir(folder):
        with open(f"{folder}/{thread}/comm", encoding="ascii") as f:
            if f.read().strip() == name:
                return int(thread)
    raise AssertionError(f"no thread is called {name}")


@contextlib.contextmanager
def stopped(thread):
    """The thread stands still inside; the others of its process go on."""
    ptrace(SEIZE, thread)
    ptrace(INTERRUPT, thread)
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        ptrace(DETACH, thread)




@test
def stall_of_a_lane_and_of_an_engine(shoal, models):
    for name, stall, said in (("lane-0", "2s", "has not made a step"), ("engine-0", "1h", "engine 0 has not reported")):
        with Shoal(shoal, "--stall", stall, "--max-batch", "1", models=paths(models)) as server:
            assert server.get("/health")[0] == server.get("/readyz")[0] == 200
            stream = Stream(server, body_of("tale", "And he", 480, n=16)).begin()  # busy for longer than the state takes to tell
            until(lambda: server.state()["engines"][0]["requests"] > 0)
            with stopped(thread_of(server, name)):
                status, head, text = until(lambda: next((r for r in [server.get("/health")] if r[0] != 200), None))
                assert status == 503 and said in text and int(head["retry-after"]) > 0, text
                assert server.get("/readyz")[0] == 503
                assert server.get("/livez")[0] == server.get("/ping")[0] == 200
                assert "shoal_healthy 0" in server.get("/metrics")[2].splitlines()
                time.sleep(1)  # it does not get better by itself
                assert server.get("/health")[0] == 503
            until(lambda: server.get("/health")[0] == 200)
            assert server.get("/readyz")[0] == 200
            assert stream.finish().is_whole and server.text("cee", "if (x", 8)


if __name__ == "__main__":
    if may_trace():
        main()
    else:
        print("[ RUN      ] serve_stall\n[  SKIPPED ] serve_stall")
        sys.exit(77)
