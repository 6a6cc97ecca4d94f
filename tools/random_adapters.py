"""Writes LoRA adapters with random weights for the models of random_model.py, as GGUF files with every matrix adapted.

usage: random_adapters.py SIZE RANK FOLDER N      writes FOLDER/adapter0.gguf and so on
"""
import pathlib
import sys

import numpy as np

import gguf_file
import random_model


def main():
    size, rank, folder, n = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]), int(sys.argv[4])
    width, n_layers, n_heads, n_kv_heads, ffn = random_model.SIZES[size]
    kv = width // n_heads * n_kv_heads
    matrices = {"attn_q": (width, width), "attn_k": (width, kv), "attn_v": (width, kv), "attn_output": (width, width),
                "ffn_gate": (width, ffn), "ffn_up": (width, ffn), "ffn_down": (ffn, width)}
    for i in range(n):
        dice, tensors = np.random.default_rng(i), []
        for layer in range(n_layers):
            for name, (n_in, n_out) in matrices.items():
                for end, shape in (("a", (rank, n_in)), ("b", (n_out, rank))):
                    values = (dice.standard_normal(shape) * 0.1 / rank ** 0.5).astype(np.float16)
                    tensors.append((f"blk.{layer}.{name}.weight.lora_{end}", "F16", shape, values.tobytes()))
        gguf_file.write(folder / f"adapter{i}.gguf", {"general.architecture": "llama", "general.type": "adapter", "adapter.type": "lora",
                                                      "adapter.lora.alpha": float(rank)}, tensors)


if __name__ == "__main__":
    main()
