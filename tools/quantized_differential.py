"""Random quantized models beside the matrices that they stand for: equal logits, or a refusal by name.

    tools/quantized_differential.py PROGRAM [--cases N] [--seed S] [--keep DIR]

PROGRAM is build/tests/run/logits. A case is a random small model of some family whose matrices are
stored as FP8, GPTQ, AWQ or compressed-tensors (golden_quantized.py), and transformers computes its
logits in float64 from the matrices that the stored numbers stand for. If the package
compressed-tensors is installed, its decompression must give the same matrices.

A third of the cases break one thing: a part, a shape, a scale, a key. Such a model must be refused
by a sentence that names the place. Weights in FP8 must agree within 1e-4 of the largest logit,
integers within 0.1, since activations are rounded to 8 bits; a wrong number makes far more.
"""
import argparse
import collections
import json
import pathlib
import random
import sys
import tempfile

import numpy as np
import torch
import transformers

import golden_models
import golden_quantized
from model_differential import N_PROMPT, Program, logits_of

FAMILIES = ["llama", "llama3", "mistral", "qwen2", "qwen3", "phi3", "gemma", "gemma3", "qwen3_moe",
            "mixtral", "olmoe", "granite", "olmo2", "glm4", "deepseek_v3"]
golden_models.MODELS["deepseek_v3"] = (
    transformers.DeepseekV3Config, transformers.DeepseekV3ForCausalLM, dict(
        num_key_value_heads=4, q_lora_rank=128, kv_lora_rank=128, qk_rope_head_dim=16,
        qk_nope_head_dim=48, v_head_dim=32, moe_intermediate_size=128, n_routed_experts=6,
        num_experts_per_tok=2, n_shared_experts=1, n_group=3, topk_group=2,
        first_k_dense_replace=0, rms_norm_eps=1e-6))
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
gq = golden_quantized


def draw_form(dice):
    """(name, form of a matrix, quantization_config, bound)."""
    kind = dice.choice(("fp8", "fp8 channel", "gptq", "awq", "packed", "bytes"))
    group = dice.choice((32, 64, 128, -1))
    if kind == "fp8":
        block = dice.choice((None, (128, 128), (64, 128), (128, 256)))
        name = dice.choice(("weight_scale_inv", "weight_scale"))
        dtype = dice.choice(DTYPES[::2])
        config = {"quant_method": "fp8", "activation_scheme": dice.choice(("dynamic", "static")),
                  "weight_block_size": block and list(block)}
        return f"fp8 {block}", lambda w: gq.fp8(w, block, name, dtype), config, 1e-4
    if kind == "fp8 channel":
        dtype = dice.choice(DTYPES[::2])
        return (kind, lambda w: gq.fp8(w, (1, w.shape[1]), "weight_scale", dtype),
                gq.compressed("float-quantized", num_bits=8, type="float", strategy="channel"), 1e-4)
    if kind == "gptq":
        n_bits, is_v2 = dice.choice((4, 4, 8)), dice.random() < 0.5
        is_symmetric = n_bits == 8 or dice.random() < 0.5
        config = gq.GPTQ | {"bits": n_bits, "group_size": group, "sym": is_symmetric,
                            "desc_act": dice.random() < 0.3}
        if is_v2 or dice.random() < 0.5:
            config["checkpoint_format"] = "gptq_v2" if is_v2 else "gptq"
        return (f"gptq {n_bits} {group} {is_symmetric} {is_v2}",
                lambda w: gq.gptq(w, group, n_bits, is_symmetric, is_v2), config, 0.1)
    if kind == "awq":
        return (f"awq {group}", lambda w: gq.awq(w, group),
                {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True}, 0.1)
    if kind == "bytes":
        return (kind, gq.bytes_of_rows,
                gq.compressed("int-quantized", num_bits=8, strategy="channel"), 0.1)
    n_bits = dice.choice((4, 4, 8))
    is_symmetric = n_bits == 8 or dice.random() < 0.5
    config = gq.compressed("pack-quantized", num_bits=n_bits, symmetric=is_symmetric,
                           strategy="channel" if group < 0 else "group",
                           group_size=None if group < 0 else group)
    dtype = dice.choice(DTYPES[1:])
    return (f"packed {n_bits} {group} {is_symmetric}",
            lambda w: gq.packed(w, group, n_bits, is_symmetric, dtype), config, 0.1)


def stays_plain(family, key, is_fp8, columns):
    """Routers are no matrices of modules, and groups need whole rows. Shoal reads DeepSeek's
    kv_b_proj as floats or FP8."""
    if columns % 128:
        return True
    is_router = "router" in key or key.endswith("block_sparse_moe.gate.weight")
    return is_router or (family == "deepseek_v3" and not is_fp8 and "kv_b_proj" in key)


def make(family, form, seed, is_fp8):
    """(model, weights, {module: (matrix, parts)})."""
    sizes = dict(gq.SIZES, num_hidden_layers=1)
    if family in ("qwen3_moe", "olmoe", "mixtral"):
        sizes["moe_intermediate_size" if family == "qwen3_moe" else "intermediate_size"] = 128
    if family == "deepseek_v3":
        del sizes["num_key_value_heads"]
    model, weights = golden_models.make(family, seed, torch.bfloat16, **sizes)
    modules = {}
    for key, w in model.named_parameters():
        if not gq.is_quantized(key, w) or stays_plain(family, key, is_fp8, w.shape[1]):
            continue
        read, stored = form(w.detach().double().numpy())
        w.data = torch.from_numpy(np.ascontiguousarray(read))
        del weights[key]
        stem = key.removesuffix("weight")
        modules[stem] = (read, stored)
        weights |= {stem + part: value.contiguous() for part, value in stored.items()}
    return model, weights, modules


def break_one(dice, weights, modules, config):
    """Breaks one thing; returns a word that the refusal must name, or None if nothing fits."""
    stem = dice.choice(sorted(modules))
    parts = sorted(modules[stem][1])
    part = dice.choice(parts)
    name = stem + part
    method = config["quant_method"]
    scales = [p for p in parts if "scale" in p]
    what = dice.choice(("remove", "nan", "shape", "type", "order", "extra", "method", "plain",
                        "kv", "zeros"))
    if what == "remove" and part not in ("g_idx", "weight_shape"):
        del weights[name]
        return stem
    if what == "nan":
        scale = weights[stem + scales[0]].clone()
        scale.view(-1)[-1] = dice.choice((float("nan"), float("inf")))
        weights[stem + scales[0]] = scale
        return scales[0]
    if what == "shape" and weights[name].dim() == 2 and min(weights[name].shape) > 1:
        weights[name] = weights[name][:-1].contiguous()
        return stem
    if what == "type" and weights[name].dim() > 0:
        weights[name] = weights[name].view(torch.uint8)
        return stem
    if what == "order" and "g_idx" in parts:
        order = weights[stem + "g_idx"]
        if int(order.max()) == 0:
            return None
        weights[stem + "g_idx"] = order.flip(0).contiguous()
        return "g_idx"
    if what == "extra":
        weights[stem + "weight_global_scale"] = torch.ones(1)
        return "weight_global_scale"
    if what == "method":
        config["quant_method"] = "bitsandbytes"
        return "bitsandbytes"
    if what == "plain":
        for key in [k for k in weights if any(k.startswith(s) for s in modules)]:
            del weights[key]
        for key, (read, _) in modules.items():
            weights[key + "weight"] = torch.from_numpy(np.ascontiguousarray(read)).float()
        return "quantization_config"
    if what == "kv":
        config["kv_cache_scheme"] = {"num_bits": 8}
        return "kv_cache_scheme"
    if what == "zeros" and method == "gptq" and not config["sym"]:
        config["sym"] = True
        return "qzeros"
    return None


def add_harmless(dice, weights, modules, config):
    """Adds what writers add and what changes no number."""
    stem = dice.choice(sorted(modules))
    rows = modules[stem][0].shape[0]
    if config["quant_method"] == "gptq" and stem + "bias" not in weights:
        weights[stem + "bias"] = torch.zeros(rows, dtype=torch.float16)
    if config["quant_method"] in ("fp8", "compressed-tensors"):
        weights[stem + "input_scale"] = torch.tensor(0.25)


def same_as_library(modules, config):
    """Compares with the package compressed-tensors; True where it is absent or does not apply."""
    if config.get("format") != "pack-quantized":
        return True
    try:
        from compressed_tensors.compressors.quantized_compressors import (  # pylint: disable=import-outside-toplevel
            pack_quantized)
    except ImportError:
        return True
    own = config["config_groups"]["group_0"]["weights"]
    for read, stored in modules.values():
        shape, scales = torch.Size(read.shape), stored["weight_scale"].double()
        codes = pack_quantized.unpack_from_int32(stored["weight_packed"], own["num_bits"], shape)
        zeros = torch.zeros_like(scales)
        if "weight_zero_point" in stored:
            zeros = pack_quantized.unpack_from_int32(
                stored["weight_zero_point"], own["num_bits"], scales.shape, packed_dim=0).double()
        by_group = codes.double().reshape(*scales.shape, -1) - zeros[..., None]
        if not torch.equal((by_group * scales[..., None]).reshape(shape), torch.from_numpy(read)):
            return False
    return True


def one(program, where, dice, seed):
    """(verdict, sentence)."""
    family = dice.choice(FAMILIES)
    name, form, quantization, bound = draw_form(dice)
    model, weights, modules = make(family, form, seed, name.startswith("fp8"))
    if not same_as_library(modules, quantization):
        return "DIFFERENT", f"{family} {name}: the package compressed-tensors reads other matrices"
    config = golden_models.config_json(family, model, torch.bfloat16)
    quantization = json.loads(json.dumps(quantization))
    word = None
    if dice.random() < 0.35:
        word = break_one(dice, weights, modules, quantization)
    elif dice.random() < 0.5:
        add_harmless(dice, weights, modules, quantization)
    where.mkdir(parents=True, exist_ok=True)
    golden_models.save_weights(where / "model.safetensors", weights)
    (where / "config.json").write_text(json.dumps(config | {"quantization_config": quantization}))
    ids = [dice.randrange(golden_models.VOCAB) for _ in range(N_PROMPT)]
    found, refusal = program.ask(where, ids)
    if word is not None:
        if found is not None:
            return "ACCEPTED", f"{family} {name}: broken at {word}"
        return ("refused", "") if word in refusal else ("UNNAMED", f"{word}: {refusal}")
    if found is None:
        return "REFUSED", f"{family} {name}: {refusal}"
    expected, _ = logits_of(model, ids)
    worst = float((found - expected).abs().max() / expected.abs().max())
    if worst > bound:
        return "DIFFERENT", f"{family} {name}: by {worst:.2g} of the largest logit"
    return f"equal {name.split()[0]}", ""


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("program")
    args.add_argument("--cases", type=int, default=60)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--only", choices=FAMILIES, help="a family")
    args.add_argument("--keep", help="a folder for the models")
    args = args.parse_args()
    torch.set_num_threads(1)
    if args.only:
        FAMILIES[:] = [args.only]
    program, counts, bad = Program(args.program), collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.cases):
            where = pathlib.Path(args.keep or folder) / str(number)
            verdict, sentence = one(program, where, random.Random(args.seed * 1000003 + number),
                                    args.seed + number)
            counts[verdict] += 1
            if sentence:
                bad.append(f"{verdict}: case {number}: {sentence}")
    for line in bad:
        print(line)
    print("quantized:", ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
