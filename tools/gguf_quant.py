"""Quantizes rows of floats to GGUF's block formats Q4_0, Q5_0, Q4_K and Q6_K: for benchmark models, to the nearest value that a scale by range gives.

llama.cpp's own quantizer searches for better scales; speed does not depend on them. src/compute/quant.c draws the formats.
"""
import numpy as np


def halves(values):
    return values.astype(np.float16).view(np.uint8).reshape(len(values), -1)


def rounded(values, scale, low, high):
    """values / scale to the nearest whole number in [low, high]; 0 where the scale is."""
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    return np.clip(np.rint(values * inverse), low, high).astype(np.int32)


def stored(scale):
    """A scale as the file's half has it."""
    return scale.astype(np.float16).astype(np.float32)


def signed_extreme(blocks):
    at = np.abs(blocks).argmax(axis=-1)
    return np.take_along_axis(blocks, at[..., None], axis=-1)


def nibbles(values):
    """Element j in the low nibble of byte j, element j + n / 2 in its high one."""
    half = values.shape[-1] // 2
    return ((values[..., :half] & 15) | (values[..., half:] & 15) << 4).astype(np.uint8)


def q4_0(values):
    blocks = values.reshape(-1, 32)
    scale = signed_extreme(blocks) / np.float32(-8)
    q = rounded(blocks, stored(scale), -8, 7) + 8
    return np.concatenate((halves(scale), nibbles(q)), axis=1)


def q5_0(values):
    blocks = values.reshape(-1, 32)
    scale = signed_extreme(blocks) / np.float32(-16)
    q = rounded(blocks, stored(scale), -16, 15) + 16
    fifth = np.packbits((q >> 4).astype(np.uint8), axis=1, bitorder="little")
    return np.concatenate((halves(scale), fifth, nibbles(q)), axis=1)


def q4_k(values):
    blocks = values.reshape(-1, 8, 32)
    low = np.minimum(blocks.min(axis=-1), 0)
    scale = (blocks.max(axis=-1) - low) / np.float32(15)
    d, m = scale.max(axis=-1, keepdims=True) / np.float32(63), (-low).max(axis=-1, keepdims=True) / np.float32(63)
    scales, minimums = rounded(scale, stored(d), 0, 63), rounded(-low, stored(m), 0, 63)
    q = rounded(blocks + (stored(m) * minimums)[..., None], (stored(d) * scales)[..., None], 0, 15)
    packed = np.concatenate(((scales[:, :4] & 63) | (scales[:, 4:] >> 4) << 6, (minimums[:, :4] & 63) | (minimums[:, 4:] >> 4) << 6,
                             (scales[:, 4:] & 15) | (minimums[:, 4:] & 15) << 4), axis=1).astype(np.uint8)
    return np.concatenate((halves(d), halves(m), packed, nibbles(q.reshape(-1, 4, 64)).reshape(-1, 128)), axis=1)


def q6_k(values):
    blocks = values.reshape(-1, 16, 16)
    scale = signed_extreme(blocks)[..., 0] / np.float32(-32)
    d = signed_extreme(scale) / np.float32(-128)
    scales = rounded(scale, stored(d), -128, 127)
    q = (rounded(blocks, (stored(d) * scales)[..., None], -32, 31) + 32).reshape(-1, 2, 4, 32)
    low = np.concatenate((q[:, :, 0] & 15 | (q[:, :, 2] & 15) << 4, q[:, :, 1] & 15 | (q[:, :, 3] & 15) << 4), axis=-1)
    high = q[:, :, 0] >> 4 | (q[:, :, 1] >> 4) << 2 | (q[:, :, 2] >> 4) << 4 | (q[:, :, 3] >> 4) << 6
    parts = low.reshape(-1, 128).astype(np.uint8), high.reshape(-1, 64).astype(np.uint8), scales.astype(np.int8).view(np.uint8), halves(d)
    return np.concatenate(parts, axis=1)


QUANTIZERS = {"Q4_0": q4_0, "Q5_0": q5_0, "Q4_K": q4_k, "Q6_K": q6_k}


def encode(values, type_name):
    """The bytes of an array of floats (rows of whole blocks)."""
    return QUANTIZERS[type_name](values.astype(np.float32)).tobytes()
