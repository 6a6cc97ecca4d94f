/* Collects what the parser tells. Pieces of one kind behind each other are joined. */
#include "api/told.h"
#include "base/hash.h"
#include "base/mem.h"
#include <string.h>

static struct api_told_item *add_item(struct api_told *told, int kind)
{
    if (told->n == told->n_max) {
        size_t n_more = told->n > 0 ? 2 * told->n : 4;
        told->items =
            mem_grow(told->items, told->n * sizeof(*told->items), n_more * sizeof(*told->items));
        told->n_max = n_more;
    }
    struct api_told_item *item = &told->items[told->n++];
    *item = (struct api_told_item){ .kind = kind };
    str_init(&item->bytes);
    return item;
}

static void take(void *self, enum calls_event event, struct view bytes)
{
    struct api_told *told = self;
    int kind = event == CALLS_EVENT_TEXT        ? TOLD_TEXT
               : event == CALLS_EVENT_REASONING ? TOLD_REASONING
                                                : TOLD_CALL;
    if (kind != TOLD_CALL && bytes.n == 0)
        return; /* so that the items are the same for any division into pieces */
    struct api_told_item *item = told->n > 0 ? &told->items[told->n - 1] : NULL;
    bool is_call = event == CALLS_EVENT_CALL;
    told->n_calls += is_call;
    if ((told->hides_thoughts && kind == TOLD_REASONING) || (told->is_serial && told->n_calls > 1))
        return;
    if (item == NULL || (int)item->kind != kind || is_call || item->ends)
        item = add_item(told, kind);
    item->index = told->n_calls - 1;
    item->begins = item->begins || is_call;
    item->ends = item->ends || event == CALLS_EVENT_END;
    if (is_call)
        item->name = bytes;
    else
        str_add(&item->bytes, bytes.at, bytes.n);
}

void api_told_open(struct api_told *told, struct api_call *call, struct api_choice *choice,
                   bool in_items)
{
    struct view text = api_choice_show(choice, &call->stops);
    const struct calls_sink sink = { told, take };
    *told = (struct api_told){ .is_serial = call->prompts.ask.tools.is_serial,
                               .hides_thoughts = call->prompts.ask.tools.hides_thoughts };
    if (!choice->is_parsed && in_items && text.n > 0)
        take(told, CALLS_EVENT_TEXT, text);
    else if (!choice->is_parsed)
        told->plain = text;
    if (!choice->is_parsed)
        return;
    told->n_calls = choice->parser.n_calls;
    calls_parser_go(&choice->parser, view_of(choice->text.at, choice->n_shown), !choice->is_open,
                    &sink);
}

void api_told_again(struct api_told *told, struct api_call *call, struct api_choice *choice)
{
    struct view text = view_of(choice->text.at, choice->n_shown);
    const struct calls_sink sink = { told, take };
    struct calls_parser parser = call->prompts.parser;
    *told = (struct api_told){ .is_serial = call->prompts.ask.tools.is_serial,
                               .hides_thoughts = call->prompts.ask.tools.hides_thoughts };
    if (choice->is_parsed)
        calls_parser_go(&parser, text, !choice->is_open, &sink);
    else if (text.n > 0)
        take(told, CALLS_EVENT_TEXT, text);
}

bool api_told_is_empty(const struct api_told *told)
{
    return told->n == 0 && told->plain.n == 0;
}

void api_told_free(struct api_told *told)
{
    for (size_t i = 0; i < told->n; i++)
        str_free(&told->items[i].bytes);
    mem_give(told->items);
    *told = (struct api_told){ 0 };
}

void api_told_join(const struct api_told *told, int kind, struct str *out)
{
    if (kind == TOLD_TEXT)
        str_add(out, told->plain.at, told->plain.n);
    for (size_t i = 0; i < told->n; i++)
        if ((int)told->items[i].kind == kind)
            str_add(out, told->items[i].bytes.at, told->items[i].bytes.n);
}

void api_told_id(const struct api_choice *choice, int32_t index, char out[TOLD_ID_BYTES])
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const uint64_t all[] = { choice->id, choice->seed, (uint64_t)index };
    uint64_t hash = hash_fast(all, sizeof(all), 0).low;
    for (int i = 0; i < TOLD_ID_BYTES - 1; i++, hash /= 62)
        out[i] = letters[hash % 62];
    out[TOLD_ID_BYTES - 1] = '\0';
}
