/* K-means over pairs of lengths: Lloyd's algorithm, begun by k-means++ (Arthur and Vassilvitskii,
 * 2007), several times. */
#include "workload/kmeans.h"

#include "base/mem.h"
#include "base/num.h"
#include <string.h>

enum { N_BEGINNINGS = 8, N_BEGINNINGS_SMALL = 64, SMALL = 256, N_ROUNDS_MAX = 100 };

struct point {
    double x, y;
};
struct kmeans {
    struct point *points; /* (n) */
    double *far;          /* (n) squared distance to the nearest centre so far */
    uint32_t *cluster, *best_cluster;
    struct point centres[WORKLOAD_KMEANS_MAX];
    uint32_t n, k;
    struct rng rng;
};

static double distance(struct point a, struct point b)
{
    return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

static double deviation(const struct workload_pair *pairs, uint32_t n, bool of_prompts)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        double v = of_prompts ? pairs[i].n_prompt : pairs[i].n_output;
        sum += v;
        squares += v * v;
    }
    double variance = squares / n - sum / n * (sum / n);
    return variance > 1e-9 ? num_sqrt(variance) : 1;
}

/* Draws each next centre among the points, by its squared distance to earlier centres. */
static void choose_centres(struct kmeans *m)
{
    m->centres[0] = m->points[rng_below(&m->rng, m->n)];
    for (uint32_t i = 0; i < m->n; i++)
        m->far[i] = distance(m->points[i], m->centres[0]);
    for (uint32_t c = 1; c < m->k; c++) {
        double sum = 0;
        for (uint32_t i = 0; i < m->n; i++)
            sum += m->far[i];
        double x = rng_unit(&m->rng) * sum;
        uint32_t at = 0;
        while (at + 1 < m->n && (x -= m->far[at]) >= 0)
            at++;
        m->centres[c] = m->points[at];
        for (uint32_t i = 0; i < m->n; i++) {
            double d = distance(m->points[i], m->centres[c]);
            m->far[i] = d < m->far[i] ? d : m->far[i];
        }
    }
}

/* Assigns every point to its nearest centre, the lower of equal ones. Returns true when one
 * moved. */
static bool assign(struct kmeans *m, double *sum)
{
    bool has_moved = false;
    *sum = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        uint32_t best = 0;
        double best_d = distance(m->points[i], m->centres[0]);
        for (uint32_t c = 1; c < m->k; c++) {
            double d = distance(m->points[i], m->centres[c]);
            if (d < best_d) {
                best = c;
                best_d = d;
            }
        }
        has_moved |= m->cluster[i] != best;
        m->cluster[i] = best;
        m->far[i] = best_d;
        *sum += best_d;
    }
    return has_moved;
}

/* Moves centres to the middle of their points. A centre without points goes to the point that is
 * farthest from its own centre. */
static void move_centres(struct kmeans *m)
{
    struct point sums[WORKLOAD_KMEANS_MAX] = { { 0, 0 } };
    uint32_t counts[WORKLOAD_KMEANS_MAX] = { 0 };
    for (uint32_t i = 0; i < m->n; i++) {
        sums[m->cluster[i]].x += m->points[i].x;
        sums[m->cluster[i]].y += m->points[i].y;
        counts[m->cluster[i]]++;
    }
    for (uint32_t c = 0; c < m->k; c++) {
        if (counts[c] > 0) {
            m->centres[c] = (struct point){ sums[c].x / counts[c], sums[c].y / counts[c] };
            continue;
        }
        uint32_t farthest = 0;
        for (uint32_t i = 1; i < m->n; i++)
            if (m->far[i] > m->far[farthest])
                farthest = i;
        m->centres[c] = m->points[farthest];
        m->far[farthest] = 0;
    }
}

static double run(struct kmeans *m)
{
    double sum = 0;
    choose_centres(m);
    memset(m->cluster, 0xff, m->n * sizeof(*m->cluster));
    for (int round = 0; round < N_ROUNDS_MAX && assign(m, &sum); round++)
        move_centres(m);
    return sum;
}

/* Numbers clusters by their mean prompts, then outputs. */
static void order_clusters(const struct kmeans *m, uint32_t *cluster)
{
    struct point means[WORKLOAD_KMEANS_MAX] = { { 0, 0 } };
    uint32_t counts[WORKLOAD_KMEANS_MAX] = { 0 }, rank[WORKLOAD_KMEANS_MAX] = { 0 };
    for (uint32_t i = 0; i < m->n; i++) {
        means[m->best_cluster[i]].x += m->points[i].x;
        means[m->best_cluster[i]].y += m->points[i].y;
        counts[m->best_cluster[i]]++;
    }
    for (uint32_t c = 0; c < m->k; c++) {
        means[c].x = counts[c] > 0 ? means[c].x / counts[c] : 1e300; /* empty ones last */
        means[c].y = counts[c] > 0 ? means[c].y / counts[c] : 0;
    }
    for (uint32_t a = 0; a < m->k; a++)
        for (uint32_t b = 0; b < m->k; b++)
            if (means[b].x < means[a].x ||
                (means[b].x == means[a].x &&
                 (means[b].y < means[a].y || (means[b].y == means[a].y && b < a))))
                rank[a]++;
    for (uint32_t i = 0; i < m->n; i++)
        cluster[i] = rank[m->best_cluster[i]];
}

double workload_kmeans(const struct workload_pair *pairs, uint32_t n, uint32_t k, uint64_t seed,
                       uint32_t *cluster)
{
    double by_prompt = deviation(pairs, n, true), by_output = deviation(pairs, n, false);
    CHECK(k >= 1 && k <= WORKLOAD_KMEANS_MAX && n >= k);
    struct kmeans m = { .points = mem_take(n * sizeof(*m.points)),
                        .far = mem_take(n * sizeof(*m.far)),
                        .cluster = mem_take(n * sizeof(*m.cluster)),
                        .best_cluster = mem_take(n * sizeof(*m.cluster)),
                        .n = n,
                        .k = k };
    double best = -1;
    rng_init(&m.rng, seed, 1);
    for (uint32_t i = 0; i < n; i++)
        m.points[i] =
            (struct point){ pairs[i].n_prompt / by_prompt, pairs[i].n_output / by_output };
    for (int i = n <= SMALL ? N_BEGINNINGS_SMALL : N_BEGINNINGS; i > 0; i--) {
        double sum = run(&m);
        if (best < 0 || sum < best) {
            best = sum;
            memcpy(m.best_cluster, m.cluster, n * sizeof(*m.cluster));
        }
    }
    order_clusters(&m, cluster);
    mem_give(m.points);
    mem_give(m.far);
    mem_give(m.cluster);
    mem_give(m.best_cluster);
    return best;
}
