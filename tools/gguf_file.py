"""Writes GGUF files: the small part of the format that our own models and golden files use.

A file is: header, metadata, tensor infos, padding to 32 bytes, tensor data (each padded to 32).

    header      "GGUF", u32 version, u64 n_tensors, u64 n_pairs
    pair        string key, u32 type, value          string = u64 length, bytes
    info        string name, u32 n_dims, u64 dims[] (fastest first), u32 type, u64 offset

Versions 2 and 3 are equal on little-endian machines. A split model is a set of such files named
NAME-00001-of-00003.gguf, each with the keys split.no, split.count and split.tensors.count, the
first holding all other metadata.
"""
import struct

import numpy as np

ALIGNMENT = 32

# Tensor types by name: the number that the file holds.
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10,
         "Q3_K": 11, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "IQ4_NL": 20, "IQ4_XS": 23, "BF16": 30, "TQ1_0": 34,
         "TQ2_0": 35, "MXFP4": 39}

# Metadata value types.
U32, I32, F32, BOOL, STRING, ARRAY, U16 = 4, 5, 6, 7, 8, 9, 2


def pack_string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def pack_value(value):
    """A metadata value with its type. Python int is u32, float f32; np.uint16 and np.int32 stay."""
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, np.uint16):
        return struct.pack("<IH", U16, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value) if value >= 0 else struct.pack("<Ii", I32, value)
    if isinstance(value, float):
        return struct.pack("<If", F32, value)
    if isinstance(value, (str, bytes)):
        return struct.pack("<I", STRING) + pack_string(value)
    if isinstance(value, np.int32):
        return struct.pack("<Ii", I32, value)
    # A list: token types are i32 (as in llama.cpp's files), which np.int32 arrays ask for.
    if isinstance(value, np.ndarray) and value.dtype == np.int32:
        return struct.pack("<IIQ", ARRAY, I32, len(value)) + value.tobytes()
    if value and isinstance(value[0], float):
        return struct.pack("<IIQ", ARRAY, F32, len(value)) + np.float32(value).tobytes()
    return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(pack_string, value))


def q8_0(values):
    """Rows of 32 k values as blocks of {f16 scale, i8 q[32]}, rounding as llama.cpp does."""
    blocks = values.astype(np.float32).reshape(-1, 32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    with np.errstate(divide="ignore"):
        inverse = np.where(scale == 0, np.float32(0), np.float32(1) / scale)
    scaled = blocks * inverse
    whole = np.floor(np.abs(scaled) + np.float32(0.5)) * np.sign(scaled)
    parts = scale.astype(np.float16).view(np.uint8), whole.astype(np.int8).view(np.uint8)
    return np.concatenate(parts, axis=1).tobytes()


def q8_0_values(data, shape):
    """What the bytes of q8_0() stand for."""
    blocks = np.frombuffer(data, dtype=np.uint8).reshape(-1, 34)
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    return (blocks[:, 2:].copy().view(np.int8) * scale).reshape(shape)


def bf16(values):
    """Rounds float32 to the nearest bfloat16, ties to even; u16."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def encode(values, type_name):
    """The bytes of an array of floats as F32, F16, BF16 or Q8_0."""
    if type_name == "F32":
        return values.astype(np.float32).tobytes()
    if type_name == "F16":
        return values.astype(np.float16).tobytes()
    if type_name == "BF16":
        return bf16(values).tobytes()
    return q8_0(values)


def write(path, pairs, tensors, version=3):
    """pairs: {key: value}; tensors: [(name, type name, shape slowest first, bytes)]."""
    infos, body, offset = b"", [], 0
    for name, type_name, shape, data in tensors:
        infos += pack_string(name) + struct.pack("<I", len(shape))
        infos += struct.pack(f"<{len(shape)}Q", *reversed(shape))
        infos += struct.pack("<IQ", TYPES[type_name], offset)
        pad = -len(data) % ALIGNMENT
        body.append(data + bytes(pad))
        offset += len(data) + pad
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(pairs))
    head += b"".join(pack_string(key) + pack_value(value) for key, value in pairs.items()) + infos
    head += bytes(-len(head) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head + b"".join(body))
