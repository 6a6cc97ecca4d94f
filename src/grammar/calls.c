/* Writes and reads the text of kind GRAMMAR_CALLS. */
#include "grammar/calls.h"
#include "grammar/expr.h"
#include "grammar/schema.h"

enum { CALLS_MAX = 1024, COUNT_MAX = 1024 };

static json_t *text_of(struct view text)
{
    return json_stringn(text.n > 0 ? text.at : "", text.n);
}

/* Returns a value's text, in the pile. Empty: there is none. */
static struct view text_of_json(struct pile *pile, const json_t *value)
{
    size_t flags = JSON_COMPACT | JSON_ENCODE_ANY;
    size_t n = value != NULL ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = pile_take(pile, n + 1);
    return view_of(text, n > 0 ? json_dumpb(value, text, n, flags) : 0);
}

bool grammar_calls_write(const struct grammar_calls *calls, struct str *out)
{
    json_t *list = json_array(), *whole;
    bool is_whole = true;
    for (int32_t i = 0; i < calls->n_calls; i++) {
        const struct grammar_call *call = &calls->calls[i];
        json_t *schema = call->schema.n == 0
                             ? json_pack("{ss}", "type", "object")
                             : json_loadb(call->schema.at, call->schema.n, JSON_DECODE_ANY, NULL);
        json_t *one = json_pack("{so so* so}", "prefix", text_of(call->prefix), "schema", schema,
                                "suffix", text_of(call->suffix));
        is_whole = is_whole && schema != NULL && json_array_append_new(list, one) == 0;
    }
    whole =
        json_pack("{so so so so so si si}", "before", text_of(calls->before), "between",
                  text_of(calls->between), "after", text_of(calls->after), "trigger",
                  text_of(calls->trigger), "calls", list, "min", calls->n_min, "max", calls->n_max);
    struct pile pile;
    pile_init(&pile);
    struct view text = text_of_json(&pile, is_whole ? whole : NULL);
    str_add(out, text.at, text.n);
    json_decref(whole);
    pile_free(&pile);
    return text.n > 0;
}

static struct view piece(const json_t *whole, const char *name)
{
    const json_t *value = json_object_get(whole, name);
    return view_of(json_is_string(value) ? json_string_value(value) : "",
                   json_string_length(value));
}

/* Returns a rule that is one call: any of the list. */
static uint32_t call_rule(struct build *b, const json_t *list)
{
    uint32_t rule = build_rule(b), *firsts = pile_take(&b->program->pile, 4 * (CALLS_MAX + 1)),
             n = 0;
    json_t *one;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)list, i, one) {
        if (b->is_bad || n == CALLS_MAX)
            break;
        struct view text = text_of_json(&b->program->pile, json_object_get(one, "schema"));
        uint32_t value = text.n > 0 ? schema_read(b, text) : 0;
        if (text.n == 0)
            build_refuse(b, STATUS_BAD_INPUT, "call %zu has no schema", i);
        uint32_t node = build_literal(b, piece(one, "suffix"), b->return_node);
        node = build_literal(b, piece(one, "prefix"), build_call(b, value, node));
        firsts[n++] = node;
    }
    if (n == 0)
        build_refuse(b, STATUS_BAD_INPUT, "there is no call");
    uint32_t first = b->is_bad ? 0 : build_either(b, firsts, n);
    b->program->rules[rule] = first;
    return rule;
}

/* Returns the nodes of min to max calls, joined by `between`. */
static uint32_t calls_node(struct build *b, uint32_t rule, struct view between, const int64_t n[2],
                           uint32_t next)
{
    uint32_t at = next;
    for (int64_t i = n[1]; i > 1 && !b->is_bad; i--) {
        uint32_t more = build_literal(b, between, build_call(b, rule, at));
        at = i > n[0] ? build_node(b, OP_SPLIT, more, next) : more;
    }
    at = build_call(b, rule, at);
    return n[0] == 0 ? build_node(b, OP_SPLIT, at, next) : at;
}

/* Returns the nodes of free text: it ends anywhere, or goes on at `next` behind the trigger, which
 * is nowhere else in it. */
static uint32_t trigger_node(struct build *b, struct view trigger, uint32_t next)
{
    struct pile *pile = &b->program->pile;
    struct dfa *with = expr_dfa(pile, expr_text(pile, trigger), true);
    if (with == NULL || trigger.n == 0) {
        build_refuse(b, STATUS_TOO_LARGE, "the trigger of the calls is too long");
        return 0;
    }
    struct dfa *without = expr_dfa(pile, expr_text(pile, trigger), true);
    for (uint32_t i = 0; i < with->n_states; i++) { /* text that ends with its first trigger */
        bool is_end = with->tags[i] >= 0;
        for (uint32_t c = 0; c < with->n_classes && is_end; c++)
            with->to[i * with->n_classes + c] = DFA_NONE;
        without->tags[i] = is_end ? -1 : 0;
        for (uint32_t c = 0; c < with->n_classes && is_end; c++)
            without->to[i * with->n_classes + c] = DFA_NONE;
    }
    dfa_trim(with);
    dfa_trim(without);
    uint32_t ends = build_raw(b, without, b->return_node);
    return build_node(b, OP_SPLIT, build_raw(b, with, next), ends);
}

void calls_read(struct build *b, struct view text)
{
    json_t *whole = json_loadb(text.at, text.n, JSON_REJECT_DUPLICATES, NULL);
    const json_t *min = json_object_get(whole, "min"), *max = json_object_get(whole, "max");
    const int64_t n[2] = { json_integer_value(min), json_integer_value(max) };
    if (whole == NULL || n[0] < 0 || n[1] < 1 || n[0] > n[1] || n[1] > COUNT_MAX)
        build_refuse(b, STATUS_BAD_INPUT, "the text of the calls is broken");
    if (!b->is_bad) {
        uint32_t rule = call_rule(b, json_object_get(whole, "calls"));
        uint32_t at = build_literal(b, piece(whole, "after"), b->return_node);
        at = calls_node(b, rule, piece(whole, "between"), n, at);
        at = build_literal(b, piece(whole, "before"), at);
        if (piece(whole, "trigger").n > 0)
            at = trigger_node(b, piece(whole, "trigger"), at);
        b->program->rules[0] = at;
    }
    json_decref(whole);
}
