/* Arithmetic of a server's memory. */
#include "serve/memory.h"

enum { BUS_PORTS = 3, DISK_MIB = 28 };
static const int64_t MIB = INT64_C(1) << 20;

static int64_t between(int64_t least, int64_t n, int64_t most)
{
    return min_i64(max_i64(n, least), most);
}

/* Returns everything except the engines' memory and what is held for clients. */
static int64_t others_of(const struct serve_memory *memory, const struct config *config, int n)
{
    int64_t program = 32 * MIB;
    int64_t disk = config->kv_disk != NULL ? DISK_MIB * MIB : 0; /* of names of blocks */
    return program + BUS_PORTS * memory->bus_bytes +
           n * (memory->body_bytes + config->swap_bytes + config->sleep_bytes + disk);
}

static struct serve_memory parts_of(int64_t total_bytes, int n_engines)
{
    return (struct serve_memory){
        .http_bytes = between(CONFIG_HTTP_BYTES_MIN, total_bytes / 8, 1024 * MIB),
        .body_bytes = between(8 * MIB, total_bytes / 16 / n_engines, 256 * MIB),
        .bus_bytes = total_bytes >= 2048 * MIB ? 32 * MIB : 8 * MIB,
    };
}

int64_t serve_memory_usual(const struct config *config, int64_t total_bytes, int n_engines)
{
    struct serve_memory memory = parts_of(total_bytes, n_engines);
    int64_t http = config->http_bytes > 0 ? config->http_bytes : memory.http_bytes;
    int64_t left = total_bytes - others_of(&memory, config, n_engines) - http;
    return max_i64(min_i64(total_bytes * 7 / 10, left), total_bytes / 4);
}

enum status serve_memory_divide(const struct config *config, int64_t total_bytes, int n_engines,
                                int64_t wanted_bytes, struct serve_memory *out, struct fault *fault)
{
    struct serve_memory memory = parts_of(total_bytes, n_engines);
    int64_t others = others_of(&memory, config, n_engines);
    int64_t left = total_bytes - others - wanted_bytes;
    memory.http_bytes = config->http_bytes > 0
                            ? config->http_bytes
                            : between(CONFIG_HTTP_BYTES_MIN, left, memory.http_bytes);
    if (left < memory.http_bytes)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "memory: %.0f MiB are wanted for %d %s, and this machine has %.0f MiB, of "
                         "which requests and answers take %.0f (http_memory) and the rest %.0f",
                         (double)wanted_bytes / (double)MIB, n_engines,
                         n_engines == 1 ? "engine" : "engines", (double)total_bytes / (double)MIB,
                         (double)memory.http_bytes / (double)MIB, (double)others / (double)MIB);
    *out = memory;
    return STATUS_OK;
}
