/* Sums of a node's requests, by gateway and service. */
#include "cluster/node_load.h"

#include "base/mem.h"

/* Sums of ages stay far below what a message may have. */
static const int64_t AGE_NS_MAX = INT64_C(1) << 40;
static const int64_t SUM_MAX = INT64_C(1) << 50;

void node_load_fit(struct node_load *load, int n_links, int n_services)
{
    if (n_links <= load->n_links && n_services <= load->n_services)
        return;
    load->n_links = max_i32(load->n_links, n_links);
    load->n_services = max_i32(load->n_services, n_services);
    size_t n = (size_t)load->n_services;
    mem_give(load->sums);
    mem_give(load->rest);
    load->sums = mem_take(sizeof *load->sums * n * (size_t)(load->n_links + 1));
    load->rest = mem_take(sizeof *load->rest * n);
}

void node_load_free(struct node_load *load)
{
    mem_give(load->sums);
    mem_give(load->rest);
    *load = (struct node_load){ 0 };
}

static struct route_others *row(const struct node_load *load, int link, int service)
{
    return &load->sums[link * load->n_services + service];
}

/* Adds `sign` times b to a. */
static void add(struct route_others *a, const struct route_others *b, int sign)
{
    a->n += sign * b->n;
    a->n_waiting += sign * b->n_waiting;
    a->n_prompt += sign * b->n_prompt;
    a->n_new += sign * b->n_new;
    a->n_expected += sign * b->n_expected;
    a->n_waiting_tokens += sign * b->n_waiting_tokens;
    a->decoding_ns += sign * b->decoding_ns;
    a->load += sign * b->load;
}

static struct route_others part_of(const struct node_life *life, int64_t now_ns)
{
    int32_t n_new = life->n_tokens - life->n_prompt;
    bool is_waiting = life->first_ns == 0;
    return (struct route_others){
        .n = 1,
        .n_waiting = is_waiting,
        .n_prompt = life->n_prompt,
        .n_new = n_new,
        .n_expected = max_i32(n_new, life->n_predicted),
        .n_waiting_tokens = is_waiting ? life->n_tokens : 0,
        .decoding_ns = is_waiting ? 0 : min_i64(max_i64(now_ns - life->first_ns, 0), AGE_NS_MAX),
        .load = life->load,
    };
}

void node_load_count(struct node_load *load, const struct node_lives *lives, int engine,
                     int64_t now_ns)
{
    for (int i = 0; i < (load->n_links + 1) * load->n_services; i++)
        load->sums[i] = (struct route_others){ 0 };
    for (uint32_t i = 0; i < lives->n; i++) {
        const struct node_life *life = &lives->of[i];
        if (life->engine != engine || life->session == 0)
            continue;
        const struct route_others part = part_of(life, now_ns);
        add(row(load, life->peer, life->service), &part, 1);
        add(row(load, load->n_links, life->service), &part, 1);
    }
}

const struct route_others *node_load_of_others(struct node_load *load, int link)
{
    bool has_some = false;
    for (int s = 0; s < load->n_services; s++) {
        struct route_others *rest = &load->rest[s];
        *rest = *row(load, load->n_links, s);
        add(rest, row(load, link, s), -1);
        rest->load = min_i64(rest->load, SUM_MAX);
        has_some = has_some || rest->n > 0;
    }
    return has_some ? load->rest : NULL;
}
