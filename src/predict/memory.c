/* Memory estimators of batches. */
#include "predict/memory.h"

#include "base/num.h"

const struct memory_model predict_memory_deepspeed_13b = {
    .kind = MEMORY_RULES,
    .n_rules = 3,
    .rules = { { 512, 28 }, { 1024, 22 }, { INT32_MAX, 12 } },
};

static int64_t planned_bytes(const struct memory_model *m)
{
    double zeta = m->kind == MEMORY_PADDED ? m->zeta : 1;
    return max_i64(0, (int64_t)num_floor((double)m->available_bytes * zeta));
}

/* Returns the bytes of one request. */
static int64_t request_bytes(const struct memory_model *m, int64_t n_input, int64_t n_slice)
{
    int64_t n_tokens = max_i64(1, n_input + n_slice);
    if (m->kind == MEMORY_PAGED)
        n_tokens = div_up_i64(n_tokens, m->block_tokens) * m->block_tokens;
    return n_tokens * m->bytes_per_token;
}

int32_t predict_memory_n_max(const struct memory_model *m, int32_t n_input, int32_t n_slice)
{
    if (m->kind != MEMORY_RULES)
        return (int32_t)min_i64(INT32_MAX, planned_bytes(m) / request_bytes(m, n_input, n_slice));
    int i = 0;
    while (i < m->n_rules - 1 && (int64_t)n_input + n_slice > m->rules[i].n_tokens_max)
        i++;
    return m->rules[i].n_requests_max;
}
