/* Reads lengths by name and by the keys of a part. The names are the tables, and two fits whose
 * data is not public.
 *
 * "sharegpt" is a lognormal. Its truncated means are those that Aladdin and SeaLLM give for their
 * filtered ShareGPT, 161 and 338 tokens (4 <= in <= 1024, out >= 4, in + out <= 2048). "codefuse"
 * follows SCLS's description of its trace: 80% of the outputs under 512 tokens, all at most
 * 1024. */
#include "base/num.h"
#include "workload/part.h"
#include "workload/tables.h"
#include <string.h>

static const struct {
    const char *name;
    struct workload_lengths prompt, output;
    struct workload_filter filter;
} fits[] = {
    { "sharegpt",
      { 4.6340, 1.1, 1, LIMIT_CONTEXT },
      { 5.4931, 0.9, 1, LIMIT_CONTEXT },
      { .prompt_min = 4, .prompt_max = 1024, .output_min = 4, .total_max = 2048 } },
    { "codefuse", { 5.36, 0.9, 1, 1024 }, { 5.2, 1.1, 1, 1024 }, { 0 } },
};

bool workload_lengths_has(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(fits); i++)
        if (strcmp(fits[i].name, name) == 0)
            return true;
    return workload_tables_find(name) != NULL;
}

/* Makes a lognormal of a mean: the deviation of the logarithm moves the median, not the mean. */
static struct workload_lengths of_mean(double mean, double sigma_log)
{
    return (struct workload_lengths){ num_log(mean) - sigma_log * sigma_log / 2, sigma_log, 1,
                                      LIMIT_CONTEXT };
}

static enum status set_name(struct workload_part *part, struct workload_traffic *traffic,
                            const char *name)
{
    for (size_t i = 0; i < COUNT_OF(fits); i++) {
        if (strcmp(fits[i].name, name) != 0)
            continue;
        traffic->prompt = fits[i].prompt;
        traffic->output = fits[i].output;
        traffic->filter = fits[i].filter;
        return STATUS_OK;
    }
    traffic->table = workload_tables_find(name);
    if (traffic->table == NULL)
        return workload_part_bad(part, "there are no lengths called %.60s", name);
    return STATUS_OK;
}

static enum status set_means(struct workload_part *part, struct workload_traffic *traffic)
{
    if (!workload_part_has(part, WORKLOAD_KEY_IN) || !workload_part_has(part, WORKLOAD_KEY_OUT))
        return workload_part_bad(part, "needs in= and out= (mean tokens), or lengths=NAME");
    traffic->prompt = of_mean(workload_part_number(part, WORKLOAD_KEY_IN, 1),
                              workload_part_number(part, WORKLOAD_KEY_IN_SIGMA, 0));
    traffic->output = of_mean(workload_part_number(part, WORKLOAD_KEY_OUT, 1),
                              workload_part_number(part, WORKLOAD_KEY_OUT_SIGMA, 0));
    return STATUS_OK;
}

static void set_bound(struct workload_part *part, enum workload_key key, int32_t *bound)
{
    *bound = (int32_t)workload_part_number(part, key, *bound);
}

enum status workload_lengths_bound(struct workload_part *part, struct workload_filter *f)
{
    set_bound(part, WORKLOAD_KEY_IN_MIN, &f->prompt_min);
    set_bound(part, WORKLOAD_KEY_IN_MAX, &f->prompt_max);
    set_bound(part, WORKLOAD_KEY_OUT_MIN, &f->output_min);
    set_bound(part, WORKLOAD_KEY_OUT_MAX, &f->output_max);
    set_bound(part, WORKLOAD_KEY_TOTAL_MAX, &f->total_max);
    if ((f->prompt_max > 0 && f->prompt_max < f->prompt_min) ||
        (f->output_max > 0 && f->output_max < f->output_min) ||
        (f->total_max > 0 && f->total_max < max_i32(f->prompt_min, 1) + max_i32(f->output_min, 1)))
        return workload_part_bad(part, "no length lies between these bounds");
    return STATUS_OK;
}

enum status workload_lengths_set(struct workload_part *part, struct workload_traffic *traffic,
                                 const char *name)
{
    enum status status = STATUS_OK;
    const char *path = workload_part_text(part, WORKLOAD_KEY_DATA, NULL);
    if (path != NULL)
        status = workload_replay_pairs(part, path, &traffic->pairs, &traffic->n_pairs);
    else if (name != NULL)
        status = set_name(part, traffic, name);
    else if (traffic->prompt.max == 0)
        status = set_means(part, traffic);
    if (status != STATUS_OK)
        return status;
    if (traffic->pairs == NULL && workload_part_has(part, WORKLOAD_KEY_SCALE)) {
        traffic->table_scale = part->numbers[WORKLOAD_KEY_SCALE];
        traffic->prompt.mean_log += num_log(traffic->table_scale);
        traffic->output.mean_log += num_log(traffic->table_scale);
    }
    return workload_lengths_bound(part, &traffic->filter);
}
