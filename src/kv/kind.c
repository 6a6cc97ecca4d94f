/* The kinds of pool by name. */
#include "kv/kind.h"

#include "core/limits.h"
#include "kv/ledger.h"
#include <string.h>

static const char *const names[KV_KINDS] = { "merged", "head-wise", "private" };

const char *kv_kind_name(enum kv_kind kind)
{
    CHECK(kind >= 0 && kind < KV_KINDS);
    return names[kind];
}

bool kv_kind_find(const char *name, enum kv_kind *kind)
{
    for (int i = 0; i < KV_KINDS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum kv_kind)i;
            return true;
        }
    }
    return false;
}

const char *kv_kind_names(void)
{
    return "merged, head-wise, private";
}
