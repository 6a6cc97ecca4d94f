/* Draws a model file of a real shape with random weights, in seconds: GGUF with a vocabulary.
 *
 * gpu_weights SHAPE TYPE PATH [shared]
 *
 * A pool of random blocks is drawn once, and every matrix is cut from it at a place of its own by
 * all cores. With `shared`, all tensors lie in the same bytes of the file, which is then as large
 * as its largest tensor. Such a file loads into as much device memory as a whole one, and computes
 * as long. */
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/team.h"
#include "base/time.h"
#include "core/dtype.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ALIGNMENT = 64, POOL_BLOCKS = 1 << 16, THREADS_MAX = 64, PIECE_BYTES = 1 << 20 };
enum { META_U32 = 4, META_I32 = 5, META_F32 = 6, META_TEXT = 8, META_ARRAY = 9 };

static const struct shape {
    const char *name, *architecture;
    int32_t n_layers, width, n_heads, n_kv_heads, ffn, n_vocabulary, n_positions;
} shapes[] = {
    { "tiny", "llama", 2, 256, 4, 2, 512, 512, 1024 },
    { "7b", "llama", 32, 4096, 32, 32, 11008, 32000, 16384 },
    { "8b", "llama", 32, 4096, 32, 8, 14336, 128256, 16384 },
    { "13b", "llama", 40, 5120, 40, 40, 13824, 32000, 16384 },
    /* OPT's matrices, with the activation of GPT-2, since GGUF has no OPT. */
    { "opt-6.7b", "gpt2", 32, 4096, 32, 32, 16384, 50272, 2048 },
    { "tiny-opt", "gpt2", 2, 256, 4, 4, 512, 512, 1024 },
};

static const struct type {
    enum dtype dtype;
    uint32_t gguf;
    /* 16-bit fields of a block that are halves of this exponent, and how many there are. The other
     * bits are random. BF16 and F16: every field, with a random sign. */
    uint16_t exponents[2];
    int n_fields;
} types[] = {
    { DTYPE_BF16, 30, { 0x3C00 }, 0 },         { DTYPE_F16, 1, { 0x2000 }, 0 },
    { DTYPE_Q8_0, 8, { 0x0C00 }, 1 },          { DTYPE_Q4_0, 2, { 0x1C00 }, 1 },
    { DTYPE_Q4_K, 12, { 0x0800, 0x1400 }, 2 },
};

struct placed { /* a tensor of the file */
    int64_t at, n_bytes;
    bool is_matrix;
    float value; /* of all elements of a vector */
};
struct drawing {
    const struct shape *shape;
    const struct type *type;
    bool is_shared;
    struct str pairs, infos, head;
    struct placed *tensors;
    int32_t n_tensors, n_tensors_max, n_pairs;
    int64_t data_bytes, n_bytes;
    unsigned char *pool, *file;
    int64_t pool_bytes;
    _Atomic int64_t next_piece;
};

/* ---- The header. ---- */

static void add_u32(struct str *to, uint32_t value)
{
    str_add(to, (const char *)&value, sizeof(value));
}

static void add_u64(struct str *to, uint64_t value)
{
    str_add(to, (const char *)&value, sizeof(value));
}

static void add_text(struct str *to, const char *text)
{
    add_u64(to, strlen(text));
    str_add_text(to, text);
}

/* Writes the key of a pair and the type of its value. */
static void add_key(struct drawing *d, const char *key, uint32_t type)
{
    char whole[96];
    bool is_own = strncmp(key, "general.", 8) != 0 && strncmp(key, "tokenizer.", 10) != 0;
    snprintf(whole, sizeof whole, "%s%s%s", is_own ? d->shape->architecture : "", is_own ? "." : "",
             key);
    add_text(&d->pairs, whole);
    add_u32(&d->pairs, type);
    d->n_pairs++;
}

static void add_size(struct drawing *d, const char *key, int32_t value)
{
    add_key(d, key, META_U32);
    add_u32(&d->pairs, (uint32_t)value);
}

static void add_float(struct drawing *d, const char *key, float value)
{
    add_key(d, key, META_F32);
    str_add(&d->pairs, (const char *)&value, sizeof(value));
}

static void add_name(struct drawing *d, const char *key, const char *value)
{
    add_key(d, key, META_TEXT);
    add_text(&d->pairs, value);
}

/* Writes the text of a token: three of control, the 256 bytes, then words of letters. */
static void add_token(struct str *to, int32_t id)
{
    static const char *const controls[] = { "<unk>", "<s>", "</s>" };
    static const char letters[] = "etaoinshrdlucmfwypvbgkjqxz";
    char text[32];
    int n = 0;
    if (id < 3) {
        add_text(to, controls[id]);
    } else if (id < 3 + 256) {
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)(id - 3));
        add_text(to, text);
    } else {
        int32_t word = id - 3 - 256;
        if (word % 2 == 1)
            n = snprintf(text, sizeof text, "\xE2\x96\x81");
        do {
            text[n++] = letters[word % 26];
            word /= 26;
        } while (word > 0);
        text[n] = '\0';
        add_text(to, text);
    }
}

static void add_vocabulary(struct drawing *d)
{
    int32_t n = d->shape->n_vocabulary;
    add_name(d, "tokenizer.ggml.model", "llama");
    add_key(d, "tokenizer.ggml.tokens", META_ARRAY);
    add_u32(&d->pairs, META_TEXT);
    add_u64(&d->pairs, (uint64_t)n);
    for (int32_t i = 0; i < n; i++)
        add_token(&d->pairs, i);
    add_key(d, "tokenizer.ggml.scores", META_ARRAY);
    add_u32(&d->pairs, META_F32);
    add_u64(&d->pairs, (uint64_t)n);
    for (int32_t i = 0; i < n; i++) {
        float score = (float)-i;
        str_add(&d->pairs, (const char *)&score, sizeof(score));
    }
    add_key(d, "tokenizer.ggml.token_type", META_ARRAY);
    add_u32(&d->pairs, META_I32);
    add_u64(&d->pairs, (uint64_t)n);
    for (int32_t i = 0; i < n; i++)
        add_u32(&d->pairs, i == 0 ? 2 : i < 3 ? 3 : i < 3 + 256 ? 6 : 1);
    add_size(d, "tokenizer.ggml.bos_token_id", 1);
    add_size(d, "tokenizer.ggml.eos_token_id", 2);
    add_size(d, "tokenizer.ggml.unknown_token_id", 0);
}

static void add_pairs(struct drawing *d)
{
    const struct shape *s = d->shape;
    bool is_llama = strcmp(s->architecture, "llama") == 0;
    add_name(d, "general.architecture", s->architecture);
    add_name(d, "general.name", s->name);
    add_size(d, "general.alignment", ALIGNMENT);
    add_size(d, "block_count", s->n_layers);
    add_size(d, "context_length", s->n_positions);
    add_size(d, "embedding_length", s->width);
    add_size(d, "feed_forward_length", s->ffn);
    add_size(d, "attention.head_count", s->n_heads);
    if (is_llama) {
        add_size(d, "attention.head_count_kv", s->n_kv_heads);
        add_size(d, "rope.dimension_count", s->width / s->n_heads);
        add_float(d, "attention.layer_norm_rms_epsilon", 1e-5F);
    } else {
        add_float(d, "attention.layer_norm_epsilon", 1e-5F);
    }
    add_vocabulary(d);
}

/* ---- Tensors. ---- */

static void place(struct drawing *d, const char *name, int32_t n_rows, int32_t n_columns,
                  float value)
{
    bool is_matrix = n_rows > 0;
    struct placed *t = &d->tensors[d->n_tensors++];
    CHECK(d->n_tensors <= d->n_tensors_max);
    int64_t row_bytes = is_matrix ? dtype_row_bytes(d->type->dtype, n_columns) : n_columns * 4;
    CHECK(row_bytes > 0);
    *t = (struct placed){ .at = d->is_shared && is_matrix ? 0 : d->data_bytes,
                          .n_bytes = row_bytes * max_i32(n_rows, 1),
                          .is_matrix = is_matrix,
                          .value = value };
    d->data_bytes =
        max_i64(d->data_bytes, (int64_t)align_up_u64((uint64_t)(t->at + t->n_bytes), ALIGNMENT));
    add_text(&d->infos, name);
    add_u32(&d->infos, is_matrix ? 2 : 1);
    add_u64(&d->infos, (uint64_t)n_columns);
    if (is_matrix)
        add_u64(&d->infos, (uint64_t)n_rows);
    add_u32(&d->infos, is_matrix ? d->type->gguf : 0);
    add_u64(&d->infos, (uint64_t)t->at);
}

static void place_layer(struct drawing *d, int32_t layer)
{
    const struct shape *s = d->shape;
    int32_t kv = s->width / s->n_heads * s->n_kv_heads;
    const struct {
        const char *name;
        int32_t n_rows, n_columns; /* n_rows 0: a vector */
        float value;
    } llama[] = {
        { "attn_norm.weight", 0, s->width, 1 },      { "attn_q.weight", s->width, s->width, 0 },
        { "attn_k.weight", kv, s->width, 0 },        { "attn_v.weight", kv, s->width, 0 },
        { "attn_output.weight", s->width, s->width, 0 }, { "ffn_norm.weight", 0, s->width, 1 },
        { "ffn_gate.weight", s->ffn, s->width, 0 },  { "ffn_up.weight", s->ffn, s->width, 0 },
        { "ffn_down.weight", s->width, s->ffn, 0 },
    }, gpt2[] = {
        { "attn_norm.weight", 0, s->width, 1 },      { "attn_norm.bias", 0, s->width, 0 },
        { "attn_qkv.weight", 3 * s->width, s->width, 0 },
        { "attn_qkv.bias", 0, 3 * s->width, 0 },
        { "attn_output.weight", s->width, s->width, 0 },
        { "attn_output.bias", 0, s->width, 0 },      { "ffn_norm.weight", 0, s->width, 1 },
        { "ffn_norm.bias", 0, s->width, 0 },         { "ffn_up.weight", s->ffn, s->width, 0 },
        { "ffn_up.bias", 0, s->ffn, 0 },             { "ffn_down.weight", s->width, s->ffn, 0 },
        { "ffn_down.bias", 0, s->width, 0 },
    };
    bool is_llama = strcmp(s->architecture, "llama") == 0;
    for (size_t i = 0; i < (is_llama ? COUNT_OF(llama) : COUNT_OF(gpt2)); i++) {
        char name[64];
        const char *rest = is_llama ? llama[i].name : gpt2[i].name;
        snprintf(name, sizeof name, "blk.%d.%s", layer, rest);
        if (is_llama)
            place(d, name, llama[i].n_rows, llama[i].n_columns, llama[i].value);
        else
            place(d, name, gpt2[i].n_rows, gpt2[i].n_columns, gpt2[i].value);
    }
}

static void place_all(struct drawing *d)
{
    const struct shape *s = d->shape;
    d->n_tensors_max = s->n_layers * 12 + 8;
    d->tensors = mem_take(sizeof(*d->tensors) * (size_t)d->n_tensors_max);
    place(d, "token_embd.weight", s->n_vocabulary, s->width, 0);
    place(d, "output.weight", s->n_vocabulary, s->width, 0);
    place(d, "output_norm.weight", 0, s->width, 1);
    if (strcmp(s->architecture, "gpt2") == 0) {
        place(d, "output_norm.bias", 0, s->width, 0);
        place(d, "position_embd.weight", s->n_positions, s->width, 0);
    }
    for (int32_t i = 0; i < s->n_layers; i++)
        place_layer(d, i);
}

/* ---- Content. ---- */

static void draw_pool(struct drawing *d)
{
    const struct dtype_info *info = dtype_info(d->type->dtype);
    int64_t n_words;
    struct rng rng;
    rng_init(&rng, 40, (uint64_t)d->type->dtype);
    d->pool_bytes = (int64_t)POOL_BLOCKS * info->block_bytes;
    if (info->n_block == 1)
        d->pool_bytes *= 32; /* as many values as types of 32 have */
    n_words = d->pool_bytes / 8;
    d->pool = mem_take((size_t)d->pool_bytes);
    for (int64_t i = 0; i < n_words; i++) {
        uint64_t bits = rng_u64(&rng);
        memcpy(d->pool + i * 8, &bits, 8);
    }
    /* 2^-7 to 2^-5 and either sign: BF16 has 7 bits below the exponent and F16 10. */
    uint16_t kept = d->type->dtype == DTYPE_BF16 ? 0x80FF : 0x87FF;
    for (int64_t at = 0; at < d->pool_bytes; at += info->block_bytes)
        for (int i = 0; i < max_i32(d->type->n_fields, 1); i++) {
            uint16_t field;
            memcpy(&field, d->pool + at + 2 * i, 2);
            field = d->type->n_fields == 0 ? (uint16_t)((field & kept) | d->type->exponents[0])
                                           : (uint16_t)((field & 0x3FF) | d->type->exponents[i]);
            memcpy(d->pool + at + 2 * i, &field, 2);
        }
}

/* Copies bytes [from, to) of a matrix, which begins at a block of its own in the pool. */
static void cut(const struct drawing *d, unsigned char *data, int64_t from, int64_t to,
                int32_t index)
{
    int64_t block = dtype_info(d->type->dtype)->block_bytes;
    int64_t at = (index * INT64_C(7919) % (d->pool_bytes / block) * block + from) % d->pool_bytes;
    while (from < to) {
        int64_t n = min_i64(to - from, d->pool_bytes - at);
        memcpy(data + from, d->pool + at, (size_t)n);
        from += n;
        at = 0;
    }
}

static void fill_piece(struct drawing *d, int32_t index, int64_t from)
{
    const struct placed *t = &d->tensors[index];
    unsigned char *data = d->file + d->head.n + t->at;
    int64_t to = min_i64(t->n_bytes, from + PIECE_BYTES);
    if (t->is_matrix) {
        cut(d, data, from, to, index);
        return;
    }
    for (int64_t at = from; at < to; at += 4)
        memcpy(data + at, &t->value, 4);
}

/* Each member takes the next piece of all tensors in turn. */
static void fill(void *arg, int rank, int n)
{
    struct drawing *d = arg;
    int64_t first = 0, piece = d->next_piece++;
    (void)rank;
    (void)n;
    for (int32_t i = 0; i < d->n_tensors; i++) {
        bool is_drawn = d->tensors[i].is_matrix && d->is_shared && i > 0;
        int64_t n_pieces = is_drawn ? 0 : div_up_i64(d->tensors[i].n_bytes, PIECE_BYTES);
        for (; piece < first + n_pieces; piece = d->next_piece++)
            fill_piece(d, i, (piece - first) * PIECE_BYTES);
        first += n_pieces;
    }
}

/* ---- The file. ---- */

static void finish_head(struct drawing *d)
{
    str_add_text(&d->head, "GGUF");
    add_u32(&d->head, 3);
    add_u64(&d->head, (uint64_t)d->n_tensors);
    add_u64(&d->head, (uint64_t)d->n_pairs);
    str_add(&d->head, d->pairs.at, d->pairs.n);
    str_add(&d->head, d->infos.at, d->infos.n);
    while (d->head.n % ALIGNMENT != 0)
        str_add_char(&d->head, '\0');
    d->n_bytes = (int64_t)d->head.n + d->data_bytes;
}

/* Makes a file of this size and maps it. Free space is checked first, because a write to a mapping
 * of a full disk ends the process. */
static bool map(struct drawing *d, const char *path)
{
    struct statvfs disk;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || fstatvfs(fd, &disk) != 0) {
        fprintf(stderr, "gpu_weights: %s: %s\n", path, strerror(errno));
        return false;
    }
    int64_t n_free = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    if (n_free < d->n_bytes) {
        fprintf(stderr, "gpu_weights: %s takes %lld bytes, but %lld are free there\n", path,
                (long long)d->n_bytes, (long long)n_free);
        close(fd);
        (void)unlink(path);
        return false;
    }
    void *at = MAP_FAILED;
    if (ftruncate(fd, d->n_bytes) == 0)
        at = mmap(NULL, (size_t)d->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        fprintf(stderr, "gpu_weights: %s: %s\n", path, strerror(errno));
    close(fd);
    d->file = at;
    return at != MAP_FAILED;
}

static int draw(struct drawing *d, const char *path)
{
    int64_t begin_ns = time_now_ns();
    int n_threads = (int)max_i64(1, min_i64(THREADS_MAX, sysconf(_SC_NPROCESSORS_ONLN)));
    struct team *team = team_open(n_threads, NULL, false);
    add_pairs(d);
    place_all(d);
    finish_head(d);
    draw_pool(d);
    bool is_open = map(d, path);
    if (is_open) {
        memcpy(d->file, d->head.at, d->head.n);
        team_run(team, fill, d);
        (void)munmap(d->file, (size_t)d->n_bytes);
        double seconds = (double)(time_now_ns() - begin_ns) * 1e-9;
        printf("{\"what\": \"drawn\", \"file\": \"%s\", \"shape\": \"%s\", \"type\": \"%s\", "
               "\"bytes\": %lld, "
               "\"seconds\": %.3f, \"threads\": %d}\n",
               path, d->shape->name, dtype_info(d->type->dtype)->name, (long long)d->n_bytes,
               seconds, n_threads);
    }
    team_close(team);
    mem_give(d->pool);
    mem_give(d->tensors);
    str_free(&d->pairs);
    str_free(&d->infos);
    str_free(&d->head);
    return is_open ? 0 : 1;
}

static int usage(void)
{
    fprintf(stderr, "usage: gpu_weights SHAPE TYPE PATH [shared]\nshapes:");
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        fprintf(stderr, " %s", shapes[i].name);
    fprintf(stderr, "\ntypes:");
    for (size_t i = 0; i < COUNT_OF(types); i++)
        fprintf(stderr, " %s", dtype_info(types[i].dtype)->name);
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct drawing d = { .is_shared = argc == 5 && strcmp(argv[4], "shared") == 0 };
    if (argc != 4 + d.is_shared)
        return usage();
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        if (strcmp(shapes[i].name, argv[1]) == 0)
            d.shape = &shapes[i];
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strcmp(dtype_info(types[i].dtype)->name, argv[2]) == 0)
            d.type = &types[i];
    if (d.shape == NULL || d.type == NULL)
        return usage();
    str_init(&d.pairs);
    str_init(&d.infos);
    str_init(&d.head);
    return draw(&d, argv[3]);
}
