/* Decides when to plan anew and whether to move: Equation 8 of SeaLLM, and what a move gains and
 * costs. */
#include "place/replace.h"

#define S INT64_C(1000000000)

void replace_config_init(struct replace_config *config)
{
    *config = (struct replace_config){ .beta = 0.1,
                                       .first_ns = 600 * S,
                                       .least_ns = 60 * S,
                                       .most_ns = 3600 * S,
                                       .gain_latency = 0.05,
                                       .gain_attainment = 0.01,
                                       .settle_ns = 2 * S };
}

/* ---- Equation 8. ---- */

static double part(double real, double foretold)
{
    double away = real < foretold ? foretold - real : real - foretold;
    return away / (foretold < 1e-6 ? 1e-6 : foretold);
}

double replace_deviation(const struct replace_score *real, const struct replace_score *foretold)
{
    double latency = part(real->normalized_latency, foretold->normalized_latency);
    double attainment = part(real->attainment, foretold->attainment);
    return latency > attainment ? latency : attainment;
}

int64_t replace_interval_ns(const struct replace_config *config, int64_t interval_ns, double dev)
{
    double factor = dev > config->beta   ? 1 - config->beta
                    : dev < config->beta ? 1 + config->beta
                                         : 1;
    double ns = (double)interval_ns * factor;
    if (ns <= (double)config->least_ns)
        return config->least_ns;
    return ns >= (double)config->most_ns ? config->most_ns : (int64_t)ns;
}

/* ---- The move. ---- */

static int64_t transfer_ns(int64_t n_bytes, double bytes_per_s)
{
    return n_bytes <= 0 || bytes_per_s <= 0 ? 0 : (int64_t)(1e9 * (double)n_bytes / bytes_per_s);
}

int64_t replace_away_ns(const struct replace_config *config, const struct replace_links *links,
                        const struct replace_move *move)
{
    return config->settle_ns + transfer_ns(move->weights_bytes, links->host_bytes_per_s) +
           transfer_ns(move->kv_bytes, links->kv_bytes_per_s) + move->recompute_ns;
}

int64_t replace_fetch_ns(const struct replace_links *links, const struct replace_move *moves,
                         int32_t n)
{
    int64_t longest = 0;
    for (int32_t i = 0; i < n; i++)
        if (!moves[i].is_prefetched)
            longest =
                max_i64(longest, transfer_ns(moves[i].weights_bytes, links->disk_bytes_per_s));
    return longest;
}

enum replace_verdict replace_decide(const struct replace_config *config,
                                    const struct replace_case *c)
{
    double old = c->kept.normalized_latency, new = c->planned.normalized_latency;
    double faster = old > 0 ? (old - new) / old : 0;
    double better = c->planned.attainment - c->kept.attainment;
    double waited_s = 0, missed = 0;
    int64_t longest_ns = 0;
    if (c->n_moves == 0)
        return REPLACE_SAME;
    /* Attainment comes first, so better latency never pays for worse attainment. */
    if ((faster < config->gain_latency && better < config->gain_attainment) ||
        better < -config->gain_attainment)
        return REPLACE_NO_GAIN;
    for (int32_t i = 0; i < c->n_moves; i++) {
        int64_t away_ns = replace_away_ns(config, &c->links, &c->moves[i]);
        double away_s = (double)away_ns * 1e-9;
        longest_ns = max_i64(longest_ns, away_ns);
        /* Requests that arrive while it is away wait for half of that time on average. */
        waited_s += c->moves[i].n_requests_per_s * away_s * away_s / 2;
        waited_s += c->moves[i].n_there * away_s;
        missed += c->moves[i].n_requests_per_s * away_s + c->moves[i].n_there;
    }
    /* It gains nothing before it is there. */
    int64_t ready_ns = replace_fetch_ns(&c->links, c->moves, c->n_moves) + longest_ns;
    double left_s = (double)max_i64(0, c->interval_ns - ready_ns) * 1e-9;
    double saved_s = faster * c->latency_s * c->rate * left_s;
    double met = better * c->rate * left_s;
    bool pays = (faster >= config->gain_latency && saved_s > waited_s) ||
                (better >= config->gain_attainment && met > missed);
    return pays ? REPLACE_INSTALL : REPLACE_NOT_WORTH;
}
