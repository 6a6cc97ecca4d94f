/* Fuzzes the files of a Hugging Face directory that make a card, and the tokenizer that it
 * describes.
 *
 * The input is a bundle: "@@ name\n", the content up to the next "\n@@ ", and so on. The names are
 * those below. Each run writes them into a directory of its own, opens it and encodes the end of
 * the input. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "serve/model_card.h"
#include "weights/hf_card.h"
#include "scratch.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const char *const names[] = {
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "config.json",
    "vocab.json",
    "generation_config.json",
    "merges.txt",
    "chat_template.jinja",
    "chat_template.json",
    "special_tokens_map.json",
    "added_tokens.json",
    NULL,
};

static void write_part(struct view name, struct view content)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (view_equal_text(name, names[i]))
            scratch_write(names[i], content.at, content.n);
}

static void write_bundle(struct view in)
{
    while (view_starts(in, "@@ ")) {
        const char *line = memchr(in.at, '\n', in.n);
        if (line == NULL)
            return;
        struct view name = view_of(in.at + 3, (size_t)(line - in.at - 3));
        struct view rest = view_of(line + 1, in.n - name.n - 4);
        const char *end = rest.n > 0 ? memmem(rest.at, rest.n, "\n@@ ", 4) : NULL;
        size_t n = end != NULL ? (size_t)(end - rest.at) : rest.n;
        write_part(name, view_of(rest.at, n));
        n += end != NULL;
        in = view_of(rest.at + n, rest.n - n);
    }
}

static void check_card(const struct weights_card *card)
{
    for (int32_t id = 0; id < card->n_tokens; id++)
        CHECK(card->tokens[id][card->token_bytes[id]] == '\0' && card->types[id] >= 1 &&
              card->types[id] <= 6);
    for (int32_t i = 0; i < card->n_merges; i++)
        CHECK(strchr(card->merges[i], ' ') != NULL);
    for (int32_t i = 0; i < card->n_eog; i++)
        CHECK(card->eog_ids[i] >= 0 && card->eog_ids[i] < card->n_tokens);
    CHECK(card->bos_id < card->n_tokens && card->eos_id < card->n_tokens);
    for (int32_t i = 0; i < card->n_templates; i++)
        CHECK(utf8_is_valid(view_text(card->templates[i].name)) &&
              utf8_is_valid(view_text(card->templates[i].text)));
    CHECK(card->specials_json == NULL || utf8_is_valid(view_text(card->specials_json)));
}

static void check_tokenizer(const struct weights_card *card, struct view text)
{
    struct fault fault = { 0 };
    struct tokenizer *tokenizer = NULL;
    if (card->tokenizer == WEIGHTS_TOKENIZER_NONE)
        return;
    if (model_card_open_tokenizer(&tokenizer, card, &fault) != STATUS_OK) {
        CHECK(fault.text[0] != '\0' && tokenizer == NULL);
        return;
    }
    size_t n_max = tokenizer_ids_max(tokenizer, text.n);
    n_max = n_max < 4096 ? n_max : 4096;
    int32_t *ids = mem_take(n_max * sizeof(*ids));
    struct str out;
    str_init(&out);
    for (unsigned flags = 0; flags < 4; flags++) {
        int32_t n = tokenizer_encode(tokenizer, text, flags, ids, (int32_t)n_max);
        for (int32_t i = 0; i < n; i++)
            CHECK(ids[i] >= 0 && ids[i] < card->n_tokens);
        struct detokenizer d;
        detokenizer_init(&d, tokenizer, flags % 2 == 0);
        for (int32_t i = 0; i < n; i++)
            detokenizer_add(&d, ids[i], &out);
        detokenizer_end(&d, &out);
        tokenizer_decode(tokenizer, ids, n, flags % 2 == 0, &out);
        CHECK(utf8_is_valid(view_of(out.at != NULL ? out.at : "", out.n)));
    }
    str_free(&out);
    mem_give(ids);
    tokenizer_close(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct weights_hf_card hf;
    struct weights_card card;
    struct weights_json config = { 0 };
    struct fault fault = { 0 };
    log_set(LOG_ERROR, false);
    scratch_begin(names);
    write_bundle(view_of((const char *)bytes, n));
    const char *path = scratch_path("config.json");
    if (file_exists(path) &&
        weights_json_open(&config, path, 1 << 20, "config.json", &fault) != STATUS_OK)
        return 0;
    int32_t n_vocabulary = n > 0 && bytes[n - 1] % 4 == 0 ? 7 : 0;
    if (weights_hf_card_open(&hf, scratch_path(NULL), config.nodes, n_vocabulary, &card, &fault) ==
        STATUS_OK) {
        size_t n_text = n < 64 ? n : 64;
        check_card(&card);
        check_tokenizer(&card, view_of((const char *)bytes + n - n_text, n_text));
        weights_hf_card_close(&hf);
    } else {
        CHECK(fault.text[0] != '\0');
    }
    weights_json_close(&config);
    return 0;
}
