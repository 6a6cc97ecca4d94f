/* Answers which texts the calls of offered tools allow, for the script beside it: one JSON object a
 * line, in and out.
 *
 *   {"format": NAME, "tools": [...], "text": TEXT} -> {"is_constrained", "n_taken", "is_complete"}
 */
#include "api/guided.h"
#include "grammar/cache.h"
#include "tests_toy.h"
#include <stdio.h>
#include <string.h>

static json_t *answer(json_t *ask, struct grammar_cache *cache)
{
    const json_t *text = json_object_get(ask, "text");
    struct api_error error = { 0 };
    struct api_tools tools = { 0 };
    struct api_guided guided = { 0 };
    struct pile pile;
    struct api_model model = { .tokenizer = toy_tokenizer, .n_vocabulary = TOY_N_TOKENS };
    const struct grammar *grammar = NULL;
    size_t n = json_string_length(text);
    bool is_complete = true;
    model.style.format = calls_format_find(json_string_value(json_object_get(ask, "format")));
    pile_init(&pile);
    const struct api_fields fields = { ask, &error };
    api_tools_read(&tools, &fields, &pile);
    if (model.style.format == NULL || error.is_set)
        return json_pack("{ss}", "fault", error.is_set ? error.text : "no such format");
    api_guided_offer_calls(&guided, &pile, &tools, &model, cache);
    if (guided.kind != 0 && grammar_cache_take(cache, (enum grammar_kind)guided.kind, guided.text,
                                               &grammar, NULL) == STATUS_OK) {
        struct grammar_state *state = grammar_state_open(grammar);
        n = grammar_state_add(state, view_of(json_string_value(text), n));
        is_complete = grammar_state_is_complete(state);
        grammar_state_close(state);
        grammar_cache_put(cache, grammar);
    }
    pile_free(&pile);
    return json_pack("{sb sI sb}", "is_constrained", guided.kind != 0, "n_taken", (json_int_t)n,
                     "is_complete", is_complete);
}

int main(void)
{
    struct grammar_cache *cache = grammar_cache_open(64 << 20);
    static char line[1 << 20];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        json_t *ask = json_loads(line, 0, NULL), *told = answer(ask, cache);
        char *text = json_dumps(told, 0);
        puts(text);
        free(text);
        json_decref(told);
        json_decref(ask);
    }
    grammar_cache_close(cache);
    return 0;
}
