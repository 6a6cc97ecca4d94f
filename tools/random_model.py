"""Writes llama models with random weights, of sizes that benchmarks compare: 15m, 160m, 1b1 (TinyLlama's shape), and
four layers of mixtures of experts: olmoe4 (OLMoE-1B-7B) and qwen3moe4 (Qwen3-30B-A3B).

usage: random_model.py SIZE TYPE PATH      SIZE: 10m 15m 160m 1b1 olmoe4 qwen3moe4     TYPE: F16 Q8_0 Q4_0 Q4_K_M (seeded: the same call writes the same file)

Q4_0 and Q4_K_M are mixed as llama-quantize mixes them: see type_of.

The vocabulary has 32,000 made-up tokens, bytes among them, so that any text can be encoded; what the model says is noise.
"""
import sys

import numpy as np

import gguf_file
import gguf_quant

SIZES = {"10m": (192, 8, 6, 3, 768), "15m": (288, 6, 6, 6, 768), "160m": (768, 12, 12, 12, 3072), "1b1": (2048, 22, 32, 4, 5632),
         "olmoe4": (2048, 4, 16, 16, 1024), "qwen3moe4": (2048, 4, 32, 4, 768)}
EXPERTS = {"olmoe4": ("olmoe", 64, 8, 128), "qwen3moe4": ("qwen3moe", 128, 8, 128)}  # architecture, experts, used, head dimension
TIED = ("10m", "15m")  # one matrix is embedding and output
N_VOCABULARY = 32000


def vocabulary():
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    types = [2, 3, 3] + [6] * 256
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    i = 0
    while len(tokens) < N_VOCABULARY:
        word, n = "", i
        while True:
            word += letters[n % 26]
            n //= 26
            if n == 0:
                break
        tokens.append(("\u2581" if i % 2 else "") + word)
        types.append(1)
        i += 1
    return tokens, types


def has_more_bits(layer, n_layers):
    """The layers whose values and whose way down get 6 bits in Q4_K_M."""
    eighth = n_layers // 8
    return layer < eighth or layer >= 7 * n_layers // 8 or (layer - eighth) % 3 == 2


def type_of(name, columns, mix, size):
    """The type of one matrix in a file of this mix. The output (the embedding where they are one) has 6 bits among 4; rows that are no whole number of blocks of
    256 take the next larger type of 32."""
    n_layers = SIZES[size][1]
    is_output = name == "output.weight" or (name == "token_embd.weight" and size in TIED)
    if mix == "Q4_0":
        wanted = "Q6_K" if is_output else "Q4_0"
    elif mix == "Q4_K_M":
        is_wide = ("attn_v" in name or "ffn_down" in name) and has_more_bits(int(name.split(".")[1]), n_layers)
        wanted = "Q6_K" if is_output or is_wide else "Q4_K"
    else:
        return mix
    return {"Q4_K": "Q5_0", "Q6_K": "Q8_0"}.get(wanted, wanted) if columns % 256 else wanted


class Pool:
    """The largest models' matrices are cut from one row of random blocks, each from another block on: encoded once, written in seconds."""
    N = 1 << 22

    def __init__(self, rng):
        self.values = rng.standard_normal((1, self.N), dtype=np.float32) * np.float32(0.02)
        self.encoded, self.n_cut = {}, 0

    def cut(self, n_values, type_name, encode):
        if type_name not in self.encoded:
            self.encoded[type_name] = np.frombuffer(encode(self.values, type_name), dtype=np.uint8)
        whole = self.encoded[type_name]
        n_bytes, block = len(whole) * n_values // self.N, len(whole) * 256 // self.N
        self.n_cut += 1
        begin = self.n_cut * 4099 % (self.N // 256) * block
        return np.resize(np.roll(whole, -begin), n_bytes).tobytes()


def tensors(size, mix, rng):
    width, n_layers, n_heads, n_kv_heads, ffn = SIZES[size]
    architecture, n_experts, _, head_dim = EXPERTS.get(size, ("llama", 0, 0, width // n_heads))
    q, kv = head_dim * n_heads, head_dim * n_kv_heads

    pool = Pool(rng) if size == "1b1" or n_experts else None

    def matrix(name, rows, columns):
        type_name = type_of(name, columns, mix, size)
        encode = gguf_quant.encode if type_name in gguf_quant.QUANTIZERS else gguf_file.encode
        if pool:
            return name, type_name, (rows, columns), pool.cut(rows * columns, type_name, encode)
        values = rng.standard_normal((rows, columns), dtype=np.float32) * np.float32(0.02)
        return name, type_name, (rows, columns), encode(values, type_name)

    def experts(name, rows, columns):
        stored, type_name, _, data = matrix(name, n_experts * rows, columns)
        return stored, type_name, (n_experts, rows, columns), data

    def ones(name, n=width):
        return name, "F32", (n,), gguf_file.encode(np.ones(n), "F32")

    yield matrix("token_embd.weight", N_VOCABULARY, width)
    for i in range(n_layers):
        yield ones(f"blk.{i}.attn_norm.weight")
        yield matrix(f"blk.{i}.attn_q.weight", q, width)
        yield matrix(f"blk.{i}.attn_k.weight", kv, width)
        yield matrix(f"blk.{i}.attn_v.weight", kv, width)
        yield matrix(f"blk.{i}.attn_output.weight", width, q)
        yield ones(f"blk.{i}.ffn_norm.weight")
        if n_experts:
            is_whole = architecture == "olmoe"  # one norm over all heads
            yield ones(f"blk.{i}.attn_q_norm.weight", q if is_whole else head_dim)
            yield ones(f"blk.{i}.attn_k_norm.weight", kv if is_whole else head_dim)
            router = rng.standard_normal((n_experts, width), dtype=np.float32) * np.float32(0.02)
            yield f"blk.{i}.ffn_gate_inp.weight", "F32", (n_experts, width), gguf_file.encode(router, "F32")
            yield experts(f"blk.{i}.ffn_gate_exps.weight", ffn, width)
            yield experts(f"blk.{i}.ffn_up_exps.weight", ffn, width)
            yield experts(f"blk.{i}.ffn_down_exps.weight", width, ffn)
            continue
        yield matrix(f"blk.{i}.ffn_gate.weight", ffn, width)
        yield matrix(f"blk.{i}.ffn_up.weight", ffn, width)
        yield matrix(f"blk.{i}.ffn_down.weight", width, ffn)
    yield ones("output_norm.weight")
    if size not in TIED:
        yield matrix("output.weight", N_VOCABULARY, width)


def main(size, type_name, path):
    width, n_layers, n_heads, n_kv_heads, ffn = SIZES[size]
    tokens, types = vocabulary()
    name, n_experts, n_used, head_dim = EXPERTS.get(size, ("llama", 0, 0, width // n_heads))
    pairs = {
        "general.architecture": name, "general.name": f"random-{size}", f"{name}.block_count": n_layers,
        f"{name}.context_length": 2048, f"{name}.embedding_length": width, f"{name}.feed_forward_length": ffn,
        f"{name}.attention.head_count": n_heads, f"{name}.attention.head_count_kv": n_kv_heads,
        f"{name}.attention.layer_norm_rms_epsilon": 1e-5, f"{name}.rope.dimension_count": head_dim,
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [float(-i) for i in range(len(tokens))], "tokenizer.ggml.token_type": np.array(types, dtype=np.int32),
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0,
    }
    if n_experts:
        pairs |= {f"{name}.expert_count": n_experts, f"{name}.expert_used_count": n_used,
                  f"{name}.attention.key_length": head_dim, f"{name}.attention.value_length": head_dim}
    if name == "qwen3moe":
        pairs[f"{name}.expert_feed_forward_length"] = ffn
    gguf_file.write(path, pairs, list(tensors(size, type_name, np.random.default_rng(1234))))


if __name__ == "__main__":
    main(*sys.argv[1:4])
