/* Answers questions about grammars, for the scripts beside it: one JSON object a line, in and out.
 *
 *   {"open": KIND, "text": TEXT}    -> {"ns", "bytes"} or {"fault"}
 *   {"text": TEXT}                  -> {"n_taken", "is_complete"}
 *   {"vocabulary": [HEX, ...]}      -> {"n"}
 *   {"ids": [ID, ...]}              -> {"ns": [of each mask], "n_taken", "is_complete"}
 *   {"walk": SEED, "n": TOKENS}     -> {"hex", "is_complete", "is_dead"} */
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "grammar/grammar.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct grammar *grammar;
static struct grammar_state *state;
static struct grammar_vocabulary *vocabulary;
static struct grammar_masks *masks;
static struct view *pieces;
static int32_t n_pieces;
static uint32_t *mask;

static const char *const kinds[] = { "none",   "object", "schema", "regex",
                                     "choice", "gbnf",   "lark",   "calls" };

static json_t *open_grammar(const json_t *ask)
{
    struct fault fault = { "" };
    const json_t *text = json_object_get(ask, "text");
    int kind = 0;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i], json_string_value(json_object_get(ask, "open"))) == 0)
            kind = (int)i;
    grammar_state_close(state);
    grammar_close(grammar);
    state = NULL;
    int64_t begin_ns = time_now_ns();
    enum status status =
        grammar_open(&grammar, (enum grammar_kind)kind,
                     view_of(json_string_value(text), json_string_length(text)), &fault);
    int64_t ns = time_now_ns() - begin_ns;
    if (status != STATUS_OK)
        return json_pack("{ss sI}", "fault", fault.text, "ns", (json_int_t)ns);
    state = grammar_state_open(grammar);
    return json_pack("{sI sI}", "ns", (json_int_t)ns, "bytes", (json_int_t)grammar_bytes(grammar));
}

static json_t *take_text(const json_t *text)
{
    grammar_state_reset(state, grammar);
    size_t n = grammar_state_add(state, view_of(json_string_value(text), json_string_length(text)));
    bool is_whole = n == json_string_length(text);
    return json_pack("{sI sb}", "n_taken", (json_int_t)n, "is_complete",
                     is_whole && grammar_state_is_complete(state));
}

static json_t *take_vocabulary(const json_t *list)
{
    n_pieces = (int32_t)json_array_size(list);
    pieces = calloc((size_t)n_pieces + 1, sizeof(*pieces));
    for (int32_t i = 0; i < n_pieces; i++) {
        const char *hex = json_string_value(json_array_get(list, (size_t)i));
        size_t n = strlen(hex) / 2;
        char *bytes = malloc(n + 1);
        for (size_t k = 0; k < n; k++) {
            unsigned byte;
            (void)sscanf(hex + 2 * k, "%2x", &byte);
            bytes[k] = (char)byte;
        }
        pieces[i] = view_of(bytes, n);
    }
    grammar_masks_close(masks);
    grammar_vocabulary_close(vocabulary);
    int64_t begin_ns = time_now_ns();
    vocabulary = grammar_vocabulary_open(pieces, n_pieces);
    int64_t ns = time_now_ns() - begin_ns;
    masks = grammar_masks_open(vocabulary, 256);
    mask = realloc(mask, 4 * ((size_t)n_pieces / 32 + 2));
    return json_pack("{sI sI sI}", "n", (json_int_t)n_pieces, "ns", (json_int_t)ns, "bytes",
                     (json_int_t)grammar_vocabulary_bytes(vocabulary));
}

static bool allows(int32_t id)
{
    return mask[id / 32] >> id % 32 & 1;
}

static json_t *take_ids(const json_t *ids)
{
    json_t *times = json_array();
    size_t n = 0;
    grammar_state_reset(state, grammar);
    for (; n < json_array_size(ids); n++) {
        int32_t id = (int32_t)json_integer_value(json_array_get(ids, n));
        int64_t begin_ns = time_now_ns();
        bool is_made = grammar_masks_fill(masks, state, mask);
        json_array_append_new(times, json_integer(time_now_ns() - begin_ns));
        if (!is_made || !allows(id) || grammar_state_add(state, pieces[id]) < pieces[id].n)
            break;
    }
    bool is_whole = n == json_array_size(ids);
    return json_pack("{so sI sb}", "ns", times, "n_taken", (json_int_t)n, "is_complete",
                     is_whole && grammar_state_is_complete(state));
}

/* Draws tokens that masks allow; a complete text ends with a chance of 1 in 4. */
static json_t *walk(const json_t *ask)
{
    struct rng rng;
    int64_t n = json_integer_value(json_object_get(ask, "n"));
    json_t *out = json_object();
    char *hex = calloc(1, 1), *at;
    rng_init(&rng, (uint64_t)json_integer_value(json_object_get(ask, "walk")), 0);
    size_t n_hex = 0;
    bool is_dead = false, is_complete = false;
    grammar_state_reset(state, grammar);
    for (int64_t i = 0; i < n && !is_dead; i++) {
        int32_t n_allowed = 0, id = 0;
        is_complete = grammar_state_is_complete(state);
        if (is_complete && rng_below(&rng, 4) == 0)
            break;
        if (!grammar_masks_fill(masks, state, mask))
            memset(mask, 0, 4 * (((size_t)n_pieces + 31) / 32));
        for (int32_t k = 0; k < n_pieces; k++)
            n_allowed += allows(k);
        is_dead = n_allowed == 0 && !is_complete;
        if (n_allowed == 0)
            break;
        int64_t drawn = (int64_t)rng_below(&rng, (uint32_t)n_allowed);
        while (!allows(id) || drawn-- > 0)
            id++;
        is_dead = grammar_state_add(state, pieces[id]) < pieces[id].n;
        hex = realloc(hex, n_hex + 2 * pieces[id].n + 1);
        at = hex + n_hex;
        for (size_t k = 0; k < pieces[id].n; k++)
            (void)snprintf(at + 2 * k, 3, "%02x", (unsigned char)pieces[id].at[k]);
        n_hex += 2 * pieces[id].n;
        is_complete = grammar_state_is_complete(state);
    }
    json_object_set_new(out, "hex", json_string(hex));
    json_object_set_new(out, "is_complete", json_boolean(is_complete));
    json_object_set_new(out, "is_dead", json_boolean(is_dead));
    free(hex);
    return out;
}

int main(void)
{
    char *line = NULL;
    size_t n_line = 0;
    while (getline(&line, &n_line, stdin) > 0) {
        json_t *ask = json_loads(line, JSON_ALLOW_NUL, NULL), *answer = NULL;
        if (json_object_get(ask, "open") != NULL)
            answer = open_grammar(ask);
        else if (json_object_get(ask, "vocabulary") != NULL)
            answer = take_vocabulary(json_object_get(ask, "vocabulary"));
        else if (json_object_get(ask, "ids") != NULL && state != NULL)
            answer = take_ids(json_object_get(ask, "ids"));
        else if (json_object_get(ask, "walk") != NULL && state != NULL)
            answer = walk(ask);
        else if (json_object_get(ask, "text") != NULL && state != NULL)
            answer = take_text(json_object_get(ask, "text"));
        if (answer == NULL)
            answer = json_pack("{ss}", "fault", "this question is not known");
        char *text = json_dumps(answer, JSON_COMPACT);
        puts(text);
        (void)fflush(stdout);
        free(text);
        json_decref(answer);
        json_decref(ask);
    }
    free(line);
    return 0;
}
