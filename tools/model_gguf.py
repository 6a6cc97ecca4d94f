"""The models of tools/model_cases.py as GGUF files, where llama.cpp would compute the same.

llama.cpp heeds fewer keys than transformers: no window but gemma3's, YaRN with its usual limits, one
activation for each architecture, no biases of gemma's attention, and scores of gemma3 that are
divided by the head dimension. A case that needs more has no GGUF file. Keys that llama.cpp ignores
are written at times, and must not change anything.
"""
import math

import numpy as np

import gguf_file
import golden_gguf
import golden_gguf_archs as archs
import model_cases
import model_cases_newer

NAMES = {"mistral": "llama", "gemma3_text": "gemma3", "phi": "phi2", "gpt_neox": "gptneox",
         "cohere": "command-r"}
A, H = archs.A, archs.H
EXTRA = [("blk.{i}.attn_output.bias", [A + "o_proj.bias"])]
EXTRA += [(f"blk.{{i}}.ffn_{x}.bias", [H + f"mlp.{x}_proj.bias"]) for x in ("gate", "up", "down")]
PLAIN = archs.ENDS + archs.OUTPUT + archs.NORMS + archs.QKV + archs.QKV_BIAS + archs.QK_NORM + archs.GATED


def both(stored, source):
    """A weight and, where there is one, a bias."""
    return [(f"{stored}.{kind}", [f"{source}.{kind}"]) for kind in ("weight", "bias")]


LAYER_ENDS = archs.ENDS[:1] + archs.OUTPUT
FALCON, NEOX = "transformer.h.{i}.", "gpt_neox.layers.{i}."
LAYER_NORMS = both("blk.{i}.attn_norm", H + "input_layernorm") + both(
    "blk.{i}.ffn_norm", H + "post_attention_layernorm")
QKVO = archs.QKV + archs.QKV_BIAS + both("blk.{i}.attn_output", A + "o_proj")
LAYERED = {
    "starcoder2": LAYER_ENDS + both("output_norm", "model.norm") + LAYER_NORMS + QKVO + both(
        "blk.{i}.ffn_up", H + "mlp.c_fc") + both("blk.{i}.ffn_down", H + "mlp.c_proj"),
    "stablelm": LAYER_ENDS + both("output_norm", "model.norm") + LAYER_NORMS + QKVO +
    archs.GATED + archs.NORMS[3:],
    "phi": LAYER_ENDS + [("output.bias", ["lm_head.bias"])] + both(
        "output_norm", "model.final_layernorm") + LAYER_NORMS + archs.QKV + archs.QKV_BIAS + both(
        "blk.{i}.attn_output", A + "dense") + both("blk.{i}.ffn_up", H + "mlp.fc1") + both(
        "blk.{i}.ffn_down", H + "mlp.fc2"),
    "gpt_neox": [("token_embd.weight", ["gpt_neox.embed_in.weight"]),
                 ("output.weight", ["embed_out.weight"])] + archs.OUTPUT + both(
        "output_norm", "gpt_neox.final_layer_norm") + both(
        "blk.{i}.attn_norm", NEOX + "input_layernorm") + both(
        "blk.{i}.ffn_norm", NEOX + "post_attention_layernorm") + both(
        "blk.{i}.attn_qkv", NEOX + "attention.query_key_value") + both(
        "blk.{i}.attn_output", NEOX + "attention.dense") + both(
        "blk.{i}.ffn_up", NEOX + "mlp.dense_h_to_4h") + both(
        "blk.{i}.ffn_down", NEOX + "mlp.dense_4h_to_h"),
    "falcon": [("token_embd.weight", ["transformer.word_embeddings.weight"])] + archs.OUTPUT + both(
        "output_norm", "transformer.ln_f") + both("blk.{i}.attn_norm", FALCON + "input_layernorm") +
    both("blk.{i}.attn_norm", FALCON + "ln_mlp") + both("blk.{i}.attn_norm_2", FALCON + "ln_attn") +
    [("blk.{i}.attn_qkv.weight", [FALCON + "self_attention.query_key_value.weight"]),
     ("blk.{i}.attn_output.weight", [FALCON + "self_attention.dense.weight"]),
     ("blk.{i}.ffn_up.weight", [FALCON + "mlp.dense_h_to_4h.weight"]),
     ("blk.{i}.ffn_down.weight", [FALCON + "mlp.dense_4h_to_h.weight"])],
    "cohere": archs.ENDS + LAYER_NORMS[:1] + archs.QKV + archs.NORMS[2:] + archs.GATED,
}
LAYERED["cohere2"] = LAYERED["cohere"]
TABLES = LAYERED | {
    "phi3": archs.ENDS + archs.OUTPUT + archs.NORMS + archs.PHI3,
    "gemma3_text": (archs.ENDS + archs.OUTPUT + archs.GEMMA3 + archs.QKV + archs.QK_NORM +
                    archs.GATED),
    "olmo2": archs.ENDS + archs.OUTPUT + archs.NORMS[2:] + archs.QKV + archs.QK_NORM + archs.GATED + [
        ("blk.{i}.post_attention_norm.weight", [H + "post_attention_layernorm.weight"]),
        ("blk.{i}.post_ffw_norm.weight", [H + "post_feedforward_layernorm.weight"])],
    "glm4": archs.ENDS + archs.OUTPUT + archs.NORMS + archs.QKV + archs.QKV_BIAS + [
        ("blk.{i}.ffn_up.weight", [H + "mlp.gate_up_proj.weight"]),
        ("blk.{i}.post_attention_norm.weight", [H + "post_self_attn_layernorm.weight"]),
        ("blk.{i}.post_ffw_norm.weight", [H + "post_mlp_layernorm.weight"])],
    "gpt2": archs.GPT2 + archs.OUTPUT,
    "chatglm": archs.ENDS + archs.OUTPUT + archs.NORMS + archs.CHATGLM,
}
# Families that are read from safetensors only.
TOLD = ("granite", "internlm2", "olmo2", "glm4", "smollm3", *LAYERED)
UNTOLD = tuple(f for f in model_cases.LATER if f not in TOLD)
PERMUTED = ("llama", "granite", "internlm2", "smollm3")
TANH = ("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate")


def get(config, *names):
    return next((getattr(config, n) for n in names if getattr(config, n, None) is not None), None)


def head_dim(config):
    own = None if config.model_type == "gpt2" else get(config, "head_dim")
    return own or config.hidden_size // config.num_attention_heads


def scaling_of(case):
    """The object of scaling as config.json has it, and its type."""
    if case.family == "chatglm":
        scaling = case.reference.get("rope_scaling", {})
        return scaling, scaling.get("rope_type", "default")
    scaling = case.config.get("rope_scaling") or case.config.get("rope_parameters") or {}
    if case.family == "gemma3_text" and case.config.get("rope_parameters"):
        scaling = scaling.get("full_attention") or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    return scaling, "longrope" if case.family == "phi3" and kind != "default" else kind


def rotation(case, config, name, dice):
    """(pairs, tensors) of the rotation, or None where llama.cpp has no words for it."""
    scaling, kind = scaling_of(case)
    base = get(config, "rope_theta")
    parameters = get(config, "rope_parameters") or {}  # where the newest library keeps them
    base = parameters.get("full_attention", parameters).get("rope_theta", base)
    pairs = {f"{name}.rope.freq_base": float(base)}
    if kind in ("default", "dynamic"):
        return pairs, []
    if kind == "linear":
        if dice.random() < 0.5:  # without a type it is linear
            pairs[f"{name}.rope.scaling.type"] = "linear"
        return pairs | {f"{name}.rope.scaling.factor": float(scaling["factor"])}, []
    if kind == "yarn" and not {"beta_fast", "beta_slow", "attention_factor", "mscale",
                               "truncate"} & set(scaling):
        original = (case.config.get("original_max_position_embeddings") or
                    scaling.get("original_max_position_embeddings"))
        factor = scaling.get("factor") or config.max_position_embeddings / original
        pairs |= {f"{name}.rope.scaling.type": "yarn", f"{name}.rope.scaling.factor": float(factor)}
        if original:
            pairs[f"{name}.rope.scaling.original_context_length"] = original
        return pairs, []
    if kind == "llama3" and name == "llama":
        return pairs, [("rope_freqs.weight", llama3_factors(scaling, base, head_dim(config)))]
    if kind == "longrope" and name == "phi3":
        original = config.original_max_position_embeddings
        factor = config.max_position_embeddings / original
        attention = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
        pairs |= {f"{name}.rope.scaling.original_context_length": original,
                  f"{name}.rope.scaling.attn_factor": attention}
        return pairs, [(f"rope_factors_{x}.weight", np.float32(scaling[f"{x}_factor"]))
                       for x in ("long", "short")]
    return None


def llama3_factors(s, base, dim):
    factors = []
    for rate in float(base) ** (-np.arange(0, dim, 2) / dim):
        turns = s["original_max_position_embeddings"] * rate / (2 * math.pi)
        low, high = s["low_freq_factor"], s["high_freq_factor"]
        smooth = min(1.0, max(0.0, (turns - low) / (high - low)))
        factors.append(1 / ((1 - smooth) / s["factor"] + smooth))
    return np.float32(factors)


def windows(case, config, name, dice):
    """Pairs of the window; None where llama.cpp would give none to layers that have one."""
    types = get(config, "layer_types")
    if case.family == "gemma3_text":
        if types is None:
            every = case.config.get("sliding_window_pattern", 6)
            types = ["full" if (i + 1) % every == 0 else "sliding_attention"
                     for i in range(config.num_hidden_layers)]
        has_window = np.int32([t == "sliding_attention" for t in types])
        parameters = get(config, "rope_parameters")
        local = (parameters["sliding_attention"]["rope_theta"] if parameters
                 else config.rope_local_base_freq)
        return {"gemma3.attention.sliding_window": config.sliding_window,
                "gemma3.attention.sliding_window_pattern": has_window,
                "gemma3.rope.freq_base_swa": float(local)}
    is_used = get(config, "use_sliding_window") is not False and "sliding_window" in case.config
    if is_used and config.sliding_window is not None and case.family in ("mistral", "phi3", "qwen2", "qwen3", "starcoder2"):
        return None
    if case.family == "cohere2":
        every = case.config.get("sliding_window_pattern", 4)
        return {"cohere2.attention.sliding_window": config.sliding_window} if every == 4 else None
    if case.family == "mistral" and "sliding_window" not in case.config:
        return {}  # 4096: wider than these contexts
    if case.family == "olmo2":  # a window makes it an OLMo 3
        return {}
    return {f"{name}.attention.sliding_window": 5} if dice.random() < 0.5 else {}


def is_sayable_layered(case, config):
    """What llama.cpp has no words for in families with layer norms, and in smollm3."""
    get_case = case.config.get
    if case.family == "smollm3":
        return not {"no_rope_layers", "no_rope_layer_interval"} & set(case.config)
    if case.family == "falcon":
        return config.parallel_attn and not config.bias and get_case("num_ln_in_parallel_attn") != 1
    if case.family.startswith("cohere"):
        return config.tie_word_embeddings and not get_case("attention_bias")
    return True


def is_sayable(case, config):
    act = get(config, "hidden_act", "hidden_activation", "activation_function", "activation")
    acts = TANH if case.family in ("gemma", "gemma3_text", "gpt2", "starcoder2", "phi", "gpt_neox",
                                   "falcon") else ("silu", "swish")
    if not is_sayable_layered(case, config):
        return False
    scores = get(config, "query_pre_attn_scalar")
    if case.family.startswith(("gemma", "olmo2")) and get(config, "attention_bias"):
        return False
    return (case.family != "opt" and act in acts and not case.keeps_output and
            (scores is None or scores == head_dim(config)))


def layered(case, config, name):
    """Pairs of families with layer norms."""
    epsilon = get(config, "layer_norm_eps", "norm_epsilon", "layer_norm_epsilon")
    part = {"phi": 0.5, "stablelm": 0.25, "gpt_neox": 0.25}.get(case.family, 1.0)
    part = case.config.get("rotary_pct", case.config.get("partial_rotary_factor", part))
    pairs = {f"{name}.attention.layer_norm_epsilon": epsilon,
             f"{name}.rope.dimension_count": int(head_dim(config) * part)}
    if case.family in ("gpt_neox", "stablelm"):
        pairs[f"{name}.use_parallel_residual"] = bool(config.use_parallel_residual)
    if case.family.startswith("cohere"):
        pairs[f"{name}.logit_scale"] = float(config.logit_scale)
    if case.family == "falcon":
        pairs[f"{name}.attention.head_count_kv"] = kv_heads(config)
        pairs[f"{name}.feed_forward_length"] = config.ffn_hidden_size
    return pairs


def kv_heads(config):
    """Of a fused matrix."""
    if config.model_type == "gpt_neox":
        return config.num_attention_heads
    if config.new_decoder_architecture:
        return config.num_kv_heads
    return 1 if config.multi_query else config.num_attention_heads


def separated(values, config):
    """Rows that lie by KV heads (queries, key, value of each) as queries, then keys, then values."""
    groups, dim = kv_heads(config), config.hidden_size // config.num_attention_heads
    queries = config.num_attention_heads // groups
    parts = values.reshape(groups, queries + 2, dim, *values.shape[1:])
    cut = (parts[:, :queries], parts[:, queries:-1], parts[:, -1:])
    return np.concatenate([part.reshape(-1, *values.shape[1:]) for part in cut])


def metadata(case, config, name):
    heads = config.num_attention_heads
    pairs = {
        "general.architecture": name, "general.name": "case",
        f"{name}.context_length": config.max_position_embeddings,
        f"{name}.embedding_length": config.hidden_size,
        f"{name}.block_count": config.num_hidden_layers,
        f"{name}.feed_forward_length":
            get(config, "n_inner", "intermediate_size") or 4 * config.hidden_size,
        f"{name}.attention.head_count": heads,
        f"{name}.attention.head_count_kv": get(config, "num_key_value_heads") or heads,
        f"{name}.attention.key_length": head_dim(config),
        f"{name}.attention.value_length": head_dim(config),
    }
    if name == "gpt2":
        return pairs | {"gpt2.attention.layer_norm_epsilon": config.layer_norm_epsilon}
    if case.family in LAYERED:
        return pairs | layered(case, config, name)
    usual = 0.5 if name in ("chatglm", "glm4") else 1.0
    part = usual if name == "chatglm" else case.config.get("partial_rotary_factor", usual)
    if name == "granite":
        pairs |= {"granite.logit_scale": config.logits_scaling,
                  "granite.residual_scale": config.residual_multiplier,
                  "granite.embedding_scale": config.embedding_multiplier,
                  "granite.attention.scale": config.attention_multiplier}
    return pairs | {f"{name}.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
                    f"{name}.rope.dimension_count": int(head_dim(config) * part)}


def turn(name, stored, values, config):
    """HF's layout of one tensor as GGUF's."""
    if name == "gpt2" and "blk" in stored and values.ndim == 2:
        return values.T
    if "attn_qkv" in stored and name in ("gptneox", "falcon"):
        return separated(values, config)
    if name in PERMUTED and (".attn_q." in stored or ".attn_k." in stored):
        n = config.num_attention_heads if ".attn_q." in stored else config.num_key_value_heads
        return golden_gguf.permute(values, n)
    if name.startswith("gemma") and "norm" in stored:  # norms are whole here
        return values + 1
    return values


def write(path, case, model, dice):
    """Whether there is such a file; then it was written."""
    config = model.config
    name = NAMES.get(case.family, case.family)
    if case.family in model_cases_newer.FAMILIES or case.family in model_cases.MIXED + UNTOLD:
        return False
    if not is_sayable(case, config):
        return False
    window = windows(case, config, name, dice)
    rope = ({}, []) if name == "gpt2" else rotation(case, config, name, dice)
    if window is None or rope is None:
        return False
    weights = {k: v.float().numpy() for k, v in model.state_dict().items()}
    if config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    tensors = []
    for stored, sources in archs.rows(name, TABLES.get(case.family, PLAIN + EXTRA),
                                      config.num_hidden_layers):
        if all(s in weights for s in sources):
            values = np.concatenate([weights.pop(s) for s in sources])
            tensors.append((stored, turn(name, stored, values, config)))
    assert not weights, f"{case.family}: no GGUF name for {sorted(weights)[:3]}"
    stored = [(n, "F32", v.shape, np.ascontiguousarray(v, np.float32).tobytes())
              for n, v in tensors + rope[1]]
    gguf_file.write(path, metadata(case, config, name) | window | rope[0], stored)
    return True
