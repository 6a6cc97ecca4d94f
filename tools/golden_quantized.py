"""Golden models in the quantized forms that safetensors have: FP8, GPTQ, AWQ, compressed-tensors.

A form quantizes a float32 matrix (rows, columns) in plain numpy, stores it as its format has it, and
says which matrix the stored numbers stand for. The formats are those of their own documents:

    fp8         DeepSeek-V3's README_WEIGHTS.md: float8 E4M3, weight_scale_inv for blocks of 128
    gptq        AutoGPTQ's qlinear modules: int32 words along inputs, zero points less one (v1)
    awq         AutoAWQ's gemm packing: int32 words along outputs in the order 0 2 4 6 1 3 5 7
    compressed  compressed-tensors' README: pack-quantized, float-quantized, int-quantized
"""
import json

import numpy as np
import torch

import golden_expected
import golden_models

AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
SIZES = dict(hidden_size=128, intermediate_size=256, num_key_value_heads=2)


def groups_of(values, group):
    """(rows, groups, group)."""
    rows, columns = values.shape
    return values.reshape(rows, -1, columns if group < 0 else group)


def integers(values, group, n_bits, is_symmetric, dtype):
    """Codes (rows, columns), scales and zero points (rows, groups)."""
    by_group, top = groups_of(values, group), 2 ** n_bits - 1
    if is_symmetric:
        scales = np.abs(by_group).max(axis=2) / (top // 2)
        zeros = np.full(scales.shape, (top + 1) // 2)
    else:
        low = np.minimum(by_group.min(axis=2), 0)
        scales = (np.maximum(by_group.max(axis=2), 0) - low) / top
        zeros = None
    scales = torch.from_numpy(scales).to(dtype)
    exact = scales.float().numpy()
    if zeros is None:
        zeros = np.clip(np.rint(-low / exact), 0, top).astype(np.int64)
    codes = np.clip(np.rint(by_group / exact[..., None]) + zeros[..., None], 0, top)
    return codes.astype(np.int64).reshape(values.shape), scales, zeros


def floats_of(codes, scales, zeros, group):
    """The matrix that codes stand for."""
    by_group = groups_of(codes, group) - zeros[..., None]
    scaled = by_group.astype(np.float64) * scales.double().numpy()[..., None]
    return scaled.reshape(codes.shape)


def words(codes, n_bits, axis, order=None):
    """int32 words of 32 / n_bits codes along an axis, the first in the lowest bits."""
    per_word = 32 // n_bits
    moved = np.moveaxis(codes, axis, -1)
    moved = moved.reshape(*moved.shape[:-1], -1, per_word)
    if order is not None:
        moved = moved[..., list(order)]
    shifts = np.arange(per_word, dtype=np.uint64) * np.uint64(n_bits)
    packed = (moved.astype(np.uint64) << shifts).sum(axis=-1).astype(np.uint32).view(np.int32)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(packed, -1, axis)))


def gptq(values, group=128, n_bits=4, is_symmetric=True, is_v2=False):
    codes, scales, zeros = integers(values, group, n_bits, is_symmetric, torch.float16)
    if not is_v2:
        zeros = np.maximum(zeros, 1)  # stored less one
    stored = zeros - (0 if is_v2 else 1)
    columns = values.shape[1]
    order = np.arange(columns) // (columns if group < 0 else group)
    return floats_of(codes, scales, zeros, group), {
        "qweight": words(codes.T, n_bits, 0),
        "qzeros": words(stored.T, n_bits, 1),
        "scales": scales.T.contiguous(),
        "g_idx": torch.from_numpy(order.astype(np.int32)),
    }


def awq(values, group=128):
    codes, scales, zeros = integers(values, group, 4, False, torch.float16)
    return floats_of(codes, scales, zeros, group), {
        "qweight": words(codes.T, 4, 1, AWQ_ORDER),
        "qzeros": words(zeros.T, 4, 1, AWQ_ORDER),
        "scales": scales.T.contiguous(),
    }


def packed(values, group=128, n_bits=4, is_symmetric=True, dtype=torch.bfloat16):
    codes, scales, zeros = integers(values, group, n_bits, is_symmetric, dtype)
    stored = {
        "weight_packed": words(codes, n_bits, 1),
        "weight_scale": scales,
        "weight_shape": torch.tensor(values.shape),
    }
    if not is_symmetric:
        stored["weight_zero_point"] = words(zeros, n_bits, 0)
    return floats_of(codes, scales, zeros, group), stored


def bytes_of_rows(values, dtype=torch.bfloat16):
    codes, scales, zeros = integers(values, -1, 8, True, dtype)
    signed = torch.from_numpy((codes - 128).astype(np.int8))
    return floats_of(codes, scales, zeros, -1), {"weight": signed, "weight_scale": scales}


def fp8(values, block, name, dtype, extra=None):
    """Blocks of (rows, columns) share a scale; None: all do."""
    rows, columns = values.shape
    row_block, column_block = block or (rows, columns)
    tall, wide = -(-rows // row_block), -(-columns // column_block)
    padded = np.zeros((tall * row_block, wide * column_block))
    padded[:rows, :columns] = values
    by_block = padded.reshape(tall, row_block, wide, column_block)
    scales = torch.from_numpy(np.abs(by_block).max(axis=(1, 3)) / 448).to(dtype)
    spread = np.repeat(np.repeat(scales.double().numpy(), row_block, 0), column_block, 1)
    spread = spread[:rows, :columns]
    stored = torch.from_numpy(values / spread).to(torch.float8_e4m3fn)
    if block is None:
        scales = scales.reshape(())
    return stored.double().numpy() * spread, {"weight": stored, name: scales} | (extra or {})


def compressed(form, **weights):
    """quantization_config of compressed-tensors with one group."""
    usual = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group",
             "group_size": None, "dynamic": False, "actorder": None}
    return {"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"],
            "kv_cache_scheme": None, "quantization_status": "compressed",
            "config_groups": {"group_0": {
                "targets": ["Linear"], "weights": usual | weights, "input_activations": None,
                "output_activations": None}}}


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "desc_act": False}
# Name, model, own settings of the model, form of a matrix, quantization_config.
FORMS = {
    "fp8_block": ("llama", {}, lambda w: fp8(w, (128, 128), "weight_scale_inv", torch.float32),
                  {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                   "weight_block_size": [128, 128]}),
    "fp8_tensor": ("qwen3_moe", dict(moe_intermediate_size=128),
                   lambda w: fp8(w, None, "weight_scale", torch.float32,
                                 {"input_scale": torch.tensor(0.5)}),
                   {"quant_method": "fp8", "activation_scheme": "static"}),
    "fp8_channel": ("qwen3", {}, lambda w: fp8(w, (1, w.shape[1]), "weight_scale",
                                               torch.bfloat16),
                    compressed("float-quantized", num_bits=8, type="float", strategy="channel")),
    "gptq": ("llama", {}, gptq, GPTQ),
    "gptq_v2": ("phi3", {}, lambda w: gptq(w, 32, is_symmetric=False, is_v2=True),
                GPTQ | {"group_size": 32, "sym": False, "checkpoint_format": "gptq_v2"}),
    "gptq_8": ("qwen2", {}, lambda w: gptq(w, -1, n_bits=8),
               GPTQ | {"bits": 8, "group_size": -1, "checkpoint_format": "gptq"}),
    "awq": ("llama", {}, lambda w: awq(w, 64),
            {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": True,
             "version": "gemm"}),
    "packed": ("llama", {}, packed, compressed("pack-quantized", group_size=128)),
    "packed_zeros": ("qwen3", {}, lambda w: packed(w, 32, is_symmetric=False),
                     compressed("pack-quantized", group_size=32, symmetric=False)),
    "bytes": ("llama", {}, bytes_of_rows,
              compressed("int-quantized", num_bits=8, strategy="channel")),
}
SEEDS = {name: 400 + i for i, name in enumerate(FORMS)}


def is_quantized(name, w):
    return w.dim() == 2 and not any(part in name for part in ("embed", "lm_head", "mlp.gate."))


def make(name, seed):
    """A model with the matrices that the stored ones stand for; (model, weights, config)."""
    family, own, form, quantization = FORMS[name]
    model, weights = golden_models.make(family, seed, torch.bfloat16, **(SIZES | own))
    for key, w in model.named_parameters():
        if not is_quantized(key, w):
            continue
        read, stored = form(w.detach().double().numpy())
        with torch.no_grad():
            w.data = torch.from_numpy(read)  # float64, as the answers are
        del weights[key]
        stem = key.removesuffix("weight")
        weights |= {stem + part: value.contiguous() for part, value in stored.items()}
    config = golden_models.config_json(family, model, torch.bfloat16)
    return model, (weights, config | {"quantization_config": quantization})


def vectors(out):
    """Blocks of F8_E4M3 as they are read from parts: a scale, and 128 values; all bytes occur."""
    dice = np.random.default_rng(499)
    codes = np.concatenate([dice.permutation(256) for _ in range(8)]).astype(np.uint8)
    codes = codes.reshape(-1, 128)
    scales = np.float32([1, 2.0 ** -9, -0.37, 3.1e-5, 0, 1e30, 2.0 ** -140, 448] * 2)
    values = torch.from_numpy(codes.copy()).view(torch.float8_e4m3fn).float()
    out.mkdir(parents=True, exist_ok=True)
    blocks = np.concatenate((scales[:, None].view(np.uint8), codes), axis=1)
    (out / "f8_e4m3.bin").write_bytes(blocks.tobytes())
    (out / "f8_e4m3.f32").write_bytes((values.numpy() * scales[:, None]).tobytes())


def models(out):
    vectors(out / "quants")
    for name in FORMS:
        (weights, config), answer = golden_expected.search(lambda seed, n=name: make(n, seed),
                                                           golden_models.VOCAB, SEEDS[name])
        golden_models.save(out / f"quantized_{name}", config, weights, answer)


if __name__ == "__main__":
    print(json.dumps({name: row[3] for name, row in FORMS.items()}, indent=1))
