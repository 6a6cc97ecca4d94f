/* Reads faults by one table. */
#include "scenario/faults.h"

#include <stdio.h>
#include <string.h>

static enum status set_one(struct sim_faults *f, const char *text, struct fault *fault)
{
    const struct flags_row rows[] = {
        { "latency", "", FLAGS_DURATION, &f->latency_ns, 0, 1e12, "", NULL },
        { "late", "", FLAGS_DURATION, &f->late_ns, 0, 1e12, "", NULL },
        { "lost", "", FLAGS_F64, &f->lost, 0, 1, "", NULL },
        { "resend", "", FLAGS_DURATION, &f->resend_ns, 1, 1e12, "", NULL },
        { "twice", "", FLAGS_F64, &f->twice, 0, 1, "", NULL },
        { "drop", "", FLAGS_F64, &f->drop, 0, 1, "", NULL },
        { "break", "", FLAGS_DURATION, &f->break_ns, 1e6, 1e15, "", NULL },
        { "break-for", "", FLAGS_DURATION, &f->break_for_ns, 1, 1e12, "", NULL },
        { "hole", "", FLAGS_F64, &f->hole, 0, 1, "", NULL },
        { "cut", "", FLAGS_DURATION, &f->cut_ns, 1e6, 1e15, "", NULL },
        { "cut-for", "", FLAGS_DURATION, &f->cut_for_ns, 1, 1e12, "", NULL },
        { "crash", "", FLAGS_DURATION, &f->crash_ns, 1e6, 1e15, "", NULL },
        { "restart", "", FLAGS_DURATION, &f->restart_ns, 1, 1e12, "", NULL },
        { "load", "", FLAGS_BYTES, &f->load_bytes_per_s, 1, 1e15, "", NULL },
        { "report", "", FLAGS_DURATION, &f->report_ns, 1e6, 1e12, "", NULL },
        { "bus-bytes", "", FLAGS_BYTES, &f->bus_bytes, 1 << 20, 1e12, "", NULL },
    };
    size_t n = strcspn(text, "=");
    for (size_t i = 0; i < COUNT_OF(rows) && text[n] == '='; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, text, n) == 0)
            return flags_assign(&rows[i], text + n + 1, fault);
    (void)fault_set(fault, STATUS_BAD_INPUT, "faults: \"%.60s\" is none of", text);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t used = strlen(fault->text);
        snprintf(fault->text + used, sizeof(fault->text) - used, " %s=", rows[i].name);
    }
    return STATUS_BAD_INPUT;
}

enum status scenario_faults_parse(const struct flags_texts *texts, struct sim_faults *out,
                                  struct fault *fault)
{
    *out = (struct sim_faults){ 0 };
    for (int i = 0; i < texts->n; i++) {
        for (const char *at = texts->at[i]; *at != '\0';) {
            char word[64];
            size_t n = strcspn(at, ",");
            snprintf(word, sizeof(word), "%.*s", (int)min_i64((int64_t)n, 63), at);
            enum status status = set_one(out, word, fault);
            if (status != STATUS_OK)
                return status;
            at += n + (at[n] == ',');
        }
    }
    return STATUS_OK;
}
