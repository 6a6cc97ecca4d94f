"""Refused models: `show`, `serve` and `config check` print the same sentence, which names the fault.

usage: bad_models.py SHOAL SOURCE_ROOT. Each row spoils a copy of a golden model in one place.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

SHOAL, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
GOLDEN = ROOT / "tests/golden/data"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def hf(folder):
    return pathlib.Path(shutil.copytree(GOLDEN / "llama", folder / "model"))


def with_file(name, content):
    def make(folder):
        path = hf(folder)
        (path / name).write_bytes(content)
        return path
    return make


def with_keys(**keys):
    def make(folder):
        path = hf(folder)
        config = json.loads((path / "config.json").read_text()) | keys
        (path / "config.json").write_text(json.dumps(config))
        return path
    return make


def instead_of_weights(*names):
    def make(folder):
        path = hf(folder)
        (path / "model.safetensors").unlink()
        for name in names:
            (path / name).write_bytes(b"{}")
        return path
    return make


def without(*names, also=()):
    def make(folder):
        path = hf(folder)
        for name in names:
            (path / name).unlink()
        for name, content in also:
            (path / name).write_bytes(content)
        return path
    return make


def only(*names):
    def make(folder):
        for name in names:
            (folder / name).write_bytes(b"{}")
        return folder
    return make


def pair(key, kind, value):
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(*pairs, cut=None, rename=None, head=b""):
    """The golden file with more metadata. A filler keeps the rest aligned."""
    def make(folder):
        content = (GOLDEN / "gguf/f32.gguf").read_bytes()
        if rename:
            content = content.replace(*rename)
        if pairs:
            version, n_tensors, n_pairs = struct.unpack("<IQQ", content[4:24])
            added = b"".join(pairs)
            empty = pair("x.filler", 8, text(""))
            added += pair("x.filler", 8, text(" " * (-(len(added) + len(empty)) % 32)))
            content = (content[:4] + struct.pack("<IQQ", version, n_tensors, n_pairs + len(pairs) + 1) + added +
                       content[24:])
        path = folder / "model.gguf"
        path.write_bytes((head + content[len(head):])[:cut])
        return path
    return make


def raw(name, content):
    def make(folder):
        (folder / name).write_bytes(content)
        return folder / name
    return make


LFS = "is a Git LFS pointer, not the file itself"
ROWS = {
    "lfs_safetensors": (with_file("model.safetensors", POINTER), ["model.safetensors", LFS]),
    "lfs_config": (with_file("config.json", POINTER), ["config.json", LFS]),
    "lfs_tokenizer_json": (with_file("tokenizer.json", POINTER), ["tokenizer.json", LFS]),
    "lfs_tokenizer_config": (with_file("tokenizer_config.json", POINTER), ["tokenizer_config.json", LFS]),
    "lfs_generation_config": (with_file("generation_config.json", POINTER), ["generation_config.json", LFS]),
    "lfs_chat_template": (with_file("chat_template.jinja", POINTER), ["chat_template.jinja", LFS]),
    "lfs_tokenizer_model": (without("tokenizer.json", also=[("tokenizer.model", POINTER)]), ["tokenizer.model", LFS]),
    "lfs_vocab": (without("tokenizer.json", also=[("vocab.json", POINTER), ("merges.txt", b"")]), ["vocab.json", LFS]),
    "lfs_merges": (without("tokenizer.json", also=[("vocab.json", b"{}"), ("merges.txt", POINTER)]), ["merges.txt", LFS]),
    "lfs_index": (with_file("model.safetensors.index.json", POINTER), ["index.json", LFS]),
    "lfs_gguf": (raw("model.gguf", POINTER), ["model.gguf", LFS]),
    "adapter_beside": (with_file("adapter_config.json", b"{}"), ["adapter_config.json", "directory of its own"]),
    "lora_beside": (with_file("style.lora", b"x"), ["style.lora", "directory of its own"]),
    "adapter_alone": (only("adapter_config.json", "adapter_model.safetensors"), ["adapter_config.json"]),
    "pytorch": (instead_of_weights("pytorch_model.bin"), ["pytorch_model.bin", "save_pretrained"]),
    "pytorch_shards": (instead_of_weights("pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin"),
                       ["pytorch_model.bin.index.json", "save_pretrained"]),
    "tensorflow": (instead_of_weights("tf_model.h5"), ["tf_model.h5", "save_pretrained"]),
    "no_weights": (instead_of_weights(), ["holds no model.safetensors"]),
    "folder_of_gguf": (only("a.gguf", "b.gguf"), ["give the path of the GGUF file", "a.gguf"]),
    "makers_own": (only("params.json", "consolidated.safetensors"), ["params.json"]),
    "empty_folder": (only(), ["config.json"]),
    "not_causal": (with_keys(is_causal=False), ["is_causal is false"]),
    "scaled_logits": (with_keys(logits_scaling=8), ["logits_scaling is 8"]),
    "window": (with_keys(sliding_window=16), ["sliding_window is 16"]),
    "layer_types": (with_keys(layer_types=["full_attention", "sliding_attention"]), ["layer_types"]),
    "quantized": (with_keys(quantization_config={"quant_method": "hqq"}), ["quantization_config", '"hqq"']),
    "not_quantized": (with_keys(quantization_config={"quant_method": "awq"}), ["no tensor has the form"]),
    "rope_type": (with_keys(rope_scaling={"rope_type": "mrope"}), ['rope_type "mrope"']),
    "rope_theta": (with_keys(rope_theta=float("nan")), ["rope_theta", "NaN"]),
    "activation": (with_keys(hidden_act="mish"), ['hidden_act "mish"']),
    "bias_missing": (with_keys(attention_bias=True), ["attention_bias is true", "missing"]),
    "tied_twice": (with_keys(tie_word_embeddings=True), ["lm_head.weight", "tie_word_embeddings"]),
    "no_tokenizer": (without("tokenizer.json"), ["no tokenizer"]),
    "broken_tokenizer": (with_file("tokenizer.json", b'{"model":{"type":"WordPiece"}}'), ["tokenizer.json"]),
    "broken_config": (with_file("config.json", b'{"model_type":'), ["config.json: not valid JSON"]),
    "short_safetensors": (with_file("model.safetensors", b"abc"), ["too short"]),
    "no_file": (lambda folder: folder / "none.gguf", ["none.gguf"]),
    "zip": (raw("model.gguf", b"PK\3\4" + bytes(100)), ["not a GGUF file", "PyTorch"]),
    "web_page": (raw("model.gguf", b"<!DOCTYPE html>" + bytes(100)), ["not a GGUF file", "web page"]),
    "old_ggml": (raw("model.gguf", b"tjgg" + bytes(100)), ["not a GGUF file", "GGML"]),
    "lone_safetensors": (raw("model.safetensors", struct.pack("<Q", 10) + b'{"a":1}   '), ["give the path of its dir"]),
    "gguf_cut": (gguf(cut=2000), ["model.gguf"]),
    "gguf_not_causal": (gguf(pair("llama.attention.causal", 7, b"\0")), ["llama.attention.causal is false"]),
    "gguf_experts": (gguf(pair("llama.expert_count", 4, struct.pack("<I", 8))), ["llama.expert_used_count is missing"]),
    "gguf_logit_scale": (gguf(pair("llama.logit_scale", 6, struct.pack("<f", 0.5))), ["llama.logit_scale is 0.5"]),
    "gguf_rope_type": (gguf(pair("llama.rope.scaling.type", 8, text("longrope"))), ["rope.scaling.type longrope"]),
    "gguf_adapter": (gguf(pair("general.type", 8, text("adapter"))), ['general.type is "adapter"']),
    "gguf_no_tokenizer": (gguf(rename=(b"tokenizer.ggml.model", b"tokenizer.ggml.mdoel")), ["no tokenizer"]),
}
GOOD = {
    "good_directory": (hf, []),
    "good_null_keys": (with_keys(is_causal=True, pruned_heads={}, quantization_config=None, sliding_window=None), []),
    "good_unknown_keys": (with_keys(tuned_by="x", torch_dtype="float32"), ["tuned_by"]),
    "good_gguf": (gguf(pair("llama.attention.causal", 7, b"\1"), pair("x.y", 8, text("z")),
                       pair("llama.attention.sliding_window", 4, b"\x08\0\0\0"),
                       pair("llama.tuned_by", 8, text("x"))), ["llama.tuned_by"]),
}


def run(*words):
    done = subprocess.run([SHOAL, *map(str, words)], capture_output=True, text=True, timeout=60, errors="replace")
    return done.returncode, done.stderr.strip()


def check_bad(folder, make, words):
    path = make(folder)
    code, said = run("show", path)
    if code != 1 or "\n" in said or not said.startswith("shoal: "):
        return f"show: {code}: {said}"
    sentence = said.removeprefix("shoal: ")
    missing = [word for word in words if word not in sentence]
    if missing:
        return f"not in the sentence: {missing}: {sentence}"
    code, said = run("serve", "--model", f"m={path}", "--listen", "127.0.0.1:0")
    if code == 0 or sentence not in said:
        return f"show: {sentence}\nserve: {code}: {said}"
    config = folder / "shoal.yaml"
    config.write_text(json.dumps({"models": {"m": {"path": str(path)}}}))
    code, said = run("config", "check", config)
    if code == 0 or sentence not in said:
        return f"show: {sentence}\nconfig check: {code}: {said}"
    return None


def check_good(folder, make, unknown):
    path = make(folder)
    code, said = run("show", path)
    if code != 0:
        return f"show: {code}: {said}"
    code, said = run("run", path, "a", "--max-tokens", "1")
    if code != 0:
        return f"run: {code}: {said}"
    shown = json.loads(subprocess.check_output([SHOAL, "show", str(path), "--json"], timeout=60))
    return None if shown["unknown_keys"] == unknown else f"unknown keys: {shown['unknown_keys']}"


def main():
    n_failed = 0
    for name in [*ROWS, *GOOD]:
        print(f"[ RUN      ] {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            wrong = check_bad(folder, *ROWS[name]) if name in ROWS else check_good(folder, *GOOD[name])
        if wrong:
            print(wrong)
            n_failed += 1
        print(f"[{'  FAILED  ' if wrong else '       OK '}] {name}", flush=True)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
