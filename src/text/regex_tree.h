/* A regular expression as a tree, which regex_tree.c reads and regex_code.c turns into a
 * program. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "text/letters.h"

enum regex_kind {
    REGEX_EMPTY,
    REGEX_CODE,   /* one code point: value */
    REGEX_SET,    /* one of a set: value is its number */
    REGEX_CAT,    /* the children, one after another */
    REGEX_ALT,    /* the first child that leads to a match */
    REGEX_REPEAT, /* the child, min to max times */
    REGEX_ATOMIC, /* the child, only in its first way */
    REGEX_LOOK,   /* the child matches here (or not); takes no text */
    REGEX_ASSERT, /* enum regex_assert in value */
};
enum regex_assert {
    REGEX_LINE_BEGIN,
    REGEX_LINE_END,
    REGEX_TEXT_BEGIN,
    REGEX_TEXT_END,
    REGEX_LAST_LINE_END,
    REGEX_WORD_EDGE,
    REGEX_NO_WORD_EDGE,
};
enum { REGEX_NONE = -1, REGEX_ENDLESS = -1 };
struct regex_node {
    enum regex_kind kind;
    uint32_t value;
    int32_t min, max;            /* of REGEX_REPEAT; max: REGEX_ENDLESS */
    bool is_lazy;                /* of REGEX_REPEAT */
    bool is_behind, is_negative; /* of REGEX_LOOK */
    int32_t child, next;         /* the first child, the parent's next child; REGEX_NONE */
};

/* A set in two levels: page i of 256 code points is pages[8 * index[i]..]. */
enum { REGEX_PAGES = LETTERS_CODES / 256 };
struct regex_set {
    uint64_t ascii[2];
    uint16_t index[REGEX_PAGES];
    uint32_t *pages;
};

struct regex_tree {
    struct regex_node *nodes;
    size_t n_nodes, capacity;
    struct regex_set **sets;
    size_t n_sets;
    int32_t root, word_set; /* word_set: the set of \b, REGEX_NONE when it is not used */
};
/* Reads a pattern. A construct that would have another meaning than in Oniguruma is refused by
 * name. The caller frees the tree in either case. */
enum status regex_tree_parse(struct regex_tree *tree, struct view pattern,
                             struct fault *fault) MUST_USE;
void regex_tree_free(struct regex_tree *tree);

/* Keeps a set in the tree. Returns its number, REGEX_NONE when there are too many. */
int32_t regex_tree_keep_set(struct regex_tree *tree, const struct letters *letters);

/* Returns how many code points a match of the node takes; -1 when that varies. */
int64_t regex_tree_width(const struct regex_tree *tree, int32_t id);
