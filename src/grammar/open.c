/* Grammars: each kind's reader adds its rules to a program. */
#include "grammar/grammar.h"

#include "base/hash.h"
#include "base/mem.h"
#include "grammar/calls.h"
#include "grammar/gbnf.h"
#include "grammar/lark.h"
#include "grammar/pattern.h"
#include "grammar/schema.h"
#include "grammar/state.h"

/* Makes rule 0 the call of another one. */
static void set_root(struct build *b, uint32_t rule)
{
    if (b->is_bad)
        return;
    uint32_t first = build_call(b, rule, b->return_node);
    b->program->rules[0] = first;
}

static void read_regex(struct build *b, struct view text)
{
    struct dfa *dfa;
    struct fault fault;
    if (pattern_dfa(&b->program->pile, text, true, &dfa, &fault) != STATUS_OK) {
        build_refuse(b, STATUS_UNSUPPORTED, "%s", fault.text);
        return;
    }
    uint32_t first = build_raw(b, dfa, b->return_node);
    b->program->rules[0] = first;
}

static void read_choice(struct build *b, struct view text)
{
    json_t *list = json_loadb(text.at, text.n, 0, NULL), *one;
    size_t n = json_array_size(list), i;
    struct view *words = pile_take(&b->program->pile, sizeof(*words) * (n + 1));
    if (n == 0)
        build_refuse(b, STATUS_BAD_INPUT, "a choice needs an array of at least one string");
    json_array_foreach(list, i, one) {
        if (!json_is_string(one))
            build_refuse(b, STATUS_BAD_INPUT, "choice %zu is not a string", i);
        else
            words[i] = view_of(json_string_value(one), json_string_length(one));
    }
    if (!b->is_bad) {
        struct dfa *dfa = dfa_of_words(&b->program->pile, words, (uint32_t)n);
        uint32_t first = build_raw(b, dfa, b->return_node);
        b->program->rules[0] = first;
    }
    json_decref(list);
}

static void read_text(struct build *b, enum grammar_kind kind, struct view text)
{
    (void)build_rule(b);
    switch (kind) {
    case GRAMMAR_OBJECT:
        set_root(b, schema_read(b, view_text("{\"type\":\"object\"}")));
        break;
    case GRAMMAR_SCHEMA:
        set_root(b, schema_read(b, text));
        break;
    case GRAMMAR_REGEX:
        read_regex(b, text);
        break;
    case GRAMMAR_CHOICE:
        read_choice(b, text);
        break;
    case GRAMMAR_GBNF:
        gbnf_read(b, text);
        break;
    case GRAMMAR_LARK:
        lark_read(b, text);
        break;
    case GRAMMAR_CALLS:
        calls_read(b, text);
        break;
    default:
        build_refuse(b, STATUS_BAD_INPUT, "a grammar of kind %d is not known", (int)kind);
    }
}

enum status grammar_open(struct grammar **out, enum grammar_kind kind, struct view text,
                         struct fault *fault)
{
    struct build build;
    *out = NULL;
    if (text.n > LIMIT_GRAMMAR_BYTES)
        return fault_set(fault, STATUS_TOO_LARGE, "the grammar's text has %zu bytes, at most %d",
                         text.n, LIMIT_GRAMMAR_BYTES);
    if (!utf8_is_valid(text))
        return fault_set(fault, STATUS_BAD_INPUT, "the grammar's text is not valid UTF-8");
    struct grammar *grammar = mem_take(sizeof(*grammar));
    pile_init(&grammar->program.pile);
    /* Masks are found by this hash, and clients choose the text. */
    const uint32_t word = (uint32_t)kind;
    grammar->program.hash = hash_secure(&word, sizeof(word), text.n > 0 ? text.at : "", text.n).low;
    char *copy = pile_text(&grammar->program.pile, text.n > 0 ? text.at : "", text.n);
    dfa_begin();
    build_begin(&build, &grammar->program, fault);
    read_text(&build, kind, view_of(copy, text.n));
    if (!build_end(&build)) {
        grammar_close(grammar);
        return STATUS_BAD_INPUT;
    }
    *out = grammar;
    return STATUS_OK;
}

void grammar_close(struct grammar *grammar)
{
    if (grammar == NULL)
        return;
    pile_free(&grammar->program.pile);
    mem_give(grammar);
}

bool grammar_is_offer(const struct grammar *grammar)
{
    return grammar->program.n_frees > 0;
}

size_t grammar_bytes(const struct grammar *grammar)
{
    return sizeof(*grammar) + grammar->program.pile.n_bytes;
}
