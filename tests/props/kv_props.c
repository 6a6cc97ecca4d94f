/* The pool of each kind against a naive model. Random requests of several services and tenants
 * arrive, grow, hit prefixes, publish and leave, while the pool grows, shrinks and forgets.
 *
 * The model knows the right value of every byte. A computed position writes a mark of (service,
 * tenant, all tokens up to it) into its place in the pool's memory. A request that reads a position
 * must find the mark of its own tokens. A block of another tenant, a stale one, one written after
 * it was shared, or two overlapping blocks all read wrong. */
#include "../kv_open.h"
#include "kv/lent.h"
#include "test.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kv/kv.h"

enum { N_SERVICES = 3, N_SLOTS = 24, N_TOKENS = 300, N_STREAMS = 6, UNIT_BYTES = 4800 };

struct model {
    struct rng rng;
    struct kv *kv;
    struct lent lent;
    struct guest {
        bool is_here;
        struct request request;
        int32_t tokens[N_TOKENS];
        int32_t n_computed, n_covered;
    } guests[N_SLOTS];
    int64_t n_reserved, n_refused, n_hit, n_offered;
    enum kv_kind kind;
    const struct kv_layout *layouts;
};

static const struct kv_layout merged[N_SERVICES] = {
    { .bytes_per_token = 64, .block_tokens = 8, .blocks_per_unit = 9, .block_bytes = 512 },
    { .bytes_per_token = 40, .block_tokens = 16, .blocks_per_unit = 7, .block_bytes = 640 },
    { .bytes_per_token = 300, .block_tokens = 8, .blocks_per_unit = 2, .block_bytes = 2400 },
};

/* Units hold 16 tokens of the second service's head: 480 bytes. The others' heads fit less well. */
enum { HEAD_BYTES = 480 };
static const struct kv_layout heads[N_SERVICES] = {
    { .bytes_per_token = 64,
      .block_tokens = 8,
      .blocks_per_unit = 1,
      .block_bytes = 512,
      .units_per_block = 2 },
    { .bytes_per_token = 90,
      .block_tokens = 16,
      .blocks_per_unit = 1,
      .block_bytes = 1440,
      .units_per_block = 3 },
    { .bytes_per_token = 300,
      .block_tokens = 8,
      .blocks_per_unit = 1,
      .block_bytes = 2400,
      .units_per_block = 7 },
};

/* Streams of one family share their first tokens, so prefixes meet and part. */
static int32_t token_at(uint32_t stream, int32_t position)
{
    bool is_common = position < 20 + (int32_t)(stream % 3) * 40;
    return (int32_t)(rng_at(5, is_common ? stream % 2 : 100 + stream, (uint64_t)position) % 50000);
}

static uint64_t mark_of(const struct guest *guest, int32_t position)
{
    uint64_t who = guest->request.service * 1000u + guest->request.tenant;
    size_t n = (size_t)(position + 1) * sizeof(*guest->tokens);
    return hash_fast(guest->tokens, n, who).low;
}

/* Returns the place in a head-wise pool, in the unit of this head. */
static unsigned char *place_of(const struct model *model, uint32_t slot, int32_t position,
                               int32_t head)
{
    int32_t n_blocks;
    uint32_t stride;
    const uint32_t *blocks = kv_table(model->kv, slot, &n_blocks);
    const uint32_t *units = kv_table_heads(model->kv, slot, &stride);
    const struct kv_layout *l = kv_layout(model->kv, model->guests[slot].request.service);
    int32_t block = position / l->block_tokens;
    assert_true(block < n_blocks);
    assert_true((units != NULL) == (model->kind == KV_HEADS));
    if (units != NULL)
        return model->lent.base + units[(uint32_t)head * stride + (uint32_t)block] * HEAD_BYTES +
               position % l->block_tokens * (l->bytes_per_token / l->units_per_block);
    uint32_t per_unit = (uint32_t)l->blocks_per_unit;
    return model->lent.base + blocks[block] / per_unit * UNIT_BYTES +
           blocks[block] % per_unit * l->block_bytes +
           position % l->block_tokens * l->bytes_per_token;
}

static void compute(struct model *model, uint32_t slot, int32_t to)
{
    struct guest *guest = &model->guests[slot];
    int32_t n_heads = kv_layout(model->kv, guest->request.service)->units_per_block;
    for (; guest->n_computed < to; guest->n_computed++) {
        uint64_t mark = mark_of(guest, guest->n_computed);
        for (int32_t head = 0; head < n_heads; head++, mark++)
            memcpy(place_of(model, slot, guest->n_computed, head), &mark, sizeof(mark));
    }
}

static void read_back(const struct model *model, uint32_t slot)
{
    const struct guest *guest = &model->guests[slot];
    int32_t n_heads = kv_layout(model->kv, guest->request.service)->units_per_block;
    for (int32_t i = 0; i < guest->n_computed; i += 1 + (i & 3)) {
        uint64_t mark = mark_of(guest, i);
        for (int32_t head = 0; head < n_heads; head++, mark++)
            assert_memory_equal(place_of(model, slot, i, head), &mark, sizeof(mark));
    }
}

static void leave(struct model *model, uint32_t slot)
{
    read_back(model, slot);
    kv_release(model->kv, slot);
    model->guests[slot].is_here = false;
}

/* The plan's copy and the pool must give one answer, and floors and ceilings must hold. */
static bool reserve(struct model *model, uint32_t slot, int32_t n_tokens)
{
    const struct guest *guest = &model->guests[slot];
    int service = guest->request.service;
    int32_t n_have;
    (void)kv_table(model->kv, slot, &n_have);
    int64_t lacks = kv_blocks_for(n_tokens, model->layouts[service].block_tokens) - n_have;
    struct kv_budget budget;
    kv_budget_copy(&budget, kv_budget(model->kv));
    int64_t n_before = budget.services[service].n_units;
    const struct kv_budget_service *s = &budget.services[service];
    int64_t n_units = kv_units_for(s, max_i64(0, lacks - s->n_blocks_free));
    /* This holds unless the pool shrank too far for its floors. */
    bool floors_hold = budget.n_units_free >= budget.n_units_owed;
    bool is_owed = s->n_units + n_units <= s->n_units_min && floors_hold;
    bool is_promised = kv_budget_take(&budget, service, max_i64(0, lacks));
    struct kv_need need = { slot, n_tokens, 0 };
    bool is_reserved = kv_reserve(model->kv, service, &need, 1);
    assert_int_equal(is_promised, is_reserved);
    if (is_reserved && model->kind == KV_HEADS) { /* whole blocks are evicted */
        assert_true(budget.n_units_cached >= kv_budget(model->kv)->n_units_cached);
        budget.n_units_cached = kv_budget(model->kv)->n_units_cached;
    }
    if (is_reserved)
        assert_memory_equal(&budget, kv_budget(model->kv), kv_budget_bytes(budget.n_services));
    assert_true(is_reserved || !is_owed);
    assert_true(!floors_hold || budget.n_units_free >= budget.n_units_owed);
    /* A part that shrank is freed as requests end. */
    int64_t n_now = kv_budget(model->kv)->services[service].n_units;
    assert_true(n_now <= n_before || n_now <= s->n_units_max);
    model->n_reserved += is_reserved;
    model->n_refused += !is_reserved;
    return is_reserved;
}

static void come(struct model *model, uint32_t slot)
{
    struct guest *guest = &model->guests[slot];
    *guest = (struct guest){
        .is_here = true,
        .request = { .service = (uint16_t)rng_below(&model->rng, N_SERVICES),
                     .tenant = (uint16_t)rng_below(&model->rng, 2) },
    };
    uint32_t stream = rng_below(&model->rng, N_STREAMS);
    for (int32_t i = 0; i < N_TOKENS; i++)
        guest->tokens[i] = token_at(stream, i);
    int32_t n = 1 + (int32_t)rng_below(&model->rng, N_TOKENS - 1);
    guest->n_computed = kv_match(model->kv, &guest->request, slot, guest->tokens, n);
    assert_true(guest->n_computed < n);
    model->n_hit += guest->n_computed > 0;
    read_back(model, slot);
    guest->n_covered = guest->n_computed;
}

static void grow(struct model *model, uint32_t slot)
{
    struct guest *guest = &model->guests[slot];
    int32_t n = guest->n_covered + (int32_t)rng_below(&model->rng, 40);
    n = min_i32(n, N_TOKENS);
    if (!reserve(model, slot, n))
        return;
    guest->n_covered = n;
    compute(model, slot,
            guest->n_computed +
                (int32_t)rng_below(&model->rng, (uint32_t)(n - guest->n_computed) + 1));
}

static void act(struct model *model)
{
    uint32_t slot = rng_below(&model->rng, N_SLOTS), dice = rng_below(&model->rng, 100);
    struct guest *guest = &model->guests[slot];
    if (dice >= 98) {
        kv_forget(model->kv, (int)rng_below(&model->rng, N_SERVICES));
    } else if (dice >= 95) {
        (void)kv_shrink(model->kv, rng_below(&model->rng, 6 * UNIT_BYTES));
    } else if (dice >= 91) {
        (void)kv_grow(model->kv, rng_below(&model->rng, 10 * UNIT_BYTES));
    } else if (!guest->is_here) {
        come(model, slot);
    } else if (dice < 55) {
        grow(model, slot);
    } else if (dice < 70) {
        kv_publish(model->kv, &guest->request, slot, guest->tokens, guest->n_computed);
        model->n_offered++;
    } else if (dice < 80) {
        kv_trim(model->kv, slot, guest->n_computed);
        guest->n_covered = guest->n_computed;
    } else {
        leave(model, slot);
    }
    uint32_t busy = kv_busy_closing(model->kv);
    if (busy != UINT32_MAX && dice % 3 == 0)
        leave(model, busy);
}

static void check_kind(enum kv_kind kind)
{
    struct model *model = mem_take(sizeof(*model));
    uint64_t seed = test_seed(1);
    int64_t unit_bytes = kind == KV_HEADS ? HEAD_BYTES : UNIT_BYTES,
            scale = UNIT_BYTES / unit_bytes;
    model->kind = kind;
    model->layouts = kind == KV_HEADS ? heads : merged;
    for (int round = 0; round < 20; round++) {
        rng_init(&model->rng, seed, (uint64_t)round);
        struct kv_service_options services[N_SERVICES];
        for (int i = 0; i < N_SERVICES; i++)
            services[i] = (struct kv_service_options){ .layout = model->layouts[i] };
        services[0].bytes_min = round % 2 * 7 * UNIT_BYTES;
        services[1].bytes_min = round % 3 * 5 * UNIT_BYTES - round % 3;
        services[1].bytes_max = round % 5 == 0 ? 20 * UNIT_BYTES : 0;
        struct kv_options options = { .kind = kind,
                                      .pool_bytes_max = 60 * scale * unit_bytes,
                                      .pool_bytes = 40 * scale * unit_bytes,
                                      .unit_bytes = unit_bytes,
                                      .n_requests_max = N_SLOTS,
                                      .n_tokens_max = N_TOKENS,
                                      .has_prefix_cache = round % 4 != 3,
                                      .prefix_salt = seed };
        model->kv = kv_open_with(&options, services, N_SERVICES);
        lent_open(&model->lent, model->kv);
        for (int step = 0; step < 4000; step++) {
            act(model);
            if (!kv_is_sound(model->kv))
                fail_msg("unsound in round %d at step %d", round, step);
        }
        for (uint32_t slot = 0; slot < N_SLOTS; slot++)
            if (model->guests[slot].is_here)
                leave(model, slot);
        assert_true(kv_is_idle(model->kv) && kv_is_sound(model->kv));
        kv_close(model->kv);
        lent_close(&model->lent);
    }
    print_message("%s: reserved %lld, refused %lld, hits %lld, offers %lld\n", kv_kind_name(kind),
                  (long long)model->n_reserved, (long long)model->n_refused,
                  (long long)model->n_hit, (long long)model->n_offered);
    assert_true(model->n_refused > 100 && model->n_hit > 1000);
    mem_give(model);
}

static void agrees_with_the_model(void **state)
{
    (void)state;
    check_kind(KV_MERGED);
}

static void agrees_by_head(void **state)
{
    (void)state;
    check_kind(KV_HEADS);
}

static void agrees_in_parts(void **state)
{
    (void)state;
    check_kind(KV_PRIVATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(agrees_with_the_model),
                                        cmocka_unit_test(agrees_by_head),
                                        cmocka_unit_test(agrees_in_parts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
