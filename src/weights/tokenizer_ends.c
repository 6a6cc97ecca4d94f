/* BertProcessing, RobertaProcessing and TemplateProcessing, alone or in a Sequence with ByteLevel,
 * which changes no ids. */
#include "weights/tokenizer_ends.h"
#include <string.h>

#define LABEL "tokenizer.json: the post_processor"

enum { ENDS_MAX = 64 }; /* ids before and behind a text, together */

struct reader {
    const struct weights_json_node *tokens; /* of a template: special_tokens */
    struct tokenizer_steps *steps;
    int32_t *ids; /* (ENDS_MAX) */
    int32_t n;
    bool has_text, is_done;
    struct fault *fault;
};

static enum status refuse(const struct reader *r, const char *type, const char *what)
{
    return fault_set(r->fault, STATUS_UNSUPPORTED, LABEL " \"%.60s\" %s", type, what);
}

static enum status add_id(struct reader *r, const struct weights_json_node *value, const char *type)
{
    int64_t id = -1;
    if (value == NULL || value->kind != WEIGHTS_JSON_INTEGER || !weights_json_to_i64(value, &id) ||
        id < 0 || id > INT32_MAX)
        return refuse(r, type, "has a token without an id from 0");
    if (r->n == ENDS_MAX)
        return refuse(r, type, "adds more than 64 tokens, which is not supported");
    r->ids[r->n++] = (int32_t)id;
    if (!r->has_text)
        r->steps->n_before = r->n;
    r->steps->n_behind = r->n - r->steps->n_before;
    return STATUS_OK;
}

/* Reads "cls": ["[CLS]", 101], which goes before a text; "sep" goes behind it. */
static enum status read_pair(struct reader *r, const struct weights_json_node *node,
                             const char *type)
{
    static const char *const keys[] = { "cls", "sep" };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct weights_json_node *pair = weights_json_find(node, keys[i]);
        if (pair == NULL || pair->kind != WEIGHTS_JSON_ARRAY || pair->n != 2)
            return refuse(r, type, "has no pairs cls and sep of a token and its id");
        enum status status = add_id(r, weights_json_next(pair + 1), type);
        if (status != STATUS_OK)
            return status;
        r->has_text = true;
    }
    return STATUS_OK;
}

static enum status read_special(struct reader *r, const struct weights_json_node *special)
{
    const char *type = "TemplateProcessing";
    const struct weights_json_node *name = weights_json_find(special, "id");
    if (name == NULL || name->kind != WEIGHTS_JSON_TEXT)
        return refuse(r, type, "has a SpecialToken without an id");
    const struct weights_json_node *ids =
        weights_json_find(weights_json_find(r->tokens, name->text), "ids");
    if (ids == NULL || ids->kind != WEIGHTS_JSON_ARRAY)
        return refuse(r, type, "names a token that its special_tokens don't have");
    const struct weights_json_node *id = ids + 1;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < ids->n && status == STATUS_OK; i++, id = weights_json_next(id))
        status = add_id(r, id, type);
    return status;
}

/* Returns whether the next items are these n_ids special tokens, each of this type. Moves item and
 * n behind them. */
static bool skip_ids(const struct reader *r, const struct weights_json_node **item, uint32_t *n,
                     const int32_t *ids, int32_t n_ids, int64_t type)
{
    for (int32_t i = 0; i < n_ids; i++) {
        const struct weights_json_node *special =
            *n > 0 ? weights_json_find(*item, "SpecialToken") : NULL;
        const struct weights_json_node *name = weights_json_find(special, "id");
        const struct weights_json_node *kind = weights_json_find(special, "type_id");
        int64_t found = -1, id = -1;
        if (name == NULL || name->kind != WEIGHTS_JSON_TEXT || kind == NULL ||
            !weights_json_to_i64(kind, &found) || found != type)
            return false;
        const struct weights_json_node *list =
            weights_json_find(weights_json_find(r->tokens, name->text), "ids");
        if (list == NULL || list->kind != WEIGHTS_JSON_ARRAY || list->n != 1 ||
            !weights_json_to_i64(list + 1, &id) || id != ids[i])
            return false;
        *item = weights_json_next(*item);
        --*n;
    }
    return true;
}

static bool skip_text(const struct weights_json_node **item, uint32_t *n, const char *text,
                      int64_t type)
{
    const struct weights_json_node *sequence = *n > 0 ? weights_json_find(*item, "Sequence") : NULL;
    const struct weights_json_node *kind = weights_json_find(sequence, "type_id");
    int64_t found = -1;
    if (!weights_json_is_text(weights_json_find(sequence, "id"), text) || kind == NULL ||
        !weights_json_to_i64(kind, &found) || found != type)
        return false;
    *item = weights_json_next(*item);
    --*n;
    return true;
}

/* Recognises the two usual forms of a pair: BERT's, whose second text has the type 1, and
 * RoBERTa's. The tokens around the texts must be
 * those of a single text. */
static enum tokenizer_pair pair_of(const struct reader *r, const struct weights_json_node *pair)
{
    const int32_t *behind = r->ids + r->steps->n_before;
    int32_t n_before = r->steps->n_before, n_behind = r->steps->n_behind;
    if (pair == NULL || pair->kind != WEIGHTS_JSON_ARRAY || n_behind == 0)
        return PAIR_NONE;
    for (enum tokenizer_pair form = PAIR_ONCE; form <= PAIR_TWICE; form++) {
        const struct weights_json_node *item = pair + 1;
        uint32_t n = pair->n;
        int64_t second = form == PAIR_ONCE;
        bool fits = skip_ids(r, &item, &n, r->ids, n_before, 0) && skip_text(&item, &n, "A", 0) &&
                    skip_ids(r, &item, &n, behind, n_behind, 0) &&
                    (form == PAIR_ONCE || skip_ids(r, &item, &n, behind, n_behind, 0)) &&
                    skip_text(&item, &n, "B", second) &&
                    skip_ids(r, &item, &n, behind, n_behind, second);
        if (fits && n == 0)
            return form;
    }
    return PAIR_NONE;
}

static enum status read_template(struct reader *r, const struct weights_json_node *node)
{
    const char *type = "TemplateProcessing";
    const struct weights_json_node *single = weights_json_find(node, "single");
    r->tokens = weights_json_find(node, "special_tokens");
    if (single == NULL || single->kind != WEIGHTS_JSON_ARRAY)
        return refuse(r, type, "has no array single");
    const struct weights_json_node *item = single + 1;
    for (uint32_t i = 0; i < single->n; i++, item = weights_json_next(item)) {
        const struct weights_json_node *special = weights_json_find(item, "SpecialToken");
        const struct weights_json_node *sequence = weights_json_find(item, "Sequence");
        enum status status = STATUS_OK;
        if (special != NULL) {
            status = read_special(r, special);
        } else if (r->has_text || !weights_json_is_text(weights_json_find(sequence, "id"), "A")) {
            return refuse(r, type, "uses other texts than one A, which is not supported");
        } else {
            r->has_text = true;
        }
        if (status != STATUS_OK)
            return status;
    }
    r->steps->pair = pair_of(r, weights_json_find(node, "pair"));
    return r->has_text ? STATUS_OK : refuse(r, type, "leaves out the text");
}

static enum status read_processor(struct reader *r, const struct weights_json_node *node)
{
    const struct weights_json_node *name = weights_json_find(node, "type");
    const char *type = name != NULL && name->kind == WEIGHTS_JSON_TEXT ? name->text : "";
    bool is_pair = strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0;
    if (strcmp(type, "ByteLevel") == 0)
        return STATUS_OK;
    if (!is_pair && strcmp(type, "TemplateProcessing") != 0)
        return refuse(r, type, "is not supported");
    if (r->is_done)
        return refuse(r, type, "behind another one that adds tokens is not supported");
    r->is_done = true;
    if (is_pair)
        r->steps->pair = strcmp(type, "BertProcessing") == 0 ? PAIR_ONCE : PAIR_TWICE;
    return is_pair ? read_pair(r, node, type) : read_template(r, node);
}

static enum status read_list(struct reader *r, const struct weights_json_node *node)
{
    if (!weights_json_is_text(weights_json_find(node, "type"), "Sequence"))
        return read_processor(r, node);
    const struct weights_json_node *list = weights_json_find(node, "processors");
    if (list == NULL || list->kind != WEIGHTS_JSON_ARRAY)
        return refuse(r, "Sequence", "has no array processors");
    const struct weights_json_node *inner = list + 1;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < list->n && status == STATUS_OK; i++, inner = weights_json_next(inner))
        status = read_list(r, inner);
    return status;
}

enum status weights_tokenizer_ends(const struct weights_json_node *root, struct pile *pile,
                                   struct tokenizer_steps *steps, struct fault *fault)
{
    const struct weights_json_node *node = weights_json_find(root, "post_processor");
    struct reader r = { .steps = steps, .fault = fault };
    r.ids = pile_take(pile, ENDS_MAX * sizeof(*r.ids));
    if (node != NULL && node->kind != WEIGHTS_JSON_OBJECT)
        return fault_set(fault, STATUS_BAD_INPUT, "tokenizer.json: post_processor isn't an object");
    enum status status = node != NULL ? read_list(&r, node) : STATUS_OK;
    steps->before = r.ids;
    steps->behind = r.ids + steps->n_before;
    return status;
}
