"""Random models of every family beside transformers: equal logits, or a refusal by name.

    tools/model_differential.py PROGRAM [--cases N] [--seed S] [--gguf] [--keep DIR]

PROGRAM is build/tests/run/logits. A case is a random legal config.json, or one with a key that may
not be supported, with tiny random weights. transformers reads the configuration as from_pretrained
does and computes the logits in float64. PROGRAM must give the same within BOUND of the largest, or
refuse with a sentence that names a key or a tensor. An encoder's rows of the last layer are compared
instead of logits. Anything else is a silent difference and fails.

Which keys a version of transformers heeds differs: run it with tools/requirements.txt and with
tools/requirements-newest.txt. Where they differ, the newest one counts, and the older one is not
asked (IS_NEW).
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import safetensors.torch
import torch
import transformers

import golden_expected
import model_cases
import model_cases_newer
import model_gguf

if model_cases_newer.IS_NEW:
    import golden_newer

BOUND = 1e-4
N_PROMPT = 48
N_ROWS = 4


def sentence(error):
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}"


def reference(case, seed):
    """(model, None), or (None, what transformers says against it)."""
    try:
        config = case.config_class.from_dict(dict(case.reference), attn_implementation="eager")
        model = golden_expected.randomize(case.model_class(config), seed)
        model_cases_newer.randomize_biases(model, seed)
        return model.double().eval(), None
    except Exception as error:  # a class of its own for each kind of wrong config
        return None, sentence(error)


@torch.no_grad()
def logits_of(model, ids):
    for dtype in (torch.float64, torch.float32):  # some parts insist on float32
        try:
            out = model.to(dtype)(torch.tensor([ids]), use_cache=False)
            rows = out.last_hidden_state if "last_hidden_state" in out else out.logits
            return rows[0, -N_ROWS:], None
        except Exception as error:
            why = sentence(error)
    return None, why


def weights_of(model, case):
    """What a file holds: float32, and a tied output only where the case keeps a copy."""
    weights = {k: v.float().clone().contiguous() for k, v in model.state_dict().items()}
    if getattr(model.config, "tie_word_embeddings", False) and not case.keeps_output:
        weights.pop("lm_head.weight", None)
    return case.rename(weights, model.config)


class Program:
    """Asks PROGRAM one question after the other."""

    def __init__(self, path):
        self.pipe = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)

    def ask(self, path, ids):
        """(logits, None) or (None, the refusal)."""
        self.pipe.stdin.write(f"{path}\t{N_ROWS}\t{' '.join(map(str, ids))}\n")
        self.pipe.stdin.flush()
        line = self.pipe.stdout.readline()
        if not line:
            sys.exit(f"{path}: the program ended without an answer")
        kind, rest = line.rstrip("\n").split("\t", 1)
        if kind != "ok":
            return None, rest
        return torch.tensor(list(map(float, rest.split()))).reshape(N_ROWS, -1).double(), None


def judge(expected, why, found, refusal, case):
    """A verdict of one word, and a sentence where the case needs a look."""
    if found is None:
        named = [key for key in case.named() if key in refusal]
        return ("refused", refusal) if named else ("unnamed", refusal)
    if expected is None:
        return "accepted alone", why
    worst = float((found - expected).abs().max() / expected.abs().max())
    return ("equal", "") if worst <= BOUND else ("DIFFERENT", f"by {worst:.2g} of the largest logit")


def write_gguf(path, case, model, dice):
    """Whether the case has a GGUF file; then it was written."""
    if case.family in model_cases_newer.FAMILIES:
        return golden_newer.write_case(path, case, model, dice)
    return model_gguf.write(path, case, model, dice)


class Counts:
    def __init__(self):
        self.by_key = collections.defaultdict(collections.Counter)
        self.all, self.families = collections.Counter(), collections.Counter()
        self.bad = []

    def add(self, verdict, sentence, case, where):
        self.all[verdict] += 1
        self.families[case.family] += verdict == "equal"
        for key in case.varied:
            self.by_key[key][verdict] += 1
        if verdict in ("DIFFERENT", "unnamed", "accepted alone"):
            self.bad.append((verdict, case, sentence, where))

    def print(self):
        print(f"{'family: key':46} {'equal':>7} {'as GGUF':>8} {'refused':>8} {'other':>6}")
        for key in sorted(self.by_key):
            c = self.by_key[key]
            other = c.total() - c["equal"] - c["equal as GGUF"] - c["refused"]
            print(f"{key:46} {c['equal']:7} {c['equal as GGUF']:8} {c['refused']:8} {other:6}")
        for verdict, case, sentence, where in self.bad[:40]:
            print(f"{verdict}: {case.family} {json.dumps(case.shown())}: {sentence} ({where})")
        print(f"transformers {transformers.__version__}:",
              ", ".join(f"{n} {verdict}" for verdict, n in sorted(self.all.items())))


def run(args):
    counts, program = Counts(), Program(args.program)
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(args.keep or folder)
        for number, case in enumerate(model_cases.cases(args.cases, args.seed, args.only)):
            where = base / f"{number}-{case.family}"
            where.mkdir(parents=True, exist_ok=True)
            dice = random.Random(args.seed * 1000003 + number)
            ids = [dice.randrange(case.vocabulary) for _ in range(N_PROMPT)]
            if case.family in model_cases_newer.ENCODERS:  # 1 pads, and has no position
                ids = [2 if i == 1 else i for i in ids]
            model, why = reference(case, args.seed + number)
            expected = None
            if model is not None:
                expected, why = logits_of(model, ids)
                weights = weights_of(model, case)
                safetensors.torch.save_file(weights, where / "model.safetensors",
                                            metadata={"format": "pt"})
                (where / "config.json").write_text(json.dumps(case.config))
                found, refusal = program.ask(where, ids)
                verdict, sentence = judge(expected, why, found, refusal, case)
            else:
                verdict, sentence = "reference refuses", why
            counts.add(verdict, sentence, case, where if args.keep else number)
            if verdict == "equal" and write_gguf(where / "m.gguf", case, model, dice):
                found, refusal = program.ask(where / "m.gguf", ids)
                verdict, sentence = judge(expected, None, found, refusal, case)
                verdict = "equal as GGUF" if verdict == "equal" else "DIFFERENT"
                counts.add(verdict, sentence, case, where / "m.gguf" if args.keep else number)
            if not args.keep:
                for path in where.iterdir():
                    path.unlink()
    counts.print()
    wrong = sum(counts.all[v] for v in ("DIFFERENT", "unnamed", "accepted alone"))
    few = [name for name, n in counts.families.items() if n < args.cases / 5]
    if few:
        print("too few cases were equal for this to mean anything:", *few)
        return 1
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=60, help="per family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one family")
    parser.add_argument("--keep", help="a folder in which all models stay")
    torch.set_num_threads(1)
    sys.exit(run(parser.parse_args()))


if __name__ == "__main__":
    main()
