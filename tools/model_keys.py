"""Compares the program's tables of keys with what the libraries have.

    tools/model_keys.py PROGRAM

PROGRAM is build/tests/run/logits. Each key of a configuration class of transformers must have a row
for its family; each key that begins with the architecture's name in the package gguf, too.
"""
import inspect
import subprocess
import sys

import gguf.constants
import transformers as T

CLASSES = {
    "llama": T.LlamaConfig, "mistral": T.MistralConfig, "qwen2": T.Qwen2Config,
    "qwen3": T.Qwen3Config, "phi3": T.Phi3Config, "gemma": T.GemmaConfig,
    "gemma3_text": T.Gemma3TextConfig, "mixtral": T.MixtralConfig, "olmoe": T.OlmoeConfig, "qwen2_moe": T.Qwen2MoeConfig,
    "qwen3_moe": T.Qwen3MoeConfig, "gpt2": T.GPT2Config, "opt": T.OPTConfig,
}
ARCHITECTURES = ("llama", "qwen2", "qwen3", "phi3", "gemma", "gemma3", "gpt2", "chatglm",
                 "mixtral", "olmoe", "qwen2moe", "qwen3moe")


def config_keys(config_class):
    keys = set(config_class().to_dict()) | set(inspect.signature(config_class.__init__).parameters)
    return keys - {"self", "kwargs"}


def gguf_keys(space=gguf.constants.Keys):
    for name, value in vars(space).items():
        if isinstance(value, type):
            yield from gguf_keys(value)
        elif isinstance(value, str) and value.startswith("{arch}."):
            yield value.removeprefix("{arch}.")


def main():
    tables = {"hf": [], "gguf": []}
    for line in subprocess.check_output([sys.argv[1], "keys"], text=True).splitlines():
        table, _, families, name = line.split("\t")
        tables[table].append((families.split(), name))

    def is_of(families, family):
        if families[0].startswith("!"):
            return family not in [families[0][1:], *families[1:]]
        return families == ["*"] or family in families

    def has(table, family, name):
        return any(n == name and is_of(f, family) for f, n in tables[table])

    missing, n = [], 0
    for family, config_class in CLASSES.items():
        for key in sorted(config_keys(config_class)):
            n += 1
            if not has("hf", family, key):
                missing.append(f"config.json of {family}: {key}")
    for key in sorted(set(gguf_keys())):
        for architecture in ARCHITECTURES:
            n += 1
            if "{" not in key and not has("gguf", architecture, key):
                missing.append(f"GGUF: {architecture}.{key}")
    for key in missing:
        print(f"no row: {key}")
    print(f"keys of transformers {T.__version__} and gguf: {n} compared, {len(missing)} without a row")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
