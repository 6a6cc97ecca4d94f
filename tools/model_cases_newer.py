"""Random cases of the families that only the newest transformers has, and of encoders.

The library keeps all experts of a layer in one tensor. published() writes the names and forms of the
published files.
"""
import torch
import transformers as T

import model_cases

NAMES = {"gpt_oss": "GptOss", "granitemoe": "GraniteMoe", "granitemoeshared": "GraniteMoeShared",
         "glm4_moe": "Glm4Moe", "gemma2": "Gemma2", "olmo3": "Olmo3",
         "deepseek_v2": "DeepseekV2", "deepseek_v3": "DeepseekV3"}
ENCODERS = {"bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta"}
GRANITES = ("granitemoe", "granitemoeshared")
DEEPSEEKS = ("deepseek_v2", "deepseek_v3")
MIXED = ("gpt_oss", "glm4_moe", *GRANITES, *DEEPSEEKS)
IS_NEW = int(T.__version__.split(".")[0]) >= 5
FAMILIES = {family: (getattr(T, name + "Config"), getattr(T, name + "ForCausalLM"))
            for family, name in NAMES.items() if IS_NEW}
FAMILIES |= {family: (getattr(T, name + "Config"), getattr(T, name + "Model"))
             for family, name in ENCODERS.items() if IS_NEW}


def published(family, weights):
    """The library's weights under the names of the files, experts one by one if they are so there."""
    out, is_granite = {}, family.startswith("granite")
    if family == "gpt_oss" or family in ENCODERS:
        return weights
    for key, w in weights.items():
        start, _, end = key.partition(".experts.")
        if is_granite and end:
            kind = {"gate_up_proj": "input_linear", "down_proj": "output_linear"}[end]
            out[f"{start}.{kind}.weight"] = w
        elif is_granite:
            out[key.replace("block_sparse_moe.router.", "block_sparse_moe.router.layer.")] = w
        elif end == "gate_up_proj":
            for e, both in enumerate(w):
                for part, half in zip(("gate", "up"), both.chunk(2)):
                    out[f"{start}.experts.{e}.{part}_proj.weight"] = half.clone()
        elif end == "down_proj":
            out |= {f"{start}.experts.{e}.down_proj.weight": one.clone() for e, one in enumerate(w)}
        else:
            out[key] = w
    return out


def randomize_biases(model, seed):
    """Draws the biases of the choice of experts, which are buffers and not parameters."""
    dice = torch.Generator().manual_seed(seed)
    for key, w in model.named_buffers():
        if key.endswith("e_score_correction_bias"):
            w.copy_(torch.randn(w.shape, generator=dice) * 0.3)


# ---- Odd keys, as in model_cases.ODD. ---------------------------------------------------------

ODD = [
    (MIXED, "output_router_logits", [False]), (MIXED, "router_aux_loss_coef", [0.5]),
    (MIXED, "mlp_bias", [False, True]), (("gpt_oss",), "swiglu_alpha", [1.702, 2.0]),
    (("gpt_oss",), "norm_topk_prob", [True, False]), (GRANITES, "norm_topk_prob", [True, False]),
    (("gpt_oss", *GRANITES), "num_experts", [4]), (("gpt_oss",), "experts_per_token", [1]),
    (("gpt_oss",), "initial_context_length", [7]), (("gpt_oss",), "hidden_act", ["silu", "gelu"]),
    (("gpt_oss", "gemma2"), "sliding_window_pattern", [2, 3]),
    (("olmo3",), "sliding_window_pattern", [4, 2]),
    (("glm4_moe", "deepseek_v3"), "num_nextn_predict_layers", [0, 1]), (DEEPSEEKS, "head_dim", [8]),
    (DEEPSEEKS, "moe_layer_freq", [1, 2]), (DEEPSEEKS, "seq_aux", [True]),
    (("deepseek_v2",), "norm_topk_prob", [False, True]),
    (("deepseek_v3",), "scoring_func", ["sigmoid", "softmax"]), (DEEPSEEKS, "pretraining_tp", [1]),
    (DEEPSEEKS, "attention_bias", [False, True]), (DEEPSEEKS, "num_key_value_heads", [1]), (("glm4_moe",), "num_mtp_layers", [1, 0]),
    (("glm4_moe", *GRANITES), "sliding_window", [None, 16, 4096]),
    (("gemma2",), "hidden_act", ["gelu_new", "silu"]),
    (("gemma2",), "cache_implementation", ["hybrid"]),
    (tuple(ENCODERS), "position_embedding_type", ["absolute", "relative_key", None]),
    (tuple(ENCODERS), "is_decoder", [False, True]),
    (tuple(ENCODERS), "hidden_dropout_prob", [0.0, 0.1]),
    (tuple(ENCODERS), "classifier_activation", ["gelu"]),
]


# ---- Makers. ----------------------------------------------------------------------------------

def share(case, key, probability, *values):
    if case.sometimes(probability):
        case.set(key, case.pick(*values))


def windows(case):
    case.set("sliding_window", case.pick(5, 16, 40), is_usual=True)
    if case.sometimes(0.4):
        case.set("layer_types", model_cases.layer_types(case, case.pick("full", "sliding", "mixed")))
    elif case.sometimes(0.1):
        case.set("sliding_window", None)


def routed(case, key):
    n = case.pick(1, 2, 3, 5, 8)
    case.set(key, n)
    case.set("num_experts_per_tok", case.pick(*range(1, n + 1)))
    return n


def grouped(case, key):
    """Experts in groups; a group has two at least, since its best two count."""
    n_groups, size = case.pick(1, 1, 2, 3), case.pick(2, 3)
    n_used = case.pick(*range(1, n_groups + 1))
    case.set(key, n_groups * size)
    case.set("num_experts_per_tok", case.pick(*range(1, n_used * size + 1)))
    if n_groups > 1 or case.sometimes(0.5):
        case.set("n_group", n_groups)
        case.set("topk_group", n_used)


def shared_and_dense(case, s):
    case.set("moe_intermediate_size", case.pick(8, 24, 33), is_usual=True)
    share(case, "n_shared_experts", 0.7, 1, 2, 3)
    share(case, "routed_scaling_factor", 0.6, 1.0, 2.5, 0.5)
    share(case, "norm_topk_prob", 0.6, True, False)
    case.set("first_k_dense_replace", case.pick(*range(s["layers"] + 1)))


def glm4_moe(case, s):
    grouped(case, "n_routed_experts")
    shared_and_dense(case, s)
    share(case, "use_qk_norm", 0.6, True, False)
    share(case, "attention_bias", 0.5, True, False)
    share(case, "partial_rotary_factor", 0.4, 0.25, 0.5, 1.0)


def deepseek(case, s):
    case.set("num_key_value_heads", s["heads"], is_usual=True)
    grouped(case, "n_routed_experts")
    shared_and_dense(case, s)
    is_v2 = case.family == "deepseek_v2"
    if is_v2:
        case.config.pop("norm_topk_prob", None)
        share(case, "topk_method", 0.6, "greedy", "group_limited_greedy")
    if case.config.get("topk_method") == "group_limited_greedy" or not is_v2:
        n_groups = case.config.setdefault("n_group", 1)
        case.config.setdefault("topk_group", n_groups)
    case.set("q_lora_rank", case.pick(None, 16, 24))
    case.set("kv_lora_rank", case.pick(16, 24, 32), is_usual=True)
    case.set("qk_rope_head_dim", case.pick(4, 8, 16), is_usual=True)
    case.set("qk_nope_head_dim", case.pick(8, 16, 20), is_usual=True)
    case.set("v_head_dim", case.pick(8, 16, 12), is_usual=True)
    if not is_v2:
        share(case, "rope_interleave", 0.5, True, False)


def gpt_oss(case, s):
    routed(case, "num_local_experts")
    windows(case)
    case.set("head_dim", s["head_dim"], is_usual=True)
    share(case, "swiglu_limit", 0.6, 1.5, 7.0, 3)
    share(case, "attention_bias", 0.3, True, False)


def granite(case, s):
    routed(case, "num_local_experts")
    if case.family == "granitemoeshared":
        case.set("shared_intermediate_size", case.pick(24, 40, 0), is_usual=True)
    for key, values in (("embedding_multiplier", (12.0, 0.5)), ("logits_scaling", (8.0, 0.25)),
                        ("residual_multiplier", (0.22, 1.5)),
                        ("attention_multiplier", (0.0625, 0.3)), ("attention_bias", (True, False))):
        share(case, key, 0.5, *values)


def gemma2(case, s):
    windows(case)
    case.set("head_dim", s["head_dim"], is_usual=True)
    case.set("query_pre_attn_scalar", case.pick(s["head_dim"], s["head_dim"], 24), is_usual=True)
    share(case, "attn_logit_softcapping", 0.6, None, 2.5, 50)
    share(case, "final_logit_softcapping", 0.6, None, 15.0, 3)
    share(case, "attention_bias", 0.3, True, False)


def olmo3(case, s):
    windows(case)
    share(case, "attention_bias", 0.3, True, False)


OWN = {"gpt_oss": gpt_oss, "granitemoe": granite, "granitemoeshared": granite, "glm4_moe": glm4_moe,
       "gemma2": gemma2, "olmo3": olmo3} | dict.fromkeys(DEEPSEEKS, deepseek)


def newer(case):
    s = model_cases.sizes(case)
    model_cases.common(case, s)
    OWN[case.family](case, s)
    if case.family == "olmo3":
        model_cases.two_rotations(case)
    else:
        model_cases.rotation(case)


def encoder(case):
    s = model_cases.sizes(case)
    offset = 0 if case.family == "bert" else 2
    for key, value in (("num_hidden_layers", s["layers"]), ("hidden_size", s["width"]),
                       ("num_attention_heads", s["heads"]), ("intermediate_size", s["ffn"]),
                       ("max_position_embeddings", s["positions"] + offset),
                       ("vocab_size", s["vocabulary"]), ("pad_token_id", 1)):
        case.set(key, value, is_usual=True)
    share(case, "layer_norm_eps", 0.5, 1e-5, 1e-3)
    share(case, "type_vocab_size", 0.5, 1, 2, 3)
    share(case, "hidden_act", 0.5, *model_cases.ACTIVATIONS)


MAKERS = dict.fromkeys(NAMES, newer) | dict.fromkeys(ENCODERS, encoder)
