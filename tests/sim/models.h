/* Performance models that simulations in tests run: invented, and simple to compute by hand. */
#pragma once
#include "predict/perf.h"

static const struct perf small_model = {
    .floor_ps = 2000000000,
    .c1_ps = 1000000000,
    .k1_ps = 20000000,
    .c3_ps = { 5000000000, 6000000000 },
    .c2_ps = { 20000000, 60000000 },
    .k2_ps = { 100000, 100000 },
    .b_switch = 24,
    .prefill_scale = 1,
    .decode_scale = 1,
};
static const struct perf large_model = {
    .floor_ps = 9000000000,
    .c1_ps = 3400000000,
    .k1_ps = 73800000,
    .c3_ps = { 11440000000, 13000000000 },
    .c2_ps = { 30000000, 90000000 },
    .k2_ps = { 374000, 374000 },
    .b_switch = 64,
    .prefill_scale = 1,
    .decode_scale = 1,
};
/* One regime, no floor. */
static const struct perf line_model = {
    .c1_ps = 1000000000,
    .k1_ps = 20000000,
    .c3_ps = { 5000000000, 5000000000 },
    .c2_ps = { 20000000, 20000000 },
    .k2_ps = { 100000, 100000 },
    .b_switch = INT32_MAX,
    .prefill_scale = 1,
    .decode_scale = 1,
};
