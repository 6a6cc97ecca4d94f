/* Writes, reads and looks up profiles. */
#include "predict/profile.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "core/limits.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { PROFILE_BYTES_MAX = 16 << 20, PROFILE_VERSION = 1 };

enum status predict_profile_fit(struct predict_profile_group *g, struct fault *fault)
{
    int n_fitted = g->n_samples - g->n_held;
    const struct perf_sample *held = g->samples + n_fitted;
    struct perf_errors *fits[2] = { &g->prefill, &g->decode };
    struct perf_errors *helds[2] = { &g->prefill_held, &g->decode_held };
    if (!perf_fit(g->samples, n_fitted, &g->perf))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: %d points do not determine the model; more time gives more",
                         g->device, n_fitted);
    for (int i = 0; i < 2; i++) {
        perf_errors_of(&g->perf, g->samples, n_fitted, i == 0, fits[i]);
        perf_interval_of(g->samples, n_fitted, i == 0, fits[i]);
        perf_errors_of(&g->perf, held, g->n_held, i == 0, helds[i]);
        helds[i]->within = perf_within(&g->perf, held, g->n_held, i == 0, fits[i]);
    }
    return STATUS_OK;
}

/* ---- Writing. ---- */

static void put_pair(struct json_out *json, const char *key, const int64_t value[2])
{
    json_out_key(json, key);
    json_out_open(json, '[');
    json_out_i64(json, value[0]);
    json_out_i64(json, value[1]);
    json_out_close(json, ']');
}

static void put_perf(struct json_out *json, const struct perf *perf)
{
    json_out_key(json, "perf_ps");
    json_out_open(json, '{');
    json_out_key_i64(json, "floor", perf->floor_ps);
    json_out_key_i64(json, "c1", perf->c1_ps);
    json_out_key_i64(json, "k1", perf->k1_ps);
    json_out_key_i64(json, "q1", perf->q1_ps);
    put_pair(json, "c3", perf->c3_ps);
    put_pair(json, "c2", perf->c2_ps);
    put_pair(json, "k2", perf->k2_ps);
    json_out_key_i64(json, "b_switch", perf->b_switch);
    json_out_close(json, '}');
}

static const char *const error_names[] = { "rmse_ps", "mean",  "bias",  "low",
                                           "high",    "worst", "within" };

static void put_errors(struct json_out *json, const char *key, const struct perf_errors *e)
{
    const double values[] = {
        e->rmse_ps, e->mean_abs, e->bias, e->low, e->high, e->worst, e->within
    };
    json_out_key(json, key);
    json_out_open(json, '{');
    json_out_key_i64(json, "n", e->n);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        json_out_key_f64(json, error_names[i], values[i]);
    json_out_close(json, '}');
}

static void put_sample(struct json_out *json, const struct perf_sample *s)
{
    json_out_open(json, '[');
    json_out_i64(json, s->load.n_decodes);
    json_out_i64(json, s->load.n_decode_context);
    json_out_i64(json, s->load.n_new);
    json_out_i64(json, s->load.n_new_squared);
    json_out_i64(json, s->load.n_new_context);
    json_out_i64(json, s->ps);
    json_out_close(json, ']');
}

static void put_group(struct json_out *json, const struct predict_profile_group *g)
{
    json_out_open(json, '{');
    json_out_key_text(json, "device", g->device);
    json_out_key_i64(json, "cores", g->n_cores);
    json_out_key_f64(json, "share", g->share);
    put_perf(json, &g->perf);
    put_errors(json, "prefill", &g->prefill);
    put_errors(json, "decode", &g->decode);
    put_errors(json, "prefill_held_out", &g->prefill_held);
    put_errors(json, "decode_held_out", &g->decode_held);
    json_out_key_i64(json, "held_out", g->n_held);
    /* decodes, their context, new tokens, squared, times those before; picoseconds */
    json_out_key(json, "samples");
    json_out_open(json, '[');
    for (int32_t i = 0; i < g->n_samples; i++)
        put_sample(json, &g->samples[i]);
    json_out_close(json, ']');
    json_out_close(json, '}');
}

static const char *const kind_names[] = { "prefill", "decode" };

static void put_beside(struct json_out *json, const struct predict_profile_beside *beside)
{
    json_out_key(json, "beside");
    json_out_open(json, '{');
    json_out_key_i64(json, "rounds", beside->n_rounds);
    for (int i = 0; i < 2; i++) {
        json_out_key(json, kind_names[i]);
        json_out_open(json, '[');
        json_out_f64(json, beside->factors[i][0]);
        json_out_f64(json, beside->factors[i][1]);
        json_out_close(json, ']');
    }
    json_out_close(json, '}');
}

static void put_sums(struct json_out *json, const struct predict_group_sums *sums)
{
    json_out_open(json, '{');
    json_out_key_i64(json, "ranks", sums->n_ranks);
    json_out_key(json, "points"); /* bytes, picoseconds */
    json_out_open(json, '[');
    for (int32_t i = 0; i < sums->n_points; i++) {
        json_out_open(json, '[');
        json_out_i64(json, sums->bytes[i]);
        json_out_i64(json, sums->ps[i]);
        json_out_close(json, ']');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

static void put_ranks(struct json_out *json, const struct predict_group *group)
{
    json_out_key(json, "ranks");
    json_out_open(json, '{');
    json_out_key_i64(json, "layers", group->n_layers);
    json_out_key_i64(json, "width", group->width);
    json_out_key(json, "sums");
    json_out_open(json, '[');
    for (int32_t i = 0; i < group->n_sums; i++)
        put_sums(json, &group->sums[i]);
    json_out_close(json, ']');
    json_out_close(json, '}');
}

void predict_profile_write(const struct predict_profile *profile, struct str *out)
{
    struct json_out json;
    char hash[20];
    snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)profile->weights_hash);
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_i64(&json, "shoal_profile", PROFILE_VERSION);
    json_out_key_text(&json, "model", profile->model);
    json_out_key_text(&json, "weights_hash", hash);
    json_out_key_text(&json, "arithmetic", profile->arithmetic);
    json_out_key_i64(&json, "weights_bytes", profile->weights_bytes);
    json_out_key_i64(&json, "activation_bytes", profile->activation_bytes);
    json_out_key_i64(&json, "kv_bytes_per_token", profile->kv_bytes_per_token);
    json_out_key_i64(&json, "peak_bytes", profile->peak_bytes);
    json_out_key_i64(&json, "batch_max", profile->n_batch_max);
    json_out_key_i64(&json, "prompt_max", profile->n_prompt_max);
    if (profile->beside.n_rounds > 0)
        put_beside(&json, &profile->beside);
    if (profile->group.n_layers > 0)
        put_ranks(&json, &profile->group);
    json_out_key(&json, "groups");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < profile->n_groups; i++)
        put_group(&json, &profile->groups[i]);
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}

uint64_t predict_profile_hash(const struct predict_profile *profile)
{
    struct str text;
    str_init(&text);
    predict_profile_write(profile, &text);
    uint64_t hash = hash_fast(text.at, text.n, 0).low;
    str_free(&text);
    return hash;
}

/* ---- Reading. A key that is missing, of another type or beyond all bounds is wrong. ---- */

#define PROFILE_MOST (INT64_C(1) << 50) /* for a count, bytes or picoseconds */

struct reader {
    const char *wrong; /* the first wrong key */
};

static int64_t take_i64(struct reader *r, const json_t *object, const char *key, int64_t least)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > PROFILE_MOST) {
        r->wrong = r->wrong != NULL ? r->wrong : key;
        return least;
    }
    return json_integer_value(value);
}

static double take_f64(struct reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) {
        r->wrong = r->wrong != NULL ? r->wrong : key;
        return 0;
    }
    return json_number_value(value);
}

static void take_text(struct reader *r, const json_t *object, const char *key, char *out,
                      size_t n_bytes)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL || strlen(text) >= n_bytes) {
        r->wrong = r->wrong != NULL ? r->wrong : key;
        text = "";
    }
    snprintf(out, n_bytes, "%s", text);
}

static void take_pair(struct reader *r, const json_t *object, const char *key, int64_t out[2])
{
    const json_t *pair = json_object_get(object, key);
    for (size_t i = 0; i < 2; i++) {
        const json_t *value = json_array_get(pair, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > PROFILE_MOST)
            r->wrong = r->wrong != NULL ? r->wrong : key;
        else
            out[i] = json_integer_value(value);
    }
}

static void take_perf(struct reader *r, const json_t *group, struct perf *perf)
{
    const json_t *from = json_object_get(group, "perf_ps");
    *perf = (struct perf){ .floor_ps = take_i64(r, from, "floor", 0),
                           .c1_ps = take_i64(r, from, "c1", 0),
                           .k1_ps = take_i64(r, from, "k1", 0),
                           .q1_ps = take_i64(r, from, "q1", 0),
                           .prefill_scale = 1,
                           .decode_scale = 1 };
    take_pair(r, from, "c3", perf->c3_ps);
    take_pair(r, from, "c2", perf->c2_ps);
    take_pair(r, from, "k2", perf->k2_ps);
    perf->b_switch = (int32_t)min_i64(take_i64(r, from, "b_switch", 0), INT32_MAX);
    if (r->wrong == NULL && !coefficients_are_sane(perf))
        r->wrong = "perf_ps";
}

static void take_errors(struct reader *r, const json_t *group, const char *key,
                        struct perf_errors *e)
{
    const json_t *from = json_object_get(group, key);
    double values[COUNT_OF(error_names)];
    for (size_t i = 0; i < COUNT_OF(values); i++) /* the last is newer than the format */
        values[i] = i < COUNT_OF(values) - 1 || json_object_get(from, error_names[i]) != NULL
                        ? take_f64(r, from, error_names[i])
                        : 0;
    *e = (struct perf_errors){ (int)min_i64(take_i64(r, from, "n", 0), INT32_MAX),
                               values[0],
                               values[1],
                               values[2],
                               values[3],
                               values[4],
                               values[5],
                               values[6] };
}

static void take_samples(struct reader *r, const json_t *group, struct predict_profile_group *g)
{
    const json_t *samples = json_object_get(group, "samples");
    if (!json_is_array(samples) || json_array_size(samples) > PREDICT_PROFILE_SAMPLES) {
        r->wrong = r->wrong != NULL ? r->wrong : "samples";
        return;
    }
    g->n_samples = (int32_t)json_array_size(samples);
    g->n_held = (int32_t)min_i64(take_i64(r, group, "held_out", 0), g->n_samples);
    for (int32_t i = 0; i < g->n_samples; i++) {
        const json_t *row = json_array_get(samples, (size_t)i);
        int64_t v[6];
        for (size_t k = 0; k < COUNT_OF(v); k++) {
            v[k] = json_integer_value(json_array_get(row, k));
            if (!json_is_integer(json_array_get(row, k)) || v[k] < 0 || v[k] > PROFILE_MOST)
                r->wrong = r->wrong != NULL ? r->wrong : "samples";
        }
        g->samples[i] = (struct perf_sample){ { (int32_t)min_i64(v[0], INT32_MAX), v[1],
                                                (int32_t)min_i64(v[2], INT32_MAX), v[3], v[4] },
                                              v[5] };
    }
}

static void take_group(struct reader *r, const json_t *from, struct predict_profile_group *g)
{
    take_text(r, from, "device", g->device, sizeof(g->device));
    g->n_cores = (int32_t)min_i64(take_i64(r, from, "cores", 1), INT32_MAX);
    g->share = take_f64(r, from, "share");
    take_perf(r, from, &g->perf);
    take_errors(r, from, "prefill", &g->prefill);
    take_errors(r, from, "decode", &g->decode);
    take_errors(r, from, "prefill_held_out", &g->prefill_held);
    take_errors(r, from, "decode_held_out", &g->decode_held);
    take_samples(r, from, g);
}

/* NULL: it was not measured. */
static void take_beside(struct reader *r, const json_t *from, struct predict_profile_beside *beside)
{
    if (from == NULL)
        return;
    beside->n_rounds = (int)min_i64(take_i64(r, from, "rounds", 1), INT32_MAX);
    for (size_t i = 0; i < 4; i++) {
        const json_t *value = json_array_get(json_object_get(from, kind_names[i / 2]), i % 2);
        beside->factors[i / 2][i % 2] = json_number_value(value);
        if (!json_is_number(value) || json_number_value(value) < 1 ||
            json_number_value(value) > 1000)
            r->wrong = r->wrong != NULL ? r->wrong : "beside";
    }
}

static void take_sums(struct reader *r, const json_t *from, struct predict_group_sums *sums)
{
    const json_t *points = json_object_get(from, "points");
    sums->n_ranks = (int32_t)min_i64(take_i64(r, from, "ranks", 2), INT32_MAX);
    if (json_array_size(points) < 2 || json_array_size(points) > PREDICT_GROUP_POINTS) {
        r->wrong = r->wrong != NULL ? r->wrong : "points";
        return;
    }
    sums->n_points = (int32_t)json_array_size(points);
    for (int32_t i = 0; i < sums->n_points; i++) {
        const json_t *row = json_array_get(points, (size_t)i);
        const json_t *bytes = json_array_get(row, 0), *ps = json_array_get(row, 1);
        sums->bytes[i] = json_integer_value(bytes);
        sums->ps[i] = json_integer_value(ps);
        if (!json_is_integer(bytes) || !json_is_integer(ps) || sums->bytes[i] < 0 ||
            sums->bytes[i] > PROFILE_MOST || sums->ps[i] < 0 || sums->ps[i] > PROFILE_MOST ||
            (i > 0 && sums->bytes[i] <= sums->bytes[i - 1]))
            r->wrong = r->wrong != NULL ? r->wrong : "points";
    }
}

/* NULL: an older profile. */
static void take_ranks(struct reader *r, const json_t *from, struct predict_group *group)
{
    if (from == NULL)
        return;
    const json_t *sums = json_object_get(from, "sums");
    int64_t n_layers = take_i64(r, from, "layers", 1), width = take_i64(r, from, "width", 1);
    if (n_layers > LIMIT_LAYERS || width > LIMIT_VECTOR)
        r->wrong = r->wrong != NULL ? r->wrong : n_layers > LIMIT_LAYERS ? "layers" : "width";
    group->n_layers = (int32_t)min_i64(n_layers, LIMIT_LAYERS);
    group->width = (int32_t)min_i64(width, LIMIT_VECTOR);
    if (!json_is_array(sums) || json_array_size(sums) > PREDICT_GROUP_DEGREES) {
        r->wrong = r->wrong != NULL ? r->wrong : "sums";
        return;
    }
    group->n_sums = (int32_t)json_array_size(sums);
    for (int32_t i = 0; i < group->n_sums; i++)
        take_sums(r, json_array_get(sums, (size_t)i), &group->sums[i]);
}

static void take_profile(struct reader *r, const json_t *root, struct predict_profile *out)
{
    char hash[20];
    const json_t *groups = json_object_get(root, "groups");
    if (take_i64(r, root, "shoal_profile", 0) != PROFILE_VERSION)
        r->wrong = "shoal_profile";
    take_text(r, root, "model", out->model, sizeof(out->model));
    take_text(r, root, "arithmetic", out->arithmetic, sizeof(out->arithmetic));
    take_text(r, root, "weights_hash", hash, sizeof(hash));
    for (const char *at = hash; *at != '\0'; at++)
        out->weights_hash =
            out->weights_hash << 4 |
            (uint64_t)(*at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : (*at - '0') & 15);
    out->weights_bytes = take_i64(r, root, "weights_bytes", 0);
    out->activation_bytes = take_i64(r, root, "activation_bytes", 0);
    out->kv_bytes_per_token = take_i64(r, root, "kv_bytes_per_token", 1);
    out->peak_bytes = take_i64(r, root, "peak_bytes", 0);
    out->n_batch_max = (int32_t)min_i64(take_i64(r, root, "batch_max", 1), INT32_MAX);
    out->n_prompt_max = (int32_t)min_i64(take_i64(r, root, "prompt_max", 1), INT32_MAX);
    take_beside(r, json_object_get(root, "beside"), &out->beside);
    take_ranks(r, json_object_get(root, "ranks"), &out->group);
    size_t n = json_array_size(groups);
    if (n == 0 || n > PREDICT_PROFILE_GROUPS) {
        r->wrong = r->wrong != NULL ? r->wrong : "groups";
        return;
    }
    out->groups = mem_take(n * sizeof(*out->groups));
    out->n_groups = (int32_t)n;
    for (size_t i = 0; i < n; i++)
        take_group(r, json_array_get(groups, i), &out->groups[i]);
}

enum status predict_profile_parse(struct predict_profile *out, const char *name, const char *text,
                                  struct fault *fault)
{
    struct reader reader = { NULL };
    json_error_t error;
    *out = (struct predict_profile){ 0 };
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "%.80s: line %d: %.80s", name, error.line,
                         error.text);
    take_profile(&reader, root, out);
    json_decref(root);
    if (reader.wrong == NULL)
        return STATUS_OK;
    predict_profile_free(out);
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%.80s is not a profile that this version reads: \"%s\" is missing or wrong",
                     name, reader.wrong);
}

enum status predict_profile_read(struct predict_profile *out, const char *path, struct fault *fault)
{
    char *text;
    size_t n_bytes;
    enum status status = file_read(path, PROFILE_BYTES_MAX, &text, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    status = predict_profile_parse(out, path, text, fault);
    mem_give(text);
    return status;
}

void predict_profile_free(struct predict_profile *profile)
{
    mem_give(profile->groups);
    *profile = (struct predict_profile){ 0 };
}

struct perf predict_profile_perf(const struct predict_profile *profile, int32_t n_cores)
{
    int32_t i = 0;
    struct perf perf;
    while (i < profile->n_groups - 1 && profile->groups[i].n_cores < n_cores)
        i++;
    const struct predict_profile_group *g = &profile->groups[i];
    if (n_cores >= g->n_cores || n_cores <= 0)
        return g->perf;
    perf_at_share(&g->perf, &perf_share_cores, (double)n_cores / g->n_cores, &perf);
    return perf;
}
