/* Builds small GGUF and safetensors files in memory, whole or wrong in one place. */
#pragma once
#include "base/mem.h"
#include "base/str.h"
#include "weights/gguf.h"
#include <string.h>

struct build {
    struct str values, tensors, data;
    uint64_t n_values, n_tensors;
    uint32_t version, alignment;
    const char *without; /* a key or tensor to leave out, NULL = none */
};

static inline void build_init(struct build *b)
{
    *b = (struct build){ .version = 3, .alignment = 32 };
    str_init(&b->values);
    str_init(&b->tensors);
    str_init(&b->data);
}

static inline void build_free(struct build *b)
{
    str_free(&b->values);
    str_free(&b->tensors);
    str_free(&b->data);
}

static inline void build_put(struct str *out, uint64_t x, size_t n_bytes)
{
    str_add(out, (const char *)&x, n_bytes);
}

static inline void build_put_text(struct str *out, const char *text)
{
    build_put(out, strlen(text), 8);
    str_add_text(out, text);
}

/* Returns false when this key is left out. */
static inline bool build_key(struct build *b, const char *key, uint32_t type)
{
    if (b->without != NULL && strcmp(b->without, key) == 0)
        return false;
    build_put_text(&b->values, key);
    build_put(&b->values, type, 4);
    b->n_values++;
    return true;
}

static inline void build_u32(struct build *b, const char *key, uint32_t x)
{
    if (build_key(b, key, GGUF_U32))
        build_put(&b->values, x, 4);
}

static inline void build_f32(struct build *b, const char *key, float x)
{
    if (build_key(b, key, GGUF_F32))
        str_add(&b->values, (const char *)&x, 4);
}

static inline void build_bool(struct build *b, const char *key, bool x)
{
    if (build_key(b, key, GGUF_BOOL))
        build_put(&b->values, x, 1);
}

static inline void build_text(struct build *b, const char *key, const char *text)
{
    if (build_key(b, key, GGUF_TEXT))
        build_put_text(&b->values, text);
}

static inline bool build_array(struct build *b, const char *key, uint32_t of, uint64_t n)
{
    if (!build_key(b, key, GGUF_ARRAY))
        return false;
    build_put(&b->values, of, 4);
    build_put(&b->values, n, 8);
    return true;
}

static inline void build_texts(struct build *b, const char *key, const char *const *texts, int n)
{
    if (!build_array(b, key, GGUF_TEXT, (uint64_t)n))
        return;
    for (int i = 0; i < n; i++)
        build_put_text(&b->values, texts[i]);
}

static inline void build_i32s(struct build *b, const char *key, const int32_t *x, int n)
{
    if (build_array(b, key, GGUF_I32, (uint64_t)n))
        str_add(&b->values, (const char *)x, 4 * (size_t)n);
}

static inline void build_f32s(struct build *b, const char *key, const float *x, int n)
{
    if (build_array(b, key, GGUF_F32, (uint64_t)n))
        str_add(&b->values, (const char *)x, 4 * (size_t)n);
}

/* Adds a row of the tensor table with an offset of its own, without data. */
static inline void build_row(struct build *b, const char *name, uint32_t type, int n_dims,
                             const uint64_t *dims, uint64_t offset)
{
    build_put_text(&b->tensors, name);
    build_put(&b->tensors, (uint64_t)n_dims, 4);
    for (int i = 0; i < n_dims; i++)
        build_put(&b->tensors, dims[i], 8);
    build_put(&b->tensors, type, 4);
    build_put(&b->tensors, offset, 8);
    b->n_tensors++;
}

/* Adds an F32 tensor of n_columns x n_rows (0 rows: a vector) with data 0, 1, 2, ... */
static inline void build_tensor(struct build *b, const char *name, uint64_t n_columns,
                                uint64_t n_rows)
{
    uint64_t dims[2] = { n_columns, n_rows };
    if (b->without != NULL && strcmp(b->without, name) == 0)
        return;
    while (b->data.n % b->alignment != 0)
        str_add_char(&b->data, 0);
    build_row(b, name, 0, n_rows > 0 ? 2 : 1, dims, b->data.n);
    for (uint64_t i = 0; i < n_columns * (n_rows > 0 ? n_rows : 1); i++) {
        float x = (float)i;
        str_add(&b->data, (const char *)&x, 4);
    }
}

/* Adds an F32 vector of these numbers. */
static inline void build_vector(struct build *b, const char *name, const float *x, uint64_t n)
{
    while (b->data.n % b->alignment != 0)
        str_add_char(&b->data, 0);
    build_row(b, name, 0, 1, &n, b->data.n);
    str_add(&b->data, (const char *)x, 4 * n);
}

/* Returns the whole file as memory of mem_take. */
static inline unsigned char *build_end(const struct build *b, size_t *n_bytes)
{
    struct str out;
    str_init(&out);
    str_add_text(&out, "GGUF");
    build_put(&out, b->version, 4);
    build_put(&out, b->n_tensors, 8);
    build_put(&out, b->n_values, 8);
    if (b->values.n > 0)
        str_add(&out, b->values.at, b->values.n);
    if (b->tensors.n > 0)
        str_add(&out, b->tensors.at, b->tensors.n);
    while (out.n % b->alignment != 0)
        str_add_char(&out, 0);
    if (b->data.n > 0)
        str_add(&out, b->data.at, b->data.n);
    unsigned char *bytes = mem_take(out.n);
    memcpy(bytes, out.at, out.n);
    *n_bytes = out.n;
    str_free(&out);
    return bytes;
}

enum { BUILD_WIDTH = 16, BUILD_FFN = 24, BUILD_TOKENS = 12 };

/* A llama of one layer: 4 heads of 4, 2 KV heads. */
static inline void build_llama_values(struct build *b)
{
    build_text(b, "general.architecture", "llama");
    build_text(b, "general.name", "tiny");
    build_u32(b, "general.alignment", b->alignment);
    build_u32(b, "llama.block_count", 1);
    build_u32(b, "llama.embedding_length", BUILD_WIDTH);
    build_u32(b, "llama.feed_forward_length", BUILD_FFN);
    build_u32(b, "llama.context_length", 64);
    build_u32(b, "llama.attention.head_count", 4);
    build_u32(b, "llama.attention.head_count_kv", 2);
    build_f32(b, "llama.attention.layer_norm_rms_epsilon", 1e-6f);
    build_f32(b, "llama.rope.freq_base", 500000.0f);
    build_u32(b, "llama.rope.dimension_count", 4);
}

static inline void build_llama_tensors(struct build *b)
{
    build_tensor(b, "token_embd.weight", BUILD_WIDTH, BUILD_TOKENS);
    build_tensor(b, "output_norm.weight", BUILD_WIDTH, 0);
    build_tensor(b, "output.weight", BUILD_WIDTH, BUILD_TOKENS);
    build_tensor(b, "blk.0.attn_norm.weight", BUILD_WIDTH, 0);
    build_tensor(b, "blk.0.attn_q.weight", BUILD_WIDTH, BUILD_WIDTH);
    build_tensor(b, "blk.0.attn_k.weight", BUILD_WIDTH, 8);
    build_tensor(b, "blk.0.attn_v.weight", BUILD_WIDTH, 8);
    build_tensor(b, "blk.0.attn_output.weight", BUILD_WIDTH, BUILD_WIDTH);
    build_tensor(b, "blk.0.ffn_norm.weight", BUILD_WIDTH, 0);
    build_tensor(b, "blk.0.ffn_gate.weight", BUILD_WIDTH, BUILD_FFN);
    build_tensor(b, "blk.0.ffn_up.weight", BUILD_WIDTH, BUILD_FFN);
    build_tensor(b, "blk.0.ffn_down.weight", BUILD_FFN, BUILD_WIDTH);
}

static inline void build_spm(struct build *b)
{
    static const char *const tokens[] = { "<unk>", "<s>", "</s>", "<0x0A>", "\xe2\x96\x81",
                                          "a",     "b",   "ab",   "c",      "<|eot_id|>" };
    static const float scores[] = { 0, 0, 0, 0, -1, -2, -3, -4, -5, 0 };
    static const int32_t types[] = { 2, 3, 3, 6, 1, 1, 1, 1, 1, 3 };
    build_text(b, "tokenizer.ggml.model", "llama");
    build_texts(b, "tokenizer.ggml.tokens", tokens, 10);
    build_f32s(b, "tokenizer.ggml.scores", scores, 10);
    build_i32s(b, "tokenizer.ggml.token_type", types, 10);
    build_u32(b, "tokenizer.ggml.bos_token_id", 1);
    build_u32(b, "tokenizer.ggml.eos_token_id", 2);
    build_u32(b, "tokenizer.ggml.padding_token_id", UINT32_MAX);
    build_bool(b, "tokenizer.ggml.add_bos_token", true);
    build_text(b, "tokenizer.chat_template", "{{ messages[0].content }}");
}

static inline void build_bpe(struct build *b)
{
    static const char *const tokens[] = {
        "a", "b", "ab", "\xc4\xa0", "<|im_end|>", "<|endoftext|>"
    };
    static const char *const merges[] = { "a b" };
    static const int32_t types[] = { 1, 1, 1, 1, 3, 3 };
    build_text(b, "tokenizer.ggml.model", "gpt2");
    build_text(b, "tokenizer.ggml.pre", "qwen2");
    build_texts(b, "tokenizer.ggml.tokens", tokens, 6);
    build_i32s(b, "tokenizer.ggml.token_type", types, 6);
    build_texts(b, "tokenizer.ggml.merges", merges, 1);
    build_u32(b, "tokenizer.ggml.eos_token_id", 5);
}

/* Returns a safetensors file: header text and n_data bytes 0, 1, 2, ... */
static inline unsigned char *build_safetensors(const char *header, size_t n_data, size_t *n_bytes)
{
    size_t n_header = strlen(header);
    uint64_t n = n_header;
    *n_bytes = 8 + n_header + n_data;
    unsigned char *bytes = mem_take(*n_bytes);
    memcpy(bytes, &n, 8);
    memcpy(bytes + 8, header, n_header);
    for (size_t i = 0; i < n_data; i++)
        bytes[8 + n_header + i] = (unsigned char)i;
    return bytes;
}
