/* Reading a pattern in Oniguruma's syntax.
 *
 *   alternatives = branch ['|' branch]...
 *   branch       = [atom [quantifier]]...
 *   atom         = code | '.' | escape | class | assertion | group
 *   group        = '(' ['?' kind] alternatives ')'
 *
 * An option alone, "(?i)", holds to the end of its group and includes the alternatives behind it:
 * "a(?i)b|c" is "a(?i:b|c)". Groups capture nothing, since nothing refers to them. */
#include "text/regex_tree.h"
#include "text/regex_class.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

enum {
    PATTERN_BYTES_MAX = 1 << 14,
    DEPTH_MAX = 48,
    SETS_MAX = 256,
    REPEATS_MAX = 100000, /* Oniguruma's */
};

static enum status read_alternatives(struct regex_reader *r, int32_t *out);
static bool is_repeat(struct regex_reader *r);

static int32_t add_node(struct regex_reader *r, enum regex_kind kind, uint32_t value)
{
    struct regex_tree *tree = r->tree;
    if (tree->n_nodes == tree->capacity) {
        size_t size = sizeof(*tree->nodes), n = tree->capacity == 0 ? 64 : 2 * tree->capacity;
        tree->nodes = mem_grow(tree->nodes, tree->capacity * size, n * size);
        tree->capacity = n;
    }
    tree->nodes[tree->n_nodes] = (struct regex_node){
        .kind = kind, .value = value, .min = 1, .max = 1, .child = REGEX_NONE, .next = REGEX_NONE
    };
    return (int32_t)tree->n_nodes++;
}

static bool is_next(const struct regex_reader *r, const char *text)
{
    return view_starts(view_of(r->pattern.at + r->at, r->pattern.n - r->at), text);
}

static bool take(struct regex_reader *r, const char *text)
{
    if (!is_next(r, text))
        return false;
    r->at += strlen(text);
    return true;
}

/* --- sets --- */

enum { PAGE_WORDS = 8 };

static bool is_page(const struct regex_set *set, size_t k, const uint32_t *page)
{
    return memcmp(&set->pages[k * PAGE_WORDS], page, PAGE_WORDS * sizeof(*page)) == 0;
}

int32_t regex_tree_keep_set(struct regex_tree *tree, const struct letters *letters)
{
    if (tree->n_sets == SETS_MAX)
        return REGEX_NONE;
    struct regex_set *set = mem_take(sizeof(*set));
    size_t n = 0, capacity = 64;
    set->pages = mem_take(capacity * PAGE_WORDS * sizeof(uint32_t));
    set->ascii[0] = letters->at[0] | (uint64_t)letters->at[1] << 32;
    set->ascii[1] = letters->at[2] | (uint64_t)letters->at[3] << 32;
    for (size_t i = 0; i < REGEX_PAGES; i++) {
        const uint32_t *page = &letters->at[i * PAGE_WORDS];
        size_t k = i > 0 ? set->index[i - 1] : 0; /* most pages equal the one before */
        if (n > 0 && !is_page(set, k, page))
            for (k = 0; k < n && !is_page(set, k, page);)
                k++;
        if (k == capacity) {
            size_t bytes = capacity * PAGE_WORDS * sizeof(*page);
            set->pages = mem_grow(set->pages, bytes, 2 * bytes);
            capacity *= 2;
        }
        if (k == n)
            memcpy(&set->pages[n++ * PAGE_WORDS], page, PAGE_WORDS * sizeof(*page));
        set->index[i] = (uint16_t)k;
    }
    if (tree->sets == NULL)
        tree->sets = mem_take(SETS_MAX * sizeof(struct regex_set *));
    tree->sets[tree->n_sets] = set;
    return (int32_t)tree->n_sets++;
}

static enum status add_set(struct regex_reader *r, size_t start, const struct letters *letters,
                           int32_t *out)
{
    int32_t set = regex_tree_keep_set(r->tree, letters);
    if (set == REGEX_NONE)
        return regex_class_refuse(r, start, "more classes than 256");
    *out = add_node(r, REGEX_SET, (uint32_t)set);
    return STATUS_OK;
}

/* --- atoms --- */

/* Returns whether the two literals may be the folding of one letter ("ss" is that of U+00DF). */
static bool may_fold_together(uint32_t left, uint32_t right)
{
    left |= 32;
    right |= 32;
    return (left == 'f' && (right == 'f' || right == 'i' || right == 'l')) ||
           (left == 's' && (right == 's' || right == 't'));
}

static enum status add_literal(struct regex_reader *r, size_t start, uint32_t code, int32_t *out)
{
    uint32_t before = r->last_code;
    r->last_code = r->ignores_case ? code : 0;
    if (code >= LETTERS_CODES)
        return regex_class_refuse(r, start, "a code point beyond U+10FFFF");
    if (!r->ignores_case || !letters_has_case(code)) {
        *out = add_node(r, REGEX_CODE, code);
        return STATUS_OK;
    }
    if (code >= 0x80)
        return regex_class_refuse(r, start, "a letter beyond ASCII under (?i)");
    if (may_fold_together(before, code))
        return regex_class_refuse(r, start, "letters that fold to one letter under (?i)");
    struct letters *letters = mem_take(sizeof(*letters));
    uint32_t small = code | 32;
    letters_add(letters, small, small);
    letters_add(letters, small - 32, small - 32);
    if (small == 'k')
        letters_add(letters, 0x212A, 0x212A); /* the Kelvin sign */
    if (small == 's')
        letters_add(letters, 0x17F, 0x17F); /* the long s */
    enum status status = add_set(r, start, letters, out);
    mem_give(letters);
    return status;
}

/* Returns the small letter when it and its capital are the only ASCII letters of the set, else
 * 0. */
static uint32_t only_letter(const struct letters *letters)
{
    uint32_t found = 0;
    for (uint32_t c = 'a'; c <= 'z'; c++) {
        if (!letters_has(letters, c) && !letters_has(letters, c - 32))
            continue;
        if (found != 0)
            return 0;
        found = c;
    }
    return found;
}

static enum status read_class(struct regex_reader *r, int32_t *out)
{
    size_t start = r->at - 1;
    uint32_t before = r->last_code;
    struct letters *letters = mem_take(sizeof(*letters));
    enum status status = regex_class_read(r, letters, 0);
    r->last_code = status == STATUS_OK && r->ignores_case ? only_letter(letters) : 0;
    if (status == STATUS_OK && may_fold_together(before, r->last_code))
        status = regex_class_refuse(r, start, "letters that fold to one letter under (?i)");
    if (status == STATUS_OK)
        status = add_set(r, start, letters, out);
    mem_give(letters);
    return status;
}

static enum status read_any(struct regex_reader *r, int32_t *out)
{
    struct letters *letters = mem_take(sizeof(*letters));
    r->last_code = 0;
    if (!r->dot_is_all)
        letters_add(letters, '\n', '\n');
    letters_invert(letters);
    enum status status = add_set(r, r->at - 1, letters, out);
    mem_give(letters);
    return status;
}

static enum status add_assert(struct regex_reader *r, enum regex_assert what, int32_t *out)
{
    enum status status = STATUS_OK;
    r->last_code = 0;
    *out = add_node(r, REGEX_ASSERT, what);
    if ((what != REGEX_WORD_EDGE && what != REGEX_NO_WORD_EDGE) || r->tree->word_set != REGEX_NONE)
        return STATUS_OK;
    struct letters *letters = mem_take(sizeof(*letters));
    letters_add_word(letters, false);
    r->tree->word_set = regex_tree_keep_set(r->tree, letters);
    if (r->tree->word_set == REGEX_NONE)
        status = regex_class_refuse(r, r->at, "more classes than 256");
    mem_give(letters);
    return status;
}

/* Reads an escape outside of a class, from behind its backslash. */
static enum status read_escape(struct regex_reader *r, int32_t *out)
{
    static const struct {
        char letter;
        uint8_t what;
    } asserts[] = { { 'A', REGEX_TEXT_BEGIN },
                    { 'z', REGEX_TEXT_END },
                    { 'Z', REGEX_LAST_LINE_END },
                    { 'b', REGEX_WORD_EDGE },
                    { 'B', REGEX_NO_WORD_EDGE } };
    size_t start = r->at - 1;
    uint32_t code = 0;
    bool is_set = false;
    for (size_t i = 0; i < COUNT_OF(asserts) && r->at < r->pattern.n; i++) {
        if (asserts[i].letter != r->pattern.at[r->at])
            continue;
        r->at++;
        return add_assert(r, (enum regex_assert)asserts[i].what, out);
    }
    if (r->at < r->pattern.n && r->pattern.at[r->at] >= '1' && r->pattern.at[r->at] <= '9')
        return regex_class_refuse(r, start, "a backreference");
    struct letters *letters = mem_take(sizeof(*letters));
    enum status status = regex_class_escape(r, false, letters, &code, &is_set);
    if (status == STATUS_OK && is_set && r->ignores_case)
        status = regex_class_refuse(r, start, "a set of letters under (?i)");
    if (status == STATUS_OK && is_set) {
        r->last_code = 0;
        status = add_set(r, start, letters, out);
    } else if (status == STATUS_OK) {
        status = add_literal(r, start, code, out);
    }
    mem_give(letters);
    return status;
}

/* --- groups --- */

int64_t regex_tree_width(const struct regex_tree *tree, int32_t id)
{
    const struct regex_node *node = &tree->nodes[id];
    int64_t sum = 0;
    switch (node->kind) {
    case REGEX_CODE:
    case REGEX_SET:
        return 1;
    case REGEX_CAT:
    case REGEX_ALT:
    case REGEX_ATOMIC:
        for (int32_t child = node->child; child != REGEX_NONE; child = tree->nodes[child].next) {
            int64_t inner = regex_tree_width(tree, child);
            if (inner < 0 || (node->kind == REGEX_ALT && child != node->child && inner != sum))
                return -1;
            sum = node->kind == REGEX_ALT ? inner : sum + inner;
        }
        return sum;
    case REGEX_REPEAT:
        sum = node->min == node->max ? regex_tree_width(tree, node->child) : -1;
        return sum < 0 || sum * node->min > REPEATS_MAX ? -1 : sum * node->min;
    default:
        return 0;
    }
}

static enum status check_behind(struct regex_reader *r, size_t start, int32_t child)
{
    const struct regex_tree *tree = r->tree;
    bool is_known = true;
    int32_t branch = tree->nodes[child].kind == REGEX_ALT ? tree->nodes[child].child : child;
    for (; branch != REGEX_NONE; branch = tree->nodes[branch].next)
        is_known = is_known && regex_tree_width(tree, branch) >= 0;
    return is_known ? STATUS_OK
                    : regex_class_refuse(r, start, "a look-behind of more than one length");
}

/* Reads the letters of "(?im-x" up to their ':' or ')'. */
static enum status read_options(struct regex_reader *r, size_t start)
{
    bool is_on = true;
    for (; r->at < r->pattern.n && !is_next(r, ":") && !is_next(r, ")"); r->at++) {
        char letter = r->pattern.at[r->at];
        if (letter == '-' && is_on)
            is_on = false;
        else if (letter == 'i')
            r->ignores_case = is_on;
        else if (letter == 'm')
            r->dot_is_all = is_on;
        else
            return regex_class_refuse(r, start, "a group option other than i and m");
    }
    return r->at < r->pattern.n ? STATUS_OK : regex_class_refuse(r, start, "a '(' without a ')'");
}

/* Reads the kind of a group behind "(?", up to the start of its alternatives. */
static enum status read_group_kind(struct regex_reader *r, size_t start, struct regex_node *kind)
{
    static const struct {
        const char *sign;
        enum regex_kind kind;
        bool is_behind, is_negative;
    } signs[] = { { "=", REGEX_LOOK, false, false },
                  { "!", REGEX_LOOK, false, true },
                  { "<=", REGEX_LOOK, true, false },
                  { "<!", REGEX_LOOK, true, true },
                  { ">", REGEX_ATOMIC, false, false } };
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        if (!take(r, signs[i].sign))
            continue;
        kind->kind = signs[i].kind;
        kind->is_behind = signs[i].is_behind;
        kind->is_negative = signs[i].is_negative;
        return STATUS_OK;
    }
    if (take(r, "~"))
        return regex_class_refuse(r, start, "an absent operator (?~");
    if (is_next(r, "<") || is_next(r, "'") || is_next(r, "P"))
        return regex_class_refuse(r, start, "a named group");
    if (is_next(r, "#") || is_next(r, "(") || is_next(r, "{"))
        return regex_class_refuse(r, start, "a comment, condition or callout (?#, (?(, (?{");
    enum status status = read_options(r, start);
    if (status == STATUS_OK && take(r, ":"))
        return STATUS_OK;
    r->at++; /* an option alone: it ends with the outer group */
    kind->kind = REGEX_EMPTY;
    return status;
}

/* Reads a group from behind its '('. */
static enum status read_group(struct regex_reader *r, int32_t *out)
{
    size_t start = r->at - 1;
    bool ignores_case = r->ignores_case, dot_is_all = r->dot_is_all;
    struct regex_node kind = { .kind = REGEX_CAT };
    enum status status = STATUS_OK;
    if (is_next(r, "*"))
        return regex_class_refuse(r, start, "a callout (*");
    if (r->depth == DEPTH_MAX)
        return regex_class_refuse(r, start, "groups nested too deep");
    r->depth++;
    if (take(r, "?"))
        status = read_group_kind(r, start, &kind);
    if (kind.kind == REGEX_LOOK)
        r->last_code = 0;
    int32_t child = REGEX_NONE;
    if (status == STATUS_OK)
        status = read_alternatives(r, &child);
    if (status == STATUS_OK && kind.is_behind)
        status = check_behind(r, start, child);
    r->depth--;
    if (status != STATUS_OK)
        return status;
    if (kind.kind == REGEX_EMPTY) { /* the ')' is the outer group's, and so are the options */
        *out = child;
        return STATUS_OK;
    }
    if (!take(r, ")"))
        return regex_class_refuse(r, start, "a '(' without a ')'");
    r->ignores_case = ignores_case;
    r->dot_is_all = dot_is_all;
    *out = add_node(r, kind.kind, 0);
    r->tree->nodes[*out].child = child;
    r->tree->nodes[*out].is_behind = kind.is_behind;
    r->tree->nodes[*out].is_negative = kind.is_negative;
    if (kind.kind == REGEX_LOOK)
        r->last_code = 0;
    return STATUS_OK;
}

static enum status read_atom(struct regex_reader *r, int32_t *out)
{
    size_t start = r->at;
    uint32_t code = 0;
    int n = utf8_decode(view_of(r->pattern.at + start, r->pattern.n - start), &code);
    if (n <= 0)
        return regex_class_refuse(r, start, "broken UTF-8");
    if (is_repeat(r))
        return regex_class_refuse(r, start, "a repeat of nothing");
    r->at += (size_t)n;
    switch (code) {
    case '(':
        return read_group(r, out);
    case '[':
        return read_class(r, out);
    case '.':
        return read_any(r, out);
    case '\\':
        return read_escape(r, out);
    case '^':
        return add_assert(r, REGEX_LINE_BEGIN, out);
    case '$':
        return add_assert(r, REGEX_LINE_END, out);
    default:
        return add_literal(r, start, code, out);
    }
}

/* --- repeats --- */

/* Reads {n}, {n,}, {,m} and {n,m}. Returns false when the brace is a literal. */
static bool read_interval(struct regex_reader *r, int64_t bounds[2], bool *is_exact)
{
    size_t at = r->at + 1;
    bool has[2] = { false, false }, has_comma = false;
    bounds[0] = bounds[1] = 0;
    for (; at < r->pattern.n && r->pattern.at[at] != '}'; at++) {
        char c = r->pattern.at[at];
        if (c == ',' && !has_comma) {
            has_comma = true;
        } else if (c >= '0' && c <= '9') {
            int64_t *bound = &bounds[has_comma];
            *bound = *bound > REPEATS_MAX ? *bound : *bound * 10 + (c - '0');
            has[has_comma] = true;
        } else {
            return false;
        }
    }
    if (at >= r->pattern.n || (!has[0] && !has[1]))
        return false;
    *is_exact = !has_comma;
    if (!has_comma)
        bounds[1] = bounds[0];
    else if (!has[1])
        bounds[1] = REGEX_ENDLESS;
    r->at = at + 1;
    return true;
}

/* Returns whether a quantifier begins here. */
static bool is_repeat(struct regex_reader *r)
{
    int64_t ignored[2];
    bool is_exact = false;
    size_t at = r->at;
    bool is_found = is_next(r, "*") || is_next(r, "+") || is_next(r, "?") ||
                    (is_next(r, "{") && read_interval(r, ignored, &is_exact));
    r->at = at;
    return is_found;
}

static bool may_be_empty(const struct regex_tree *tree, int32_t id)
{
    const struct regex_node *node = &tree->nodes[id];
    bool all = true, any = false;
    switch (node->kind) {
    case REGEX_CODE:
    case REGEX_SET:
        return false;
    case REGEX_REPEAT:
        return node->min == 0 || may_be_empty(tree, node->child);
    case REGEX_CAT:
    case REGEX_ALT:
    case REGEX_ATOMIC:
        for (int32_t child = node->child; child != REGEX_NONE; child = tree->nodes[child].next) {
            bool is_empty = may_be_empty(tree, child);
            all = all && is_empty;
            any = any || is_empty;
        }
        return node->kind == REGEX_ALT ? any : all;
    default:
        return true;
    }
}

static int32_t wrap(struct regex_reader *r, enum regex_kind kind, int32_t child)
{
    int32_t id = add_node(r, kind, 0);
    r->tree->nodes[id].child = child;
    return id;
}

static enum status add_repeat(struct regex_reader *r, size_t start, const int64_t bounds[2],
                              int32_t *atom)
{
    enum regex_kind kind = r->tree->nodes[*atom].kind;
    if (bounds[0] > REPEATS_MAX || bounds[1] > REPEATS_MAX)
        return regex_class_refuse(r, start, "a repeat of more than 100000");
    if (bounds[1] != REGEX_ENDLESS && bounds[0] > bounds[1])
        return regex_class_refuse(r, start, "a repeat whose bounds are the wrong way round");
    if (kind == REGEX_LOOK || kind == REGEX_ASSERT)
        return regex_class_refuse(r, start, "a repeat of an assertion");
    if (bounds[1] == REGEX_ENDLESS && may_be_empty(r->tree, *atom))
        return regex_class_refuse(r, start, "an endless repeat of a part that may be empty");
    *atom = wrap(r, REGEX_REPEAT, *atom);
    r->tree->nodes[*atom].min = (int32_t)bounds[0];
    r->tree->nodes[*atom].max = (int32_t)bounds[1];
    return STATUS_OK;
}

/* Reads the quantifier behind an atom, if there is one. A '?' behind it makes it lazy, a '+'
 * possessive. But "{n}?" is "(?:...{n})?", and "{...}+" is "(?:...{...})+". */
static enum status read_repeat(struct regex_reader *r, int32_t *atom)
{
    static const int64_t forever[2] = { 1, REGEX_ENDLESS }, optional[2] = { 0, 1 };
    size_t start = r->at;
    int64_t bounds[2] = { 0, REGEX_ENDLESS };
    bool is_interval = is_next(r, "{"), is_exact = false;
    if (is_interval && !read_interval(r, bounds, &is_exact))
        return STATUS_OK;
    if (!is_interval && !is_next(r, "*") && !is_next(r, "+") && !is_next(r, "?"))
        return STATUS_OK;
    if (!is_interval) {
        bounds[0] = is_next(r, "+");
        bounds[1] = is_next(r, "?") ? 1 : REGEX_ENDLESS;
        r->at++;
    }
    r->last_code = 0;
    enum status status = add_repeat(r, start, bounds, atom);
    if (status != STATUS_OK)
        return status;
    if (is_exact && take(r, "?"))
        status = add_repeat(r, start, optional, atom);
    else if (take(r, "?"))
        r->tree->nodes[*atom].is_lazy = true;
    else if (is_interval && take(r, "+"))
        status = add_repeat(r, start, forever, atom);
    else if (take(r, "+"))
        *atom = wrap(r, REGEX_ATOMIC, *atom);
    if (status == STATUS_OK && is_repeat(r))
        status = regex_class_refuse(r, r->at, "a repeat of a repeat");
    return status;
}

static enum status read_branch(struct regex_reader *r, int32_t *out)
{
    enum status status = STATUS_OK;
    *out = add_node(r, REGEX_CAT, 0);
    int32_t last = REGEX_NONE;
    while (status == STATUS_OK && r->at < r->pattern.n && !is_next(r, "|") && !is_next(r, ")")) {
        int32_t atom = REGEX_NONE;
        status = read_atom(r, &atom);
        if (status == STATUS_OK)
            status = read_repeat(r, &atom);
        if (status != STATUS_OK)
            break;
        if (last == REGEX_NONE)
            r->tree->nodes[*out].child = atom;
        else
            r->tree->nodes[last].next = atom;
        last = atom;
    }
    return status;
}

static enum status read_alternatives(struct regex_reader *r, int32_t *out)
{
    int32_t branch = REGEX_NONE;
    uint32_t before = r->last_code;
    enum status status = read_branch(r, out);
    if (status != STATUS_OK || !is_next(r, "|"))
        return status;
    int32_t last = *out;
    *out = add_node(r, REGEX_ALT, 0);
    r->tree->nodes[*out].child = last;
    while (status == STATUS_OK && take(r, "|")) {
        r->last_code = before;
        status = read_branch(r, &branch);
        r->tree->nodes[last].next = branch;
        last = branch;
    }
    return status;
}

enum status regex_tree_parse(struct regex_tree *tree, struct view pattern, struct fault *fault)
{
    *tree = (struct regex_tree){ .root = REGEX_NONE, .word_set = REGEX_NONE };
    struct regex_reader r = { .tree = tree, .fault = fault, .pattern = pattern };
    if (pattern.n == 0)
        r.pattern.at = ""; /* an empty text may have NULL here, to which nothing may be added */
    if (pattern.n > PATTERN_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "tokenizer: the regular expression has %zu bytes, at most %d", pattern.n,
                         PATTERN_BYTES_MAX);
    enum status status = read_alternatives(&r, &tree->root);
    if (status == STATUS_OK && r.at < pattern.n)
        status = regex_class_refuse(&r, r.at, "a ')' without a '('");
    return status;
}

void regex_tree_free(struct regex_tree *tree)
{
    for (size_t i = 0; i < tree->n_sets; i++) {
        mem_give(tree->sets[i]->pages);
        mem_give(tree->sets[i]);
    }
    mem_give(tree->sets);
    mem_give(tree->nodes);
    *tree = (struct regex_tree){ 0 };
}
