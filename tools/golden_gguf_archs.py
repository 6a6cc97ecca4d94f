"""Golden GGUF files of the other architectures: where names, row order or keys differ from Llama's.

    OUT/gguf/{llama3,qwen2,qwen3,phi3,gemma,gemma3,gpt2,chatglm}.gguf and .expected.json, matrices in Q8_0

The models are golden_models' with the dequantized weights. What differs, as llama.cpp writes it:

    llama3    q and k rows permuted; rope scaling as a tensor of factors, rope_freqs.weight
    qwen2     no permutation, biases on q, k and v, output tied to the embedding
    qwen3     norms on q and k, attention.key_length; no permutation
    phi3      one qkv matrix, gate and up in one; two tensors of factors for the frequencies
    gemma     norms whole, not less one
    gemma3    the same, norms behind attention and feed-forward, too; scores are divided by the
              root of the head dimension
    gpt2      Conv1D matrices transposed, one qkv matrix, learned positions
    mixtral   llama's names with experts; each kind of matrix is one tensor over all experts
    qwen2_moe the same under its own name, and a feed-forward that all tokens use
    chatglm   one qkv matrix, gate and up in one matrix, rotary on half a head's dimensions
"""
import math

import numpy as np
import torch

import gguf_file
import golden_expected
import golden_gguf
import golden_models

# (GGUF name, HF names whose rows are concatenated); {i} is the layer.
ENDS = [("token_embd.weight", ["model.embed_tokens.weight"]),
        ("output_norm.weight", ["model.norm.weight"])]
OUTPUT = [("output.weight", ["lm_head.weight"])]
H, A = "model.layers.{i}.", "model.layers.{i}.self_attn."
NORMS = [("blk.{i}.attn_norm.weight", [H + "input_layernorm.weight"]),
         ("blk.{i}.ffn_norm.weight", [H + "post_attention_layernorm.weight"]),
         ("blk.{i}.attn_output.weight", [A + "o_proj.weight"]),
         ("blk.{i}.ffn_down.weight", [H + "mlp.down_proj.weight"])]
QKV = [(f"blk.{{i}}.attn_{x}.weight", [A + f"{x}_proj.weight"]) for x in "qkv"]
QKV_BIAS = [(f"blk.{{i}}.attn_{x}.bias", [A + f"{x}_proj.bias"]) for x in "qkv"]
QK_NORM = [(f"blk.{{i}}.attn_{x}_norm.weight", [A + f"{x}_norm.weight"]) for x in "qk"]
GATED = [(f"blk.{{i}}.ffn_{x}.weight", [H + f"mlp.{x}_proj.weight"]) for x in ("gate", "up")]
G = "transformer.h.{i}."
GPT2 = [("token_embd.weight", ["transformer.wte.weight"]),
        ("position_embd.weight", ["transformer.wpe.weight"])]
GPT2 += [
    (f"{a}.{kind}", [f"{b}.{kind}"]) for kind in ("weight", "bias") for a, b in (
        ("output_norm", "transformer.ln_f"),
        ("blk.{i}.attn_norm", G + "ln_1"), ("blk.{i}.ffn_norm", G + "ln_2"),
        ("blk.{i}.attn_qkv", G + "attn.c_attn"), ("blk.{i}.attn_output", G + "attn.c_proj"),
        ("blk.{i}.ffn_up", G + "mlp.c_fc"), ("blk.{i}.ffn_down", G + "mlp.c_proj"))]
CHATGLM = [(f"blk.{{i}}.attn_qkv.{kind}", [A + f"{x}_proj.{kind}" for x in "qkv"])
           for kind in ("weight", "bias")]
CHATGLM += [("blk.{i}.ffn_up.weight", [H + "mlp.gate_up_proj.weight"])]

PHI3 = [("blk.{i}.attn_qkv.weight", [A + "qkv_proj.weight"]),
        ("blk.{i}.ffn_up.weight", [H + "mlp.gate_up_proj.weight"])]
GEMMA3 = [("blk.{i}.attn_norm.weight", [H + "input_layernorm.weight"]),
          ("blk.{i}.post_attention_norm.weight", [H + "post_attention_layernorm.weight"]),
          ("blk.{i}.ffn_norm.weight", [H + "pre_feedforward_layernorm.weight"]),
          ("blk.{i}.post_ffw_norm.weight", [H + "post_feedforward_layernorm.weight"])] + NORMS[2:]

ROUTER = [("blk.{i}.ffn_gate_inp.weight", [H + "mlp.gate.weight"])]


def experts(n, names=("gate_proj", "up_proj", "down_proj"), block="mlp."):
    """One tensor for all experts' matrices of a kind."""
    return [(f"blk.{{i}}.ffn_{kind}_exps.weight",
             [f"{H}{block}experts.{e}.{name}.weight" for e in range(n)])
            for kind, name in zip(("gate", "up", "down"), names)]


MIXED = ENDS + OUTPUT + NORMS[:3] + QKV
SHARED = [(f"blk.{{i}}.ffn_{x}_shexp.weight", [H + f"mlp.shared_expert.{x}_proj.weight"])
          for x in ("gate", "up", "down")]
SHARED += [("blk.{i}.ffn_gate_inp_shexp.weight", [H + "mlp.shared_expert_gate.weight"])]

TABLES = {
    "llama3": ENDS + OUTPUT + NORMS + QKV + GATED,
    "qwen2": ENDS + NORMS + QKV + QKV_BIAS + GATED,
    "qwen3": ENDS + OUTPUT + NORMS + QKV + QK_NORM + GATED,
    "phi3_long": ENDS + OUTPUT + NORMS + PHI3,
    "mixtral": MIXED + [("blk.{i}.ffn_gate_inp.weight", [H + "block_sparse_moe.gate.weight"])] +
               experts(5, ("w1", "w3", "w2"), "block_sparse_moe."),
    "olmoe": MIXED + QK_NORM + ROUTER + experts(6),
    "qwen2_moe": MIXED + QKV_BIAS + ROUTER + experts(6) + SHARED,
    "qwen3_moe": MIXED + QK_NORM + ROUTER + experts(7),
    "gemma": ENDS + NORMS + QKV + GATED,
    "gemma3": ENDS + GEMMA3 + QKV + QK_NORM + GATED,
    "gpt2": GPT2,
    "chatglm2": ENDS + OUTPUT + NORMS + CHATGLM,
}

FILES_OF_EXPERTS = {"mixtral": "llama", "olmoe": "olmoe", "qwen2_moe": "qwen2moe",
                    "qwen3_moe": "qwen3moe"}

# Seeds that golden_expected.search() found; it starts there.
SEEDS = {"llama3": 300, "qwen2": 301, "qwen3": 2302, "phi3_long": 305, "mixtral": 308, "olmoe": 309, "qwen2_moe": 310, "qwen3_moe": 311, "gemma": 306,
         "gemma3": 2307, "gpt2": 1303, "chatglm2": 304}


def rows(name, table, n_layers):
    for stored, sources in table:
        for i in range(n_layers if "{i}" in stored else 1):
            yield stored.format(i=i), [s.format(i=i) for s in sources]


def turn(arch, stored, values, config, back=False):
    """HF's layout of one matrix as GGUF's, or back."""
    if arch == "gpt2" and "blk" in stored and values.ndim == 2:
        return values.T
    if arch in ("llama3", "mixtral") and (".attn_q." in stored or ".attn_k." in stored):
        n_heads = config.num_attention_heads if ".attn_q." in stored else config.num_key_value_heads
        return (golden_gguf.permute_back if back else golden_gguf.permute)(values, n_heads)
    if arch.startswith("gemma") and values.ndim == 1:  # norms are whole here
        return values - 1 if back else values + 1
    return values


def make(arch, seed):
    """A model and its tensors as stored: the model's weights are what the tensors stand for."""
    # GGUF has no key for it: the head dimension is meant.
    other = {"query_pre_attn_scalar": 32} if arch == "gemma3" else {}
    model, _ = golden_models.make(arch, seed, **other)
    config, weights, tensors = model.config, dict(model.named_parameters()), []
    for stored, sources in rows(arch, TABLES[arch], config.num_hidden_layers):
        parts = [weights[s] for s in sources]
        values = np.concatenate([p.detach().numpy() for p in parts])
        values = np.ascontiguousarray(turn(arch, stored, values, config))
        # With experts all is exact, since rounding would let a router choose other experts.
        kind = "Q8_0" if values.ndim == 2 and arch not in FILES_OF_EXPERTS else "F32"
        data = golden_gguf.encode(values, kind, None)
        shape = values.shape
        if "_exps" in stored:
            shape = (len(sources), shape[0] // len(sources), shape[1])
        if "inp_shexp" in stored:
            shape = shape[1:]
        tensors.append((stored, kind, shape, data))
        read = golden_gguf.dequantize(data, kind).reshape(values.shape)
        read = torch.from_numpy(np.array(turn(arch, stored, read, config, back=True)))
        with torch.no_grad():
            for part, piece in zip(parts, read.split([p.shape[0] for p in parts])):
                part.copy_(piece)
    if arch == "llama3":
        factors = rope_factors(config)
        tensors.insert(0, ("rope_freqs.weight", "F32", factors.shape, factors.tobytes()))
    if arch == "phi3_long":
        for length in ("long", "short"):
            factors = np.float32(config.rope_scaling[f"{length}_factor"])
            tensors.append(
                (f"rope_factors_{length}.weight", "F32", factors.shape, factors.tobytes()))
    return model, (config, tensors)


def rope_factors(config):
    """By what each rotary frequency is divided (Llama 3.1's rule)."""
    s, dim = config.rope_scaling, config.hidden_size // config.num_attention_heads
    factors = []
    for rate in config.rope_theta ** (-np.arange(0, dim, 2) / dim):
        turns = s["original_max_position_embeddings"] * rate / (2 * math.pi)
        low, high = s["low_freq_factor"], s["high_freq_factor"]
        smooth = min(1.0, max(0.0, (turns - low) / (high - low)))
        factors.append(1 / ((1 - smooth) / s["factor"] + smooth))
    return np.float32(factors)


def metadata(arch, config):
    names = {"llama3": "llama", "chatglm2": "chatglm", "phi3_long": "phi3"} | FILES_OF_EXPERTS
    name = names.get(arch, arch)
    get = lambda key, default=None: getattr(config, key, default)
    pairs = {
        "general.architecture": name, "general.name": "golden-" + arch,
        f"{name}.context_length": config.max_position_embeddings,
        f"{name}.embedding_length": config.hidden_size,
        f"{name}.block_count": config.num_hidden_layers,
        f"{name}.feed_forward_length": get("n_inner") or get("intermediate_size"),
        f"{name}.attention.head_count": config.num_attention_heads,
        f"{name}.attention.head_count_kv": get("num_key_value_heads", config.num_attention_heads),
    }
    if name == "gpt2":
        pairs["gpt2.attention.layer_norm_epsilon"] = config.layer_norm_epsilon
    else:
        pairs |= {f"{name}.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
                  f"{name}.rope.freq_base": config.rope_theta}
    if name == "llama":
        pairs["llama.rope.dimension_count"] = config.hidden_size // config.num_attention_heads
    if name in ("qwen3", "qwen3moe", "gemma", "gemma3"):
        pairs |= {f"{name}.attention.key_length": config.head_dim,
                  f"{name}.attention.value_length": config.head_dim}
    if arch in FILES_OF_EXPERTS:
        pairs |= {f"{name}.expert_count": get("num_local_experts") or config.num_experts,
                  f"{name}.expert_used_count": config.num_experts_per_tok}
    if name in ("qwen2moe", "qwen3moe"):
        pairs[f"{name}.expert_feed_forward_length"] = config.moe_intermediate_size
    if name == "qwen2moe":
        pairs[f"{name}.expert_shared_feed_forward_length"] = config.shared_expert_intermediate_size
    if name == "phi3":
        original = config.original_max_position_embeddings
        factor = config.max_position_embeddings / original
        pairs |= {"phi3.rope.dimension_count": config.hidden_size // config.num_attention_heads,
                  "phi3.attention.sliding_window": 0,
                  "phi3.rope.scaling.original_context_length": original,
                  "phi3.rope.scaling.attn_factor":
                      math.sqrt(1 + math.log(factor) / math.log(original))}
    if name == "gemma3":
        pairs |= {"gemma3.attention.sliding_window": config.sliding_window,
                  "gemma3.attention.sliding_window_pattern": config.sliding_window_pattern,
                  "gemma3.rope.freq_base_swa": config.rope_local_base_freq,
                  "gemma3.rope.scaling.type": "linear",
                  "gemma3.rope.scaling.factor": config.rope_scaling["factor"]}
    if name == "chatglm":
        pairs["chatglm.rope.dimension_count"] = config.head_dim // 2
    return pairs | golden_gguf.tokenizer_pairs()


def models(out):
    out.mkdir(parents=True, exist_ok=True)
    for arch, seed in SEEDS.items():
        found, answer = golden_expected.search(
            lambda seed: make(arch, seed), golden_models.VOCAB, seed)
        file = {"chatglm2": "chatglm", "phi3_long": "phi3"}.get(arch, arch)
        gguf_file.write(out / f"{file}.gguf", metadata(arch, found[0]), found[1])
        golden_expected.save(out / f"{file}.expected.json", answer)
