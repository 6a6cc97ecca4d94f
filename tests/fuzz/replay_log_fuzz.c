/* Logs of engines with any content give a sentence, a difference or a replay, never a crash. The
 * checksums of the records are corrected first, so that the code behind them is reached. */
#include "base/hash.h"
#include "base/mem.h"
#include "engine/replay.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 16, MEMORY_MAX = 64 << 20 };

/* Corrects the checksum of every whole record. */
static void mend(unsigned char *log, size_t n)
{
    uint64_t check = 0;
    for (size_t at = 0; n - at >= HEAD_BYTES;) {
        uint32_t n_bytes;
        memcpy(&n_bytes, log + at + 4, 4);
        if (n_bytes > n - at - HEAD_BYTES)
            return;
        uint16_t size_check = (uint16_t)((n_bytes + 1) * 0x9e3779b1u >> 16);
        memcpy(log + at + 2, &size_check, 2);
        check = hash_fast(log + at, 8, check).low;
        if (n_bytes > 0)
            check = hash_fast(log + at + HEAD_BYTES, n_bytes, check).low;
        memcpy(log + at + 8, &check, 8);
        size_t n_record = HEAD_BYTES + (((size_t)n_bytes + 7) & ~(size_t)7);
        if (n_record > n - at)
            return;
        at += n_record;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 20)
        return 0;
    unsigned char *log = mem_take(size + 8); /* aligned, as a mapped file is */
    struct engine_replay result;
    struct fault fault;
    memcpy(log, data, size);
    mend(log, size);
    const struct engine_replay_options options = { .memory_bytes_max = MEMORY_MAX };
    if (engine_replay_run(log, size, &options, &result, &fault) != STATUS_OK &&
        fault.text[0] == '\0')
        abort();
    mem_give(log);
    return 0;
}
