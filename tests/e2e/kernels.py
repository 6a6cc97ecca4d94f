"""shoal bench kernels from outside: its table, its JSON, its page, and peers with the output of llama.cpp's programs.

usage: kernels.py SHOAL SOURCE_ROOT; TEST_FILTER=part of a name runs only some.
"""
import json
import os
import resource
import stat
import struct
import subprocess
import sys
import tempfile
import xml.dom.minidom

SHOAL, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TALE, CEE = os.path.join(ROOT, "models", "tale.gguf"), os.path.join(ROOT, "models", "cee.gguf")
QUICK = ["--tries", "0", "--rounds", "2", "--generate", "4", "--batch", "8"]
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Skip(Exception):
    pass


def kernels(*args, **how):
    return subprocess.run([SHOAL, "bench", "kernels", *args], capture_output=True, text=True, timeout=280, **how)


def write_changed(path, key, value):
    """tale.gguf with another number at this key."""
    data = bytearray(open(TALE, "rb").read())
    at = data.index(key.encode()) + len(key)
    assert struct.unpack_from("<I", data, at)[0] == 4, "a number of 32 bits"
    struct.pack_into("<I", data, at + 4, value)
    open(path, "wb").write(data)


def write_zeros(folder, n_layers, n_heads, n_kv_heads, head_dim, width=64):
    """A llama of zeros, in Hugging Face's form."""
    os.mkdir(folder)
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": width, "hidden_size": width, "intermediate_size": width,
              "num_hidden_layers": n_layers, "num_attention_heads": n_heads, "num_key_value_heads": n_kv_heads, "head_dim": head_dim,
              "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True}
    shapes, tensors, at = {"model.embed_tokens.weight": [width, width], "model.norm.weight": [width]}, {}, 0
    layer = {"input_layernorm": [width], "post_attention_layernorm": [width], "self_attn.q_proj": [n_heads * head_dim, width],
             "self_attn.k_proj": [n_kv_heads * head_dim, width], "self_attn.v_proj": [n_kv_heads * head_dim, width],
             "self_attn.o_proj": [width, n_heads * head_dim], "mlp.gate_proj": [width, width], "mlp.up_proj": [width, width], "mlp.down_proj": [width, width]}
    for i in range(n_layers):
        shapes.update({f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()})
    for name, shape in shapes.items():
        n_bytes = 4 * shape[0] * (shape[1] if len(shape) == 2 else 1)
        tensors[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + n_bytes]}
        at += n_bytes
    header = json.dumps(tensors).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + bytes(at))
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    return folder


BENCH = """#!/usr/bin/env python3
import sys
args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "--help" in sys.argv:
    print("-p, --n-prompt  %s")
    sys.exit(0)
open(sys.argv[0] + ".log", "a").write(" ".join(sys.argv[1:]) + "\\n")
print("loading", file=sys.stderr)
rate = 1000 if args.get("-fa") == "1" else 500
row = '{"build_commit": "abc123", "n_prompt": %%d, "n_gen": %%d, "n_depth": 0, "samples_ts": [%%g]}'
print("[\\n" + ",\\n".join([row %% (int(args["-p"]), 0, rate), row %% (0, int(args["-n"]), rate / 10)]) + "\\n]")
"""
BATCHED = """#!/usr/bin/env python3
import sys
open(sys.argv[0] + ".log", "a").write(" ".join(sys.argv[1:]) + "\\n")
print("|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |")
rate = 77 if "on" in sys.argv else 66
print(f"|    64 |      4 |    8 |    544 |    6.000 |    85.33 |   10.000 |    {rate}.00 |   16.000 |    64.00 |")
"""


def write_peer(folder, name, is_ik):
    where = os.path.join(folder, name)
    os.mkdir(where)
    for program, text in (("llama-bench", BENCH % ("-rtr, --run-time-repack" if is_ik else "")), ("llama-batched-bench", BATCHED)):
        path = os.path.join(where, program)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return os.path.join(where, "llama-bench")


@test
def limits_alone():
    done = kernels("--tries", "0", "--json")
    assert done.returncode == 0, done.stderr
    machine = json.loads(done.stdout)["machine"]
    for key in ("read_l2", "read_l3", "read_memory", "float", "half", "int8", "int8_short"):
        assert len(machine[key]) == 2 and min(machine[key]) > 0, key
    assert json.loads(done.stdout)["models"] == []


@test
def two_models_in_one_table():
    with tempfile.TemporaryDirectory() as folder:
        page, out = os.path.join(folder, "x.html"), os.path.join(folder, "x.json")
        done = kernels("--model", TALE, "--model", CEE, *QUICK, "--batch", "1", "--html", page, "--out", out)
        assert done.returncode == 0, done.stderr
        for word in ("tale.gguf: file", "cee.gguf: file", "decode 1 at 2", "attention 1 x 16384"):
            assert word in done.stdout, (word, done.stdout)
        report = json.load(open(out))
        assert [m["model"] for m in report["models"]] == ["tale.gguf", "cee.gguf"]
        for model in report["models"]:
            assert model["packed_bytes"] > 0 and model["pack_s"] > 0
            for row in model["rows"]:
                assert row["tokens_per_s"] > 0 and row["fraction"] > 0 and row["ops"] > 0 and row["bytes"] > 0, row
                assert row["composite_s"] >= row["larger_s"] * 0.999, row
                assert row["peers"] == [] and row["ratio"] == 0, row
        text = open(page).read()
        svg = text[text.index("<svg"):text.index("</svg>") + 6]
        circles = xml.dom.minidom.parseString(svg).getElementsByTagName("circle")
        assert len(circles) == sum(len(m["rows"]) for m in report["models"])


@test
def peers_take_turns_and_the_best_flags_count():
    with tempfile.TemporaryDirectory() as folder:
        plain, ik = write_peer(folder, "plain", False), write_peer(folder, "ik", True)
        done = kernels("--model", TALE, *QUICK, "--no-attention", "--peer", plain, "--peer", ik, "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert [(p["is_ik"], p["commit"]) for p in report["peers"]] == [(False, "abc123"), (True, "abc123")]
        row = next(r for r in report["models"][0]["rows"] if r["name"] == "decode 1 at 2")
        first = {(p["peer"], p["flags"]): p["tokens_per_s"] for p in row["peers"]}
        assert first[0, "-fa 1 --repack 0"] == [100, 100] and first[0, "-fa 0 --repack 1"] == [50, 0], first
        assert first[1, "-fa 1 -rtr 0"][0] == 100, first
        ours = [1 / s for s in row["seconds"]]
        assert abs(row["ratio"] - sum(ours) / 2 / 100) < 0.01 * row["ratio"], (row["ratio"], ours)
        batch = next(r for r in report["models"][0]["rows"] if r["name"].startswith("decode 8"))
        assert max(max(p["tokens_per_s"]) for p in batch["peers"]) == 77, batch
        calls = open(plain + ".log").read().splitlines()
        assert sum("-fa 0" in call for call in calls) == 2, calls  # the first round alone
        calls = open(os.path.join(folder, "ik", "llama-batched-bench.log")).read()
        assert "-no-fa -rtr" in calls and "-npl 8 " in calls and "-npp 64 -ntg 4" in calls, calls


@test
def attention_is_measured_once_a_shape():
    with tempfile.TemporaryDirectory() as folder:
        # The same heads and bytes of keys and values as the first, but other dimensions; then another number of layers.
        shapes, args, out = [(2, 4, 2, 32), (2, 4, 1, 64), (3, 4, 2, 32), (2, 4, 2, 32)], [], os.path.join(folder, "x.json")
        for i, shape in enumerate(shapes):
            args += ["--model", write_zeros(os.path.join(folder, str(i)), *shape)]
        done = kernels(*args, *QUICK, "--rounds", "1", "--batch", "1", "--no-prefill", "--out", out)
        assert done.returncode == 0, done.stderr
        names = [[row["name"] for row in model["rows"]] for model in json.load(open(out))["models"]]
        assert [sum("attention" in name for name in each) for each in names] == [3, 3, 3, 0], names


@test
def rows_beyond_the_models_context_are_named():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "x.json")
        done = kernels("--model", TALE, *QUICK, "--rounds", "1", "--no-attention", "--depth", str(1 << 20), "--out", out)
        assert done.returncode == 0, done.stderr
        assert "decode 1 at 1048578 " in done.stdout and "left out: it takes 1048579 positions, the model has 512" in done.stdout, done.stdout
        model = json.load(open(out))["models"][0]
        assert [row["name"] for row in model["left_out"]] == ["decode 1 at 1048578"], model["left_out"]
        assert [row["name"] for row in model["rows"]] == ["prefill 512", "decode 1 at 2", "decode 8 at 66"], model["rows"]


@test
def rows_without_memory_are_named():
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20))}
    if kernels("--help", **few).returncode != 0:
        raise Skip("a sanitizer takes more address space than that")
    with tempfile.TemporaryDirectory() as folder:
        model, out = os.path.join(folder, "long.gguf"), os.path.join(folder, "x.json")
        write_changed(model, "llama.context_length", 1 << 20)
        done = kernels("--model", model, "--tries", "0", "--rounds", "1", "--threads", "1", "--depth", "1000000", "--out", out, **few)
        assert done.returncode == 0, (done.returncode, done.stderr)
        assert "attention 32 x 16384 left out: it takes 1056 MiB of memory, " in done.stdout, done.stdout
        model = json.load(open(out))["models"][0]
        assert [row["name"] for row in model["left_out"]] == ["decode 1 at 1000032", "attention 32 x 16384"], model["left_out"]
        assert len(model["rows"]) == 4 + 8, [row["name"] for row in model["rows"]]


@test
def peers_are_asked_for_rows_that_are_there():
    with tempfile.TemporaryDirectory() as folder:
        plain, model = write_peer(folder, "plain", False), os.path.join(folder, "short.gguf")
        write_changed(model, "llama.context_length", 50)  # neither prompts nor batches nor the depth fit
        done = kernels("--model", model, *QUICK, "--no-attention", "--depth", "100", "--variants", "plain", "--peer", plain, "--json")
        assert done.returncode == 0, done.stderr
        assert [row["name"] for row in json.loads(done.stdout)["models"][0]["rows"]] == ["decode 1 at 2"], done.stdout
        calls = open(plain + ".log").read().splitlines()
        assert len(calls) == 2 and all("-p 0 -n 4 -fa 0" in call for call in calls), calls
        assert not os.path.exists(os.path.join(folder, "plain", "llama-batched-bench.log"))


@test
def peers_are_given_the_whole_path():
    with tempfile.TemporaryDirectory() as folder:
        plain, deep = write_peer(folder, "plain", False), os.path.join(folder, "d" * 200, "e" * 200, "f" * 200)
        os.makedirs(deep)
        model = os.path.join(deep, "m" * 140 + ".gguf")
        write_changed(model, "llama.context_length", 50)
        done = kernels("--model", model, *QUICK, "--rounds", "1", "--no-attention", "--variants", "plain", "--peer", plain, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["models"][0]["model"] == "m" * 140 + ".gguf", done.stdout
        assert f"-m {model} " in open(plain + ".log").read()


@test
def a_peer_that_fails_leaves_the_others():
    """It is named with its flags and rows, and is not run again with them. Programs beside it and other peers are."""
    said = '#!/bin/sh\necho "-p, --n-prompt"; echo "[{"\n'
    crash = '#!/bin/sh\ncase "$*" in *--help) echo "-p, --n-prompt";; *) echo "$*" >>"$0.log"; echo boom >&2; kill -9 $$;; esac\n'
    once = '#!/bin/sh\ncase "$*" in *--help) echo "-p, --n-prompt"; chmod a-x "$0";; esac\n'
    rows = "; left out with -fa 0 --repack 0: prefill 512, decode 1 at 2"
    cases = [("llama-batched-bench", said, "printed no rates, expected a table of ten columns; left out with -fa off --no-repack: decode 8 at 66"),
             ("llama-bench", said, "printed no rates, expected a list of tests as JSON" + rows), ("llama-bench", crash, "failed: boom" + rows),
             ("llama-bench", once, "can't be started, expected a program" + rows)]
    for program, text, sentence in cases:
        with tempfile.TemporaryDirectory() as folder:
            bad, good = write_peer(folder, "bad", False), write_peer(folder, "good", True)
            path = os.path.join(folder, "bad", program)
            with open(path, "w") as file:
                file.write(text)
            quick = ("--model", TALE, *QUICK, "--no-attention", "--variants", "plain", "--all-variants", "--peer", bad)
            done = kernels(*quick, "--peer", good, "--json")
            model = json.loads(done.stdout)["models"][0]
            lines = [line for line in done.stderr.splitlines() if line.startswith("shoal: ")]
            assert done.returncode == 1 and lines == [f"shoal: tale.gguf: {model['failed'][0]}"], (done.returncode, done.stderr)
            assert model["failed"] == [f"{path} {sentence}"], model["failed"]
            for row in model["rows"]:
                rates = {p["peer"]: p["tokens_per_s"] for p in row["peers"] if p["tokens_per_s"][0] > 0}
                is_left_out = (row["name"] == "decode 8 at 66") == (program == "llama-batched-bench")
                assert (0 in rates) != is_left_out and min(rates[1]) > 0 and row["ratio"] > 0, (row["name"], rates)
            if text == crash:
                assert len(open(path + ".log").read().splitlines()) == 1
            if text == once:
                os.chmod(path, 0o755)
            done = kernels(*quick)
            assert done.returncode == 1 and sentence in done.stdout and "  -\n" in done.stdout, (done.returncode, done.stdout)
            if program == "llama-bench":
                line = next(line for line in done.stdout.splitlines() if line.startswith("prefill 512"))
                assert line.endswith("  -"), line


@test
def what_is_wrong_is_said():
    for sentence, args in (("nowhere", ["--model", "nowhere.gguf"]), ("no such program", ["--peer", "/nowhere/llama-bench"]),
                           ("not a llama-bench", ["--peer", "/bin/echo"]), ("--rounds", ["--rounds", "0"]),
                           ("--threads 1025: expected 1 to", ["--threads", "1025"]), ("--threads 0: expected 1 to", ["--threads", "0"]),
                           ("there is no \"fast\"", ["--variants", "flash,fast"]), ("there is no \"\"", ["--variants", ""])):
        done = kernels("--tries", "0", *args)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("Try ")]
        assert 0 < done.returncode < 128 and len(lines) == 1 and sentence in lines[0], (args, done.stderr)


def main():
    only, n_failed = os.environ.get("TEST_FILTER", ""), 0
    for function in TESTS:
        if only not in function.__name__:
            continue
        print(f"[ RUN      ] {function.__name__}", flush=True)
        try:
            function()
            print(f"[       OK ] {function.__name__}", flush=True)
        except Skip as why:
            print(f"[  SKIPPED ] {function.__name__}\n[  REASON  ] {function.__name__}: {why}", flush=True)
        except Exception as error:  # the next test runs too
            print(f"{type(error).__name__}: {error}\n[  FAILED  ] {function.__name__}", flush=True)
            n_failed += 1
    sys.exit(1 if n_failed else 0)


main()
