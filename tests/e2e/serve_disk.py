"""KV on disk with the real server: prompts that an earlier process computed are found again, however it ended, and answers are the same.

usage: serve_disk.py SHOAL MODELS_FOLDER
"""
import glob
import os
import subprocess
import tempfile

from serve_shared import Shoal, free_port, main, paths, test, until

SMALL = ("--memory", "512MiB", "--swap-bytes", "32MiB")
TALE = "And the LORD spake unto Moses, saying, Speak unto the children of Israel, and say unto them, " * 8


def asked(server, prompt=TALE):
    page = server.complete("tale", prompt, 24, temperature=0.8, seed=5)
    return page["choices"][0]["text"], page["usage"]["prompt_tokens_details"]["cached_tokens"]


def metric(server, name):
    lines = server.get("/metrics")[2].splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"shoal_{name}{{"))


def blocks(folder, engine=0):
    return glob.glob(os.path.join(folder, f"engine-{engine}", "*.kv"))


def written(server):
    until(lambda: metric(server, "engine_kv_disk_written_total") > 0)


@test
def prompts_are_found_after_every_end(shoal, models):
    tale = {"tale": paths(models)["tale"]}
    for kind, pool in (("threads", "merged"), ("processes", "head-wise")):
        with tempfile.TemporaryDirectory() as folder:
            disk = (*SMALL, "--kv-disk", folder, "--kv-disk-bytes", "64MiB", "--engines", kind, "--kv", pool)
            with Shoal(shoal, *disk, models=tale) as server:
                expected, n_cached = asked(server)
                assert n_cached == 0
                assert asked(server)[0] == expected  # from memory
                written(server)
            for is_killed in (False, True):
                with Shoal(shoal, *disk, models=tale) as server:
                    text, n_cached = asked(server)
                    assert text == expected and n_cached >= 64, (kind, is_killed, n_cached)
                    until(lambda: metric(server, "kv_disk_tokens_total") >= 64)
                    assert metric(server, "kv_disk_lost_total") == 0
                    if not is_killed:
                        asked(server, "Other words. " * 30)
                        written(server)
                        server.signal(9)
                        server.process.wait()
                        server.stop = lambda: 0
            for path in blocks(folder):
                with open(path, "r+b") as block:
                    block.seek(os.path.getsize(path) // 2)
                    byte = block.read(1)
                    block.seek(-1, 1)
                    block.write(bytes([byte[0] ^ 1]))
            with Shoal(shoal, *disk, models=tale) as server:
                text, n_cached = asked(server)
                assert text == expected and n_cached == 0, "blocks that were changed are not used"
                until(lambda: metric(server, "engine_kv_disk_dropped_total") > 0)


@test
def a_model_that_left_finds_its_prompts(shoal, models):
    with tempfile.TemporaryDirectory() as folder, Shoal(shoal, *SMALL, "--kv-disk", folder, models=paths(models)) as server:
        expected, _ = asked(server)
        written(server)
        assert server.post("/models/unload", {"model": "tale"})[0] == 200
        text, n_cached = asked(server)
        assert text == expected and n_cached >= 64, n_cached


@test
def another_model_under_the_name_finds_nothing(shoal, models):
    both = paths(models)
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(both["tale"]))
        subprocess.run(["cp", "-r", both["tale"], copy], check=True)
        disk = (*SMALL, "--kv-disk", os.path.join(folder, "kv"))
        with Shoal(shoal, *disk, models={"tale": copy}) as server:
            expected, _ = asked(server)
            written(server)
        for part in glob.glob(os.path.join(copy, "*.safetensors")) if os.path.isdir(copy) else [copy]:
            os.utime(part)  # written again, as far as a reader can tell
        with Shoal(shoal, *disk, models={"tale": copy}) as server:
            assert asked(server) == (expected, 0)


@test
def what_can_not_be_is_refused(shoal, models):
    model = ("--model", "tale=" + paths(models)["tale"])
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "file")
        with open(file, "w", encoding="utf-8"):
            pass
        for args, part in (((*SMALL[:2], "--kv-disk", folder), "set swap_bytes"), ((*SMALL, "--kv-disk", folder, "--prefix-cache", "false"), "prefix_cache"),
                           ((*SMALL, "--kv-disk", folder, "--log-engine", file + "-log"), "log_engine"), ((*SMALL, "--kv-disk", file), "Not a directory"),
                           ((*SMALL, "--kv-disk", folder, "--kv-disk-bytes", "1"), "kv-disk-bytes")):
            run = subprocess.run([shoal, "serve", *model, "--listen", f"127.0.0.1:{free_port()}", *args],
                                 capture_output=True, text=True, timeout=120, check=False)
            assert run.returncode != 0 and part in run.stderr, (args, run.stderr)
        with Shoal(shoal, *SMALL, "--kv-disk", folder, models={"tale": paths(models)["tale"]}):
            run = subprocess.run([shoal, "serve", *model, "--listen", f"127.0.0.1:{free_port()}", *SMALL, "--kv-disk", folder],
                                 capture_output=True, text=True, timeout=120, check=False)
            assert run.returncode != 0 and "another process" in run.stderr, run.stderr


if __name__ == "__main__":
    main()
