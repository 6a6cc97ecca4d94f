"""Golden GGUF files: a tiny Llama in every tensor type, and raw vectors of every block type.

    OUT/quants/TYPE.bin, TYPE.f32       blocks and the float32 values that they stand for
    OUT/gguf/TYPE.gguf                  a tiny Llama with its matrices in this type
    OUT/gguf/TYPE.expected.json         its answers, from HF Llama with the dequantized weights
    OUT/gguf/split-0000{1,2}-of-00002.gguf, v2.gguf     forms of q8_0.gguf, the same answers

The reference for values is gguf.quants of the PyPI package gguf, which is independent of our
code. It cannot quantize to the K types, so those models are made of random valid blocks.
"""
import gguf.quants
import numpy as np
import torch
import transformers
from tokenizers.pre_tokenizers import ByteLevel

import gguf_file
import golden_expected

# As in llama.cpp: {name: (values a block, bytes a block)}.
SIMPLE = {"Q4_0": (32, 18), "Q4_1": (32, 20), "Q5_0": (32, 22), "Q5_1": (32, 24), "Q8_0": (32, 34)}
K = {"Q2_K": (256, 84), "Q3_K": (256, 110), "Q4_K": (256, 144), "Q5_K": (256, 176),
     "Q6_K": (256, 210)}
FLOATS = ("F32", "F16", "BF16")
LATER = {"IQ4_NL": (32, 18), "IQ4_XS": (256, 136), "TQ1_0": (256, 54), "TQ2_0": (256, 66),
         "MXFP4": (32, 17)}

# Byte offsets of the float16 scale and minimum in a block, and the ratio minimum / scale that
# centres random blocks on zero: mean(scale * quant) / mean(minimum), e.g. Q4_K: 31.5 * 7.5 / 31.5.
SCALES = {"Q4_0": (0, None, 0), "Q4_1": (0, 2, -7.5), "Q5_0": (0, None, 0), "Q5_1": (0, 2, -15.5),
          "Q8_0": (0, None, 0), "Q2_K": (80, 82, 1.5), "Q3_K": (108, None, 0), "Q4_K": (0, 2, 7.5),
          "Q5_K": (0, 2, 15.5), "Q6_K": (208, None, 0)}

PLACES = {"IQ4_NL": 0, "IQ4_XS": 0, "TQ1_0": 52, "TQ2_0": 64}  # of the float16 scale in a block

# Seeds of the models that golden_expected.search() found; it starts there.
SEEDS = {"F32": 100, "F16": 2101, "BF16": 102, "Q4_0": 103, "Q4_1": 104, "Q5_0": 2105,
         "Q5_1": 2106, "Q8_0": 1107, "Q2_K": 108, "Q3_K": 1109, "Q4_K": 110, "Q5_K": 1111,
         "Q6_K": 112, "IQ4_NL": 113, "IQ4_XS": 114, "TQ1_0": 115, "TQ2_0": 116, "MXFP4": 117}


def ggml_type(name):
    return gguf.GGMLQuantizationType[name]


def dequantize(data, name):
    """Bytes of any type as a flat float32 array."""
    if name == "F32":
        return np.frombuffer(data, np.float32)
    if name == "F16":
        return np.frombuffer(data, np.float16).astype(np.float32)
    blocks = np.frombuffer(data, np.uint8).reshape(1, -1)
    return gguf.quants.dequantize(blocks, ggml_type(name)).reshape(-1)


def random_blocks(dice, name, n, spread):
    """n blocks of random bits, (n, bytes), whose values have about this deviation."""
    _, size = (SIMPLE | K)[name]
    at, at_min, ratio = SCALES[name]
    blocks = dice.integers(0, 256, (n, size), dtype=np.uint8)

    def put(scale):
        blocks[:, at:at + 2] = scale.astype(np.float16).view(np.uint8).reshape(n, 2)
        if at_min is not None:
            low = (scale * ratio).astype(np.float16)
            blocks[:, at_min:at_min + 2] = low.view(np.uint8).reshape(n, 2)

    put(np.full(n, 2.0 ** -6))
    unit = dequantize(blocks.tobytes(), name).std() * 2 ** 6
    put(spread / unit * dice.uniform(0.6, 1.4, n))
    return blocks


# ---- Raw vectors ----------------------------------------------------------------------------

def vectors(out):
    """Random blocks, some with odd scales: zero, negative, subnormal, large."""
    out.mkdir(parents=True, exist_ok=True)
    dice = np.random.default_rng(11)
    odd = np.float16([0.0, -0.0, -0.25, 6e-8, -3e-5, 1.0, 60000.0, 6.1e-5])
    odd = odd.view(np.uint8).reshape(-1, 2)
    for name, (_, size) in (SIMPLE | K).items():
        n = 256 if name in SIMPLE else 64
        blocks = random_blocks(dice, name, n, 0.1)
        at, at_min, _ = SCALES[name]
        blocks[:8, at:at + 2] = odd
        if at_min is not None:
            blocks[4:12, at_min:at_min + 2] = odd
        # Extreme bits in the rest of a block.
        keep = [at, at + 1] + ([] if at_min is None else [at_min, at_min + 1])
        rest = [i for i in range(size) if i not in keep]
        blocks[np.ix_([20], rest)] = 0
        blocks[np.ix_([21], rest)] = 255
        blocks[np.ix_([22], rest)] = 0x80
        save_vector(out, name, blocks.tobytes())
    later_vectors(out, odd)
    for name in ("F16", "BF16"):
        bits = dice.integers(0, 1 << 16, 4096).astype(np.uint16)
        mask = 0x7C00 if name == "F16" else 0x7F80
        save_vector(out, name, bits[(bits & mask) != mask].tobytes())  # neither Inf nor NaN


def random_later(dice, name, n, spread):
    """n blocks of random bits of a type of LATER. Ternary digits and scales stay in their range."""
    blocks = dice.integers(0, 256, (n, LATER[name][1]), dtype=np.uint8)
    if name == "MXFP4":  # values of 3.4 on average
        exponent = np.log2(spread / 3.4) + dice.uniform(-0.6, 0.6, n)
        blocks[:, 0] = np.rint(exponent + 127).astype(np.uint8)
        return blocks
    at = PLACES[name]
    if name == "TQ2_0":
        digits = dice.integers(0, 3, (n, 64, 4))
        blocks[:, :64] = (digits << np.arange(0, 8, 2)).sum(axis=-1)

    def put(scale):
        blocks[:, at:at + 2] = scale.astype(np.float16).view(np.uint8).reshape(n, 2)

    put(np.full(n, 2.0 ** -6))
    unit = dequantize(blocks.tobytes(), name).std() * 2 ** 6
    put(spread / unit * dice.uniform(0.6, 1.4, n))
    return blocks


def later_vectors(out, odd):
    """The same for the types that came later. MXFP4's scale is an exponent: all up to 2^96."""
    dice = np.random.default_rng(12)
    for name, (n_block, size) in LATER.items():
        n = 256 if n_block == 32 else 64
        blocks = dice.integers(0, 256, (n, size), dtype=np.uint8)
        if name == "MXFP4":
            blocks[:224, 0] = np.arange(224)
            blocks[224:, 0] = dice.integers(110, 130, 32)
        else:
            at = PLACES[name]
            scale = np.float16(dice.uniform(0.001, 0.1, n))
            blocks[:, at:at + 2] = scale.view(np.uint8).reshape(n, 2)
            blocks[:8, at:at + 2] = odd
        save_vector(out, name, blocks.tobytes())


def save_vector(out, name, data):
    (out / f"{name.lower()}.bin").write_bytes(data)
    (out / f"{name.lower()}.f32").write_bytes(dequantize(data, name).astype("<f4").tobytes())


# ---- Models ---------------------------------------------------------------------------------

def config(name):
    """K blocks need rows of 256 values; these models have one layer and their output is tied."""
    k = (K | LATER).get(name, (32,))[0] == 256
    return transformers.LlamaConfig(
        vocab_size=256, hidden_size=256 if k else 64, intermediate_size=256 if k else 96,
        num_hidden_layers=1 if k or name == "F32" else 2, num_attention_heads=4,
        num_key_value_heads=1 if k else 2, max_position_embeddings=256, rms_norm_eps=1e-5,
        rope_theta=10000.0, tie_word_embeddings=k,
        attn_implementation="eager")


def names(n_layers, tied):
    """(GGUF name, HF name, head count key if its rows are permuted)."""
    yield "token_embd", "model.embed_tokens", None
    for i in range(n_layers):
        b, h = f"blk.{i}.", f"model.layers.{i}."
        yield b + "attn_norm", h + "input_layernorm", None
        yield b + "attn_q", h + "self_attn.q_proj", "num_attention_heads"
        yield b + "attn_k", h + "self_attn.k_proj", "num_key_value_heads"
        yield b + "attn_v", h + "self_attn.v_proj", None
        yield b + "attn_output", h + "self_attn.o_proj", None
        yield b + "ffn_norm", h + "post_attention_layernorm", None
        yield b + "ffn_gate", h + "mlp.gate_proj", None
        yield b + "ffn_up", h + "mlp.up_proj", None
        yield b + "ffn_down", h + "mlp.down_proj", None
    yield "output_norm", "model.norm", None
    if not tied:
        yield "output", "lm_head", None


def permute(w, n_heads):
    """HF's rows (a rotary pair is half a head apart) as GGUF's for llama (a pair is neighbours)."""
    return w.reshape(n_heads, 2, -1, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def permute_back(w, n_heads):
    return w.reshape(n_heads, -1, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def encode(values, name, dice):
    """One matrix in a type. For K types the values only give the shape and the spread."""
    if name in K:
        n = values.size // K[name][0]
        return random_blocks(dice, name, n, float(values.std())).tobytes()
    if name in LATER:
        n = values.size // LATER[name][0]
        return random_later(dice, name, n, float(values.std())).tobytes()
    if name in FLOATS:
        return gguf_file.encode(values, name)
    return gguf.quants.quantize(values, ggml_type(name)).tobytes()


def make(name, seed):
    """A model and its tensors as stored: the model's weights are what the tensors stand for."""
    cfg = config(name)
    model = golden_expected.randomize(transformers.LlamaForCausalLM(cfg), seed)
    weights = dict(model.named_parameters())
    dice = np.random.default_rng(seed)
    tensors = []
    for stored, hf, heads_key in names(cfg.num_hidden_layers, cfg.tie_word_embeddings):
        w = weights[hf + ".weight"]
        values = w.detach().numpy()
        if heads_key:
            values = np.ascontiguousarray(permute(values, getattr(cfg, heads_key)))
        kind = name if values.ndim == 2 else "F32"
        data = encode(values, kind, dice)
        tensors.append((stored + ".weight", kind, values.shape, data))
        read = dequantize(data, kind).reshape(values.shape)
        if heads_key:
            read = permute_back(read, getattr(cfg, heads_key))
        with torch.no_grad():
            w.copy_(torch.from_numpy(np.array(read)))
    return model, tensors


def byte_tokens():
    """A vocabulary of the 256 bytes, in order, as byte-level BPE spells them."""
    # The alphabet's order is by character; printable bytes stand for themselves, the others
    # follow from U+0100 on in the order of the bytes.
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    spelled = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}
    assert set(spelled.values()) == set(ByteLevel.alphabet())
    return [spelled[b] for b in range(256)]


def tokenizer_pairs():
    return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": byte_tokens(),
            "tokenizer.ggml.token_type": np.int32([1] * 256), "tokenizer.ggml.merges": [],
            "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 0,
            "tokenizer.ggml.add_bos_token": False}


def metadata(name):
    cfg = config(name)
    return {
        "general.architecture": "llama", "general.name": "golden-" + name.lower(),
        "llama.context_length": cfg.max_position_embeddings,
        "llama.embedding_length": cfg.hidden_size,
        "llama.block_count": cfg.num_hidden_layers,
        "llama.feed_forward_length": cfg.intermediate_size,
        "llama.attention.head_count": cfg.num_attention_heads,
        "llama.attention.head_count_kv": cfg.num_key_value_heads,
        "llama.attention.layer_norm_rms_epsilon": cfg.rms_norm_eps,
        "llama.rope.dimension_count": cfg.hidden_size // cfg.num_attention_heads,
        "llama.rope.freq_base": cfg.rope_theta, "llama.vocab_size": cfg.vocab_size,
    } | tokenizer_pairs()


def split(out, pairs, tensors):
    """Two files; the metadata stands in the first, the keys of the split in both."""
    half = len(tensors) // 2
    for no, part in enumerate((tensors[:half], tensors[half:])):
        keys = {"split.no": np.uint16(no), "split.count": np.uint16(2),
                "split.tensors.count": np.int32(len(tensors))}
        own = (pairs if no == 0 else {}) | keys
        gguf_file.write(out / f"split-0000{no + 1}-of-00002.gguf", own, part)


def models(out):
    out.mkdir(parents=True, exist_ok=True)
    for name, seed in SEEDS.items():
        tensors, answer = golden_expected.search(lambda seed: make(name, seed), 256, seed)
        gguf_file.write(out / f"{name.lower()}.gguf", metadata(name), tensors)
        golden_expected.save(out / f"{name.lower()}.expected.json", answer)
        if name == "Q8_0":
            gguf_file.write(out / "v2.gguf", metadata(name), tensors, version=2)
            split(out, metadata(name), tensors)
            for form in ("v2", "split"):
                golden_expected.save(out / f"{form}.expected.json", answer)
