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

static const struct doc_column machine_columns[] = {
    { "MACHINE", "machine", NULL, true },
    { "1 CORE", "1 core", NULL, false },
    { "ALL CORES", "all cores", NULL, false },
    { "UNIT", "unit", NULL, true },
    { "HOW", "how", NULL, true },
};

static void print_machine(const struct roofline_machine *m, struct doc *out)
{
    const int64_t sizes[] = { m->sizes.l2, m->sizes.l3, m->sizes.memory };
    doc_say(out, "machine: %s, %d cores", cpu_isa_name(cpu_isa_best()), m->device.n_cores);
    doc_gap(out);
    doc_table(out, machine_columns, COUNT_OF(machine_columns));
    for (int i = 0; i < 3; i++) {
        doc_cell(out, "read %s", level_names[i]);
        doc_cell(out, "%.1f", m->read[i][0] * 1e-9);
        doc_cell(out, "%.1f", m->read[i][1] * 1e-9);
        doc_cell(out, "GB/s");
        doc_cell(out, "of %.2f MiB", (double)sizes[i] / 1048576);
    }
    for (int i = 0; i < CPU_LIMIT_N; i++) {
        doc_cell(out, "%s", limit_names[i]);
        doc_cell(out, "%.1f", m->peak[i][0] * 1e-9);
        doc_cell(out, "%.1f", m->peak[i][1] * 1e-9);
        doc_cell(out, "Gop/s");
        doc_cell(out, "%s", cpu_limits_instructions((enum cpu_limit)i));
    }
    doc_table_end(out);
    doc_gap(out);
}

/* Returns the share of others that makes a row doubtful. */
static double others_of(const struct roofline_row *row)
{
    return roofline_work_median(row->others, row->n_rounds);
}

static const char *name_of(const struct roofline_peer *peer)
{
    return peer->is_ik ? "ik_llama.cpp" : "llama.cpp";
}

/* The columns of a table of rows: ours, two for each peer, the ratio. */
enum { OWN_COLUMNS = 7, COLUMNS_MAX = OWN_COLUMNS + 2 * ROOFLINE_PEERS + 1 };
struct columns {
    struct doc_column of[COLUMNS_MAX];
    int n;
};
struct printed {
    const struct roofline_report *report;
    struct columns rows, attentions;
    struct doc *out;
};

static void make_columns(const struct roofline_report *r, bool is_attention, struct columns *to)
{
    static const struct doc_column own[OWN_COLUMNS] = {
        { "BATCH", "batch", "a prompt of so many tokens, or so many requests at a context", true },
        { "TOKENS/S", "tokens/s", NULL, false },
        { "GB/S", "GB/s", "of the file's weights and the cache", false },
        { "GOP/S", "Gop/s", NULL, false },
        { "LIMIT", "limit",
          "the part that was reached of what bytes at this footprint's bandwidth and arithmetic at "
          "its own peak allow, both measured before and after each row",
          false },
        { "BOUND BY", "bound by", NULL, true },
        { "OTHER", "other", "cores that other programs used meanwhile; over 0.06 a row is doubtful",
          false },
    };
    memcpy(to->of, own, sizeof(own));
    to->n = OWN_COLUMNS;
    if (is_attention) {
        to->of[0] =
            (struct doc_column){ "ATTENTION", "attention", "so many requests x context", true };
        to->of[1] = (struct doc_column){ "MS", "ms", NULL, false };
        for (int i = 2; i < OWN_COLUMNS; i++)
            to->of[i].why = NULL; /* the other table says it */
    }
    for (int i = 0; i < r->n_peers; i++) {
        to->of[to->n++] = (struct doc_column){ name_of(&r->peers[i]), NULL, NULL, false };
        to->of[to->n++] = (struct doc_column){ "FLAGS", "flags", NULL, true };
    }
    if (r->n_peers > 0)
        to->of[to->n++] =
            (struct doc_column){ "RATIO", NULL,
                                 "ours over the faster peer's, the median of the rounds", false };
}

static void print_peers(const struct roofline_report *r, const struct roofline_row *row,
                        struct doc *out)
{
    for (int i = 0; i < r->n_peers; i++) {
        int variant;
        double rate;
        if (!roofline_peer_best(row, i, &variant, &rate)) {
            doc_cell(out, "-");
            doc_cell(out, "%s", "");
            continue;
        }
        struct str flags;
        str_init(&flags);
        roofline_peer_flags(&r->peers[i], variant, row->point.n_sequences > 1, &flags);
        doc_cell(out, "%.2f", rate);
        doc_cell(out, "%s", flags.at != NULL ? flags.at : "");
        str_free(&flags);
    }
    if (r->n_peers == 0)
        return;
    int peer = -1;
    double ratio = roofline_ratio(row, r->n_peers, &peer);
    if (ratio > 0)
        doc_part(out, "%.2f", ratio);
    doc_end(out);
}

static void print_row(const struct roofline_report *r, const struct roofline_row *row,
                      struct doc *out)
{
    char name[64];
    const struct roofline_limit *limit = &row->limit;
    double s = roofline_work_median(row->ours, row->n_rounds);
    bool is_bytes = limit->bytes / row->read > limit->arithmetic_s;
    doc_cell(out, "%s", roofline_point_name(&row->point, name));
    if (row->point.kind != ROOFLINE_ATTENTION)
        doc_cell(out, "%.2f", roofline_work_tokens(&row->point) / s);
    else
        doc_cell(out, "%.3f", s * 1e3);
    doc_cell(out, "%.2f", limit->bytes / s * 1e-9);
    doc_cell(out, "%.1f", limit->ops / s * 1e-9);
    doc_cell(out, "%.0f%%", 100 * roofline_work_median(row->fractions, row->n_rounds));
    doc_cell(out, "%s", is_bytes ? "bytes" : "arithmetic");
    doc_cell(out, "%.2f", others_of(row));
    print_peers(r, row, out);
}

static void print_rows(const struct printed *p, const struct columns *columns,
                       const struct roofline_row *rows, int n)
{
    if (n == 0)
        return;
    doc_table(p->out, columns->of, columns->n);
    for (int i = 0; i < n; i++)
        print_row(p->report, &rows[i], p->out);
    doc_table_end(p->out);
    doc_gap(p->out);
}

static void print_model(const struct printed *p, const struct roofline_model *m)
{
    doc_head(p->out, "%s: file %.1f MiB, packed %.1f MiB in %.2f s", m->name,
             (double)m->file_bytes / 1048576, (double)m->packed_bytes / 1048576, m->pack_s);
    print_rows(p, &p->rows, m->rows, m->n_rows);
    print_rows(p, &p->attentions, m->attentions, m->n_attentions);
    for (int i = 0; i < m->n_left_out; i++) {
        char name[64];
        doc_say(p->out, "%s left out: %s", roofline_point_name(&m->left_out[i].point, name),
                m->left_out[i].why);
    }
    for (int i = 0; i < m->n_failed; i++)
        doc_say(p->out, "%s", m->failed[i]);
}

void roofline_print(const struct roofline_report *r, struct doc *out)
{
    struct printed p = { .report = r, .out = out };
    make_columns(r, false, &p.rows);
    make_columns(r, true, &p.attentions);
    print_machine(r->machine, out);
    for (int i = 0; i < r->n_peers; i++)
        doc_say(out, "peer %s, commit %s: %s", name_of(&r->peers[i]),
                r->peers[i].commit[0] != '\0' ? r->peers[i].commit : "unknown", r->peers[i].bench);
    for (int i = 0; i < r->n_models; i++)
        print_model(&p, &r->models[i]);
    if (out->text != NULL)
        str_add_text(out->text,
                     "GB/S: of the file's weights and the cache; LIMIT: the part that was reached "
                     "of what bytes at this footprint's bandwidth and arithmetic at its own peak "
                     "allow, both measured before and after each row; OTHER: cores that other "
                     "programs used meanwhile (over 0.06: doubtful)\n");
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
