"""Trains the two demo models, tale and cee, and writes them as GGUF with Q8_0 matrices.

    tools/corpus.py CORPUS
    tools/train.py tale|cee CORPUS OUT [--steps N]

leaves OUT/NAME.gguf and OUT/NAME.heldout.txt and adds NAME to OUT/held_out.json. Training is
float32 on one thread from a fixed seed: the same machine and versions give the same file.

The two models differ wherever a serving system could be careless:

            tale                               cee
    kind    llama: RMSNorm, rotary, SwiGLU     gpt2: LayerNorm, learned positions, GELU, biases
    KV      4 layers x 2 heads x 32            5 layers x 3 heads x 64
    text    SentencePiece BPE, byte fallback   byte-level BPE, GPT-2's split pattern
    output  tied to the embedding              a matrix of its own
"""
import argparse
import hashlib
import io
import json
import math
import pathlib
import time

import numpy as np
import sentencepiece
import tokenizers
import torch
import torch.nn.functional as F

import corpus
import gguf_file

SEED = 20
CONTEXT = 512
BATCH = 4
CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"

MODELS = {
    "tale": dict(arch="llama", vocab=2048, dim=192, layers=4, heads=6, kv_heads=2, ffn=512,
                 rate=3e-3, steps=2400),
    "cee": dict(arch="gpt2", vocab=1536, dim=192, layers=5, heads=3, kv_heads=3, ffn=768,
                rate=2e-3, steps=2000),
}


# ---- Tokenizers -----------------------------------------------------------------------------

def tokenizer_sentencepiece(path, vocab):
    """Trains a SentencePiece BPE with byte fallback; returns (encode, GGUF metadata, bos id)."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for line in path.read_text().splitlines() if line),
        model_writer=model, vocab_size=vocab, model_type="bpe", byte_fallback=True,
        character_coverage=1.0, normalization_rule_name="identity", split_digits=True,
        remove_extra_whitespaces=False, num_threads=1, max_sentence_length=1 << 20,
        minloglevel=2)
    sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = range(sp.get_piece_size())
    # llama.cpp's token types: 1 normal, 2 unknown, 3 control, 6 byte.
    types = [2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else 1
             for i in ids]
    pairs = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [sp.id_to_piece(i) for i in ids],
        "tokenizer.ggml.scores": [float(sp.get_score(i)) for i in ids],
        "tokenizer.ggml.token_type": np.int32(types),
        "tokenizer.ggml.unknown_token_id": sp.unk_id(),
        "tokenizer.ggml.bos_token_id": sp.bos_id(),
        "tokenizer.ggml.eos_token_id": sp.eos_id(),
        "tokenizer.ggml.add_space_prefix": True,
    }
    return sp.encode, pairs, sp.bos_id()


def tokenizer_byte_level(path, vocab):
    """Trains a byte-level BPE with GPT-2's split pattern; returns (encode, metadata, bos id)."""
    special = "<|endoftext|>"
    tok = tokenizers.Tokenizer(tokenizers.models.BPE())
    tok.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.train_from_iterator(
        path.read_text().split("\n\n"),
        tokenizers.trainers.BpeTrainer(
            vocab_size=vocab, special_tokens=[special], show_progress=False,
            initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())))
    tokens = [tok.id_to_token(i) for i in range(tok.get_vocab_size())]
    merges = json.loads(tok.to_str())["model"]["merges"]
    pairs = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": np.int32([3 if t == special else 1 for t in tokens]),
        "tokenizer.ggml.merges": [m if isinstance(m, str) else " ".join(m) for m in merges],
        "tokenizer.ggml.bos_token_id": tok.token_to_id(special),
        "tokenizer.ggml.eos_token_id": tok.token_to_id(special),
    }
    return (lambda text: tok.encode(text).ids), pairs, tok.token_to_id(special)


# ---- The two networks -----------------------------------------------------------------------

def rotate(x, angles):
    """Rotary embedding of neighbouring pairs. x (batch, heads, n, head_dim), angles (n, half)."""
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


class Network:
    """Weights under their GGUF names, each (out, in) as stored, and the forward pass."""

    def __init__(self, spec):
        self.spec = spec
        self.head_dim = spec["dim"] // spec["heads"]
        self.weights = {name: w.requires_grad_() for name, w in self.init()}

    def init(self):
        s, dim = self.spec, self.spec["dim"]
        kv_dim = s["kv_heads"] * self.head_dim
        gpt2 = s["arch"] == "gpt2"

        def linear(name, n_out, n_in, scale=1.0):
            yield name + ".weight", torch.randn(n_out, n_in) * 0.02 * scale
            if gpt2 and name != "output":
                yield name + ".bias", torch.zeros(n_out)

        def norm(name):
            yield name + ".weight", torch.ones(dim)
            if gpt2:
                yield name + ".bias", torch.zeros(dim)

        deep = 1 / math.sqrt(2 * s["layers"])  # keeps the residual stream's variance at the start
        yield "token_embd.weight", torch.randn(s["vocab"], dim) * 0.02
        if gpt2:
            yield "position_embd.weight", torch.randn(CONTEXT, dim) * 0.01
        for i in range(s["layers"]):
            b = f"blk.{i}."
            yield from norm(b + "attn_norm")
            if gpt2:
                yield from linear(b + "attn_qkv", dim + 2 * kv_dim, dim)
            else:
                yield from linear(b + "attn_q", dim, dim)
                yield from linear(b + "attn_k", kv_dim, dim)
                yield from linear(b + "attn_v", kv_dim, dim)
            yield from linear(b + "attn_output", dim, dim, deep)
            yield from norm(b + "ffn_norm")
            if not gpt2:
                yield from linear(b + "ffn_gate", s["ffn"], dim)
            yield from linear(b + "ffn_up", s["ffn"], dim)
            yield from linear(b + "ffn_down", dim, s["ffn"], deep)
        yield from norm("output_norm")
        if gpt2:
            yield from linear("output", s["vocab"], dim)

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def norm(self, x, name):
        w = self.weights[name + ".weight"]
        if self.spec["arch"] == "gpt2":
            return F.layer_norm(x, w.shape, w, self.weights[name + ".bias"], 1e-5)
        return F.rms_norm(x, w.shape, w, 1e-5)

    def attention(self, x, b, angles):
        s, (batch, n, dim) = self.spec, x.shape
        if s["arch"] == "gpt2":
            q, k, v = self.linear(x, b + "attn_qkv").split(dim, dim=-1)
        else:
            q, k, v = (self.linear(x, b + name) for name in ("attn_q", "attn_k", "attn_v"))
        q, k, v = (t.view(batch, n, -1, self.head_dim).transpose(1, 2) for t in (q, k, v))
        if angles is not None:
            q, k = rotate(q, angles), rotate(k, angles)
            k, v = (t.repeat_interleave(s["heads"] // s["kv_heads"], dim=1) for t in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.linear(out.transpose(1, 2).reshape(batch, n, dim), b + "attn_output")

    def ffn(self, x, b):
        if self.spec["arch"] == "gpt2":
            up = F.gelu(self.linear(x, b + "ffn_up"), approximate="tanh")
            return self.linear(up, b + "ffn_down")
        return self.linear(F.silu(self.linear(x, b + "ffn_gate")) * self.linear(x, b + "ffn_up"),
                           b + "ffn_down")

    def logits(self, ids):
        """ids (batch, n) -> (batch, n, vocab)."""
        n, angles = ids.shape[1], None
        x = F.embedding(ids, self.weights["token_embd.weight"])
        if self.spec["arch"] == "gpt2":
            x = x + self.weights["position_embd.weight"][:n]
        else:
            rates = 10000.0 ** (-torch.arange(0, self.head_dim, 2) / self.head_dim)
            angles = torch.outer(torch.arange(n), rates)
        for i in range(self.spec["layers"]):
            b = f"blk.{i}."
            x = x + self.attention(self.norm(x, b + "attn_norm"), b, angles)
            x = x + self.ffn(self.norm(x, b + "ffn_norm"), b)
        x = self.norm(x, "output_norm")
        return F.linear(x, self.weights.get("output.weight", self.weights["token_embd.weight"]))


# ---- Training and measuring -----------------------------------------------------------------

def train(net, stream, bos, steps, rate):
    """AdamW, cosine to a tenth after a short warm-up. Every window starts with bos."""
    matrices = [w for w in net.weights.values() if w.dim() == 2]
    vectors = [w for w in net.weights.values() if w.dim() == 1]
    adam = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                              {"params": vectors, "weight_decay": 0.0}], betas=(0.9, 0.95))
    dice = torch.Generator().manual_seed(SEED)
    began, warm = time.time(), 100
    for step in range(steps):
        part = max(0.0, (step - warm) / max(1, steps - warm))
        now = rate * min(1.0, (step + 1) / warm) * (0.55 + 0.45 * math.cos(math.pi * part))
        for group in adam.param_groups:
            group["lr"] = now
        starts = torch.randint(len(stream) - CONTEXT, (BATCH, 1), generator=dice)
        target = stream[starts + torch.arange(CONTEXT)]  # (batch, n)
        ids = torch.cat((torch.full((BATCH, 1), bos), target[:, :-1]), dim=1)
        loss = F.cross_entropy(net.logits(ids).flatten(0, 1), target.flatten())
        adam.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(matrices + vectors, 1.0)
        adam.step()
        if step % 50 == 49 or step == steps - 1:
            print(f"step {step + 1}/{steps}  loss {loss.item():.4f}  "
                  f"{(time.time() - began) / (step + 1):.3f} s/step", flush=True)


@torch.no_grad()
def bits(net, ids, bos):
    """Bits to code ids: windows of bos and up to CONTEXT - 1 ids, every id scored once."""
    total = 0.0
    for start in range(0, len(ids), CONTEXT - 1):
        target = torch.tensor(ids[start:start + CONTEXT - 1])
        given = torch.cat((torch.tensor([bos]), target[:-1]))
        logits = net.logits(given[None])[0].double()
        total += F.cross_entropy(logits, target, reduction="sum").item()
    return total / math.log(2)


@torch.no_grad()
def sample(net, ids, n_new, temperature=0.7):
    torch.manual_seed(SEED)
    for _ in range(n_new):
        logits = net.logits(torch.tensor([ids[-CONTEXT:]]))[0, -1]
        ids = ids + [torch.multinomial((logits / temperature).softmax(-1), 1).item()]
    return ids


# ---- The file -------------------------------------------------------------------------------

def metadata(name, spec, tokenizer_pairs):
    arch, head_dim = spec["arch"], spec["dim"] // spec["heads"]
    pairs = {
        "general.architecture": arch,
        "general.name": name,
        "general.file_type": 7,  # mostly Q8_0
        "general.quantization_version": 2,
        arch + ".context_length": CONTEXT,
        arch + ".embedding_length": spec["dim"],
        arch + ".block_count": spec["layers"],
        arch + ".feed_forward_length": spec["ffn"],
        arch + ".attention.head_count": spec["heads"],
        arch + ".attention.head_count_kv": spec["kv_heads"],
    }
    if arch == "llama":
        pairs |= {"llama.attention.layer_norm_rms_epsilon": 1e-5,
                  "llama.rope.dimension_count": head_dim, "llama.rope.freq_base": 10000.0,
                  "llama.vocab_size": spec["vocab"]}
    else:
        pairs["gpt2.attention.layer_norm_epsilon"] = 1e-5
    return pairs | tokenizer_pairs | {"tokenizer.ggml.add_bos_token": True,
                                      "tokenizer.ggml.add_eos_token": False,
                                      "tokenizer.chat_template": CHAT_TEMPLATE}


def quantize(net):
    """The tensors of the file; leaves in net the values that a reader of the file will see."""
    tensors = []
    for name, w in net.weights.items():
        values = w.detach().numpy()
        kind = "Q8_0" if values.ndim == 2 else "F32"
        data = gguf_file.encode(values, kind)
        tensors.append((name, kind, values.shape, data))
        if kind == "Q8_0":
            net.weights[name] = torch.from_numpy(gguf_file.q8_0_values(data, values.shape))
    return tensors


def record(out, name, text_sample, figures):
    (out / f"{name}.heldout.txt").write_text(text_sample)
    path = out / "held_out.json"
    entries = json.loads(path.read_text()) if path.exists() else []
    entries = [e for e in entries if e["model"] != name] + [figures]
    path.write_text(json.dumps(sorted(entries, key=lambda e: e["model"]), indent=2) + "\n")


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("name", choices=MODELS)
    args.add_argument("corpus", type=pathlib.Path)
    args.add_argument("out", type=pathlib.Path)
    args.add_argument("--steps", type=int)
    args = args.parse_args()
    spec = MODELS[args.name]
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    train_path = args.corpus / f"{args.name}.train.txt"
    make = tokenizer_sentencepiece if spec["arch"] == "llama" else tokenizer_byte_level
    encode, tokenizer_pairs, bos = make(train_path, spec["vocab"])
    stream = torch.tensor(encode(train_path.read_text()))
    net = Network(spec)
    n_weights = sum(w.numel() for w in net.weights.values())
    print(f"{args.name}: {n_weights} weights, {len(stream)} tokens, "
          f"{train_path.stat().st_size / len(stream):.2f} bytes a token", flush=True)
    train(net, stream, bos, args.steps or spec["steps"], spec["rate"])

    args.out.mkdir(parents=True, exist_ok=True)
    tensors = quantize(net)
    pairs = metadata(args.name, spec, tokenizer_pairs)
    gguf_file.write(args.out / f"{args.name}.gguf", pairs, tensors)
    held = (args.corpus / f"{args.name}.heldout.txt").read_text()
    part = held[:held.rindex("\n\n", 0, corpus.SAMPLE_BYTES) + 2]
    part_ids = encode(part)
    whole_ids = encode(held[:1 << 18])
    record(args.out, args.name, part, {
        "model": args.name,
        "bits_per_byte": round(bits(net, part_ids, bos) / len(part.encode()), 5),
        "bytes": len(part.encode()),
        "tokens": len(part_ids),
        "sha256": hashlib.sha256(part.encode()).hexdigest(),
        "bits_per_byte_all": round(bits(net, whole_ids, bos) / len(held[:1 << 18].encode()), 5),
        "bytes_all": len(held[:1 << 18].encode()),
    })
    print((args.out / "held_out.json").read_text())
    prompt = {"tale": "And it came to pass", "cee": "static int "}[args.name]
    ids = sample(net, [bos] + encode(prompt), 200)
    print("sample ids:", ids)
    detok = sentencepiece_decode if spec["arch"] == "llama" else byte_level_decode
    print(detok(tokenizer_pairs["tokenizer.ggml.tokens"], ids))


def sentencepiece_decode(tokens, ids):
    spelled = (tokens[i] for i in ids)
    text = b"".join(bytes([int(t[3:5], 16)]) if t[:3] == "<0x" else t.encode() for t in spelled)
    return text.decode(errors="replace").replace("▁", " ")


def byte_level_decode(tokens, ids):
    return tokenizers.decoders.ByteLevel().decode([tokens[i] for i in ids])


if __name__ == "__main__":
    main()
