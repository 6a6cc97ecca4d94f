#!/usr/bin/env python3
"""Measures grammars on the data of ../shared, beside llguidance and jsonschema.

    measure.py CONSTRAIN ROOT [--schemas N] [--quick]

It compiles the real schemas and tries their instances, runs the JSON-Schema-Test-Suite, reads
valid documents token by token under four vocabularies, times masks on a vocabulary of 128k beside
llguidance in the same run, and validates the outputs of random walks. --quick leaves out all that
needs packages."""
import collections
import json
import lzma
import os
import struct
import subprocess
import sys

# The bounds for the whole set of 1,500 schemas.
COMPILED_MIN, REFUSED_VALID_MAX, COMPILE_P95_MS, MASK_P50_US = 1300, 10, 50, 50


class Constrain:
    """The program that answers questions about grammars."""

    def __init__(self, path):
        self.child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question):
        self.child.stdin.write(json.dumps(question) + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())


def rows_of(path):
    opener = lzma.open if path.endswith(".xz") else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def spellings(value):
    return compact(value), json.dumps(value), json.dumps(value, indent=2)


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(len(values) * q))] if values else 0


class Report:
    """Prints one line a check, as cmocka does, so that tests/summary.py counts them."""

    def __init__(self):
        self.n_failed = 0

    def check(self, name, is_right, text):
        print(f"[ RUN      ] {name}\n  {text}")
        print(f"[{'       OK' if is_right else '  FAILED '} ] {name}", flush=True)
        self.n_failed += not is_right


# --- vocabularies ----------------------------------------------------------------------------------------------------


def scored_vocabulary(path):
    """llama2.c's file: a largest length, then (score, length, bytes) for each token."""
    opener = lzma.open if path.endswith(".xz") else open
    with opener(path, "rb") as file:
        data = file.read()
    at, tokens = 4, []
    while at + 8 <= len(data):
        _, n = struct.unpack_from("<fi", data, at)
        tokens.append(data[at + 8:at + 8 + n])
        at += 8 + n
    for i, token in enumerate(tokens):
        if len(token) == 6 and token.startswith(b"<0x"):
            tokens[i] = bytes([int(token[3:5], 16)])
    return tokens


def byte_letters():
    """GPT-2's letters for bytes."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, n = {chr(b): b for b in kept}, 0
    for byte in range(256):
        if byte not in kept:
            letters[chr(256 + n)] = byte
            n += 1
    return letters


def gpt2_vocabulary(path):
    letters = byte_letters()
    with lzma.open(path, "rt", encoding="utf-8") as file:
        ids = json.load(file)
    tokens = [b""] * (max(ids.values()) + 1)
    for text, i in ids.items():
        if all(c in letters for c in text):
            tokens[i] = bytes(letters[c] for c in text)
    return tokens


def vocabularies(shared):
    folder = os.path.join(shared, "data/tokenizers")
    tiny = scored_vocabulary(os.path.join(shared, "data/tiny-models/tok512.bin"))
    named = {"llama3": scored_vocabulary(os.path.join(folder, "llama3_tokenizer_l3.bin.xz")),
             "llama2": scored_vocabulary(os.path.join(folder, "llama2_tokenizer.bin")),
             "gpt2": gpt2_vocabulary(os.path.join(folder, "gpt2-vocab.json.xz")), "tok512": tiny}
    for name, tokens in named.items():
        specials = 3 if name in ("llama2", "tok512") else 0
        single = {token for token in tokens if len(token) == 1}
        for i, token in enumerate(tokens):  # special tokens are no text
            if i < specials or token.startswith((b"<|", b"\n<s>", b"\n</s>")) and len(token) > 4:
                tokens[i] = b""
        tokens += [bytes([b]) for b in range(256) if bytes([b]) not in single]
    return named


class Longest:
    """Cuts bytes into the longest tokens."""

    def __init__(self, tokens):
        self.ids = {token: i for i, token in reversed(list(enumerate(tokens))) if token}
        self.n_max = max(map(len, self.ids))

    def encode(self, data):
        ids, at = [], 0
        while at < len(data):
            n = min(self.n_max, len(data) - at)
            while data[at:at + n] not in self.ids:
                n -= 1
            ids.append(self.ids[data[at:at + n]])
            at += n
        return ids


# --- the checks ------------------------------------------------------------------------------------------------------


def real_schemas(constrain, rows, report):
    """Compiles the schemas, tries the instances. Returns the compiled rows."""
    compiled, times, faults, wrong, refused, n_right = [], [], collections.Counter(), [], [], 0
    for row in rows:
        answer = constrain.ask(open="schema", text=compact(row["schema"]))
        times.append(answer["ns"] / 1e6)
        if "fault" in answer:
            faults[answer["fault"][:70]] += 1
            continue
        compiled.append(row)
        for test in row["tests"]:
            taken = [constrain.ask(text=text)["is_complete"] for text in spellings(test["instance"])]
            if test["valid"] and not all(taken):
                refused.append(row["id"])
            elif not test["valid"] and any(taken):
                wrong.append(row["id"])
            else:
                n_right += 1
    for fault, n in faults.most_common(12):
        print(f"  {n:4} {fault}")
    share = len(rows) / 1500
    report.check("real_schemas_compile", len(compiled) >= COMPILED_MIN * share,
                 f"{len(compiled)} of {len(rows)} schemas compile")
    report.check("no_invalid_instance_is_accepted", not wrong, f"{n_right} right, accepted: {wrong[:9]}")
    report.check("valid_instances_are_accepted", len(refused) <= REFUSED_VALID_MAX, f"refused: {refused}")
    report.check("compiling_is_fast", quantile(times, 0.95) < COMPILE_P95_MS,
                 f"ms: median {quantile(times, 0.5):.2f}, 95th percentile {quantile(times, 0.95):.2f}, "
                 f"longest {max(times):.1f}")
    return compiled


def suite(constrain, rows, report):
    """The JSON-Schema-Test-Suite: what compiles must be right."""
    n_right, n_refused, accepted, missed = 0, 0, [], []
    for row in rows:
        if row.get("remote") or row.get("metaschema_ref") or row["kind"] == "optional":
            continue
        schema = row["schema"]
        if isinstance(schema, dict) and row["kind"] == "required" and '"format"' in compact(schema):
            continue  # there the format must not be asserted
        answer = constrain.ask(open="schema", text=compact(schema))
        if "fault" in answer:
            n_refused += 1
            continue
        is_complete = constrain.ask(text=compact(row["instance"]))["is_complete"]
        if is_complete == row["valid"]:
            n_right += 1
        else:
            (accepted if is_complete else missed).append(f"{row['file']}: {row['group']}: {row['test']}")
    for line in accepted[:20]:
        print(f"  accepted though invalid: {line}")
    print(f"  files with refused valid cases: {collections.Counter(m.split(':')[0] for m in missed).most_common(12)}")
    report.check("suite_accepts_nothing_invalid", not accepted,
                 f"{n_right} cases right, {n_refused} refused by a sentence, {len(missed)} valid ones not taken")


def token_by_token(constrain, compiled, named, report):
    """Every valid document passes the masks, token by token."""
    for name, tokens in named.items():
        encoder, n, missed = Longest(tokens), 0, []
        constrain.ask(vocabulary=[token.hex() for token in tokens])
        for row in compiled:
            documents = [t["instance"] for t in row["tests"] if t["valid"]][:1]
            if not documents:
                continue
            constrain.ask(open="schema", text=compact(row["schema"]))
            for document in documents:
                ids = encoder.encode(compact(document).encode())
                n += 1
                if not constrain.ask(ids=ids)["is_complete"]:
                    missed.append(row["id"])
        report.check(f"valid_documents_pass_{name}", len(missed) <= REFUSED_VALID_MAX,
                     f"{n} documents, {len(tokens)} tokens, masked: {missed[:9]}")


def mask_times(constrain, compiled, tokens, report):
    """Masks along valid documents, ours and llguidance's, in one run."""
    import time
    import llguidance
    encoder, ours, theirs, compile_ours, compile_theirs = Longest(tokens), [], [], [], []
    constrain.ask(vocabulary=[token.hex() for token in tokens])

    class Tokenizer:
        eos_token_id = bos_token_id = len(tokens)
        special_token_ids = [len(tokens)]

        def __init__(self):
            self.tokens = [token or b"\xff<empty>" for token in tokens] + [b"<eos>"]

        def __call__(self, text):
            return encoder.encode(text.encode() if isinstance(text, str) else text)

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokenizer()))
    for row in compiled:
        documents = [t["instance"] for t in row["tests"] if t["valid"]][:1]
        if not documents:
            continue
        begin = time.perf_counter_ns()
        try:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(row["schema"])
            matcher = llguidance.LLMatcher(tokenizer, grammar)
        except (ValueError, RuntimeError):
            continue
        if matcher.is_error():
            continue
        compile_theirs.append((time.perf_counter_ns() - begin) / 1e6)
        compile_ours.append(constrain.ask(open="schema", text=compact(row["schema"]))["ns"] / 1e6)
        ids = encoder.encode(compact(documents[0]).encode())
        ours += constrain.ask(ids=ids)["ns"]
        for token in ids:
            begin = time.perf_counter_ns()
            matcher.compute_bitmask()
            theirs.append(time.perf_counter_ns() - begin)
            if not matcher.consume_token(token):
                break
    text = ", ".join(f"{label} {quantile(ours, q) / 1e3:.1f} (llguidance {quantile(theirs, q) / 1e3:.1f})"
                     for label, q in (("median", 0.5), ("90%", 0.9), ("99%", 0.99), ("longest", 1.0)))
    print(f"  compile ms, median {quantile(compile_ours, 0.5):.2f} (llguidance {quantile(compile_theirs, 0.5):.2f}), "
          f"95% {quantile(compile_ours, 0.95):.2f} ({quantile(compile_theirs, 0.95):.2f})")
    report.check("masks_are_fast", quantile(ours, 0.5) / 1e3 < MASK_P50_US,
                 f"{len(ours)} masks of {len(tokens)} tokens, us: {text}")


def walks(constrain, compiled, tokens, report):
    """Random walks never dead-end, and complete ones validate."""
    import jsonschema
    constrain.ask(vocabulary=[token.hex() for token in tokens])
    n_walks, n_whole, dead, wrong = 0, 0, [], []
    for row in compiled:
        constrain.ask(open="schema", text=compact(row["schema"]))
        kind = jsonschema.validators.validator_for(row["schema"], default=jsonschema.Draft202012Validator)
        validator = kind(row["schema"], format_checker=jsonschema.FormatChecker())
        for seed in range(3):
            answer = constrain.ask(walk=seed * 1000003 + n_walks, n=300)
            n_walks += 1
            if answer["is_dead"]:
                dead.append(row["id"])
            if not answer["is_complete"]:
                continue
            n_whole += 1
            text = bytes.fromhex(answer["hex"]).decode()
            try:
                if not validator.is_valid(json.loads(text)):
                    wrong.append((row["id"], text[:200]))
            except Exception as fault:  # a validator may fail on hostile numbers
                print(f"  {row['id']}: {type(fault).__name__}: {str(fault)[:80]}")
    for row in wrong[:9]:
        print(f"  {row}")
    report.check("walks_never_end_dead", not dead, f"{n_walks} walks, dead: {dead[:9]}")
    report.check("outputs_validate", not wrong, f"{n_whole} whole outputs, {len(wrong)} of them invalid")


def grammars(constrain, folder, report):
    """GBNF and Lark: what is accepted, rejected, and from which byte on."""
    wrong, n = [], 0
    for row in rows_of(os.path.join(folder, "grammars.jsonl")):
        for kind in ("gbnf", "lark"):
            if "fault" in (answer := constrain.ask(open=kind, text=row[kind])):
                wrong.append((row["name"], kind, answer["fault"]))
                continue
            cases = [(text, len(text.encode()), True) for text in row["accept"]]
            cases += [(text, at, False) for text, at in zip(row["reject"], row["reject_dead_at"])]
            for text, at, is_whole in cases:
                answer = constrain.ask(text=text)
                n += 1
                if (answer["n_taken"], answer["is_complete"]) != (at, is_whole):
                    wrong.append((row["name"], kind, text, answer))
    for row in rows_of(os.path.join(folder, "grammar_errors.jsonl")):
        n += 1
        if "fault" not in constrain.ask(open="gbnf", text=row["gbnf"]):
            wrong.append((row["name"], "no error"))
    report.check("grammars_of_gbnf_and_lark", not wrong, f"{n} cases, wrong: {wrong[:5]}")


def main():
    program, root = sys.argv[1:3]
    shared = os.path.join(root, "..", "shared")
    folder = os.path.join(shared, "data/structured")
    if not os.path.isdir(folder):
        print("[ RUN      ] grammar_data\n[  SKIPPED ] grammar_data")
        return 0
    is_quick = "--quick" in sys.argv
    n = int(sys.argv[sys.argv.index("--schemas") + 1]) if "--schemas" in sys.argv else 1500
    constrain, report = Constrain(program), Report()
    grammars(constrain, folder, report)
    rows = rows_of(os.path.join(folder, "real_schemas.jsonl.xz"))
    rows = rows[::max(1, len(rows) // n)] if n < len(rows) else rows
    compiled = real_schemas(constrain, rows, report)
    if not is_quick:
        suite(constrain, rows_of(os.path.join(folder, "jsts_draft2020-12.jsonl.xz")), report)
        named = vocabularies(shared)
        mask_times(constrain, compiled, named["llama3"], report)
        token_by_token(constrain, compiled, named, report)
        walks(constrain, compiled, named["gpt2"], report)
    return report.n_failed > 0


if __name__ == "__main__":
    sys.exit(main())
