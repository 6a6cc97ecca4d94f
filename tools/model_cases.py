"""The random cases of tools/model_differential.py: configurations of every family.

A case has the config.json that the program reads, and the configuration that transformers reads,
which is the same except for ChatGLM (its classes are not in the library; Glm computes the same).
`varied` lists "family: key" for each key that is not at its usual value.
"""
import random

import transformers as T

import golden_models
import model_cases_newer

IS_NEW = model_cases_newer.IS_NEW
FAMILIES = {
    "llama": (T.LlamaConfig, T.LlamaForCausalLM), "mistral": (T.MistralConfig, T.MistralForCausalLM),
    "qwen2": (T.Qwen2Config, T.Qwen2ForCausalLM), "qwen3": (T.Qwen3Config, T.Qwen3ForCausalLM),
    "phi3": (T.Phi3Config, T.Phi3ForCausalLM), "gemma": (T.GemmaConfig, T.GemmaForCausalLM),
    "gemma3_text": (T.Gemma3TextConfig, T.Gemma3ForCausalLM),
    "gpt2": (T.GPT2Config, T.GPT2LMHeadModel), "opt": (T.OPTConfig, T.OPTForCausalLM),
    "chatglm": (T.GlmConfig, T.GlmForCausalLM),
    "mixtral": (T.MixtralConfig, T.MixtralForCausalLM),
    "olmoe": (T.OlmoeConfig, T.OlmoeForCausalLM),
    "qwen2_moe": (T.Qwen2MoeConfig, T.Qwen2MoeForCausalLM),
    "qwen3_moe": (T.Qwen3MoeConfig, T.Qwen3MoeForCausalLM),
}
LATER = {
    "granite": "Granite", "smollm3": "SmolLM3", "olmo2": "Olmo2", "glm": "Glm", "glm4": "Glm4",
    "starcoder2": "Starcoder2", "stablelm": "StableLm", "phi": "Phi", "gpt_neox": "GPTNeoX",
    "falcon": "Falcon", "cohere": "Cohere", "cohere2": "Cohere2",
}
FAMILIES |= {family: (getattr(T, name + "Config"), getattr(T, name + "ForCausalLM"))
             for family, name in LATER.items() if hasattr(T, name + "Config")}
# The library has no class of its own for it: it is llama with one matrix of queries, keys, values.
FAMILIES["internlm2"] = (T.LlamaConfig, T.LlamaForCausalLM)
FAMILIES |= model_cases_newer.FAMILIES
MIXED = ("mixtral", "olmoe", "qwen2_moe", "qwen3_moe")
ROPED = ("llama", "mistral", "qwen2", "qwen3", "phi3", "gemma")
ACTIVATIONS = ["silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "relu",
               "gelu_python", "gelu_accurate"]
FOREIGN_ACTIVATIONS = ["quick_gelu", "relu2", "gelu_10", "mish", "tanh"]

# Keys that these families do not have, or have at one value: (families or None, key, values).
ODD = [
    (None, "is_causal", [True, False]), (None, "use_bidirectional_attention", [False, True]),
    (None, "is_encoder_decoder", [False]), (None, "add_cross_attention", [False]),
    (None, "logits_scaling", [1.0, 8.0]), (None, "residual_multiplier", [1.0, 0.5]),
    (None, "embedding_multiplier", [1.0, 12.0]), (None, "attention_multiplier", [0.1]),
    (None, "logit_scale", [1, 0.0625]), (None, "final_logit_softcapping", [None, 30.0]),
    (None, "attn_logit_softcapping", [None, 50.0]), (None, "clip_qkv", [None, 8.0]),
    (None, "qk_layernorm", [False, True]), (None, "use_qk_norm", [False, True]),
    (None, "attention_chunk_size", [None, 16]), (None, "num_experts", [0, 4]),
    (None, "use_cache", [True, False]), (None, "attention_dropout", [0.0, 0.25]),
    (None, "chunk_size_feed_forward", [0, 16]), (None, "initializer_range", [0.1]),
    (None, "quantization_config", [{"quant_method": "gptq", "bits": 4}]),
    (("llama",), "pretraining_tp", [1, 2]),
    (("phi3", "qwen2", "mistral"), "attention_bias", [False, True]),
    (("phi3", "qwen2", "qwen3", "mistral", "gemma"), "mlp_bias", [False, True]),
    (("llama", "gemma", "gpt2", "opt"), "sliding_window", [None, 16, 4096]),
    (("llama", "gemma"), "layer_types", ["full", "sliding", "mixed"]),
    (("mistral", "phi3"), "layer_types", ["full", "sliding", "mixed"]),
    (("mistral", "phi3"), "use_sliding_window", [True, False]),
    (("mistral", "phi3", "llama"), "max_window_layers", [1]),
    (("gemma",), "hidden_activation", ["gelu_pytorch_tanh", None]),
    (("llama", "mistral", "qwen2", "gemma"), "partial_rotary_factor", [1.0, 0.5]),
    (("gpt2", "opt"), "head_dim", [8]), (("gpt2",), "reorder_and_upcast_attn", [True]),
    (("gpt2",), "scale_attn_weights", [True, False]),
    (("gpt2",), "scale_attn_by_inverse_layer_idx", [False, True]),
    (("gpt2",), "num_hidden_layers", [1]), (("gpt2",), "n_ctx", [7]),
    (("opt",), "do_layer_norm_before", [True, False]),
    (("opt",), "_remove_final_layer_norm", [False, True]),
    (("opt",), "layer_norm_elementwise_affine", [True, False]),
    (("opt",), "word_embed_proj_dim", [None, 16]), (("opt",), "layerdrop", [0.5]),
    (("chatglm",), "rmsnorm", [True, False]), (("chatglm",), "post_layer_norm", [True, False]),
    (("chatglm",), "add_bias_linear", [False, True]), (("chatglm",), "pre_seq_len", [None, 8]),
    (("chatglm",), "quantization_bit", [0, 4]), (("chatglm",), "original_rope", [True, False]),
    (("chatglm",), "apply_query_key_layer_scaling", [True, False]),
    (("chatglm",), "rope_theta", [77.0]), (("chatglm",), "fp32_residual_connection", [True]),
    (MIXED, "output_router_logits", [False]), (MIXED, "router_aux_loss_coef", [0.5]),
    (("qwen2_moe", "qwen3_moe"), "decoder_sparse_step", [1, 2]),
    (("qwen2_moe", "qwen3_moe"), "mlp_only_layers", [[], [0]]),
    (("qwen2_moe", "qwen3_moe"), "use_sliding_window", [False, True]),
    (MIXED, "sliding_window", [None, 16, 4096]), (("mixtral",), "num_experts", [4]),
    (("mixtral", "qwen2_moe"), "attention_bias", [False, True]),
    (("gemma3_text",), "_sliding_window_pattern", [2]),
    (("gemma3_text",), "cache_implementation", ["hybrid"]),
]
ODD += model_cases_newer.ODD
if not IS_NEW:  # the older library heeds the first one otherwise, and fails over the second one
    ODD = [row for row in ODD if row[1] not in ("use_sliding_window", "reorder_and_upcast_attn")]


class Case:
    def __init__(self, family, dice):
        self.family, self.dice = family, dice
        self.config_class, self.model_class = FAMILIES[family]
        self.config, self.varied, self.keeps_output = {"model_type": family}, [], False

    def set(self, key, value, is_usual=False):
        self.config[key] = value
        if not is_usual:
            self.varied.append(f"{self.family}: {key}")

    def sometimes(self, probability):
        return self.dice.random() < probability

    def pick(self, *values):
        return self.dice.choice(values)

    @property
    def vocabulary(self):
        return self.config.get("vocab_size") or self.config["padded_vocab_size"]

    @property
    def reference(self):
        if self.family == "chatglm":
            return glm(self.config)
        if self.family == "internlm2":
            return self.config | {"model_type": "llama", "attention_bias": self.config.get("bias", True)}
        return {k: v for k, v in self.config.items()}

    def rename(self, weights, config):
        if self.family == "chatglm":
            return golden_models.chatglm2_weights(weights, config)
        if self.family == "internlm2":
            return golden_models.internlm2_weights(weights, config)
        if self.family in model_cases_newer.FAMILIES:
            return model_cases_newer.published(self.family, weights)
        return separate_experts(weights, self.family) if self.family in MIXED else weights

    def named(self):
        """What a refusal may name: a key of this configuration, or a tensor."""
        deep = [k for v in self.config.values() if isinstance(v, dict) for k in v]
        return [*self.config, *deep, "tensor", "rope"]

    def shown(self):
        return {k: v for k, v in self.config.items() if f"{self.family}: {k}" in self.varied}


def separate_experts(weights, family):
    """Newer versions of the library keep all experts in one tensor; files have them one by one."""
    out = {}
    is_mixtral = family == "mixtral"
    block, names = ("block_sparse_moe", "w1 w3 w2") if is_mixtral else (
        "mlp", "gate_proj up_proj down_proj")
    gate, up, down = names.split()
    for name, w in weights.items():
        start, _, end = name.partition(".mlp.experts.")
        if end == "gate_up_proj":
            for e, both in enumerate(w):
                first, second = both.chunk(2)
                out[f"{start}.{block}.experts.{e}.{gate}.weight"] = first.clone()
                out[f"{start}.{block}.experts.{e}.{up}.weight"] = second.clone()
        elif end == "down_proj":
            for e, one in enumerate(w):
                out[f"{start}.{block}.experts.{e}.{down}.weight"] = one.clone()
        elif is_mixtral:
            out[name.replace(".mlp.gate.", ".block_sparse_moe.gate.")] = w
        else:
            out[name] = w
    return out


def glm(config):
    """The configuration of Glm that computes what this ChatGLM's would."""
    get = config.get
    heads, ratio = config["num_attention_heads"], get("rope_ratio", 1)
    is_first = "chatglm2" in get("_name_or_path", "")
    scaling = {"rope_scaling": {"rope_type": "linear", "factor": float(ratio)}} if is_first else {}
    return scaling | {
        "model_type": "glm", "num_hidden_layers": config["num_layers"],
        "hidden_size": config["hidden_size"], "num_attention_heads": heads,
        "num_key_value_heads":
            get("multi_query_group_num", 1) if get("multi_query_attention") else heads,
        "intermediate_size": config["ffn_hidden_size"], "head_dim": get("kv_channels", 128),
        "max_position_embeddings": config["seq_length"], "vocab_size": config["padded_vocab_size"],
        "rms_norm_eps": get("layernorm_epsilon", 1e-5), "rope_theta": 10000.0 * (1 if is_first else ratio),
        "partial_rotary_factor": 0.5, "attention_bias": get("add_qkv_bias", False),
        "tie_word_embeddings": False, "pad_token_id": None, "eos_token_id": 0,
    }


# ---- Parts of a configuration. ----------------------------------------------------------------

def sizes(case):
    heads = case.pick(2, 3, 4)
    head_dim = case.pick(8, 16, 32)
    n_kv = case.pick(*[n for n in (1, 2, 3, 4) if heads % n == 0 and n <= heads])
    return {"layers": case.pick(1, 2, 3), "heads": heads, "kv": n_kv, "width": heads * head_dim,
            "head_dim": head_dim, "ffn": case.pick(24, 40, 64), "positions": case.pick(64, 128, 256),
            "vocabulary": case.pick(40, 64, 97)}


def common(case, s):
    config = {"num_hidden_layers": s["layers"], "hidden_size": s["width"],
              "num_attention_heads": s["heads"], "intermediate_size": s["ffn"],
              "max_position_embeddings": s["positions"], "vocab_size": s["vocabulary"],
              "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    for key, value in config.items():
        case.set(key, value, is_usual=True)
    case.set("num_key_value_heads", s["kv"], is_usual=s["kv"] == s["heads"])
    if case.sometimes(0.5):
        case.set("rms_norm_eps", case.pick(1e-5, 1e-6, 1e-3))
    if case.sometimes(0.4):
        case.set("tie_word_embeddings", case.pick(True, False))
        case.keeps_output = case.sometimes(0.3)
    if case.sometimes(0.4):
        case.set("rope_theta", case.pick(500.0, 50000.0, 1000000))
    if case.family == "gemma3_text":
        case.set("head_dim", case.pick(8, 16, 32))
    elif case.family in ("gemma", "qwen3", "qwen3_moe", "glm", "glm4"):
        case.set("head_dim", case.pick(8, 16, 32), is_usual=True)
    elif case.family not in ("phi3", "olmoe", "qwen2_moe", "gpt_neox", "stablelm", "falcon",
                             "granitemoe", "granitemoeshared", "olmo3", "deepseek_v2",
                             "deepseek_v3") and case.sometimes(0.4):
        case.set("head_dim", case.pick(8, 16, 24, 40))
    key = "hidden_activation" if case.family in ("gemma2", "gemma3_text") else "hidden_act"
    if case.family == "gpt_oss":
        return
    if case.sometimes(0.3):
        act = case.pick(*ACTIVATIONS)
        is_doubtful = case.family == "gemma" and act == "gelu" and not IS_NEW
        case.set(key, "gelu_new" if is_doubtful else act)
    elif case.sometimes(0.05):
        case.set(key, case.pick(*FOREIGN_ACTIVATIONS))


def head_dim_of(case):
    config = case.config
    if "qk_rope_head_dim" in config:
        return config["qk_rope_head_dim"]
    usual = {"qwen3": 128, "gemma": 256, "gemma2": 256, "gemma3_text": 256,
             "gpt_oss": 64}.get(case.family)
    return config.get("head_dim") or usual or config["hidden_size"] // config["num_attention_heads"]


def factors(case, n):
    return [round(case.dice.uniform(0.5, 6.0), 3) for _ in range(n)]


def long_rope(case, scaling, n_dims):
    """Either the prompt is longer than the original context, or the context was not stretched."""
    positions = case.config["max_position_embeddings"]
    original = case.pick(16, 32, positions)
    scaling |= {"short_factor": factors(case, n_dims // 2), "long_factor": factors(case, n_dims // 2)}
    if case.family == "phi3" or case.sometimes(0.5) or not IS_NEW:
        case.set("original_max_position_embeddings", original)
    else:
        scaling["original_max_position_embeddings"] = original
    if case.family != "phi3" and (case.sometimes(0.3) and IS_NEW):
        scaling["factor"] = case.pick(2.0, 8.0)
    if case.family != "phi3" and case.sometimes(0.3):
        scaling["attention_factor"] = case.pick(0.8, 1.3)
    return scaling


def yarn(case, scaling):
    positions = case.config["max_position_embeddings"]
    scaling["factor"] = case.pick(2.0, 4.0, 8.0)
    if IS_NEW and case.sometimes(0.6):
        scaling["original_max_position_embeddings"] = case.pick(8, 32, 64)
        if case.sometimes(0.2):
            scaling["factor"] = None
    elif case.sometimes(0.6):
        scaling["original_max_position_embeddings"] = int(positions / scaling["factor"])
    for key, values in (("beta_fast", (8.0, 64.0)), ("beta_slow", (0.5, 2.0)),
                        ("attention_factor", (0.7, 1.5)), ("mscale", (1.0, 0.707)),
                        ("mscale_all_dim", (1.0, 0.5))):
        if case.sometimes(0.25):
            scaling[key] = case.pick(*values)
    if IS_NEW and case.sometimes(0.2):
        scaling["truncate"] = case.pick(True, False)
    return scaling


def rope_scaling(case, n_dims):
    """A random object of scaling; None: none."""
    kind = case.pick("linear", "dynamic", "llama3", "yarn", "longrope", "default", "other")
    positions = case.config["max_position_embeddings"]
    scaling = {case.pick("rope_type", "type") if case.family != "phi3" else "type": kind}
    if case.family == "gemma3_text" and kind == "longrope" and case.sometimes(0.8):
        return None
    if kind in ("linear", "dynamic"):
        scaling["factor"] = case.pick(2.0, 8.0)
    elif kind == "llama3":
        scaling |= {"factor": case.pick(2.0, 8.0), "low_freq_factor": case.pick(1.0, 2.0),
                    "high_freq_factor": case.pick(4.0, 8.0),
                    "original_max_position_embeddings": case.pick(16, 32, positions)}
    elif kind == "yarn":
        yarn(case, scaling)
    elif kind == "longrope":
        long_rope(case, scaling, n_dims)
    elif kind == "other":
        scaling = case.pick({"type": "mrope"}, {"rope_type": "proportional"}, {"factor": 2.0},
                            {"rope_type": "linear"}, {})
    return scaling


def rotation(case):
    if not case.sometimes(0.6):
        return
    n_dims = head_dim_of(case)
    if case.family == "phi3":
        if case.sometimes(0.4):
            partial = case.pick(0.75, 0.5, 0.25)
            case.set("partial_rotary_factor", partial)
            n_dims = int(n_dims * partial)
        scaling = rope_scaling(case, n_dims) if case.sometimes(0.2) else long_rope(
            case, {"type": case.pick("longrope", "su", "yarn")}, n_dims)
    else:
        scaling = rope_scaling(case, n_dims)
    key = "rope_parameters" if IS_NEW and case.sometimes(0.4) else "rope_scaling"
    if key == "rope_parameters" and scaling is not None and case.sometimes(0.5):
        scaling["rope_theta"] = case.pick(300.0, 70000.0)
    case.set(key, scaling)
    name = (scaling or {}).get("rope_type", (scaling or {}).get("type"))
    case.varied.append(f"{case.family}: rope type {name}")


def layer_types(case, kind):
    n = case.config.get("num_hidden_layers", case.config.get("n_layer", 1))
    one = {"full": ["full_attention"], "sliding": ["sliding_attention"],
           "mixed": ["full_attention", "sliding_attention"]}[kind]
    return [case.pick(*one) for _ in range(n)]


def window(case):
    if case.family in ("mistral", "phi3") and case.sometimes(0.6):
        case.set("sliding_window", case.pick(None, 5, 16, 40, 1000))
    if case.family in ("qwen2", "qwen3") and case.sometimes(0.6):
        case.set("sliding_window", case.pick(None, 5, 16, 40))
        if case.sometimes(0.7):
            case.set("use_sliding_window", case.pick(True, True, False))
        is_used = case.config.get("use_sliding_window", False)
        if not IS_NEW and is_used:
            case.set("max_window_layers", 0)
        elif case.sometimes(0.6):
            case.set("max_window_layers", case.pick(0, 1, 2, 28))
        if IS_NEW and case.sometimes(0.3):
            case.set("layer_types", layer_types(case, case.pick("full", "sliding", "mixed")))
    if case.family == "gemma3_text":
        if case.sometimes(0.8):
            case.set("sliding_window", case.pick(5, 16, 40))
        if case.sometimes(0.6):
            case.set("sliding_window_pattern", case.pick(1, 2, 3))
        if IS_NEW and case.sometimes(0.3):
            case.set("layer_types", layer_types(case, "mixed"))


def gemma3(case):
    if case.sometimes(0.5):
        case.set("query_pre_attn_scalar", case.pick(8, 24, 168))
    if case.sometimes(0.4):
        case.set("rope_local_base_freq", case.pick(500.0, 20000.0))
    two_rotations(case)


def two_rotations(case):
    """Layers that see all positions are rotated in their own way."""
    if not case.sometimes(0.5):
        return
    scaling = rope_scaling(case, head_dim_of(case))
    if IS_NEW and case.sometimes(0.4):
        nested = {"full_attention": scaling or {"rope_type": "default"}}
        if case.sometimes(0.5):
            nested["sliding_attention"] = {"rope_type": "default", "rope_theta": 700.0}
        case.set("rope_parameters", nested)
    elif scaling is not None:
        case.set("rope_scaling", scaling)
    name = (scaling or {}).get("rope_type", (scaling or {}).get("type"))
    case.varied.append(f"{case.family}: rope type {name}")


def experts(case, s):
    n = case.pick(1, 2, 3, 5, 8)
    case.set("num_local_experts" if case.family == "mixtral" else "num_experts", n)
    case.set("num_experts_per_tok", case.pick(*range(1, n + 1)))
    if case.family.startswith("qwen"):
        case.set("moe_intermediate_size", case.pick(8, 24, 33), is_usual=True)
    if case.family == "qwen2_moe":
        case.set("shared_expert_intermediate_size", s["ffn"], is_usual=True)
    if case.family != "mixtral" and case.sometimes(0.6):
        case.set("norm_topk_prob", case.pick(True, False))
    if case.family == "qwen2_moe" and case.sometimes(0.3):
        case.set("qkv_bias", case.pick(True, False))


def odd_keys(case):
    rows = [r for r in ODD if r[0] is None or case.family in r[0]]
    for _ in range(case.pick(0, 0, 1, 1, 2)):
        _, key, values = case.dice.choice(rows)
        value = case.dice.choice(values)
        if key in case.config:
            continue
        case.set(key, layer_types(case, value) if key == "layer_types" else value)


# ---- Families. ----------------------------------------------------------------------------------

def llama_like(case):
    s = sizes(case)
    common(case, s)
    if case.family in MIXED:
        experts(case, s)
    if case.family in ("llama", "qwen3", "olmoe", "qwen3_moe", "gemma", "gemma3_text") and case.sometimes(0.3):
        case.set("attention_bias", case.pick(True, False))
    if case.family == "llama" and case.sometimes(0.3):
        case.set("mlp_bias", case.pick(True, False))
    window(case)
    if case.family == "gemma3_text":
        gemma3(case)
    else:
        rotation(case)


def gpt2(case):
    s = sizes(case)
    for key, value in (("n_layer", s["layers"]), ("n_embd", s["width"]), ("n_head", s["heads"]),
                       ("n_positions", s["positions"]), ("vocab_size", s["vocabulary"]),
                       ("bos_token_id", 0), ("eos_token_id", 0)):
        case.set(key, value, is_usual=True)
    if case.sometimes(0.5):
        case.set("n_inner", case.pick(None, 24, 40))
    if case.sometimes(0.5):
        case.set("layer_norm_epsilon", case.pick(1e-6, 1e-3))
    if case.sometimes(0.5):
        case.set("activation_function", case.pick(*ACTIVATIONS, "quick_gelu"))
    if case.sometimes(0.3):
        case.set("tie_word_embeddings", case.pick(True, False))
        case.keeps_output = case.sometimes(0.3)


def opt(case):
    s = sizes(case)
    for key, value in (("num_hidden_layers", s["layers"]), ("hidden_size", s["width"]),
                       ("num_attention_heads", s["heads"]), ("ffn_dim", s["ffn"]),
                       ("max_position_embeddings", s["positions"]), ("vocab_size", s["vocabulary"]),
                       ("bos_token_id", 0), ("eos_token_id", 0), ("pad_token_id", 1)):
        case.set(key, value, is_usual=True)
    if case.sometimes(0.5):
        case.set("activation_function", case.pick(*ACTIVATIONS, "relu2"))
    if case.sometimes(0.5):
        case.set("enable_bias", case.pick(True, False))
    if case.sometimes(0.3):
        case.set("tie_word_embeddings", case.pick(True, False))


def chatglm(case):
    s = sizes(case)
    for key, value in (("num_layers", s["layers"]), ("hidden_size", s["width"]),
                       ("num_attention_heads", s["heads"]), ("ffn_hidden_size", s["ffn"]),
                       ("kv_channels", s["head_dim"]), ("seq_length", s["positions"]),
                       ("padded_vocab_size", s["vocabulary"])):
        case.set(key, value, is_usual=True)
    if case.sometimes(0.7):
        case.set("multi_query_attention", case.pick(True, True, False))
    if case.sometimes(0.7):
        case.set("multi_query_group_num", s["kv"])
    if case.sometimes(0.7):
        case.set("add_qkv_bias", case.pick(True, False))
    if case.sometimes(0.5):
        case.set("layernorm_epsilon", case.pick(1e-6, 1e-3))
    if case.sometimes(0.4):
        case.set("rope_ratio", case.pick(1, 50))
        if case.sometimes(0.8):
            case.set("_name_or_path", case.pick("THUDM/chatglm2-6b-32k", "x/chatglm3-6b-32k", "glm-4-9b"))


def later(case):
    """A family of LATER, or internlm2: what llama has, and its own switches."""
    s = sizes(case)
    common(case, s)
    for key, families, values in LATER_KEYS:
        if case.family in families and case.sometimes(0.5):
            case.set(key, case.pick(*values))
    if case.family == "smollm3" and case.sometimes(0.5):
        case.set("no_rope_layers", [case.pick(0, 1) for _ in range(s["layers"])])
    if case.family == "cohere2":
        case.set("sliding_window", case.pick(5, 16, 40), is_usual=True)
    if case.family == "falcon":
        case.set("num_kv_heads", s["kv"], is_usual=True)
    rotation(case)


LATER_KEYS = [
    ("embedding_multiplier", ("granite",), (12.0, 0.5)), ("logits_scaling", ("granite",), (8.0, 0.25)),
    ("residual_multiplier", ("granite",), (0.22, 1.5)),
    ("attention_multiplier", ("granite",), (0.0625, 0.3)),
    ("attention_bias", ("granite", "olmo2", "cohere", "cohere2", "smollm3", "glm", "glm4", "gpt_neox"),
     (True, False)),
    ("mlp_bias", ("granite", "smollm3"), (True, False)),
    ("no_rope_layer_interval", ("smollm3",), (1, 2, 3)),
    ("logit_scale", ("cohere", "cohere2"), (0.25, 1.0, 2)),
    ("sliding_window_pattern", ("cohere2",), (1, 2, 3)),
    ("use_parallel_residual", ("gpt_neox", "stablelm"), (True, False)),
    ("partial_rotary_factor", ("phi", "stablelm", "glm", "glm4"), (0.25, 0.5, 1.0)),
    ("rotary_pct", ("gpt_neox",), (0.25, 0.5, 1.0)), ("rotary_emb_base", ("gpt_neox",), (500, 70000)),
    ("layer_norm_eps", ("phi", "stablelm", "gpt_neox", "cohere", "cohere2"), (1e-6, 1e-3)),
    ("norm_epsilon", ("starcoder2",), (1e-6, 1e-3)), ("use_bias", ("starcoder2",), (True, False)),
    ("sliding_window", ("starcoder2",), (None, 5, 16)),
    ("use_qkv_bias", ("stablelm",), (True, False)), ("bias", ("falcon", "internlm2"), (True, False)),
    ("parallel_attn", ("falcon",), (True, False)), ("multi_query", ("falcon",), (True, False)),
    ("new_decoder_architecture", ("falcon",), (True, False)),
    ("num_ln_in_parallel_attn", ("falcon",), (None, 1, 2)),
    ("layer_norm_epsilon", ("falcon",), (1e-6, 1e-3)), ("alibi", ("falcon",), (False, False, True)),
    ("ffn_hidden_size", ("falcon",), (24, 40)), ("activation", ("falcon",), ("gelu", "relu", "silu")),
    ("qk_layernorm", ("phi", "stablelm"), (False, False, True)),
    ("use_qk_norm", ("cohere",), (False, False, True)),
]
MAKERS = {"gpt2": gpt2, "opt": opt, "chatglm": chatglm, "internlm2": later} | dict.fromkeys(LATER, later)
MAKERS |= model_cases_newer.MAKERS


def cases(n, seed, only=None):
    """n cases of each family, the same for the same seed."""
    for family in FAMILIES:
        if only is not None and family != only:
            continue
        for i in range(n):
            case = Case(family, random.Random(f"{seed} {family} {i}"))
            MAKERS.get(family, llama_like)(case)
            odd_keys(case)
            yield case
