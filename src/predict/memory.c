/* Memory estimators of batches. */
#include "predict/memory.h"

#include "base/num.h"

const struct memory_model memory_deepspeed_13b = {
    .kind = MEMORY_RULES,
    .n_rules = 3,
    .rules = { { 512, 28 }, { 1024, 22 }, { INT32_MAX, 12 } },
};

static int64_t planned_bytes(const struct memory_model *m)
{
    double zeta = m->kind == MEMORY_PADDED ? m->zeta : 1;
    return max_i64(0, (int64_t)num_floor((double)m->available_bytes * zeta));
}

/* Of one request. */
static int64_t request_bytes(const struct memory_model *m, int64_t n_input, int64_t n_slice)
{
    int64_t n_tokens = max_i64(1, n_input + n_slice);
    if (m->kind == MEMORY_PAGED)
        n_tokens = div_up_i64(n_tokens, m->block_tokens) * m->block_tokens;
    return n_tokens * m->bytes_per_token;
}

int32_t memory_n_max(const struct memory_model *m, int32_t n_input, int32_t n_slice)
{
    if (m->kind != MEMORY_RULES)
        return (int32_t)min_i64(INT32_MAX, planned_bytes(m) / request_bytes(m, n_input, n_slice));
    int i = 0;
    while (i < m->n_rules - 1 && (int64_t)n_input + n_slice > m->rules[i].n_tokens_max)
        i++;
    return m->rules[i].n_requests_max;
}

bool memory_fits(const struct memory_model *m, const int32_t *n_inputs, int32_t n, int32_t n_slice)
{
    int32_t longest = 0;
    int64_t bytes = 0;
    for (int32_t i = 0; i < n; i++) {
        longest = max_i32(longest, n_inputs[i]);
        bytes += m->kind == MEMORY_PAGED ? request_bytes(m, n_inputs[i], n_slice) : 0;
    }
    if (m->kind == MEMORY_PAGED)
        return bytes <= planned_bytes(m);
    return n <= memory_n_max(m, longest, n_slice);
}

int64_t memory_bytes(const struct memory_model *m, int32_t n, int32_t n_input, int32_t n_slice)
{
    return m->kind == MEMORY_RULES ? 0 : n * request_bytes(m, n_input, n_slice);
}
