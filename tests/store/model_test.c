/* The store in memory keeps the contract that etcd keeps. */
#include "store/model.h"

#include "store/contract.h"
#include "test.h"

#include "base/time.h"

struct world {
    struct store_model *model;
    int64_t now_ns;
};

static void pass(void *self, int64_t ns)
{
    struct world *w = self;
    int64_t end_ns = w->now_ns + ns;
    for (; w->now_ns < end_ns; w->now_ns += TIME_NS_PER_MS)
        (void)store_model_step(w->model, w->now_ns);
}

static void stop(void *self)
{
    store_model_stop(((struct world *)self)->model);
}

static void start(void *self)
{
    store_model_start(((struct world *)self)->model);
}

static void wipe(void *self)
{
    store_model_wipe(((struct world *)self)->model);
}

static void run(void (*test)(const struct contract *c))
{
    const struct store_model_options options = { 1, TIME_NS_PER_MS, 0 };
    struct world w = { store_model_open(&options), 0 };
    const struct contract c = {
        &w, store_model_client(w.model), store_model_client(w.model), pass, stop, start, wipe
    };
    test(&c);
    c.a->close(c.a->self);
    c.b->close(c.b->self);
    store_model_close(w.model);
}

static void test_conditions(void **state)
{
    (void)state;
    run(contract_conditions);
}

static void test_leases(void **state)
{
    (void)state;
    run(contract_leases);
}

static void test_watch(void **state)
{
    (void)state;
    run(contract_watch);
}

static void test_forgets(void **state)
{
    (void)state;
    run(contract_forgets);
}

static void test_outages(void **state)
{
    (void)state;
    run(contract_outages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_leases),
        cmocka_unit_test(test_watch),      cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_outages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
