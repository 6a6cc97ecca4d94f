/* Any bytes as a file of records, CSV or JSONL: accepted records are equal after they are written
 * and read again. */
#include "base/base.h"
#include "metrics/record.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    for (int form = RECORD_CSV; form <= RECORD_JSONL; form++) {
        struct record_set set = { 0 }, again = { 0 };
        struct fault fault;
        struct str out;
        if (metrics_record_read(&set, (enum record_form)form, view_of((const char *)data, n),
                                &fault) == STATUS_OK) {
            str_init(&out);
            metrics_record_write(&set, (enum record_form)form, &out);
            CHECK(metrics_record_read(&again, (enum record_form)form,
                                      view_of(out.at != NULL ? out.at : "", out.n),
                                      &fault) == STATUS_OK);
            CHECK(again.n == set.n && metrics_record_hash(&again) == metrics_record_hash(&set));
            str_free(&out);
        }
        metrics_record_set_free(&set);
        metrics_record_set_free(&again);
    }
    return 0;
}
