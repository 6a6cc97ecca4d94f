"""Golden files of families that only the newest transformers has (tools/requirements-newest.txt).

    OUT/NAME/config.json, model.safetensors, tokenizer.json, expected.json
    OUT/gguf/NAME.gguf                          the same model under llama.cpp's names, in F32
    OUT/gpt_oss_mxfp4, OUT/gguf/gpt_oss_mxfp4   the experts in MXFP4; the answers are those of the
                                                dequantized model

The library merges experts into one tensor. The published files' names and forms are written here.
"""
import json
import random

import gguf.quants
import numpy as np
import safetensors.torch
import torch
import transformers as T

import gguf_file
import golden_expected
import golden_gguf
import golden_gguf_archs as archs
import golden_models
import model_cases
import model_cases_newer
import model_gguf

VOCAB = 256
SMALL = dict(vocab_size=VOCAB, hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, tie_word_embeddings=False,
             bos_token_id=0, eos_token_id=0, pad_token_id=None)
A, H = archs.A, archs.H
ENDS = archs.ENDS + archs.OUTPUT
QKVO = archs.QKV + [("blk.{i}.attn_output.weight", [A + "o_proj.weight"])]
BIASES = archs.QKV_BIAS + [("blk.{i}.attn_output.bias", [A + "o_proj.bias"])]
E = H + "mlp.experts."


def own(config):
    """The configuration without what a family sets itself."""
    return SMALL | config


MODELS = {
    # Layers 0 and 2 see 16 tokens. Of 8 frequencies some are kept, blended and divided.
    "gpt_oss": (T.GptOssConfig, T.GptOssForCausalLM, own(dict(
        intermediate_size=32, head_dim=16, num_local_experts=6, num_experts_per_tok=2,
        sliding_window=16, swiglu_limit=1.5, rope_parameters=dict(
            rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=8.0, beta_slow=1.0,
            truncate=False, original_max_position_embeddings=64)))),
    "granitemoe": (T.GraniteMoeConfig, T.GraniteMoeForCausalLM, own(dict(
        num_hidden_layers=2, intermediate_size=32, num_local_experts=5, num_experts_per_tok=2,
        embedding_multiplier=6.0, logits_scaling=4.0, residual_multiplier=0.4,
        attention_multiplier=0.2))),
    "granitemoeshared": (T.GraniteMoeSharedConfig, T.GraniteMoeSharedForCausalLM, own(dict(
        num_hidden_layers=2, intermediate_size=32, shared_intermediate_size=48,
        num_local_experts=5, num_experts_per_tok=2, embedding_multiplier=6.0, logits_scaling=4.0,
        residual_multiplier=0.4, attention_multiplier=0.2))),
    # Layer 0 has no experts. Experts are of two groups out of three.
    "glm4_moe": (T.Glm4MoeConfig, T.Glm4MoeForCausalLM, own(dict(
        head_dim=16, intermediate_size=80, moe_intermediate_size=32, n_routed_experts=9,
        num_experts_per_tok=3, n_shared_experts=2, n_group=3, topk_group=2,
        routed_scaling_factor=1.5, first_k_dense_replace=1, use_qk_norm=True,
        attention_bias=True))),
    # Layers 0 and 2 see 16 tokens. The caps are low enough to matter.
    "gemma2": (T.Gemma2Config, T.Gemma2ForCausalLM, own(dict(
        head_dim=32, intermediate_size=48, sliding_window=16, attn_logit_softcapping=2.5,
        final_logit_softcapping=15.0, query_pre_attn_scalar=32, tie_word_embeddings=True))),
    # Layer 0 has no experts. Queries are made in one step. Experts are of one group out of three.
    "deepseek_v2": (T.DeepseekV2Config, T.DeepseekV2ForCausalLM, own(dict(
        num_key_value_heads=4, intermediate_size=80, moe_intermediate_size=32, n_routed_experts=6,
        num_experts_per_tok=2, n_shared_experts=2, topk_method="group_limited_greedy", n_group=3,
        topk_group=1, routed_scaling_factor=1.5, first_k_dense_replace=1, q_lora_rank=None,
        kv_lora_rank=32, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=16))),
    # YaRN with a factor for scores, and queries in two steps.
    "deepseek_v3": (T.DeepseekV3Config, T.DeepseekV3ForCausalLM, own(dict(
        num_key_value_heads=4, intermediate_size=80, moe_intermediate_size=32, n_routed_experts=9,
        num_experts_per_tok=3, n_shared_experts=1, n_group=3, topk_group=2,
        routed_scaling_factor=1.5, first_k_dense_replace=1, q_lora_rank=48, kv_lora_rank=32,
        qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=16, rope_parameters=dict(
            rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0,
            mscale=0.8, mscale_all_dim=0.8, original_max_position_embeddings=64)))),
    # Layer 3 sees all positions and is stretched.
    "olmo3": (T.Olmo3Config, T.Olmo3ForCausalLM, own(dict(
        num_hidden_layers=4, intermediate_size=48, sliding_window=16, rope_parameters=dict(
            rope_type="yarn", rope_theta=500000.0, factor=4.0,
            original_max_position_embeddings=64)))),
    # Layer 1 has no experts.
    "qwen3_moe_sparse": (T.Qwen3MoeConfig, T.Qwen3MoeForCausalLM, own(dict(
        head_dim=16, intermediate_size=48, moe_intermediate_size=32, num_experts=5,
        num_experts_per_tok=2, norm_topk_prob=True, mlp_only_layers=[1]))),
}
SEEDS = {"gpt_oss": 300, "granitemoe": 301, "granitemoeshared": 302, "glm4_moe": 303,
         "qwen3_moe_sparse": 304, "gemma2": 305, "olmo3": 306, "deepseek_v2": 313,
         "deepseek_v3": 314}


def make(name, seed):
    config_class, model_class, keys = MODELS[name]
    if name == "olmo3":  # the library's form
        keys = dict(keys)
        scaling = dict(keys.pop("rope_parameters"))
        keys |= {"rope_theta": scaling.pop("rope_theta"), "rope_scaling": scaling}
    model = model_class(config_class(**keys, attn_implementation="eager"))
    golden_expected.randomize(model, seed)
    model_cases_newer.randomize_biases(model, seed)
    return model


def weights_of(model):
    return {k: v.float().clone().contiguous() for k, v in model.state_dict().items()}


def write(out, name, keys, weights, answer):
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps(keys, indent=1) + "\n")
    safetensors.torch.save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    golden_models.tokenizer().save(str(out / "tokenizer.json"))
    golden_expected.save(out / "expected.json", answer)


def config_of(name):
    keys = {k: v for k, v in MODELS[name][2].items()
            if v is not None or k == "q_lora_rank"}
    if "rope_parameters" in keys:  # the published files have the older form
        scaling = dict(keys.pop("rope_parameters"))
        keys["rope_theta"] = scaling.pop("rope_theta")
        keys |= {"rope_scaling": scaling} if scaling.get("rope_type", "default") != "default" else {}
    return {"model_type": MODELS[name][0].model_type} | keys


# Families that are there in another form already, as llama.cpp computes them: the tanh form of GELU,
# no window but that of Cohere 2, whose fourth layer has none and does not rotate.
DENSE = {
    "starcoder2": dict(num_hidden_layers=2, intermediate_size=48),
    "gpt_neox": dict(num_hidden_layers=2, intermediate_size=48, hidden_act="gelu_new"),
    "falcon": dict(num_hidden_layers=2, new_decoder_architecture=True, num_kv_heads=2,
                   ffn_hidden_size=48, activation="gelu_new"),
    "cohere": dict(num_hidden_layers=2, intermediate_size=48, logit_scale=0.25,
                   tie_word_embeddings=True),
    "cohere2": dict(num_hidden_layers=4, intermediate_size=48, logit_scale=0.25,
                    sliding_window=16, tie_word_embeddings=True),
    "smollm3": dict(num_hidden_layers=4, intermediate_size=48, hidden_size=32),
}
DENSE_SEEDS = {"starcoder2": 307, "gpt_neox": 308, "falcon": 309, "cohere2": 310, "smollm3": 311,
               "cohere": 312}


def save_dense(out, name):
    config_class, model_class = model_cases.FAMILIES[name]
    case = model_cases.Case(name, random.Random(0))
    case.config = {k: v for k, v in (own({"hidden_size": 32}) | DENSE[name]).items()
                   if name not in ("gpt_neox", "falcon") or k != "num_key_value_heads"}
    case.config["model_type"] = name

    def attempt(seed):
        config = config_class.from_dict(dict(case.config), attn_implementation="eager")
        model = golden_expected.randomize(model_class(config), seed)
        path = out / "gguf" / f"{name}.gguf"
        assert model_gguf.write(path, case, model, random.Random(0)), name
        return model, None
    _, answer = golden_expected.search(attempt, VOCAB, DENSE_SEEDS[name])
    golden_expected.save(out / "gguf" / f"{name}.expected.json", answer)


def save_plain(out, name):
    def attempt(seed):
        model = make(name, seed)
        return model, (model, model_cases_newer.published(name, weights_of(model)))
    (model, weights), answer = golden_expected.search(attempt, VOCAB, SEEDS[name])
    if name == "glm4_moe":  # a layer that predicts further tokens, which is not computed
        weights["model.layers.3.eh_proj.weight"] = torch.ones(64, 128)
    write(out / name, name, config_of(name), weights, answer)
    if name in GGUF:
        gguf_file.write(out / "gguf" / f"{name}.gguf", *GGUF[name](model))


# ---- llama.cpp's names -----------------------------------------------------------------------

def stacked(model, table, n_layers, other=lambda stored, values: values):
    """Tensors in F32. A source with ":0" or ":1" is a half of its rows."""
    weights, tensors = weights_of(model), []
    for stored, sources in archs.rows("", table, n_layers):
        source, _, part = sources[0].partition(":")
        if source not in weights:
            continue
        w = weights[source]
        w = w.chunk(2, dim=-2)[int(part)] if part else w
        values = np.ascontiguousarray(other(stored, w.numpy()), np.float32)
        tensors.append((stored, "F32", values.shape, values.tobytes()))
    return tensors


def experts_table(block):
    return [("blk.{i}.ffn_gate_exps.weight", [H + block + ".experts.gate_up_proj:0"]),
            ("blk.{i}.ffn_up_exps.weight", [H + block + ".experts.gate_up_proj:1"]),
            ("blk.{i}.ffn_down_exps.weight", [H + block + ".experts.down_proj"])]


def granitemoe_gguf(model):
    config = model.config

    def permuted(stored, values):
        n = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
        kind = stored.split(".")[-2]
        return golden_gguf.permute(values, n[kind]) if kind in n else values

    table = ENDS + archs.NORMS[:2] + QKVO + experts_table("block_sparse_moe") + [
        ("blk.{i}.ffn_gate_inp.weight", [H + "block_sparse_moe.router.weight"]),
        ("blk.{i}.ffn_gate_shexp.weight", [H + "shared_mlp.input_linear.weight:0"]),
        ("blk.{i}.ffn_up_shexp.weight", [H + "shared_mlp.input_linear.weight:1"]),
        ("blk.{i}.ffn_down_shexp.weight", [H + "shared_mlp.output_linear.weight"])]
    name = "granitemoe"
    pairs = common(name, config) | {
        f"{name}.expert_count": config.num_local_experts,
        f"{name}.expert_used_count": config.num_experts_per_tok,
        f"{name}.logit_scale": config.logits_scaling,
        f"{name}.residual_scale": config.residual_multiplier,
        f"{name}.embedding_scale": config.embedding_multiplier,
        f"{name}.attention.scale": config.attention_multiplier}
    if hasattr(config, "shared_intermediate_size"):
        pairs[f"{name}.expert_shared_feed_forward_length"] = config.shared_intermediate_size
    return pairs, stacked(model, table, config.num_hidden_layers, permuted)


def glm4_moe_gguf(model):
    config, shared = model.config, H + "mlp.shared_experts."
    table = ENDS + archs.NORMS[:1] + QKVO + archs.QKV_BIAS + archs.QK_NORM + archs.GATED + [
        ("blk.{i}.post_attention_norm.weight", [H + "post_attention_layernorm.weight"]),
        ("blk.{i}.ffn_down.weight", [H + "mlp.down_proj.weight"]),
        ("blk.{i}.ffn_gate_inp.weight", [H + "mlp.gate.weight"]),
        ("blk.{i}.exp_probs_b.bias", [H + "mlp.gate.e_score_correction_bias"])]
    table += experts_table("mlp")
    table += [(f"blk.{{i}}.ffn_{x}_shexp.weight", [f"{shared}{x}_proj.weight"])
              for x in ("gate", "up", "down")]
    name, head_dim = "glm4moe", model_gguf.head_dim(config)
    pairs = common(name, config) | {
        f"{name}.block_count": config.num_hidden_layers + 1, f"{name}.nextn_predict_layers": 1,
        f"{name}.attention.key_length": head_dim,
        f"{name}.attention.value_length": head_dim,
        f"{name}.rope.dimension_count": head_dim // 2,
        f"{name}.expert_count": config.n_routed_experts,
        f"{name}.expert_used_count": config.num_experts_per_tok,
        f"{name}.expert_feed_forward_length": config.moe_intermediate_size,
        f"{name}.expert_shared_count": config.n_shared_experts,
        f"{name}.expert_group_count": config.n_group,
        f"{name}.expert_group_used_count": config.topk_group,
        f"{name}.leading_dense_block_count": config.first_k_dense_replace,
        f"{name}.expert_gating_func": 2, f"{name}.expert_weights_norm": True,
        f"{name}.expert_weights_scale": config.routed_scaling_factor}
    ignored = np.ones((64, 128), np.float32)
    extra = [("blk.3.nextn.eh_proj.weight", "F32", ignored.shape, ignored.tobytes())]
    return pairs, stacked(model, table, config.num_hidden_layers) + extra


def deepseek_gguf(model, is_newer=True):
    """As llama.cpp's converter writes it since 2025, or with one matrix of keys and values."""
    config, weights, name = model.config, weights_of(model), "deepseek2"
    table = ENDS + archs.NORMS[:2] + archs.QKV[:1] + archs.GATED + [
        ("blk.{i}.attn_output.weight", [A + "o_proj.weight"]),
        ("blk.{i}.attn_q_a.weight", [A + "q_a_proj.weight"]),
        ("blk.{i}.attn_q_a_norm.weight", [A + "q_a_layernorm.weight"]),
        ("blk.{i}.attn_q_b.weight", [A + "q_b_proj.weight"]),
        ("blk.{i}.attn_kv_a_mqa.weight", [A + "kv_a_proj_with_mqa.weight"]),
        ("blk.{i}.attn_kv_a_norm.weight", [A + "kv_a_layernorm.weight"]),
        ("blk.{i}.ffn_down.weight", [H + "mlp.down_proj.weight"]),
        ("blk.{i}.ffn_gate_inp.weight", [H + "mlp.gate.weight"]),
        ("blk.{i}.exp_probs_b.bias", [H + "mlp.gate.e_score_correction_bias"])]
    table += experts_table("mlp")
    table += [(f"blk.{{i}}.ffn_{x}_shexp.weight", [H + f"mlp.shared_experts.{x}_proj.weight"])
              for x in ("gate", "up", "down")]
    table += [] if is_newer else [("blk.{i}.attn_kv_b.weight", [A + "kv_b_proj.weight"])]
    tensors, heads, rank = stacked(model, table, config.num_hidden_layers), config.num_attention_heads, config.kv_lora_rank
    for i in range(config.num_hidden_layers if is_newer else 0):
        both = weights[A.format(i=i) + "kv_b_proj.weight"].numpy().reshape(heads, -1, rank)
        keys, values = np.split(both, [config.qk_nope_head_dim], axis=1)
        for stored, part in (("k", keys.swapaxes(1, 2)), ("v", values)):
            part = np.ascontiguousarray(part)
            tensors.append((f"blk.{i}.attn_{stored}_b.weight", "F32", part.shape, part.tobytes()))
    is_v3 = config.model_type == "deepseek_v3"
    key = config.qk_nope_head_dim + config.qk_rope_head_dim
    dims = {"key_length": rank + config.qk_rope_head_dim, "value_length": rank,
            "key_length_mla": key, "value_length_mla": config.v_head_dim,
            "head_count_kv": 1} if is_newer else {
        "key_length": key, "value_length": config.v_head_dim, "head_count_kv": heads}
    pairs = common(name, config) | {f"{name}.attention.{k}": v for k, v in dims.items()} | {
        f"{name}.attention.kv_lora_rank": rank,
        f"{name}.rope.dimension_count": config.qk_rope_head_dim,
        f"{name}.expert_count": config.n_routed_experts,
        f"{name}.expert_used_count": config.num_experts_per_tok,
        f"{name}.expert_feed_forward_length": config.moe_intermediate_size,
        f"{name}.expert_shared_count": config.n_shared_experts,
        f"{name}.leading_dense_block_count": config.first_k_dense_replace,
        f"{name}.expert_gating_func": 2 if is_v3 else 1,
        f"{name}.expert_weights_norm": bool(config.norm_topk_prob) if is_v3 else False,
        f"{name}.expert_weights_scale": float(config.routed_scaling_factor)}
    if config.q_lora_rank is not None:
        pairs[f"{name}.attention.q_lora_rank"] = config.q_lora_rank
    if is_v3:
        pairs |= {f"{name}.expert_group_count": config.n_group,
                  f"{name}.expert_group_used_count": config.topk_group}
    scaling = config.rope_parameters
    if scaling.get("rope_type", "default") == "yarn":
        pairs |= {f"{name}.rope.scaling.type": "yarn", f"{name}.rope.scaling.factor": scaling["factor"],
                  f"{name}.rope.scaling.original_context_length":
                      scaling["original_max_position_embeddings"],
                  f"{name}.rope.scaling.yarn_log_multiplier": 0.1 * scaling["mscale_all_dim"]}
    return pairs, tensors


def gemma2_gguf(model):
    config, name = model.config, "gemma2"
    table = ENDS + archs.GEMMA3 + archs.QKV + archs.GATED
    pairs = common(name, config) | {
        f"{name}.attention.key_length": config.head_dim,
        f"{name}.attention.value_length": config.head_dim,
        f"{name}.attention.sliding_window": config.sliding_window,
        f"{name}.attn_logit_softcapping": config.attn_logit_softcapping,
        f"{name}.final_logit_softcapping": config.final_logit_softcapping}
    whole = stacked(model, [row for row in table if row[0] != "output.weight"],
                    config.num_hidden_layers,
                    lambda stored, values: values + 1 if "norm" in stored else values)
    return pairs, whole


GGUF = {"gemma2": gemma2_gguf, "granitemoe": granitemoe_gguf, "granitemoeshared": granitemoe_gguf,
        "glm4_moe": glm4_moe_gguf, "deepseek_v3": deepseek_gguf}


def is_sayable(case, config):
    """Whether llama.cpp computes what this case asks for."""
    acts = model_gguf.TANH if case.family == "gemma2" else ("silu", "swish")
    act = model_gguf.get(config, "hidden_activation", "hidden_act")
    if case.family == "gemma2":
        every_second = ["full_attention" if i % 2 else "sliding_attention"
                        for i in range(config.num_hidden_layers)]
        caps = (config.attn_logit_softcapping, config.final_logit_softcapping)
        if (config.query_pre_attn_scalar != config.head_dim or None in caps or
                config.layer_types != every_second):
            return False
    is_biased = case.family != "glm4_moe" and config.attention_bias
    return act in acts and not is_biased and not case.keeps_output


def write_case(path, case, model, dice):
    """model_gguf.write for a random case of a family of GGUF. Returns whether there is a file."""
    config = model.config
    if case.family not in GGUF or not is_sayable(case, config):
        return False
    pairs, tensors = GGUF[case.family](model)
    name = pairs["general.architecture"]
    rope = model_gguf.rotation(case, config, name, dice)
    if rope is None:
        return False
    pairs = {key: value for key, value in pairs.items() if not key.startswith("tokenizer.")}
    pairs[f"{name}.block_count"] = config.num_hidden_layers
    if case.family == "glm4_moe":
        part = case.config.get("partial_rotary_factor", 0.5)
        pairs |= {f"{name}.nextn_predict_layers": 0,
                  f"{name}.expert_weights_norm": config.norm_topk_prob,
                  f"{name}.rope.dimension_count": int(model_gguf.head_dim(config) * part)}
    tensors = [tensor for tensor in tensors if ".nextn." not in tensor[0] and not (
        config.tie_word_embeddings and tensor[0] == "output.weight")]
    gguf_file.write(path, pairs | rope[0], tensors)
    return True


# ---- gpt-oss --------------------------------------------------------------------------------

def gpt_oss_gguf(model, kind="F32"):
    """(pairs, tensors) as llama.cpp's converter writes them; the factor of gates is its own 7."""
    config, weights, tensors = model.config, weights_of(model), []

    def add(stored, values, kind="F32"):
        values = np.ascontiguousarray(values, np.float32)
        data = values.tobytes() if kind == "F32" else quantize(values)
        tensors.append((stored, kind, values.shape, data))

    table = ENDS + archs.NORMS[:1] + QKVO + BIASES + [
        ("blk.{i}.post_attention_norm.weight", [H + "post_attention_layernorm.weight"]),
        ("blk.{i}.attn_sinks.weight", [A + "sinks"]),
        ("blk.{i}.ffn_gate_inp.weight", [H + "mlp.router.weight"]),
        ("blk.{i}.ffn_gate_inp.bias", [H + "mlp.router.bias"]),
        ("blk.{i}.ffn_down_exps.bias", [E + "down_proj_bias"])]
    for stored, sources in archs.rows("gpt-oss", table, config.num_hidden_layers):
        add(stored, weights[sources[0]].numpy())
    for i in range(config.num_hidden_layers):
        both = weights[E.format(i=i) + "gate_up_proj"].numpy().swapaxes(1, 2)
        bias = weights[E.format(i=i) + "gate_up_proj_bias"].numpy()
        for part, stored in enumerate(("gate", "up")):
            add(f"blk.{i}.ffn_{stored}_exps.weight", both[:, part::2], kind)
            add(f"blk.{i}.ffn_{stored}_exps.bias", bias[:, part::2])
        down = weights[E.format(i=i) + "down_proj"].numpy().swapaxes(1, 2)
        add(f"blk.{i}.ffn_down_exps.weight", down, kind)
    scaling = config.rope_parameters
    name = "gpt-oss"
    pairs = common(name, config) | {
        f"{name}.attention.key_length": config.head_dim,
        f"{name}.attention.value_length": config.head_dim,
        f"{name}.attention.sliding_window": config.sliding_window,
        f"{name}.expert_count": config.num_local_experts,
        f"{name}.expert_used_count": config.num_experts_per_tok,
        f"{name}.expert_feed_forward_length": config.intermediate_size,
        f"{name}.rope.scaling.type": "yarn", f"{name}.rope.scaling.factor": scaling["factor"],
        f"{name}.rope.scaling.original_context_length":
            scaling["original_max_position_embeddings"]}
    return pairs, tensors


def common(name, config):
    return {
        "general.architecture": name, "general.name": "golden-" + name,
        f"{name}.context_length": config.max_position_embeddings,
        f"{name}.embedding_length": config.hidden_size,
        f"{name}.block_count": config.num_hidden_layers,
        f"{name}.feed_forward_length": config.intermediate_size,
        f"{name}.attention.head_count": config.num_attention_heads,
        f"{name}.attention.head_count_kv": config.num_key_value_heads,
        f"{name}.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        f"{name}.rope.freq_base": config.rope_parameters["rope_theta"],
    } | golden_gguf.tokenizer_pairs()


def quantize(values):
    """Rows of floats as blocks of MXFP4: the scale is the power of two that fits the largest."""
    rows = values.reshape(-1, 32)
    table = np.float32([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])
    exponent = np.floor(np.log2(np.abs(rows).max(axis=1))).astype(int) - 2
    nearest = np.abs(rows[:, :, None] / 2.0 ** exponent[:, None, None] - table).argmin(axis=2)
    packed = (nearest[:, :16] | nearest[:, 16:] << 4).astype(np.uint8)
    return np.concatenate(((exponent + 127).astype(np.uint8)[:, None], packed), axis=1).tobytes()


def dequantized(data, shape):
    blocks = np.frombuffer(data, np.uint8).reshape(1, -1)
    return gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType.MXFP4).reshape(shape)


def gpt_oss_mxfp4(seed):
    """The model with its experts as MXFP4 has them, and what a published file holds instead."""
    model, stored = make("gpt_oss", seed), {}
    for name, w in model.named_parameters():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        values = w.detach().numpy().swapaxes(1, 2)  # (experts, outputs, inputs)
        data = quantize(np.ascontiguousarray(values))
        read = dequantized(data, values.shape)
        with torch.no_grad():
            w.copy_(torch.from_numpy(np.ascontiguousarray(read.swapaxes(1, 2))))
        blocks = np.frombuffer(data, np.uint8).reshape(*values.shape[:2], -1, 17)
        low, high = blocks[..., 1:] & 15, blocks[..., 1:] >> 4
        nibbles = np.concatenate((low, high), axis=-1)  # element by element
        pairs = nibbles[..., 0::2] | nibbles[..., 1::2] << 4
        stored[name + "_blocks"] = torch.from_numpy(pairs.copy())
        stored[name + "_scales"] = torch.from_numpy(blocks[..., 0].copy())
    return model, stored


def save_gpt_oss(out):
    config, gate = config_of("gpt_oss"), {"swiglu_limit": 7.0}
    for name, is_packed, own_keys in (("gpt_oss", False, {}), ("gpt_oss_mxfp4", True, gate)):
        def attempt(seed):
            model, stored = gpt_oss_mxfp4(seed) if is_packed else (make("gpt_oss", seed), {})
            for layer in model.model.layers if is_packed else ():
                layer.mlp.experts.limit = 7.0
            weights = {k: v for k, v in weights_of(model).items() if k + "_blocks" not in stored}
            return model, (model, weights | stored)
        (model, weights), answer = golden_expected.search(attempt, VOCAB, SEEDS["gpt_oss"])
        keys = config | own_keys
        if is_packed:
            keys["quantization_config"] = {"quant_method": "mxfp4"}
        write(out / name, name, keys, weights, answer)
    # llama.cpp's limit of gates is 7 and YaRN's fast limit 32, and it rounds YaRN's limits.
    for name, kind in (("gpt_oss", "F32"), ("gpt_oss_mxfp4", "MXFP4")):
        MODELS["gpt_oss"][2]["rope_parameters"] |= dict(beta_fast=32.0, truncate=True)

        def attempt(seed):
            model = gpt_oss_mxfp4(seed)[0] if kind == "MXFP4" else make("gpt_oss", seed)
            for layer in model.model.layers:
                layer.mlp.experts.limit = 7.0
            made = gpt_oss_gguf(model, kind)
            return model, made
        made, answer = golden_expected.search(attempt, VOCAB, SEEDS["gpt_oss"])
        gguf_file.write(out / "gguf" / f"{name}.gguf", *made)
        golden_expected.save(out / "gguf" / f"{name}.expected.json", answer)


def save_deepseek_lite(out):
    """DeepSeek-V2 without groups, in the form of older conversions."""
    keys = MODELS["deepseek_v2"][2] | {"topk_method": "greedy"}

    def attempt(seed):
        config = T.DeepseekV2Config(**keys, attn_implementation="eager")
        model = golden_expected.randomize(T.DeepseekV2ForCausalLM(config), seed)
        return model, deepseek_gguf(model, is_newer=False)
    made, answer = golden_expected.search(attempt, VOCAB, 315)
    gguf_file.write(out / "gguf" / "deepseek2_lite.gguf", *made)
    golden_expected.save(out / "gguf" / "deepseek2_lite.expected.json", answer)


def save_gemma3_core(out):
    """A Gemma 3 that sees pictures, under the names of the first published files. Keys at the
    library's values are left out, as there."""
    text = dict(model_type="gemma3_text", num_hidden_layers=2, hidden_size=64, head_dim=16,
                intermediate_size=48, sliding_window=16, query_pre_attn_scalar=16,
                num_key_value_heads=2, vocab_size=VOCAB, max_position_embeddings=256,
                rope_scaling={"rope_type": "linear", "factor": 2.0})
    vision = dict(model_type="siglip_vision_model", hidden_size=16, intermediate_size=24,
                  num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14)

    def attempt(seed):
        whole = {"text_config": dict(text), "vision_config": dict(vision)}
        config = T.Gemma3Config.from_dict(whole, attn_implementation="eager")
        model = golden_expected.randomize(T.Gemma3ForConditionalGeneration(config), seed)
        weights = weights_of(model)
        weights.pop("lm_head.weight", None)
        names = (("model.language_model.", "language_model.model."), ("model.", ""))
        return model, {key.replace(*next(n for n in names if key.startswith(n[0])), 1): w
                       for key, w in weights.items()}
    weights, answer = golden_expected.search(attempt, VOCAB, 316)
    keys = {"model_type": "gemma3", "text_config": text, "vision_config": vision,
            "mm_tokens_per_image": 4}
    write(out / "gemma3_core", "gemma3_core", keys, weights, answer)


def models(out):
    (out / "gguf").mkdir(parents=True, exist_ok=True)
    save_gemma3_core(out)
    save_deepseek_lite(out)
    save_gpt_oss(out)
    for name in MODELS:
        if name != "gpt_oss":
            save_plain(out, name)
    for name in DENSE:
        save_dense(out, name)
