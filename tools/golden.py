"""Makes the golden files of tests/golden/data, or checks that they can still be made.

    tools/golden.py [--out DIR] [PART...]   writes the parts (default all) below DIR
    tools/golden.py --check [PART...]       makes them again in a temporary folder and compares

Parts: adapters quants gguf archs models quantized dense encoders tokenizers templates, and with the packages of
requirements-newest.txt: newer. Files are compared byte by byte, except
expected.json: its numbers may differ by 1e-6 of max_abs_logit, and versions may differ.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import torch
import transformers as T

import golden_encoders
import golden_gguf
import golden_gguf_archs
import golden_gguf_dense
import golden_models
import golden_quantized
import template_golden
import tokenizer_golden

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / "tests/golden/data"
BOUND = 1e-6


def newer(out):
    """The families that only the newest transformers has."""
    import golden_newer  # pylint: disable=import-outside-toplevel
    golden_newer.models(out)


def adapters(out):
    """Only this part needs PEFT."""
    import golden_adapters  # pylint: disable=import-outside-toplevel
    golden_adapters.models(out, STORED)


PARTS = {
    "adapters": adapters,
    "quants": lambda out: golden_gguf.vectors(out / "quants"),
    "gguf": lambda out: golden_gguf.models(out / "gguf"),
    "archs": lambda out: golden_gguf_archs.models(out / "gguf"),
    "models": golden_models.models,
    "quantized": golden_quantized.models,
    "dense": lambda out: golden_gguf_dense.models(out, STORED),
    "newer": newer,
    "encoders": lambda out: golden_encoders.models(out / "encoders"),
    "tokenizers": lambda out: tokenizer_golden.make(out / "tokenizers"),
    "templates": lambda out: template_golden.make(out / "templates.json"),
}

USUAL = [part for part in PARTS if (part == "newer") == (T.__version__ >= "5")]


def differences(made, stored):
    """Sentences about what differs between two folders; none if all is well."""
    for path in sorted(p for p in made.rglob("*") if p.is_file()):
        name = path.relative_to(made)
        other = stored / name
        if not other.exists():
            yield f"{name} is not stored"
        elif name.name.endswith("expected.json"):
            made_json, stored_json = json.loads(path.read_text()), json.loads(other.read_text())
            yield from differences_expected(name, made_json, stored_json)
        elif path.read_bytes() != other.read_bytes():
            yield f"{name} differs"


def differences_expected(name, made, stored):
    for key in ("seed", "prompt", "greedy"):
        if made[key] != stored[key]:
            yield f"{name}: {key} differs"
    pairs = zip(sum(made["logits_last"], []), sum(stored["logits_last"], []))
    worst = max(abs(a - b) for a, b in pairs) / stored["max_abs_logit"]
    if worst > BOUND:
        yield f"{name}: logits differ by {worst:.2g} of the largest"


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("parts", nargs="*", choices=[*PARTS, []])
    args.add_argument("--out", type=pathlib.Path, default=STORED)
    args.add_argument("--check", action="store_true")
    args = args.parse_args()
    torch.set_num_threads(1)  # the models are tiny, and sums keep one order
    if not args.check:
        for part in args.parts or USUAL:
            PARTS[part](args.out)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        for part in args.parts or USUAL:
            PARTS[part](out)
        found = list(differences(out, STORED))
        n_files = sum(p.is_file() for p in out.rglob("*"))
    for line in found:
        print("golden:", line)
    print(f"golden: {n_files} files, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
