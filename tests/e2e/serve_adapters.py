"""LoRA adapters on the real server: answers are those of PEFT, whatever else is in the batch, wherever and however often they are computed.

usage: serve_adapters.py SHOAL MODELS_FOLDER
"""
import contextlib
import json
import os
import signal
import shutil
import tempfile

from serve_shared import Later, Shoal, Stream, Watcher, body_of, free_port, main, refused, test, until

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/data")
NAMES = {"first": "llama", "second": "llama_second", "third": "llama_patterns"}
CORES = sorted(os.sched_getaffinity(0))


def hit(server):
    """Kills one of the server's engines that are processes; its pid, or None if there is none now."""
    with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children", encoding="ascii") as f:
        for pid in map(int, f.read().split()):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8") as words:
                if words.read().split("\0")[2:3] == ["engine"]:
                    os.kill(pid, signal.SIGKILL)
                    return pid
    return None


def golden(folder):
    """(prompt, the text that follows) of a golden model or adapter. Its tokens are bytes."""
    with open(f"{DATA}/{folder}/expected.json", encoding="utf-8") as f:
        expected = json.load(f)
    return expected["prompt"], bytes(expected["greedy"]).decode("utf-8", "replace")


GOLDEN = {"base": golden("llama")} | {f"base:{name}": golden(f"adapters/{folder}") for name, folder in NAMES.items()}


def config_of(*lines, names=tuple(NAMES), of_model=()):
    adapters = "".join(f"      - {name}={DATA}/adapters/{NAMES[name]}\n" for name in names)
    head = "".join(f"{line}\n" for line in ("kv_type: f32", "planner: none", "memory: 256MiB", *lines))
    model = "".join(f"    {line}\n" for line in of_model)
    return f"{head}models:\n  base:\n    path: {DATA}/llama\n    preload: true\n{model}    adapters:\n{adapters}"


def answer(server, name, n_tokens=64, **fields):
    """The answer to the golden prompt, which must be the golden text if it is greedy and whole."""
    text = server.text(name, GOLDEN[name][0], n_tokens, **fields)
    if n_tokens == 64 and not fields:
        assert text == GOLDEN[name][1], (name, text, GOLDEN[name][1])
    return text


def all_agree(server, rounds=4):
    later = [Later(answer, server, name) for _ in range(rounds) for name in GOLDEN]
    for ask in later:
        ask.result()


@test
def adapters_answer_as_peft(shoal, models):
    with Shoal(shoal, config=config_of()) as server:
        for name in GOLDEN:
            answer(server, name)
        all_agree(server)
        cards = {card["id"]: card for card in json.loads(server.get("/v1/models")[2])["data"]}
        assert set(cards) == set(GOLDEN)
        assert all(card.get("parent") == (None if name == "base" else "base") for name, card in cards.items()), cards
        # One prompt on all of them: blocks that one cached must not serve another.
        prompt = GOLDEN["base"][0] * 3
        first = {name: server.text(name, prompt, 32) for name in GOLDEN}
        assert len(set(first.values())) == len(GOLDEN), first
        again = {name: server.complete(name, prompt, 32) for name in reversed(GOLDEN)}
        for name, page in again.items():
            assert page["choices"][0]["text"] == first[name], name
            assert page["usage"]["prompt_tokens_details"]["cached_tokens"] > 100, page["usage"]
        # The only model is meant when none is named; an adapter is not a model of its own.
        status, _, page = server.post("/v1/completions", {k: v for k, v in body_of("", prompt, 32).items() if k != "model"})
        assert status == 200 and page["choices"][0]["text"] == first["base"], page
        for wrong in ("base:fourth", "first", "base:", "other:first"):
            assert server.post("/v1/completions", body_of(wrong, prompt))[0] == 404, wrong
        status, _, page = server.post("/models/unload", {"model": "base:first"})
        assert status == 400 and "name base" in page["error"]["message"], page


@test
def adapters_come_and_go_with_their_model(shoal, models):
    with Shoal(shoal, config=config_of("keep_alive: 1h", "sleep_bytes: 64MiB")) as server:
        all_agree(server, 1)
        watcher = Watcher(server)
        assert {change["model"] for change in watcher.changes} == {"base"}, watcher.changes
        for verb in ("sleep", "unload"):
            before = server.model("base")["memory"]["weights_bytes"]
            assert server.post(f"/models/{verb}", {"model": "base"})[0] == 200
            assert until(lambda: server.model("base")["memory"]["weights_bytes"] == 0)
            all_agree(server, 1)
            assert server.model("base")["memory"]["weights_bytes"] == before
        assert until(server.is_clear)


@test
def adapters_survive_preemption_and_chains(shoal, models):
    """A pool far too small, drafts, and slices of answers: the tokens stay."""
    lines = ("kv_bytes: 320KiB", "speculation: lookup", "max_batch: 16", "policy: fcfs")
    with Shoal(shoal, config=config_of(*lines, of_model=("ctx: 128",))) as server:
        for _ in range(20):
            all_agree(server, 8)
            lines = [line for line in server.get("/metrics")[2].splitlines() if line.startswith("vllm:num_preemptions_total")]
            if sum(float(line.rsplit(" ", 1)[1]) for line in lines) > 0:
                break
        else:
            raise AssertionError(f"no request was preempted: {lines}")
        assert until(server.is_clear)


@test
def adapters_in_processes_that_die(shoal, models):
    words = ("--engines", "processes", "--devices", f"cpu:{CORES[0]} cpu:{CORES[-1]}" if len(CORES) > 1 else f"cpu:{CORES[0]}")
    with Shoal(shoal, *words, config=config_of()) as server:
        all_agree(server, 1)
        streams = [(name, Stream(server, body_of(name, GOLDEN[name][0], 64))) for _ in range(3) for name in GOLDEN]
        assert until(lambda: hit(server))
        for name, stream in streams:
            stream.finish()
            assert stream.is_whole and stream.text == GOLDEN[name][1], (name, stream.text)
        all_agree(server, 1)


@test
def adapters_change_at_a_reload(shoal, models):
    with Shoal(shoal, config=config_of(names=("first", "second"))) as server:
        all_of = {"base", "base:first", "base:second"}
        for name in all_of:
            answer(server, name)
        assert server.post("/v1/completions", body_of("base:third", [1, 2]))[0] == 404
        server.write_config(config_of(names=("third", "second")))
        server.signal(signal.SIGHUP)
        assert until(lambda: server.post("/v1/completions", body_of("base:first", [1, 2], 1))[0] == 404)
        for name in ("base", "base:second", "base:third"):
            answer(server, name)


@test
def names_of_adapters_are_taken(shoal, models):
    """A model by its path takes no adapter's name, and an adapter of a reload takes no such model's."""
    boss = {"Authorization": "Bearer boss"}
    config = lambda *names: config_of("admin_key: boss", f"model_dirs: [{DATA}]", names=names)
    with Shoal(shoal, config=config("first"), wait=None) as server:
        load = lambda name: server.post("/models/load", {"path": f"{DATA}/gpt2", "name": name}, boss)
        status, _, page = load("base:first")
        assert status == 400 and "already" in page["error"]["message"], page
        assert load("base:second")[0] == 200
        server.write_config(config("first", "second"))
        server.signal(signal.SIGHUP)
        assert until(lambda: "nothing changed: model base:second: a model that was added" in server.log())
        answer(server, "base:first")


@test
def adapters_beside_a_group(shoal, models):
    """A group has no adapters. A model that may run on another device alone is checked there, whichever is first."""
    group = f"group(cpu:{CORES[0]},cpu:{CORES[-1]})"
    for devices in (f"{group} cpu:{CORES[0]}", f"cpu:{CORES[0]} {group}") if len(CORES) > 1 else ():
        with Shoal(shoal, "--devices", devices, config=config_of(of_model=(f"devices: [cpu:{CORES[0]}]",))) as server:
            all_agree(server, 1)


@test
def adapters_go_on_at_another_node(shoal, models):
    """A gateway has two nodes, and one is killed: the number of an adapter means the same on both."""
    buses, config = [free_port(), free_port()], config_of()
    nodes = [Shoal(shoal, "--bus-listen", f"127.0.0.1:{bus}", "--devices", f"cpu:{CORES[i % len(CORES)]}", config=config, verb="node")
             for i, bus in enumerate(buses)]
    try:
        with Shoal(shoal, "--nodes", " ".join(f"127.0.0.1:{bus}" for bus in buses), config=config, verb="gateway", wait=None) as gateway:
            until(lambda: all(e["status"]["value"] == "loaded" for e in gateway.model("base")["engines"]) and len(gateway.model("base")["engines"]) == 2)
            all_agree(gateway, 2)
            streams = [(name, Stream(gateway, body_of(name, GOLDEN[name][0], 64))) for _ in range(3) for name in GOLDEN]
            streams[0][1].begin()
            nodes[0].kill()
            for name, stream in streams:
                stream.finish()
                assert stream.is_whole and stream.text == GOLDEN[name][1], (name, stream.text)
            all_agree(gateway, 1)
    finally:
        for node in nodes:
            node.kill()


@contextlib.contextmanager
def adapter(**changes):
    """A copy of an adapter whose configuration differs."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(f"{DATA}/adapters/llama", f"{folder}/a")
        with open(f"{folder}/a/adapter_config.json", encoding="utf-8") as f:
            config = json.load(f)
        with open(f"{folder}/a/adapter_config.json", "w", encoding="utf-8") as f:
            json.dump(config | changes, f)
        yield f"{folder}/a"


@test
def adapters_are_refused_by_name(shoal, models):
    wrong = {"use_dora": True, "bias": "all", "r": 5, "peft_type": "IA3", "modules_to_save": ["lm_head"], "init_lora_weights": "pissa",
             "alora_invocation_tokens": [1], "rank_pattern": {"^q.*": 4}, "lora_alpha": "8"}
    for key, value in wrong.items():
        with adapter(**{key: value}) as path, tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(config_of(names=()) + f"      - bad={path}\n")
            f.flush()
            with refused(shoal, f.name) as sentence:
                named = {"r": "rank 5", "init_lora_weights": "pissa"}.get(key, key)
                assert named in sentence and "adapters" in sentence, (key, sentence)
    for path, named in ((f"{DATA}/adapters/phi3", "tensor"), (f"{DATA}/adapters/granite.gguf", "adapter_config.json"), ("/nothing", "no adapter")):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(config_of(names=()) + f"      - bad={path}\n")
            f.flush()
            with refused(shoal, f.name) as sentence:
                assert named in sentence, sentence


if __name__ == "__main__":
    main()
