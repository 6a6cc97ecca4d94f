/* How long an exact plan of layers takes: all devices unlike, and equal machines.
 *
 * Prints a line a case: devices, layers, states kept, milliseconds. */
#include "base/rng.h"
#include "base/time.h"
#include "place/layers.h"
#include <stdio.h>

enum { N_MAX = 128 };

static struct layers_device devices[N_MAX];
static int64_t links[N_MAX * N_MAX];

static void solve(const char *what, int32_t n, int32_t n_layers, bool returns)
{
    static const enum layers_aim aims[] = { LAYERS_LR, LAYERS_HE, LAYERS_HELR };
    static const char *const names[] = { "lr", "he", "helr" };
    const struct layers_problem problem = { n, n_layers, devices, links, returns };
    for (int i = 0; i < 3; i++) {
        struct layers_plan plan;
        struct fault fault;
        int64_t begin_ns = time_now_ns();
        if (layers_solve(&problem, aims[i], NULL, &plan, &fault) != STATUS_OK) {
            printf("%-28s %-5s %4d devices: %s\n", what, names[i], n, fault.text);
            continue;
        }
        printf("%-28s %-5s %4d devices%s %3d layers: %3d used, %8lld states, %8.2f ms\n", what,
               names[i], n, returns ? " and back," : ",         ", n_layers, plan.n_parts,
               (long long)plan.n_states, (double)(time_now_ns() - begin_ns) * 1e-6);
    }
}

/* Layers of 1 to 3 ms, links of 10 to 500 us. */
static void draw_unlike(int32_t n, uint64_t seed, int32_t n_layers_max)
{
    struct rng rng;
    rng_init(&rng, seed, 0);
    for (int32_t d = 0; d < n; d++) {
        devices[d].layer_ps = 1000000000 + rng_below(&rng, 2000000000);
        devices[d].n_layers_max = 1 + (int32_t)rng_below(&rng, (uint32_t)n_layers_max);
    }
    for (int32_t i = 0; i < n * n; i++)
        links[i] = 10000000 + rng_below(&rng, 490000000);
}

static void draw_machines(int32_t n_machines, int32_t size)
{
    int32_t n = n_machines * size;
    for (int32_t d = 0; d < n; d++) {
        devices[d].layer_ps = d < n / 2 ? 1000000000 : 1600000000;
        devices[d].n_layers_max = d < n / 2 ? 5 : 9;
    }
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b < n; b++)
            links[a * n + b] = a / size == b / size ? 15000000 : 60000000;
}

int main(void)
{
    for (int32_t n = 6; n <= 18; n += 2) {
        draw_unlike(n, 1, 12);
        solve("all unlike", n, 33, false);
        solve("all unlike", n, 33, true);
    }
    draw_unlike(16, 2, 4);
    solve("all unlike, room for 1 to 4", 16, 33, true);
    for (int32_t n = 2; n <= 16; n *= 2) {
        draw_machines(n, 8);
        solve("machines of 8, two kinds", 8 * n, 80, true);
    }
    return 0;
}
