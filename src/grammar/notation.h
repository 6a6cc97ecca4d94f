/* The common parts of GBNF and Lark: names of rules, and a text that is read from its start. */
#pragma once
#include "grammar/build.h"
#include "grammar/expr.h"

enum { NOTATION_RULES_MAX = 8192, NOTATION_DEPTH_MAX = 200, NOTATION_REPEAT_MAX = 100000 };

struct notation_rule {
    struct view name;
    uint32_t rule;
    struct expr *expr; /* NULL: it is only used so far */
};
struct notation {
    struct build *build;
    struct pile *pile;
    const char *kind; /* GBNF or Lark, for messages */
    struct view text, whole;
    int depth;
    struct notation_rule *rules;
    uint32_t n_rules, n_rules_max;
    struct map rule_of;
};
void notation_open(struct notation *notation, struct build *build, const char *kind,
                   struct view text);
/* Refuses the text at its present place. Returns an empty expression. */
struct expr *notation_refuse(struct notation *notation, const char *what);
bool notation_next_is(const struct notation *notation, const char *text);
bool notation_take(struct notation *notation, const char *text);
void notation_skip(struct notation *notation, size_t n);
/* Reads a name of letters, digits and the `more` ones. Empty: there is none. */
struct view notation_name(struct notation *notation, const char *more);
bool notation_number(struct notation *notation, uint32_t *out);
/* Returns the rule of a name, which may be defined later. */
struct notation_rule *notation_rule_of(struct notation *notation, struct view name);
/* Reads a literal up to its quote; the opening one is read already. */
struct expr *notation_literal(struct notation *notation);
struct expr *notation_use(struct notation *notation, struct view name);
/* Builds all rules; the one named `root` is the grammar. */
void notation_close(struct notation *notation, const char *root);
