"""Golden LoRA adapters of the models of golden_models, written by PEFT (tools/requirements.txt).

    OUT/adapters/NAME/adapter_config.json, adapter_model.safetensors, expected.json
    OUT/adapters/granite.gguf   the adapter of granite under llama.cpp's names

expected.json is as for models (golden_expected.py), with `base`: the folder of the model. The
answers are those of PEFT's model in float64.
"""
import json
import shutil

import numpy as np
import peft
import safetensors.numpy
import safetensors.torch
import torch
import transformers as T

import gguf_file
import golden_expected
import golden_gguf

LLAMA = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CASES = {
    "llama": ("llama", dict(r=4, lora_alpha=8, target_modules=LLAMA)),
    "llama_second": ("llama", dict(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"])),
    "llama_patterns": ("llama", dict(
        r=3, lora_alpha=5, use_rslora=True, target_modules=["q_proj", "v_proj", "down_proj"],
        rank_pattern={"down_proj": 17}, alpha_pattern={"layers.1.self_attn.q_proj": 9})),
    "phi3": ("phi3", dict(r=4, lora_alpha=4, target_modules=["qkv_proj", "o_proj", "gate_up_proj",
                                                             "down_proj"])),
    "gpt2": ("gpt2", dict(r=4, lora_alpha=8, fan_in_fan_out=True,
                          target_modules=["c_attn", "c_proj", "c_fc"])),
    "gpt_neox": ("gpt_neox", dict(r=2, lora_alpha=4, target_modules=[
        "query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"])),
    "falcon": ("falcon", dict(r=2, lora_alpha=4, target_modules=[
        "query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"])),
    "gemma3": ("gemma3", dict(r=4, lora_alpha=4, target_modules=LLAMA)),
    "qwen2_moe": ("qwen2_moe", dict(r=4, lora_alpha=8, target_modules=[
        "q_proj", "o_proj", "shared_expert.gate_proj", "shared_expert.up_proj",
        "shared_expert.down_proj"])),
    "granite": ("granite", dict(r=4, lora_alpha=6, target_modules=LLAMA)),
}
HALVES = {"llama_second": torch.float16, "phi3": torch.bfloat16}
PREFIX = "base_model.model.model.layers."
GGUF_NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
              "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
              "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def make(name, stored, folder, seed):
    """PEFT's model with a random adapter, which lies in `folder`."""
    base_name, options = CASES[name]
    base = T.AutoModelForCausalLM.from_pretrained(stored / base_name, torch_dtype=torch.float32)
    model = peft.get_peft_model(base, peft.LoraConfig(task_type="CAUSAL_LM", **options))
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if "lora_" in key:
                noise = torch.randn(weight.shape, generator=dice) * 0.7 / min(weight.shape) ** 0.5
                weight.copy_(noise.to(HALVES.get(name, torch.float32)).float())
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "README.md").unlink()
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text()) | {"base_model_name_or_path": base_name}
    config["target_modules"].sort()
    path.write_text(json.dumps(config, indent=1) + "\n")
    if name in HALVES:
        file = folder / "adapter_model.safetensors"
        tensors = safetensors.torch.load_file(file)
        safetensors.torch.save_file({k: v.to(HALVES[name]) for k, v in tensors.items()}, file)
    return model, None


def write_gguf(folder, path, config):
    """As llama.cpp's convert_lora_to_gguf.py does: rows of q and k in pairs, as their matrices."""
    tensors = safetensors.numpy.load_file(folder / "adapter_model.safetensors")
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    out = []
    for key, values in sorted(tensors.items()):
        layer, rest = key.removeprefix(PREFIX).removesuffix(".weight").split(".", 1)
        module, kind = rest.rsplit(".", 1)
        stored = GGUF_NAMES[module]
        if kind == "lora_B" and stored in heads:
            values = golden_gguf.permute(values, heads[stored])
        out.append((f"blk.{layer}.{stored}.weight.{kind.lower()}", "F32", values.shape,
                    np.float32(values).tobytes()))
    alpha = float(json.loads((folder / "adapter_config.json").read_text())["lora_alpha"])
    gguf_file.write(path, {"general.architecture": "granite", "general.type": "adapter",
                           "adapter.type": "lora", "adapter.lora.alpha": alpha}, out)


def models(out, stored):
    (out / "adapters").mkdir(parents=True, exist_ok=True)
    for name, (base, _) in CASES.items():
        folder = out / "adapters" / name
        seed, made = 77, lambda s, n=name, f=folder: make(n, stored, f, s)
        _, answer = golden_expected.search(made, 256, seed)
        golden_expected.save(folder / "expected.json", {"base": base} | answer)
    write_gguf(out / "adapters/granite", out / "adapters/granite.gguf",
               T.AutoConfig.from_pretrained(stored / "granite"))
