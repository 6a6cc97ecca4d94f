/* Writes and reads the text of kind GRAMMAR_CALLS. */
#include "grammar/calls.h"
#include "grammar/pattern.h"
#include "grammar/schema.h"

enum { CALLS_MAX = 1024, COUNT_MAX = 1024 };

struct reader {
    struct build *build;
    uint32_t space, digits, id; /* rules of what the control bytes stand for */
};

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

/* Returns a rule of a regular expression. */
static uint32_t pattern_rule(struct build *b, const char *pattern)
{
    struct dfa *dfa;
    struct fault fault;
    CHECK(pattern_dfa(&b->program->pile, view_text(pattern), true, &dfa, &fault) == STATUS_OK);
    uint32_t rule = build_rule(b), first = build_raw(b, dfa, b->return_node);
    b->program->rules[rule] = first;
    return rule;
}

/* Returns the nodes of literal bytes and of what the control bytes among them stand for. */
static uint32_t words_node(struct reader *r, struct view words, uint32_t next)
{
    struct build *b = r->build;
    for (size_t i = words.n; i-- > 0 && !b->is_bad;) {
        char c = words.at[i];
        if (c == GRAMMAR_SPACE[0])
            next = build_call(b, r->space, next);
        else if (c == GRAMMAR_DIGITS[0])
            next = build_call(b, r->digits, next);
        else if (c == GRAMMAR_ID[0])
            next = build_call(b, r->id, next);
        else if (c == GRAMMAR_MARK[0])
            next = build_node(b, OP_SPLIT, build_literal(b, view_of("\xFF", 1), next), next);
        else
            next = build_literal(b, view_of(&c, 1), next);
    }
    return next;
}

/* Returns a rule that is one call: any of the list. */
static uint32_t call_rule(struct reader *r, const json_t *list)
{
    struct build *b = r->build;
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
        uint32_t node = words_node(r, piece(one, "suffix"), b->return_node);
        node = words_node(r, piece(one, "prefix"), build_call(b, value, node));
        firsts[n++] = node;
    }
    if (n == 0)
        build_refuse(b, STATUS_BAD_INPUT, "there is no call");
    uint32_t first = b->is_bad ? 0 : build_either(b, firsts, n);
    b->program->rules[rule] = first;
    return rule;
}

/* Returns the nodes of min to max calls, joined by `between`. */
static uint32_t calls_node(struct reader *r, uint32_t rule, struct view between, const int64_t n[2],
                           uint32_t next)
{
    struct build *b = r->build;
    uint32_t at = next;
    for (int64_t i = n[1]; i > 1 && !b->is_bad; i--) {
        uint32_t more = words_node(r, between, build_call(b, rule, at));
        at = i > n[0] ? build_node(b, OP_SPLIT, more, next) : more;
    }
    at = build_call(b, rule, at);
    return n[0] == 0 ? build_node(b, OP_SPLIT, at, next) : at;
}

/* Reads the whole, with the rules of the control bytes. */
static void read_whole(struct build *b, const json_t *whole, const int64_t n[2])
{
    struct reader r = { b, pattern_rule(b, "( |\\n{1,2}[ \\t]{0,32})?"),
                        pattern_rule(b, "[0-9]{1,3}"), pattern_rule(b, "[0-9A-Za-z]{9}") };
    struct view trigger = piece(whole, "trigger");
    uint32_t free = trigger.n > 0 ? build_free(b, trigger, 0) : 0;
    uint32_t rule = call_rule(&r, json_object_get(whole, "calls"));
    uint32_t at = words_node(&r, piece(whole, "after"), trigger.n > 0 ? free : b->return_node);
    at = calls_node(&r, rule, piece(whole, "between"), n, at);
    at = words_node(&r, piece(whole, "before"), at);
    if (trigger.n > 0)
        b->program->nodes[free].next = at;
    b->program->rules[0] = trigger.n > 0 ? free : at;
}

void calls_read(struct build *b, struct view text)
{
    json_t *whole = json_loadb(text.at, text.n, JSON_REJECT_DUPLICATES, NULL);
    const json_t *min = json_object_get(whole, "min"), *max = json_object_get(whole, "max");
    const int64_t n[2] = { json_integer_value(min), json_integer_value(max) };
    if (whole == NULL || n[0] < 0 || n[1] < 1 || n[0] > n[1] || n[1] > COUNT_MAX)
        build_refuse(b, STATUS_BAD_INPUT, "the text of the calls is broken");
    if (!b->is_bad)
        read_whole(b, whole, n);
    json_decref(whole);
}
