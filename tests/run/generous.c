/* An executor with a planted fault. See generous.h. */
#include "generous.h"

#include "engine/bodies.h"
#include <string.h>

static struct engine_exec inner;
static struct engine_exec_view view;
static struct batch batches[LIMIT_BATCHES]; /* by id */
static struct batch_item items[LIMIT_BATCHES][LIMIT_BATCH_ITEMS];
static int32_t n_new[LIMIT_BATCH_ITEMS];

static void attach(void *self, const struct engine_exec_view *given)
{
    view = *given;
    inner.attach(self, given);
}

static void begin(void *self, const struct batch *begun, int n, int n_rounds)
{
    for (int i = 0; i < n; i++) {
        uint32_t at = begun[i].id % LIMIT_BATCHES;
        batches[at] = begun[i];
        memcpy(items[at], begun[i].items, sizeof(items[at][0]) * (size_t)begun[i].n_items);
    }
    inner.begin(self, begun, n, n_rounds);
}

static bool poll(void *self, struct engine_exec_done *done)
{
    if (!inner.poll(self, done))
        return false;
    const struct batch *batch = &batches[done->batch % LIMIT_BATCHES];
    if (batch->id != done->batch || batch->kind != BATCH_COMPUTE || done->is_failed)
        return true;
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &items[done->batch % LIMIT_BATCHES][i];
        n_new[i] = done->n_new[i] + (done->n_new[i] > 0 && done->n_new[i] < item->n_draft);
    }
    done->n_new = n_new; /* the draft still stands behind the drawn tokens */
    return true;
}

struct engine_exec generous_exec(struct engine_exec exec)
{
    inner = exec;
    exec.attach = attach;
    exec.begin = begin;
    exec.poll = poll;
    return exec;
}
