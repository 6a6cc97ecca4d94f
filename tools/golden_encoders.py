"""Golden encoders: tiny random BERT and RoBERTa models, with tokenizers, and their vectors.

    OUT/NAME/config.json, model.safetensors, tokenizer.json, perhaps modules.json and 1_Pooling, vectors.json

vectors.json: `texts` with `vectors`, or `pairs` with `scores` (a sigmoid), by transformers in float64. The text of a
pair is tokenized by the tokenizers library, types included.
"""
import json

import safetensors.torch
import tokenizers
import torch
import transformers

T = transformers
SMALL = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, hidden_act="gelu",
             attn_implementation="eager")
WORDS = ["the", "fox", "crow", "met", "a", "river", "##s", "##ed", "##ing", "in", "dark", "for", "##est", "."]
TEXTS = ["The fox met a crow", "fox", "Ünknown wörds: 12, 東京!", "", "the river " * 40, "a [MASK] <mask> in the dark forest.",
         "\tThe\u00a0fox\n\n met  a crow.  "]
PAIRS = [["the fox", "a crow in the dark forest"], ["the fox met a crow", "fox"], ["", "river"], ["river " * 20, "dark " * 30]]
POOLED = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens"}


def wordpiece():
    letters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + c for c in letters if c.isalnum()]
    vocabulary += [word for word in WORDS if word not in vocabulary]
    ids = {word: i for i, word in enumerate(vocabulary)}
    t = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    t.decoder = tokenizers.decoders.WordPiece()
    t.add_special_tokens(vocabulary[:5])
    t.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def bytes_bpe():
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    ids = {word: i for i, word in enumerate(specials + alphabet + ["Ġt", "Ġth", "Ġthe"])}
    t = tokenizers.Tokenizer(tokenizers.models.BPE(ids, [("Ġ", "t"), ("Ġt", "h"), ("Ġth", "e")]))
    t.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = tokenizers.decoders.ByteLevel()
    t.add_special_tokens(specials)
    t.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True,
                                                               add_prefix_space=False)
    return t


def unigram():
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = ["▁the", "▁fox", "▁crow", "▁", "er", "ing"] + [chr(c) for c in range(33, 127)]
    vocabulary = [(word, 0.0) for word in specials] + [(piece, -2.0 - 0.01 * i) for i, piece in enumerate(pieces)]
    t = tokenizers.Tokenizer(tokenizers.models.Unigram(vocabulary + [("<mask>", 0.0)], unk_id=3))
    t.normalizer = tokenizers.normalizers.NFKC()
    t.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    t.decoder = tokenizers.decoders.Metaspace()
    t.add_special_tokens(specials + ["<mask>"])
    t.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return t


BERT = (T.BertConfig, wordpiece, dict(max_position_embeddings=128, pad_token_id=0))
ROBERTA = (T.RobertaConfig, bytes_bpe, dict(max_position_embeddings=450, pad_token_id=1, bos_token_id=0, eos_token_id=2,
                                            type_vocab_size=1))
XLM = (T.XLMRobertaConfig, unigram, ROBERTA[2])
# class, family, pooling (None: the files say nothing), whether vectors are normalised, seed
MODELS = {
    "bert_mean": (T.BertModel, BERT, "mean", True, 1),
    "bert_cls": (T.BertForMaskedLM, BERT, "cls", False, 2),
    "bert_cross": (T.BertForSequenceClassification, BERT, None, False, 3),
    "roberta": (T.RobertaModel, ROBERTA, None, True, 4),
    "xlm_roberta": (T.XLMRobertaModel, XLM, "cls", True, 6),
    "xlm_roberta_cross": (T.XLMRobertaForSequenceClassification, XLM, None, False, 7),
    "roberta_cross": (T.RobertaForSequenceClassification, ROBERTA, None, False, 5),
}


def number(x):
    return float(f"{x:.6g}")


@torch.no_grad()
def vector_of(model, tokenizer, text, pooling, is_normalized):
    base = model.base_model if hasattr(model, "base_model") else model
    encoding = tokenizer.encode(text)
    rows = base(input_ids=torch.tensor([encoding.ids]), token_type_ids=torch.tensor([encoding.type_ids])).last_hidden_state[0]
    vector = rows[0] if pooling == "cls" else rows.mean(0)
    vector = vector / vector.norm() if is_normalized else vector
    return [number(x) for x in vector.tolist()]


@torch.no_grad()
def score_of(model, tokenizer, pair):
    encoding = tokenizer.encode(*pair)
    types = torch.tensor([encoding.type_ids])
    return number(model(input_ids=torch.tensor([encoding.ids]), token_type_ids=types).logits[0].sigmoid().item())


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_pooling(folder, pooling, is_normalized):
    names = ["Transformer", "Pooling"] + ["Normalize"] * is_normalized
    write(folder / "modules.json", [
        {"idx": i, "name": str(i), "path": "" if i == 0 else f"{i}_{name}", "type": f"sentence_transformers.models.{name}"}
        for i, name in enumerate(names)])
    write(folder / "1_Pooling/config.json", {"word_embedding_dimension": SMALL["hidden_size"]} |
          {key: key == POOLED[pooling] for key in ["pooling_mode_max_tokens", *POOLED.values()]})


def make(name, out):
    model_class, (config_class, make_tokenizer, own), pooling, is_normalized, seed = MODELS[name]
    tokenizer = make_tokenizer()
    is_cross = name.endswith("cross")
    labels = dict(num_labels=1) if is_cross else {}
    config = config_class(**(SMALL | own | labels), vocab_size=tokenizer.get_vocab_size())
    torch.manual_seed(seed)
    model = model_class(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
        if is_cross:  # so that scores are not near 0 or 1
            (model.classifier if name == "bert_cross" else model.classifier.out_proj).weight.mul_(0.2)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    weights = {key: value.clone().contiguous() for key, value in model.state_dict().items()}
    if "cls.predictions.decoder.weight" in weights:  # tied, as the library stores it
        weights = {key: value for key, value in weights.items() if not key.startswith("cls.predictions.decoder")}
    safetensors.torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    keep = set(SMALL) | set(own) | {"model_type", "vocab_size", "layer_norm_eps", "type_vocab_size", "id2label",
                                    "position_embedding_type"}
    settings = {key: value for key, value in config.to_dict().items() if key in keep - {"attn_implementation"}}
    if not is_cross:
        settings.pop("id2label", None)
    write(folder / "config.json", settings | {"architectures": [model_class.__name__]})
    tokenizer.save(str(folder / "tokenizer.json"))
    if pooling is not None:
        write_pooling(folder, pooling, is_normalized)
    model = model.double().eval()
    if is_cross:
        write(folder / "vectors.json", {"pairs": PAIRS, "scores": [score_of(model, tokenizer, p) for p in PAIRS]})
    else:
        vectors = [vector_of(model, tokenizer, text, pooling, is_normalized) for text in TEXTS]
        write(folder / "vectors.json", {"texts": TEXTS, "vectors": vectors})


def models(out):
    for name in MODELS:
        make(name, out)
