/* A profile's points as a truth. */
#include "predict/points.h"

#include "base/mem.h"
#include "base/num.h"

static const struct predict_profile_group *group_of(const struct predict_profile *profile,
                                                    int32_t n_cores)
{
    int32_t i = profile->n_groups - 1;
    while (i > 0 && n_cores > 0 && profile->groups[i].n_cores > n_cores)
        i--;
    return &profile->groups[i];
}

/* Opens the grid of whole prompts (decodes false), or of decodes. */
static enum status open_grid(struct grid *grid, const struct predict_profile_group *group,
                             bool decodes, struct fault *fault)
{
    struct grid_point *points = mem_take(PREDICT_PROFILE_SAMPLES * sizeof(*points));
    int64_t n = 0;
    for (int32_t i = 0; i < group->n_samples; i++) {
        const struct perf_sample *s = &group->samples[i];
        const struct perf_load *l = &s->load;
        bool is_decode = l->n_new == 0 && l->n_decodes > 0;
        int64_t fitted_ps = perf_step_ps(&group->perf, l);
        if (is_decode != decodes || l->n_new_context > 0 || fitted_ps <= 0)
            continue;
        double ratio = (double)s->ps / (double)fitted_ps;
        double b = is_decode ? l->n_decodes : 1;
        points[n++] = (struct grid_point){ is_decode ? b : l->n_new,
                                           is_decode ? (double)l->n_decode_context / b : 0, ratio };
    }
    enum status status = grid_open(grid, points, n, fault);
    mem_give(points);
    return status;
}

enum status points_open(struct perf_points *points, const struct predict_profile *profile,
                        int32_t n_cores, struct fault *fault)
{
    const struct predict_profile_group *group = group_of(profile, n_cores);
    *points = (struct perf_points){ .perf = group->perf };
    enum status status = open_grid(&points->prefill, group, false, fault);
    if (status == STATUS_OK)
        status = open_grid(&points->decode, group, true, fault);
    if (status != STATUS_OK)
        points_free(points);
    return status;
}

void points_free(struct perf_points *points)
{
    grid_free(&points->prefill);
    grid_free(&points->decode);
}

/* Returns the ratio at a place. Beyond its last point it stays constant, since only the fitted line
 * is known there. */
static double ratio_at(const struct grid *grid, double x, double y)
{
    double last_x = grid->x[grid->n_x - 1], last_y = grid->y[grid->n_y - 1];
    return grid_at(grid, x < last_x ? x : last_x, y < last_y ? y : last_y);
}

int64_t points_step_ps(const struct perf_points *points, const struct perf_load *load)
{
    struct perf_load prompts = *load, decodes = *load;
    const struct perf *perf = &points->perf;
    double ps = 0, constant = 0;
    prompts.n_decodes = 0;
    prompts.n_decode_context = 0;
    decodes.n_new = 0;
    decodes.n_new_squared = decodes.n_new_context = 0;
    if (load->n_new > 0) {
        double ratio = ratio_at(&points->prefill, load->n_new, 0);
        ps += ratio * (double)perf_step_ps(perf, &prompts) + (double)points->prompt_ps;
        constant = ratio * (double)perf->c1_ps;
    }
    if (load->n_decodes > 0) {
        double ratio = ratio_at(&points->decode, load->n_decodes,
                                (double)load->n_decode_context / load->n_decodes);
        double own = ratio * (double)perf->c3_ps[load->n_decodes >= perf->b_switch];
        ps += ratio * (double)perf_step_ps(perf, &decodes);
        ps -= load->n_new > 0 ? (own < constant ? own : constant) : 0;
    }
    if (load->n_new == 0 && load->n_decodes == 0)
        return 0;
    return (int64_t)num_floor(ps + 0.5) + points->step_ps + points->request_ps * load->n_decodes +
           points->token_ps * (load->n_new + load->n_decodes);
}

static int64_t step_ps(const void *self, const struct perf_load *load)
{
    return points_step_ps(self, load);
}

struct perf_truth points_truth(const struct perf_points *points)
{
    return (struct perf_truth){ step_ps, points };
}
