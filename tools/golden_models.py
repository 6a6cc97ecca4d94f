"""Golden Hugging Face directories: one tiny random model per architecture, with its answers.

    OUT/NAME/config.json, model.safetensors (or shards), tokenizer.json, expected.json

The vocabulary is the 256 bytes (golden_gguf.byte_tokens()), so that every model can be served. An
eos id occurs in the greedy tokens by chance: a reader of expected.json must ignore it.
ChatGLM2 is HF's Glm, whose mathematics is the same, under ChatGLM2's own names.
"""
import json

import safetensors.torch
import tokenizers
import torch
import transformers

import golden_expected
import golden_gguf

VOCAB = 256
SMALL = dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=64, num_hidden_layers=2,
             num_attention_heads=4, max_position_embeddings=256, tie_word_embeddings=False,
             bos_token_id=0, eos_token_id=0, pad_token_id=None, attn_implementation="eager")

TINY = dict(hidden_size=32, intermediate_size=48)

T = transformers
MODELS = {
    "llama": (T.LlamaConfig, T.LlamaForCausalLM, dict(num_key_value_heads=4, rms_norm_eps=1e-5)),
    "llama3": (T.LlamaConfig, T.LlamaForCausalLM, dict(
        num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=50000.0,
        # Original context 32: all three regions of frequencies occur in the test's positions.
        rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                          original_max_position_embeddings=32))),
    "llama_linear": (T.LlamaConfig, T.LlamaForCausalLM, dict(
        num_key_value_heads=1, rms_norm_eps=1e-6,
        rope_scaling=dict(rope_type="linear", factor=4.0))),
    # Original context 64: of 8 frequencies 1 is kept, 2 are blended and the others divided.
    "llama_yarn": (T.LlamaConfig, T.LlamaForCausalLM, dict(
        num_key_value_heads=2, rms_norm_eps=1e-5,
        rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64,
                          beta_fast=8.0))),
    "mistral": (T.MistralConfig, T.MistralForCausalLM, dict(
        num_key_value_heads=2, sliding_window=16, rms_norm_eps=1e-5, head_dim=16)),
    "qwen2": (T.Qwen2Config, T.Qwen2ForCausalLM, dict(
        num_key_value_heads=2, rope_theta=1000000.0, tie_word_embeddings=True)),
    # head_dim is not hidden / heads.
    "qwen3": (T.Qwen3Config, T.Qwen3ForCausalLM, dict(
        num_key_value_heads=2, head_dim=32, rope_theta=1000000.0)),
    # Windows narrower than the prompt.
    "phi3": (T.Phi3Config, T.Phi3ForCausalLM, dict(
        num_key_value_heads=2, sliding_window=16)),
    # A quarter of each head is not rotated; the context was not stretched: short factors.
    "phi3_partial": (T.Phi3Config, T.Phi3ForCausalLM, dict(
        num_key_value_heads=2, partial_rotary_factor=0.75, tie_word_embeddings=True,
        original_max_position_embeddings=256, rope_scaling=dict(
            type="longrope", short_factor=[1.0, 1.1, 1.3, 1.7, 2.5, 4.0], long_factor=[9.0] * 6))),
    # Stretched eightfold: prompts of 48 tokens are longer than the original context, so the library
    # takes the long factors for all of them, as we do.
    "phi3_long": (T.Phi3Config, T.Phi3ForCausalLM, dict(
        num_key_value_heads=4, original_max_position_embeddings=32, rope_scaling=dict(
            type="longrope", short_factor=[0.5] * 8,
            long_factor=[1.0, 1.2, 1.6, 2.4, 4.0, 6.5, 11.0, 20.0]))),
    "gemma": (T.GemmaConfig, T.GemmaForCausalLM, dict(
        num_key_value_heads=1, head_dim=32, tie_word_embeddings=True)),
    # Layers 0, 1, 3 see 16 tokens; 2 sees all and rotates by another base, stretched.
    "gemma3": (T.Gemma3TextConfig, T.Gemma3ForCausalLM, dict(
        num_key_value_heads=2, head_dim=32, num_hidden_layers=4, sliding_window=16,
        sliding_window_pattern=3, query_pre_attn_scalar=24, rope_local_base_freq=500.0,
        rope_theta=50000.0, rope_scaling=dict(rope_type="linear", factor=8.0),
        tie_word_embeddings=True)),
    # Mixtures of experts: an expert without any token of a pass, and one with most of them, occur.
    "mixtral": (T.MixtralConfig, T.MixtralForCausalLM, dict(
        num_key_value_heads=2, intermediate_size=32, num_local_experts=5, num_experts_per_tok=2,
        rms_norm_eps=1e-5)),
    "olmoe": (T.OlmoeConfig, T.OlmoeForCausalLM, dict(
        num_key_value_heads=2, intermediate_size=32, num_experts=6, num_experts_per_tok=3,
        rms_norm_eps=1e-5)),
    "qwen2_moe": (T.Qwen2MoeConfig, T.Qwen2MoeForCausalLM, dict(
        num_key_value_heads=2, moe_intermediate_size=32, shared_expert_intermediate_size=48,
        num_experts=6, num_experts_per_tok=2)),
    "qwen3_moe": (T.Qwen3MoeConfig, T.Qwen3MoeForCausalLM, dict(
        num_key_value_heads=2, head_dim=32, moe_intermediate_size=32, num_experts=7,
        num_experts_per_tok=3, norm_topk_prob=True)),
    # The families below are data in the one graph: each model has what the others lack.
    "granite": (T.GraniteConfig, T.GraniteForCausalLM, TINY | dict(
        num_key_value_heads=2, embedding_multiplier=6.0, logits_scaling=4.0,
        residual_multiplier=0.4, attention_multiplier=0.2)),
    "olmo2": (T.Olmo2Config, T.Olmo2ForCausalLM, TINY | dict(num_key_value_heads=2)),
    "starcoder2": (T.Starcoder2Config, T.Starcoder2ForCausalLM, TINY | dict(
        num_key_value_heads=2, sliding_window=16)),
    "phi": (T.PhiConfig, T.PhiForCausalLM, TINY | dict(num_key_value_heads=4)),
    "stablelm": (T.StableLmConfig, T.StableLmForCausalLM, TINY | dict(
        num_key_value_heads=2, use_qkv_bias=True)),
    "gpt_neox": (T.GPTNeoXConfig, T.GPTNeoXForCausalLM, TINY),
    "falcon": (T.FalconConfig, T.FalconForCausalLM, TINY | dict(
        new_decoder_architecture=True, num_kv_heads=2, ffn_hidden_size=48)),
    "glm": (T.GlmConfig, T.GlmForCausalLM, TINY | dict(num_key_value_heads=2, head_dim=8)),
    "glm4": (T.Glm4Config, T.Glm4ForCausalLM, TINY | dict(num_key_value_heads=2, head_dim=8)),
    "cohere": (T.CohereConfig, T.CohereForCausalLM, TINY | dict(
        num_key_value_heads=2, logit_scale=0.25)),
    # Layer 1 sees all positions and does not rotate.
    "cohere2": (T.Cohere2Config, T.Cohere2ForCausalLM, TINY | dict(
        num_key_value_heads=2, logit_scale=0.25, sliding_window=16, sliding_window_pattern=2)),
    "internlm2": (T.LlamaConfig, T.LlamaForCausalLM, TINY | dict(
        num_key_value_heads=2, rms_norm_eps=1e-6)),
    "opt": (T.OPTConfig, T.OPTForCausalLM, dict(
        ffn_dim=128, word_embed_proj_dim=64, pad_token_id=1, tie_word_embeddings=True)),
    "gpt2": (T.GPT2Config, T.GPT2LMHeadModel, dict(n_inner=128, tie_word_embeddings=True)),
    "chatglm2": (T.GlmConfig, T.GlmForCausalLM, dict(
        num_key_value_heads=2, head_dim=16, attention_bias=True, rms_norm_eps=1e-5,
        partial_rotary_factor=0.5)),
}


def make(name, seed, dtype=torch.float32, **other):
    """A random model whose weights are values of dtype; (model, weights as stored)."""
    config_class, model_class, own = MODELS[name]
    config = config_class(**(SMALL | own | other))
    model = golden_expected.randomize(model_class(config), seed)
    with torch.no_grad():
        for w in model.parameters():  # not the buffers: rotary frequencies stay float32
            w.copy_(w.to(dtype))
    weights = {k: v.to(dtype).clone().contiguous() for k, v in model.state_dict().items()}
    if config.tie_word_embeddings:
        weights.pop("lm_head.weight")
    return model, weights


def config_json(name, model, dtype):
    config = json.loads(model.config.to_json_string(use_diff=False))
    keep = set(json.loads(model.config.to_json_string(use_diff=True)))
    keep |= set(SMALL) | set(MODELS[name][2]) | {"rope_theta", "layer_norm_eps", "hidden_act",
                                                 "activation_function", "layer_norm_epsilon",
                                                 "hidden_activation", "rms_norm_eps", "norm_epsilon",
                                                 "rotary_pct", "rotary_emb_base", "activation",
                                                 "partial_rotary_factor"}
    drop = {"attn_implementation"}
    if model.config.model_type in ("gpt2", "opt"):  # they have names of their own for this
        drop |= {"intermediate_size"}
    config = {k: v for k, v in config.items() if k in keep - drop and not k.startswith("_")}
    config["architectures"] = [MODELS[name][1].__name__]
    config["torch_dtype"] = str(dtype).removeprefix("torch.")
    return config


# Found by golden_expected.search(), which started at 200; from here it finds them at once.
SEEDS = {"llama": 1200, "llama3": 1201, "llama_linear": 202, "llama_yarn": 212, "mistral": 1203,
         "qwen2": 3204, "qwen3": 2205, "phi3": 210, "phi3_partial": 211, "phi3_long": 4212,
         "mixtral": 214, "olmoe": 215, "qwen2_moe": 216, "qwen3_moe": 217, "gemma": 5213, "gemma3": 4214, "granite": 220, "olmo2": 221, "starcoder2": 222, "phi": 223, "stablelm": 224, "gpt_neox": 225,
         "falcon": 226, "glm": 227, "glm4": 228, "cohere": 229, "cohere2": 230, "internlm2": 231,
         "opt": 9206, "gpt2": 8207, "chatglm2": 8208}


# ---- ChatGLM2 -------------------------------------------------------------------------------

def chatglm2_config(config):
    return {
        "architectures": ["ChatGLMModel"], "model_type": "chatglm",
        "num_layers": config.num_hidden_layers, "padded_vocab_size": VOCAB,
        "hidden_size": config.hidden_size, "ffn_hidden_size": config.intermediate_size,
        "kv_channels": config.head_dim, "num_attention_heads": config.num_attention_heads,
        "multi_query_attention": True, "multi_query_group_num": config.num_key_value_heads,
        "seq_length": config.max_position_embeddings, "layernorm_epsilon": config.rms_norm_eps,
        "rmsnorm": True, "post_layer_norm": True, "apply_residual_connection_post_layernorm": False,
        "add_bias_linear": False, "add_qkv_bias": True, "original_rope": True,
        "attention_softmax_in_fp32": True, "apply_query_key_layer_scaling": True,
        "tie_word_embeddings": False, "eos_token_id": 0, "pad_token_id": 0,
        "torch_dtype": "float32",
    }


def chatglm2_weights(weights, config):
    """Glm's weights under ChatGLM2's names; q, k and v become one matrix with one bias."""
    e = "transformer.encoder."
    out = {"transformer.embedding.word_embeddings.weight": weights["model.embed_tokens.weight"],
           e + "final_layernorm.weight": weights["model.norm.weight"],
           "transformer.output_layer.weight": weights["lm_head.weight"]}
    # A buffer that the published files carry along.
    n = config.head_dim // 2
    out["transformer.rotary_pos_emb.inv_freq"] = 1.0 / 10000 ** (torch.arange(0, n, 2).float() / n)
    for i in range(config.num_hidden_layers):
        g, c = f"model.layers.{i}.", f"{e}layers.{i}."
        for kind in ("weight", "bias") if config.attention_bias else ("weight",):
            out[f"{c}self_attention.query_key_value.{kind}"] = torch.cat(
                [weights[f"{g}self_attn.{x}_proj.{kind}"] for x in "qkv"])
        out[c + "self_attention.dense.weight"] = weights[g + "self_attn.o_proj.weight"]
        out[c + "mlp.dense_h_to_4h.weight"] = weights[g + "mlp.gate_up_proj.weight"]
        out[c + "mlp.dense_4h_to_h.weight"] = weights[g + "mlp.down_proj.weight"]
        out[c + "input_layernorm.weight"] = weights[g + "input_layernorm.weight"]
        out[c + "post_attention_layernorm.weight"] = weights[g + "post_attention_layernorm.weight"]
    return out


# ---- InternLM2 ------------------------------------------------------------------------------

def internlm2_weights(weights, config):
    """Llama's weights under InternLM2's names: each KV head's queries, its key and its value lie
    one behind the other."""
    names = {"model.embed_tokens": "model.tok_embeddings", "model.norm": "model.norm", "lm_head": "output"}
    parts = {"self_attn.o_proj": "attention.wo", "input_layernorm": "attention_norm",
             "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "feed_forward.w1",
             "mlp.up_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2"}
    groups, out = config.num_key_value_heads, {}
    for name, w in weights.items():
        stem, kind = name.rsplit(".", 1)
        layer, _, part = stem.removeprefix("model.layers.").partition(".")
        if stem in names:
            out[f"{names[stem]}.{kind}"] = w
        elif part in parts:
            out[f"model.layers.{layer}.{parts[part]}.{kind}"] = w
        elif part == "self_attn.q_proj":
            q, k, v = (weights[name.replace("q_proj", f"{x}_proj")] for x in "qkv")
            split = [x.reshape(groups, -1, *x.shape[1:]) for x in (q, k, v)]
            out[f"model.layers.{layer}.attention.wqkv.{kind}"] = torch.cat(split, 1).reshape(
                -1, *w.shape[1:]).clone()
    return out


# ---- Directories ----------------------------------------------------------------------------

def tokenizer():
    tok = tokenizers.Tokenizer(tokenizers.models.BPE(
        {t: i for i, t in enumerate(golden_gguf.byte_tokens())}, []))
    tok.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = tokenizers.decoders.ByteLevel()
    return tok


def save_weights(path, weights):
    safetensors.torch.save_file(weights, path, metadata={"format": "pt"})
    path.chmod(0o644)


def save(folder, config, weights, answer, shards=1):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    tokenizer().save(str(folder / "tokenizer.json"), pretty=False)
    golden_expected.save(folder / "expected.json", answer)
    if shards == 1:
        save_weights(folder / "model.safetensors", weights)
        return
    where, names = {}, sorted(weights)
    for i in range(shards):
        file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        part = {name: weights[name] for name in names[i::shards]}
        save_weights(folder / file, part)
        where |= dict.fromkeys(part, file)
    total = sum(w.numel() * w.element_size() for w in weights.values())
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(
        json.dumps(index, indent=1, sort_keys=True) + "\n")


def one(out, name, folder, seed, dtype=torch.float32, shards=1):
    def attempt(seed):
        model, weights = make(name, seed, dtype)
        return model, (model.config, config_json(name, model, dtype), weights)

    (hf_config, config, weights), answer = golden_expected.search(attempt, VOCAB, seed)
    if name == "chatglm2":
        config, weights = chatglm2_config(hf_config), chatglm2_weights(weights, hf_config)
    if name == "internlm2":
        weights = internlm2_weights(weights, hf_config)
        config |= {"model_type": "internlm2", "architectures": ["InternLM2ForCausalLM"], "bias": False}
    save(out / folder, config, weights, answer, shards)


def models(out, only=()):
    for name in only or SEEDS:
        one(out, name, name, SEEDS[name])
    if only:
        return
    one(out, "llama3", "llama3_f16", 4221, torch.float16)
    one(out, "llama3", "llama3_sharded", 4221, torch.float16, shards=2)
    one(out, "llama3", "llama3_bf16", 1222, torch.bfloat16)
