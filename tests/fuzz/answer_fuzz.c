/* Any bytes as a streamed answer, in pieces of any size. The result does not depend on the cuts. */
#include "base/base.h"
#include "loadgen/answer.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct record judge(const char *bytes, size_t n, size_t step, uint64_t *text_hash)
{
    const struct loadgen_end end = { .http_status = 200, .n_wanted = 3 };
    struct loadgen_answer answer;
    struct record record = { 0 };
    loadgen_answer_init(&answer);
    answer.now_ns = 1;
    for (size_t at = 0; at < n; at += step)
        loadgen_answer_feed(&answer, true, bytes + at, at + step < n ? step : n - at);
    loadgen_answer_judge(&answer, &end, &record);
    *text_hash = answer.text_hash;
    CHECK(record_is_done(&record) == (answer.wrong[0] == '\0'));
    loadgen_answer_free(&answer);
    return record;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint64_t hash, hash_cut;
    if (n < 2)
        return 0;
    struct record whole = judge((const char *)data + 1, n - 1, n, &hash);
    struct record cut = judge((const char *)data + 1, n - 1, 1 + data[0] % 7, &hash_cut);
    CHECK(hash == hash_cut && memcmp(&whole, &cut, sizeof(whole)) == 0);
    return 0;
}
