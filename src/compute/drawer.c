/* Draws of a pass: see drawer.h. */
#include "compute/drawer.h"

#include "base/mem.h"
#include "compute/group.h"
#include <string.h>

/* Returns how many members draw: at most as many as there are rows. */
static int n_samplers_of(struct compute_drawer_sizes sizes)
{
    if (sizes.rank != NULL && !sizes.rank->draws)
        return 0;
    return min_i32(sizes.n_members, sizes.n_logit_rows);
}

void compute_drawer_open(struct compute_drawer *drawer, const struct compute_draw *loops,
                         struct compute_drawer_sizes sizes)
{
    *drawer = (struct compute_drawer){
        .n_samplers = n_samplers_of(sizes),
        .n_vocabulary = sizes.n_vocabulary,
        .rank = sizes.rank,
        .last = sizes.rank != NULL ? sizes.rank->last
                                   : mem_take(sizeof(int32_t) * (size_t)sizes.n_logit_rows),
        .ids = mem_take(sizeof(int32_t) * (size_t)sizes.n_rows),
    };
    drawer->samplers = mem_take(sizeof(*drawer->samplers) * (size_t)drawer->n_samplers);
    for (int i = 0; i < drawer->n_samplers; i++)
        compute_sampler_init(&drawer->samplers[i], loops, sizes.n_vocabulary);
}

int64_t compute_drawer_bytes(struct compute_drawer_sizes sizes)
{
    return n_samplers_of(sizes) * (int64_t)compute_sampler_bytes(sizes.n_vocabulary) +
           (int64_t)sizeof(int32_t) * (sizes.n_rows + sizes.n_logit_rows);
}

void compute_drawer_close(struct compute_drawer *drawer)
{
    for (int i = 0; i < drawer->n_samplers; i++)
        compute_sampler_free(&drawer->samplers[i]);
    mem_give(drawer->samplers);
    if (drawer->rank == NULL)
        mem_give(drawer->last);
    mem_give(drawer->ids);
}

const int32_t *compute_drawer_ids(struct compute_drawer *drawer, const struct compute_pass *pass)
{
    int32_t row = 0;
    while (row < pass->n_rows && pass->ids[row] >= 0)
        row++;
    if (row == pass->n_rows)
        return pass->ids;
    /* By now the rank that draws has done so for the previous pass. */
    if (drawer->rank != NULL && !compute_group_sum(drawer->rank->group, NULL, NULL, 0))
        return NULL;
    for (row = 0; row < pass->n_rows; row++) {
        int32_t id = pass->ids[row];
        drawer->ids[row] = id >= 0 ? id : drawer->last[compute_drawn(id)];
    }
    return drawer->ids;
}

bool compute_drawer_meet(const struct compute_drawer *drawer, const struct compute_pass *pass)
{
    return drawer->rank == NULL || !drawer->rank->shares_logits ||
           !compute_pass_wants_logits(pass) ||
           compute_group_sum(drawer->rank->group, NULL, NULL, 0);
}

void compute_drawer_row(struct compute_drawer *drawer, int rank, const struct compute_pass *pass,
                        int32_t row, int32_t next, float *logits)
{
    const struct compute_ask *ask = &pass->asks[row];
    struct compute_sampler *sampler = &drawer->samplers[rank];
    int32_t n = drawer->n_vocabulary;
    float *own = logits + (int64_t)row * n;
    if (ask->kind == COMPUTE_ASK_SCORE)
        compute_sampler_score(sampler, own, n, (struct compute_sampler_id){ ask->id, ask->n_top },
                              ask->logprobs);
    if (ask->kind != COMPUTE_ASK_TOKEN)
        return;
    const struct compute_sampler_row draw = {
        .body = ask->body,
        .tokens = ask->tokens,
        .n_prompt = ask->n_prompt,
        .n_tokens = ask->n_tokens + (ask->follows < 0),
        .next = next < pass->n_logit_rows ? logits + (int64_t)next * n : NULL,
        .mask = ask->mask,
        .last = ask->follows < 0 ? &drawer->last[compute_drawn(ask->follows)] : NULL,
    };
    pass->drawn[row] = compute_sampler_draw(sampler, &draw, own, n, ask->logprobs);
}

void compute_drawer_end(struct compute_drawer *drawer, const struct compute_pass *pass)
{
    for (int32_t row = 0; row < pass->n_logit_rows && pass->asks != NULL; row++)
        drawer->last[row] = pass->asks[row].kind == COMPUTE_ASK_TOKEN ? pass->drawn[row] : 0;
}
