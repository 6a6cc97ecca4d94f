/* The mixes of services on which papers are compared, each with its models and their traffic. */
#include "base/num.h"
#include "workload/draw.h"
#include "workload/kmeans.h"
#include "workload/part.h"
#include "workload/tables.h"
#include <string.h>

enum { SEA_CLUSTERS = 8, SEA_PAIRS = 4096 };

/* A service of a mix: lengths by name, or lognormal ones. */
struct row {
    const char *name, *model;
    double rate_per_s;
    const char *lengths;
    struct workload_lengths prompt, output;
};

/* Adds one service. `traffic` sets its lengths, and its gaps unless keys set others. Its rate is
 * share of the part's, which is rate_per_s unless the key rate is given. */
static enum status add_service(struct workload_part *part, const char *name, const char *model,
                               struct workload_traffic *traffic, const double rate[2])
{
    double share = rate[1] > 0 ? rate[0] / rate[1] : 0;
    enum status status = workload_arrivals_set(part, traffic, rate[1]);
    if (status != STATUS_OK)
        return status;
    traffic->rate_per_s *= share;
    if (traffic->n_requests > 0) {
        double n = num_floor((double)traffic->n_requests * share + 0.5);
        traffic->n_requests = n > 1 ? (uint64_t)n : 1;
    }
    int32_t service =
        workload_part_service(part, name, workload_part_text(part, WORKLOAD_KEY_MODEL, model));
    if (service < 0)
        return STATUS_BAD_INPUT;
    workload_part_add(part, service, traffic);
    return STATUS_OK;
}

static enum status add_rows(struct workload_part *part, const struct row *rows, size_t n)
{
    double total = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n; i++)
        total += rows[i].rate_per_s;
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        struct workload_traffic traffic = { .prompt = rows[i].prompt, .output = rows[i].output };
        part->trace = rows[i].lengths;
        status = workload_lengths_set(part, &traffic, rows[i].lengths);
        if (status == STATUS_OK)
            status = add_service(part, rows[i].name, rows[i].model, &traffic,
                                 (double[2]){ rows[i].rate_per_s, total });
    }
    return status;
}

/* Lognormal lengths of a mean, spread as ShareGPT's. */
static struct workload_lengths spread(double mean, double sigma_log)
{
    return (struct workload_lengths){ num_log(mean) - sigma_log * sigma_log / 2, sigma_log, 1,
                                      LIMIT_CONTEXT };
}

/* ---- MuxServe. ---- */

/* Figure 9a: 30B, 13B, 7B at 2:8:8 requests/s, lengths 2:1:1. The paper gives no token counts, so
 * these are from Figure 9b's logs: 128 + 126 for the short ones. */
static enum status make_m5(struct workload_part *part)
{
    const struct row rows[] = {
        { "30b", "llama-30b", 2, NULL, spread(256, 0.8), spread(252, 0.8) },
        { "13b", "llama-13b", 8, NULL, spread(128, 0.8), spread(126, 0.8) },
        { "7b", "llama-7b", 8, NULL, spread(128, 0.8), spread(126, 0.8) },
    };
    return add_rows(part, rows, COUNT_OF(rows));
}

/* Figure 9b: 65B and 30B at 1:8, lengths 4:1. */
static enum status make_m6(struct workload_part *part)
{
    const struct row rows[] = {
        { "65b", "llama-65b", 1, NULL, spread(778, 0.8), spread(251, 0.8) },
        { "30b", "llama-30b", 8, NULL, spread(128, 0.8), spread(126, 0.8) },
    };
    return add_rows(part, rows, COUNT_OF(rows));
}

/* Section 4.3: 16 models of ChatLMSYS at 4.75 requests/s on average; 100 and 261 tokens. */
static enum status make_chatlmsys(struct workload_part *part)
{
    static const struct {
        const char *model;
        double rate_per_s;
    } base[] = {
        { "13b", 13.02 }, { "13b", 1.87 }, { "13b", 11.33 }, { "13b", 1.76 },
        { "13b", 2.96 },  { "13b", 3.04 }, { "7b", 13.04 },  { "7b", 1.57 },
        { "7b", 3.13 },   { "7b", 5.06 },  { "30b", 3.28 },  { "30b", 1.22 },
        { "30b", 9.89 },  { "65b", 1.28 }, { "65b", 1.41 },  { "65b", 2.17 },
    };
    struct row rows[COUNT_OF(base)];
    for (size_t i = 0; i < COUNT_OF(base); i++)
        rows[i] = (struct row){
            workload_part_format(part, "chat%02zu-%s", i + 1, base[i].model),
            workload_part_format(part, "llama-%s", base[i].model),
            base[i].rate_per_s,
            NULL,
            spread(100, 1.1),
            spread(261, 0.9),
        };
    return add_rows(part, rows, COUNT_OF(rows));
}

/* Section 4.2: 19 models, 12 of 7B, 4 of 13B, 2 of 30B, 1 of 65B; model k at the largest rate times
 * k^-alpha. The key rate is the total; without it the largest rate is 20. */
static enum status make_power(struct workload_part *part)
{
    double alpha = workload_part_number(part, WORKLOAD_KEY_ALPHA, 0.9);
    uint32_t n = (uint32_t)workload_part_number(part, WORKLOAD_KEY_SERVICES, 19);
    struct row rows[LIMIT_SERVICES];
    const char *lengths = workload_part_text(part, WORKLOAD_KEY_LENGTHS, "sharegpt");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = i * 19 / n;
        const char *model = place < 12 ? "7b" : place < 16 ? "13b" : place < 18 ? "30b" : "65b";
        rows[i] = (struct row){ workload_part_format(part, "power%02u-%s", i + 1, model),
                                workload_part_format(part, "llama-%s", model),
                                20 * num_pow(i + 1, -alpha), lengths };
    }
    return add_rows(part, rows, n);
}

/* ---- SeaLLM. ---- */

/* 4,096 pairs drawn from a data set's table. */
static struct workload_pair *draw_pairs(struct workload_part *part, const char *lengths)
{
    struct workload_pair *pairs = workload_part_take(part, SEA_PAIRS * sizeof(*pairs));
    struct workload_traffic traffic = { .table = workload_tables_find(lengths) };
    for (uint32_t i = 0; i < SEA_PAIRS; i++) {
        struct workload_pair pair = workload_draw_lengths(&traffic, 77, 0, i);
        /* Llama 2's context; the paper does not explain how it serves longer prompts. */
        pair.n_output = min_i32(pair.n_output, 2048);
        pair.n_prompt = min_i32(pair.n_prompt, 4096 - pair.n_output);
        pairs[i] = pair;
    }
    return pairs;
}

/* The pairs of cluster c, moved together. */
static uint32_t pick_cluster(const struct workload_pair *pairs, const uint32_t *cluster, uint32_t c,
                             struct workload_pair *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SEA_PAIRS; i++)
        if (cluster[i] == c)
            out[n++] = pairs[i];
    return n;
}

/* Deals the services' shares of the rate: a power law over a seeded order. */
static void deal_shares(struct workload_part *part, uint64_t seed, uint32_t n, double *shares)
{
    double alpha = workload_part_number(part, WORKLOAD_KEY_ALPHA, 0.9);
    struct rng rng;
    rng_init(&rng, seed, WORKLOAD_DICE_RUNS);
    for (uint32_t i = 0; i < n; i++)
        shares[i] = num_pow(i + 1, -alpha);
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = rng_below(&rng, i);
        double swap = shares[i - 1];
        shares[i - 1] = shares[k];
        shares[k] = swap;
    }
}

/* The paper uses arrivals of Azure functions of 2021, which are not public here. Unless a key sets
 * others, bursts of a minute at 2 1/2 times the rate replace them, between pauses of two at a
 * quarter. */
static void burst_as_functions(struct workload_part *part, struct workload_traffic *traffic)
{
    static const enum workload_key others[] = { WORKLOAD_KEY_ARRIVALS, WORKLOAD_KEY_CV,
                                                WORKLOAD_KEY_PROFILE, WORKLOAD_KEY_ON };
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (workload_part_has(part, others[i]))
            return;
    traffic->on_s = 60;
    traffic->off_s = 120;
    traffic->off_factor = 0.25;
}

static enum status add_clusters(struct workload_part *part, const char *lengths, uint32_t first,
                                const double *shares)
{
    static const char *const models[] = { "llama-2-7b", "llama-2-13b", "llama-2-70b", "opt-6.7b" };
    struct workload_pair *pairs = draw_pairs(part, lengths);
    uint32_t *cluster = workload_part_take(part, SEA_PAIRS * sizeof(*cluster));
    uint64_t seed =
        (uint64_t)workload_part_number(part, WORKLOAD_KEY_SEED, (double)part->workload->seed);
    enum status status = STATUS_OK;
    struct rng rng;
    rng_init(&rng, seed + first, WORKLOAD_DICE_BURSTS);
    workload_kmeans(pairs, SEA_PAIRS, SEA_CLUSTERS, 1, cluster);
    for (uint32_t c = 0; c < SEA_CLUSTERS && status == STATUS_OK; c++) {
        struct workload_pair *own = workload_part_take(part, SEA_PAIRS * sizeof(*own));
        struct workload_traffic traffic = { .pairs = own };
        const char *model = models[rng_below(&rng, COUNT_OF(models))];
        traffic.n_pairs = pick_cluster(pairs, cluster, c, own);
        burst_as_functions(part, &traffic);
        status = workload_lengths_bound(part, &traffic.filter);
        if (status == STATUS_OK)
            status = add_service(part, workload_part_format(part, "%s%u-%s", lengths, c + 1, model),
                                 model, &traffic, (double[2]){ shares[first + c] * 10, 10 });
    }
    return status;
}

/* Section 6.1: 16 services, 8 clusters of each of two data sets, each with a random model of four.
 * The key rate is the total (10). */
static enum status make_sea(struct workload_part *part)
{
    double shares[2 * SEA_CLUSTERS], sum = 0;
    uint64_t seed =
        (uint64_t)workload_part_number(part, WORKLOAD_KEY_SEED, (double)part->workload->seed);
    deal_shares(part, seed, 2 * SEA_CLUSTERS, shares);
    for (int i = 0; i < 2 * SEA_CLUSTERS; i++)
        sum += shares[i];
    for (int i = 0; i < 2 * SEA_CLUSTERS; i++)
        shares[i] /= sum;
    enum status status = add_clusters(part, "sharegpt-turns", 0, shares);
    return status == STATUS_OK ? add_clusters(part, "longbench", SEA_CLUSTERS, shares) : status;
}

/* ---- ServeGen. ---- */

/* Adds the clients of one model in their classes, at rate_per_s together. */
static enum status add_clients(struct workload_part *part, const char *clients, const char *name,
                               const char *model, double rate_per_s)
{
    double step_s = workload_part_number(part, WORKLOAD_KEY_STEP, 3600);
    int32_t service = workload_part_service(part, name, model);
    bool is_found = false;
    if (service < 0)
        return STATUS_BAD_INPUT;
    if (step_s < 1e-3)
        return workload_part_bad(part, "a step of the profile takes at least 1ms");
    for (uint32_t i = 0; i < workload_tables_n_classes; i++) {
        const struct workload_client_class *c = &workload_tables_classes[i];
        if (strcmp(c->model, clients) != 0)
            continue;
        struct workload_profile *profile = workload_part_take(part, sizeof(*profile));
        *profile = c->profile;
        profile->step_s = step_s;
        struct workload_traffic traffic = { .rate_per_s = rate_per_s * c->share,
                                            .table = workload_tables_find(c->lengths),
                                            .arrivals = WORKLOAD_GAMMA,
                                            .cv = c->cv,
                                            .profile = profile };
        enum status status = workload_lengths_bound(part, &traffic.filter);
        if (status != STATUS_OK)
            return status;
        workload_part_add(part, service, &traffic);
        is_found = true;
    }
    return is_found
               ? STATUS_OK
               : workload_part_bad(part, "clients is \"%.40s\", expected m-large, m-mid or m-small",
                                   clients);
}

static enum status make_servegen(struct workload_part *part)
{
    const char *clients = workload_part_text(part, WORKLOAD_KEY_CLIENTS, "m-large");
    double rate = workload_part_number(part, WORKLOAD_KEY_RATE, 0);
    if (!(rate > 0))
        return workload_part_bad(part, "needs rate= (requests per second)");
    return add_clients(part, clients, workload_part_text(part, WORKLOAD_KEY_SERVICE, clients),
                       workload_part_text(part, WORKLOAD_KEY_MODEL, NULL), rate);
}

static enum status make_servegen3(struct workload_part *part)
{
    static const struct {
        const char *clients, *model;
    } rows[] = { { "m-large", "llama-2-70b" },
                 { "m-mid", "llama-2-13b" },
                 { "m-small", "llama-2-7b" } };
    double rates[COUNT_OF(rows)] = { 0 }, total = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (uint32_t k = 0; k < workload_tables_n_classes; k++)
            if (strcmp(workload_tables_classes[k].model, rows[i].clients) == 0)
                rates[i] = workload_tables_classes[k].model_rate_per_s;
        total += rates[i];
    }
    double rate = workload_part_number(part, WORKLOAD_KEY_RATE, 20);
    for (size_t i = 0; i < COUNT_OF(rows) && status == STATUS_OK; i++)
        status = add_clients(part, rows[i].clients, rows[i].clients, rows[i].model,
                             rate * rates[i] / total);
    return status;
}

/* ---- Others. ---- */

/* Makes code and conversations in the proportion of Azure's hour; arrivals=trace adds its
 * minutes. */
static enum status make_azure(struct workload_part *part)
{
    static const struct row rows[] = {
        { "azure-code", "llama-2-7b", 2.57, "azure-code", { 0 }, { 0 } },
        { "azure-conv", "llama-2-13b", 5.53, "azure-conv", { 0 }, { 0 } },
    };
    return add_rows(part, rows, COUNT_OF(rows));
}

/* The mixes of E-4 (docs/ALGORITHMS.md): its medians, and the spread of ShareGPT. */
static enum status make_code_chat(struct workload_part *part)
{
    static const struct row rows[] = {
        { "code", "llama-7b", 1, NULL, { 5, 1.1, 1, 2048 }, { 3.8, 0.9, 1, 2048 } },
        { "chat", "llama-13b", 1, NULL, { 4.3, 1.1, 1, 2048 }, { 5.6, 0.9, 1, 2048 } },
    };
    return add_rows(part, rows, COUNT_OF(rows));
}

static enum status make_sum_chat(struct workload_part *part)
{
    static const struct row rows[] = {
        { "sum", "llama-7b", 1, NULL, { 7.2, 1.1, 1, 4096 }, { 3, 0.9, 1, 2048 } },
        { "chat", "llama-13b", 1, NULL, { 4.3, 1.1, 1, 2048 }, { 5.6, 0.9, 1, 2048 } },
    };
    return add_rows(part, rows, COUNT_OF(rows));
}

static const struct workload_mix mixes[] = {
    { "sea16", make_sea },
    { "servegen", make_servegen },
    { "servegen3", make_servegen3 },
    { "m5", make_m5 },
    { "m6", make_m6 },
    { "chatlmsys16", make_chatlmsys },
    { "power19", make_power },
    { "azure-mix", make_azure },
    { "e4-code-chat", make_code_chat },
    { "e4-sum-chat", make_sum_chat },
};

const struct workload_mix *workload_mixes_at(uint32_t index)
{
    return index < COUNT_OF(mixes) ? &mixes[index] : NULL;
}
