/* The emulated GPU's memory: one range of addresses.
 *
 *   0          1 MiB                 1 GiB                         16 GiB
 *   | shared   | tests' own pieces   | ranges of the driver          |
 *              | (host may touch)    | (the host's access faults)    |
 *
 * A piece lies between red zones, whose bytes no kernel may change. */
#include "emulate/fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef EMULATE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace emulate
{
enum : size_t { RED_BYTES = 256, PIECES_END = (size_t)1 << 30 };
enum { RED = 0xFD };

struct piece {
    unsigned char *at;
    size_t n_bytes;
};
static std::vector<piece> pieces;
static size_t pieces_end = SHARED_BYTES;

unsigned char *arena_base;

unsigned char *open_arena()
{
    void *p =
        mmap(nullptr, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p, PIECES_END, PROT_READ | PROT_WRITE) != 0) {
        perror("emulate: the GPU's memory");
        abort();
    }
    /* The page behind the shared memory is never given to a piece, so the last byte is guarded. */
    mprotect((char *)p + SHARED_BYTES, 4096, PROT_NONE);
    pieces_end = SHARED_BYTES + 4096;
    return arena_base = (unsigned char *)p;
}

static bool is_red(const unsigned char *p, size_t n)
{
#ifdef EMULATE_ASAN
    (void)p, (void)n; /* ASan watches it */
#else
    for (size_t i = 0; i < n; i++)
        if (p[i] != RED)
            return false;
#endif
    return true;
}

static std::string damage_of(const piece &p)
{
    if (is_red(p.at - RED_BYTES, RED_BYTES) && is_red(p.at + p.n_bytes, RED_BYTES))
        return "";
    return "bytes outside of a piece of " + std::to_string(p.n_bytes) +
           " bytes of device memory were written";
}

std::string memory_damage()
{
    for (const piece &p : pieces) {
        std::string damage = damage_of(p);
        if (!damage.empty())
            return damage;
    }
    return "";
}
} // namespace emulate

using namespace emulate;

void *emulate_take(size_t n_bytes)
{
    unsigned char *base = arena();
    if (pieces.empty())
        pieces_end = SHARED_BYTES + 4096;
    unsigned char *p = base + pieces_end + RED_BYTES;
    const size_t all = (n_bytes + 2 * RED_BYTES + 255) / 256 * 256;
    if (all > PIECES_END - pieces_end) {
        fprintf(stderr, "emulate: the memory for tests' own pieces is full\n");
        abort();
    }
    pieces_end += all;
#ifdef EMULATE_ASAN
    __asan_unpoison_memory_region(p - RED_BYTES, all);
#endif
    memset(p - RED_BYTES, RED, all);
    memset(p, 0xFF, n_bytes);
#ifdef EMULATE_ASAN
    __asan_poison_memory_region(p - RED_BYTES, RED_BYTES);
    __asan_poison_memory_region(p + n_bytes, all - RED_BYTES - n_bytes);
#endif
    pieces.push_back({ p, n_bytes });
    return p;
}

void emulate_give(void *p)
{
    for (size_t i = 0; i < pieces.size(); i++) {
        if (pieces[i].at != p)
            continue;
        const std::string damage = damage_of(pieces[i]);
        if (!damage.empty())
            report(damage);
#ifdef EMULATE_ASAN
        __asan_poison_memory_region(p, pieces[i].n_bytes);
#else
        memset(p, 0xFF, pieces[i].n_bytes);
#endif
        pieces[i] = pieces.back();
        pieces.pop_back();
        return;
    }
    if (p != nullptr)
        report("emulate_give: this is no piece of device memory");
}
