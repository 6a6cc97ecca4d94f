"""The names of formats and the reader of the vectors, shared by tests of tool formats."""
import json
import os

# The name of each row of the table by the name of the vectors' format; the others have the same name in both.
ROWS = {"qwen2.5": "hermes", "qwen3": "hermes", "granite4": "hermes", "hermes_indented": "hermes", "llama3_json_semicolon": "llama3_json",
        "llama3_python_tag": "llama3_json", "mistral_nemo": "mistral", "mistral_7b_v0.3": "mistral", "mistral_small_3.2": "mistral_call_id",
        "mistral_devstral": "mistral_args", "mistral_ministral3": "mistral_args", "deepseek_r1": "deepseek_v3", "glm4.5": "glm",
        "glm4.7": "glm", "qwen3.5": "qwen3_coder", "nemotron3": "qwen3_coder", "nemotron_nano_v2": "nemotron", "lfm2.5": "lfm2",
        "gpt_oss_history": "harmony", "gpt_oss_model": "harmony", "llama3_pythonic_dq": "llama3_pythonic",
        "llama3_pythonic_sq": "llama3_pythonic", "phi4_mini_functools": "functools", "granite3.3": "granite"}


def lines(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8", newline="\n") as f:
        return [json.loads(line) for line in f.read().split("\n") if line]
