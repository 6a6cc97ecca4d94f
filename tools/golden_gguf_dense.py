"""Golden GGUF files of dense families: the models of golden_models as llama.cpp's names have them.

    OUT/gguf/{granite,olmo2,glm4,internlm2,phi,stablelm}.gguf in F32

The answers are those of the Hugging Face directory, OUT/NAME/expected.json.
"""
import json
import random

import golden_models
import model_cases
import model_gguf

NAMES = ("granite", "olmo2", "glm4", "internlm2", "phi", "stablelm")


def models(out, stored):
    (out / "gguf").mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        seed = json.loads((stored / name / "expected.json").read_text())["seed"]
        model, _ = golden_models.make(name, seed)
        case = model_cases.Case(name, random.Random(0))
        case.config = json.loads((stored / name / "config.json").read_text())
        assert model_gguf.write(out / "gguf" / f"{name}.gguf", case, model, random.Random(0)), name
