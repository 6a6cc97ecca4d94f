/* Prints the results of shoal bench kernels, as a table and as JSON. */
#include "roofline/roofline.h"

#include "base/json_out.h"
#include "cpu/cpu.h"
#include <stdio.h>
#include <string.h>

static const char *const level_names[] = { "L2", "L3", "memory" };
static const char *const limit_names[CPU_LIMIT_N] = { "float", "half", "int8", "int8 in 16 bits" };
static const char *const limit_keys[CPU_LIMIT_N] = { "float", "half", "int8", "int8_short" };

const char *roofline_point_name(const struct roofline_point *point, char text[64])
{
    if (point->kind == ROOFLINE_PREFILL)
        snprintf(text, 64, "prefill %d", point->n_new);
    else if (point->kind == ROOFLINE_ATTENTION)
        snprintf(text, 64, "attention %d x %d", point->n_sequences, point->n_before + 1);
    else
        snprintf(text, 64, "decode %d at %d", point->n_sequences, point->n_before);
    return text;
}

static void print_machine(const struct roofline_machine *m, struct str *out)
{
    const int64_t sizes[] = { m->sizes.l2, m->sizes.l3, m->sizes.memory };
    str_printf(out, "machine, %s, 1 core / %d cores\n", cpu_isa_name(cpu_isa_best()),
               m->device.n_cores);
    for (int i = 0; i < 3; i++)
        str_printf(out, "  read %-15s %8.1f / %8.1f GB/s (of %.2f MiB)\n", level_names[i],
                   m->read[i][0] * 1e-9, m->read[i][1] * 1e-9, (double)sizes[i] / 1048576);
    for (int i = 0; i < CPU_LIMIT_N; i++)
        str_printf(out, "  %-20s %8.1f / %8.1f Gop/s (%s)\n", limit_names[i], m->peak[i][0] * 1e-9,
                   m->peak[i][1] * 1e-9, cpu_limits_instructions((enum cpu_limit)i));
}

/* Returns the share of others that makes a row doubtful. */
static double others_of(const struct roofline_row *row)
{
    return roofline_work_median(row->others, row->n_rounds);
}

static void print_peers(const struct roofline_report *r, const struct roofline_row *row,
                        struct str *out)
{
    for (int i = 0; i < r->n_peers; i++) {
        int variant;
        double rate;
        if (!roofline_peer_best(row, i, &variant, &rate)) {
            str_printf(out, " | %-30s", "-");
            continue;
        }
        struct str flags;
        str_init(&flags);
        roofline_peer_flags(&r->peers[i], variant, row->point.n_sequences > 1, &flags);
        str_printf(out, " | %9.2f %-20s", rate, flags.at);
        str_free(&flags);
    }
    int peer = -1;
    double ratio = roofline_ratio(row, r->n_peers, &peer);
    if (ratio > 0)
        str_printf(out, " | %5.2f P", ratio);
}

static void print_row(const struct roofline_report *r, const struct roofline_row *row,
                      struct str *out)
{
    char name[64];
    const struct roofline_limit *limit = &row->limit;
    double s = roofline_work_median(row->ours, row->n_rounds);
    bool is_bytes = limit->bytes / row->read > limit->arithmetic_s;
    str_printf(out, "  %-22s", roofline_point_name(&row->point, name));
    if (row->point.kind != ROOFLINE_ATTENTION)
        str_printf(out, " %9.2f", roofline_work_tokens(&row->point) / s);
    else
        str_printf(out, " %9.3f", s * 1e3);
    str_printf(out, " %7.2f %8.1f %4.0f%% %-10s %5.2f", limit->bytes / s * 1e-9,
               limit->ops / s * 1e-9, 100 * roofline_work_median(row->fractions, row->n_rounds),
               is_bytes ? "bytes" : "arithmetic", others_of(row));
    print_peers(r, row, out);
    str_add_char(out, '\n');
}

static void print_model(const struct roofline_report *r, const struct roofline_model *m,
                        struct str *out)
{
    str_printf(out, "\n%s: file %.1f MiB, packed %.1f MiB in %.2f s\n", m->name,
               (double)m->file_bytes / 1048576, (double)m->packed_bytes / 1048576, m->pack_s);
    if (m->n_rows > 0)
        str_printf(out, "  %-22s %9s %7s %8s %5s %-10s %5s", "", "tokens/s", "GB/s", "Gop/s",
                   "limit", "bound by", "other");
    for (int i = 0; i < r->n_peers && m->n_rows > 0; i++)
        str_printf(out, " | %-30s", r->peers[i].is_ik ? "ik_llama.cpp" : "llama.cpp");
    str_add_char(out, '\n');
    for (int i = 0; i < m->n_rows; i++)
        print_row(r, &m->rows[i], out);
    if (m->n_attentions > 0)
        str_printf(out, "  %-22s %9s %7s %8s %5s\n", "batch x context", "ms", "GB/s", "Gop/s",
                   "limit");
    for (int i = 0; i < m->n_attentions; i++)
        print_row(r, &m->attentions[i], out);
    for (int i = 0; i < m->n_left_out; i++) {
        char name[64];
        str_printf(out, "  %-22s left out: %s\n", roofline_point_name(&m->left_out[i].point, name),
                   m->left_out[i].why);
    }
    for (int i = 0; i < m->n_failed; i++)
        str_printf(out, "  %s\n", m->failed[i]);
}

void roofline_print(const struct roofline_report *r, struct str *out)
{
    print_machine(r->machine, out);
    for (int i = 0; i < r->n_peers; i++)
        str_printf(
            out, "peer %s, commit %s: %s\n", r->peers[i].is_ik ? "ik_llama.cpp" : "llama.cpp",
            r->peers[i].commit[0] != '\0' ? r->peers[i].commit : "unknown", r->peers[i].bench);
    for (int i = 0; i < r->n_models; i++)
        print_model(r, &r->models[i], out);
    str_add_text(out, "\nGB/s: of the file's weights and the cache; limit: the part that was "
                      "reached of what bytes at this footprint's bandwidth and arithmetic at its "
                      "own peak allow, both measured before and after each row; other: cores that "
                      "other programs used meanwhile (over 0.06: doubtful)\n");
}

/* ---- JSON. ---- */

static void json_doubles(struct json_out *json, const char *key, const double *values, int n)
{
    json_out_key(json, key);
    json_out_open(json, '[');
    for (int i = 0; i < n; i++)
        json_out_f64(json, values[i]);
    json_out_close(json, ']');
}

static void json_machine(const struct roofline_machine *m, struct json_out *json)
{
    json_out_key(json, "machine");
    json_out_open(json, '{');
    json_out_key_text(json, "isa", cpu_isa_name(cpu_isa_best()));
    json_out_key_i64(json, "cores", m->device.n_cores);
    json_doubles(json, "read_l2", m->read[0], 2);
    json_doubles(json, "read_l3", m->read[1], 2);
    json_doubles(json, "read_memory", m->read[2], 2);
    for (int i = 0; i < CPU_LIMIT_N; i++)
        json_doubles(json, limit_keys[i], m->peak[i], 2);
    json_out_close(json, '}');
}

static void json_peers(const struct roofline_report *r, const struct roofline_row *row,
                       struct json_out *json)
{
    json_out_key(json, "peers");
    json_out_open(json, '[');
    for (int i = 0; i < r->n_peers; i++)
        for (int v = 0; v < ROOFLINE_VARIANTS; v++) {
            struct str flags;
            str_init(&flags);
            roofline_peer_flags(&r->peers[i], v, row->point.n_sequences > 1, &flags);
            json_out_open(json, '{');
            json_out_key_i64(json, "peer", i);
            json_out_key_text(json, "flags", flags.at);
            json_doubles(json, "tokens_per_s", row->peers[i][v], row->n_rounds);
            json_out_close(json, '}');
            str_free(&flags);
        }
    json_out_close(json, ']');
    int peer = -1;
    json_out_key_f64(json, "ratio", roofline_ratio(row, r->n_peers, &peer));
}

static void json_row(const struct roofline_report *r, const struct roofline_row *row,
                     struct json_out *json)
{
    char name[64];
    double s = roofline_work_median(row->ours, row->n_rounds);
    json_out_open(json, '{');
    json_out_key_text(json, "name", roofline_point_name(&row->point, name));
    json_out_key_f64(json, "tokens_per_s", s > 0 ? roofline_work_tokens(&row->point) / s : 0);
    json_doubles(json, "seconds", row->ours, row->n_rounds);
    json_doubles(json, "others", row->others, row->n_rounds);
    json_out_key_f64(json, "ops", row->limit.ops);
    json_out_key_f64(json, "bytes", row->limit.bytes);
    json_out_key_f64(json, "read", row->read);
    json_out_key_f64(json, "composite_s", row->limit.composite_s);
    json_out_key_f64(json, "larger_s", row->limit.larger_s);
    json_out_key_f64(json, "fraction", roofline_work_median(row->fractions, row->n_rounds));
    json_peers(r, row, json);
    json_out_close(json, '}');
}

static void json_model(const struct roofline_report *r, const struct roofline_model *m,
                       struct json_out *json)
{
    json_out_open(json, '{');
    json_out_key_text(json, "model", m->name);
    json_out_key_i64(json, "file_bytes", m->file_bytes);
    json_out_key_i64(json, "packed_bytes", m->packed_bytes);
    json_out_key_f64(json, "pack_s", m->pack_s);
    json_out_key(json, "rows");
    json_out_open(json, '[');
    for (int i = 0; i < m->n_rows; i++)
        json_row(r, &m->rows[i], json);
    for (int i = 0; i < m->n_attentions; i++)
        json_row(r, &m->attentions[i], json);
    json_out_close(json, ']');
    json_out_key(json, "left_out");
    json_out_open(json, '[');
    for (int i = 0; i < m->n_left_out; i++) {
        char name[64];
        json_out_open(json, '{');
        json_out_key_text(json, "name", roofline_point_name(&m->left_out[i].point, name));
        json_out_key_text(json, "why", m->left_out[i].why);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_key(json, "failed");
    json_out_open(json, '[');
    for (int i = 0; i < m->n_failed; i++)
        json_out_text(json, m->failed[i]);
    json_out_close(json, ']');
    json_out_close(json, '}');
}

void roofline_json(const struct roofline_report *r, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_machine(r->machine, &json);
    json_out_key(&json, "peers");
    json_out_open(&json, '[');
    for (int i = 0; i < r->n_peers; i++) {
        json_out_open(&json, '{');
        json_out_key_text(&json, "program", r->peers[i].bench);
        json_out_key_bool(&json, "is_ik", r->peers[i].is_ik);
        json_out_key_text(&json, "commit", r->peers[i].commit);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_key(&json, "models");
    json_out_open(&json, '[');
    for (int i = 0; i < r->n_models; i++)
        json_model(r, &r->models[i], &json);
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}
