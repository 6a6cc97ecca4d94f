/* The kinds of pool by name. */
#include "kv/kind.h"

#include <string.h>

static const struct {
    const char *name, *summary, *note;
} kinds[KV_KINDS] = {
    [KV_MERGED] = { "merged",
                    "a unit belongs to one model at a time and is cut into its blocks, which hold "
                    "all layers",
                    "SeaLLM's. With one model it is the usual paged cache" },
    [KV_HEADS] = { "head-wise",
                   "a unit holds 16 tokens of one head of one layer and serves any model; a block "
                   "of a request is one unit for each head of each layer",
                   "MuxServe's. No memory is lost between models, but a block's table has an entry "
                   "for each "
                   "of its units, and attention reads them one by one" },
    [KV_PRIVATE] = { "private",
                     "as merged, but each model has a fixed part of the pool, in proportion to its "
                     "bytes per token",
                     "as if each model had its own cache; sharing is compared with it" },
};

const char *kv_kind_name(enum kv_kind kind)
{
    CHECK(kind >= 0 && kind < KV_KINDS);
    return kinds[kind].name;
}

const char *kv_kind_summary(enum kv_kind kind)
{
    CHECK(kind >= 0 && kind < KV_KINDS);
    return kinds[kind].summary;
}

const char *kv_kind_note(enum kv_kind kind)
{
    CHECK(kind >= 0 && kind < KV_KINDS);
    return kinds[kind].note;
}

bool kv_kind_find(const char *name, enum kv_kind *kind)
{
    for (int i = 0; i < KV_KINDS; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            *kind = (enum kv_kind)i;
            return true;
        }
    }
    return false;
}
