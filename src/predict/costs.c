/* The cost of a step by tables. */
#include "predict/costs.h"

#include "base/num.h"

/* Returns the number of prompts in a batch if all had the mean length: exact when they have it. */
static double n_prompts_of(const struct perf_load *load)
{
    if (load->n_new == 0 || load->n_new_squared == 0)
        return load->n_new > 0;
    return (double)load->n_new * load->n_new / (double)load->n_new_squared;
}

/* Returns the attention's time in a step when all decodes have this context. */
static double attention_ms(const struct costs *c, const struct perf_load *load, double context)
{
    double n_prompts = n_prompts_of(load), n_new = load->n_new, b = load->n_decodes, ms = 0;
    if (n_new > 0 && b > 0 && c->mixed.at != NULL) {
        const double x[GRID4_AXES] = { n_new, (double)load->n_new_context / n_new, b, context };
        return grid_four_at(&c->mixed, x);
    }
    if (n_new > 0)
        ms += n_prompts *
              grid_at(&c->prefill, n_new / n_prompts, (double)load->n_new_context / n_new);
    return b > 0 ? ms + grid_at(&c->decode, b, context) : ms;
}

static double parts_ms(const struct costs *c, const struct perf_load *load)
{
    double n_prompts = n_prompts_of(load), n_new = load->n_new, b = load->n_decodes;
    double ms = grid_at(&c->tokens, n_new + b, 0) + grid_at(&c->sequences, n_prompts + b, 0);
    double mean = b > 0 ? (double)load->n_decode_context / b : 0,
           most = (double)load->n_context_most;
    double even = attention_ms(c, load, mean);
    if (c->skew <= 0 || most <= mean)
        return ms + even;
    return ms + even + c->skew * (attention_ms(c, load, most) - even);
}

/* A chunk that begins behind others attends like that part of a longer prompt. */
static double steps_ms(const struct costs *c, const struct perf_load *load)
{
    double prefill = 0, decode = 0, b = load->n_decodes;
    if (load->n_new > 0) {
        double pairs = (double)(load->n_new_squared + 2 * load->n_new_context);
        prefill = grid_at(&c->step_prefill, load->n_new, pairs / load->n_new);
    }
    if (b > 0)
        decode = grid_at(&c->step_decode, b, (double)load->n_decode_context / b);
    double least = grid_at(&c->step_prefill, 0, 0), other = grid_at(&c->step_decode, 0, 0);
    bool is_mixed = load->n_new > 0 && b > 0;
    return prefill + decode - (is_mixed ? (least < other ? least : other) : 0);
}

double costs_step_ms(const struct costs *c, const struct perf_load *load)
{
    if (load->n_new == 0 && load->n_decodes == 0)
        return 0;
    double host = c->host_ms + c->host_request_ms * (n_prompts_of(load) + load->n_decodes);
    double tokens = c->host_token_ms * ((double)load->n_new + load->n_decodes);
    tokens += load->n_new > 0 ? c->host_prompt_ms : 0;
    return host + tokens + parts_ms(c, load) + steps_ms(c, load);
}

static int64_t step_ps(const void *self, const struct perf_load *load)
{
    return (int64_t)num_floor(costs_step_ms(self, load) * 1e9 + 0.5);
}

struct perf_truth costs_truth(const struct costs *costs)
{
    return (struct perf_truth){ step_ps, costs };
}

void costs_free(struct costs *c)
{
    grid_free(&c->tokens);
    grid_free(&c->sequences);
    grid_free(&c->prefill);
    grid_free(&c->decode);
    grid_four_free(&c->mixed);
    grid_free(&c->step_prefill);
    grid_free(&c->step_decode);
    *c = (struct costs){ 0 };
}
