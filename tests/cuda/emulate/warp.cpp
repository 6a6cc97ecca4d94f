/* Operations of a warp: its lanes meet, and the last to arrive performs them for all. */
#include "emulate/fiber.h"

namespace emulate
{
const char *op_name(int op)
{
    static const char *const names[] = {
        "__shfl_sync",
        "__shfl_up_sync",
        "__shfl_down_sync",
        "__shfl_xor_sync",
        "a vote",
        "__match_any_sync",
        "__syncwarp",
        "__reduce_add_sync",
        "__reduce_min_sync",
        "__reduce_max_sync",
        "ldmatrix",
        "ldmatrix.trans",
        "mma.sync bf16",
        "mma.sync f16",
        "mma.sync s8",
    };
    return names[op];
}

/* ---- Shuffles, votes, sums. ---- */

/* The lane that `lane` reads from; -1: its own value. */
static int source_of(int op, int lane, int arg, int width)
{
    const int first = lane & ~(width - 1), last = first + width - 1;
    switch (op) {
    case SHUFFLE:
        return first | (arg & (width - 1));
    case SHUFFLE_UP:
        return lane - arg >= first ? lane - arg : -1;
    case SHUFFLE_DOWN:
        return lane + arg <= last ? lane + arg : -1;
    default:
        return (lane ^ arg) <= last ? lane ^ arg : -1;
    }
}

static void shuffle(fiber *lanes, unsigned mask, int op)
{
    for (int i = 0; i < WARP; i++) {
        if (!(mask >> i & 1))
            continue;
        int from = source_of(op, i, lanes[i].waits_in.arg, lanes[i].waits_in.width);
        if (from < 0)
            from = i;
        /* A lane that takes no part has nothing to read: CUDA calls it undefined. */
        lanes[i].result = from < WARP && mask >> from & 1 ? lanes[from].waits_in.value : ~0ull;
    }
}

static uint64_t reduced(const fiber *lanes, unsigned mask, int op)
{
    bool is_first = true;
    int64_t all = 0;
    for (int i = 0; i < WARP; i++) {
        if (!(mask >> i & 1))
            continue;
        int64_t value = lanes[i].waits_in.arg ? (int64_t)(int32_t)lanes[i].waits_in.value
                                              : (int64_t)(uint32_t)lanes[i].waits_in.value;
        if (is_first)
            all = value;
        else if (op == REDUCE_ADD)
            all += value;
        else
            all = (op == REDUCE_MIN) == (value < all) ? value : all;
        is_first = false;
    }
    return (uint32_t)all;
}

static void vote(fiber *lanes, unsigned mask, int op)
{
    uint64_t all = 0;
    for (int i = 0; i < WARP; i++)
        if (op == BALLOT && mask >> i & 1 && lanes[i].waits_in.value != 0)
            all |= 1u << i;
    if (op >= REDUCE_ADD)
        all = reduced(lanes, mask, op);
    for (int i = 0; i < WARP; i++) {
        if (!(mask >> i & 1))
            continue;
        lanes[i].result = all;
        if (op == MATCH_ANY) {
            lanes[i].result = 0;
            for (int k = 0; k < WARP; k++)
                if (mask >> k & 1 && lanes[k].waits_in.value == lanes[i].waits_in.value)
                    lanes[i].result |= 1u << k;
        }
    }
}

/* ---- Matrices. Fragments lie as the PTX manual draws them (sections on mma.m16n8k16, mma.m16n8k32
 * and ldmatrix): lane i holds row group i / 4 and column group i % 4. ---- */

/* Lane i gives the address of row i % 8 of matrix i / 8, and gets element pair i % 4 of row i / 4
 * of each; transposed, of column i / 4. */
static void load_matrices(fiber *lanes, bool is_transposed)
{
    uint16_t matrix[4][8][8];
    for (int i = 0; i < WARP; i++) {
        const void *row = lanes[i].waits_in.in;
        if ((uintptr_t)row % 16 != 0)
            fail(name_of(&lanes[i]) + ": ldmatrix from an address that 16 does not divide, at " +
                 place_of(lanes[i].waits_in.at));
        note(row, 16, false, false);
        memcpy(matrix[i / 8][i % 8], row, 16);
    }
    for (int i = 0; i < WARP; i++)
        for (int m = 0; m < 4; m++) {
            const int major = i / 4, minor = i % 4 * 2;
            uint32_t low = is_transposed ? matrix[m][minor][major] : matrix[m][major][minor];
            uint32_t high =
                is_transposed ? matrix[m][minor + 1][major] : matrix[m][major][minor + 1];
            ((uint32_t *)lanes[i].waits_in.out)[m] = high << 16 | low;
        }
}

/* Calls put(row, k, word, element) for each element of A (16, 8 * per), as the lanes hold it; per:
 * elements of a register. A register holds neighbours of one row. */
template <class F> static void each_of_a(const fiber *lanes, int per, F put)
{
    for (int i = 0; i < WARP; i++)
        for (int r = 0; r < 4; r++)
            for (int e = 0; e < per; e++)
                put(i / 4 + r % 2 * 8, (r / 2 * 4 + i % 4) * per + e,
                    ((const uint32_t *)lanes[i].waits_in.in)[r], e);
}
/* The same for B (8 * per, 8), put(column, k, word, element). */
template <class F> static void each_of_b(const fiber *lanes, int per, F put)
{
    for (int i = 0; i < WARP; i++)
        for (int r = 0; r < 2; r++)
            for (int e = 0; e < per; e++)
                put(i / 4, (r * 4 + i % 4) * per + e, ((const uint32_t *)lanes[i].waits_in.in2)[r],
                    e);
}

/* The products of all rows of A with all columns of B, upwards, added to what the lanes hold. */
template <class T, class S, int K, class Load, class Store>
static void multiply(fiber *lanes, const T (&a)[16][K], const T (&b)[K][8], Load load, Store store)
{
    S sums[16][8];
    for (int i = 0; i < WARP; i++)
        for (int c = 0; c < 4; c++)
            sums[i / 4 + c / 2 * 8][i % 4 * 2 + c % 2] = load(lanes[i].waits_in.out, c);
    for (int row = 0; row < 16; row++)
        for (int k = 0; k < K; k++)
            for (int column = 0; column < 8; column++)
                sums[row][column] += (S)a[row][k] * (S)b[k][column];
    for (int i = 0; i < WARP; i++)
        for (int c = 0; c < 4; c++)
            store(lanes[i].waits_in.out, c, sums[i / 4 + c / 2 * 8][i % 4 * 2 + c % 2]);
}

static double float_of(uint32_t word, int element, int op)
{
    const uint16_t bits = (uint16_t)(word >> 16 * element);
    return op == MULTIPLY_BF16 ? (double)__bfloat162float({ bits })
                               : (double)__half2float({ bits });
}

/* Sums in double and rounds once; a GPU truncates partial sums, so it differs in the last bits. */
static void multiply_floats(fiber *lanes, int op)
{
    double a[16][16], b[16][8];
    each_of_a(lanes, 2, [&](int row, int k, uint32_t w, int e) { a[row][k] = float_of(w, e, op); });
    each_of_b(lanes, 2, [&](int col, int k, uint32_t w, int e) { b[k][col] = float_of(w, e, op); });
    multiply<double, double>(
        lanes, a, b, [](const void *out, int c) { return (double)((const float *)out)[c]; },
        [](void *out, int c, double sum) { ((float *)out)[c] = (float)sum; });
}

static void multiply_bytes(fiber *lanes)
{
    int a[16][32], b[32][8];
    each_of_a(lanes, 4,
              [&](int row, int k, uint32_t w, int e) { a[row][k] = (int8_t)(w >> 8 * e); });
    each_of_b(lanes, 4,
              [&](int col, int k, uint32_t w, int e) { b[k][col] = (int8_t)(w >> 8 * e); });
    multiply<int, unsigned>(
        lanes, a, b, [](const void *out, int c) { return ((const unsigned *)out)[c]; },
        [](void *out, int c, unsigned sum) { ((unsigned *)out)[c] = sum; });
}

void perform(fiber *lanes, unsigned mask, int op)
{
    switch (op) {
    case SHUFFLE:
    case SHUFFLE_UP:
    case SHUFFLE_DOWN:
    case SHUFFLE_XOR:
        shuffle(lanes, mask, op);
        break;
    case SYNC_WARP:
        for (int i = 0; i < WARP; i++)
            lanes[i].n_meetings += mask == warps[lanes->warp].lanes;
        break;
    case LOAD_MATRICES:
    case LOAD_MATRICES_TRANSPOSED:
        load_matrices(lanes, op == LOAD_MATRICES_TRANSPOSED);
        break;
    case MULTIPLY_BF16:
    case MULTIPLY_F16:
        multiply_floats(lanes, op);
        break;
    case MULTIPLY_S8:
        multiply_bytes(lanes);
        break;
    default:
        vote(lanes, mask, op);
    }
}

/* ---- Meetings. ---- */

static std::string place_in(const warp_call &c)
{
    return std::string(op_name(c.op)) + " at " + place_of(c.at);
}

static void check_call(const fiber *f, const warp_call &c, const warp_state *w, unsigned mask)
{
    if (c.op >= WHOLE_WARP && w->lanes != ~0u)
        fail(name_of(f) + ": " + place_in(c) + " needs a warp of 32 lanes");
    if (!(mask >> f->lane & 1))
        fail(name_of(f) + " is not in its own mask of " + place_in(c));
    if (mask & (w->over | ~w->lanes))
        fail(name_of(f) + ": the mask of " + place_in(c) + " names lanes that have returned");
    if (c.width < 1 || c.width > WARP || (c.width & (c.width - 1)) != 0)
        fail(name_of(f) + ": " + place_in(c) + " has a width that is no power of 2");
}

static bool is_same(site a, site b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* The meeting that this call belongs to. Two lanes that wait for each other in different places
 * would wait for ever. */
static meeting *meeting_of(const fiber *f, const warp_call &c, warp_state *w, unsigned mask)
{
    meeting *found = nullptr;
    for (int i = 0; i < w->n_meetings; i++) {
        meeting *m = &w->meetings[i];
        if (m->op == c.op && m->mask == mask && is_same(m->at, c.at))
            found = m;
        else if ((m->arrived & mask) != 0 && (m->mask >> f->lane & 1))
            fail("the warp diverged: " + name_of(f) + " is in " + op_name(c.op) + " at " +
                 place_of(c.at) + ", other lanes of its mask are in " + op_name(m->op) + " at " +
                 place_of(m->at));
    }
    if (found == nullptr) {
        found = &w->meetings[w->n_meetings++];
        *found = { mask, 0, c.op, c.at };
    }
    return found;
}

uint64_t warp(const warp_call &c)
{
    fiber *f = running();
    warp_state *w = &warps[f->warp];
    /* In a warp that is not full, the mask of all lanes names those that there are. */
    const unsigned mask = c.mask == ~0u && c.op < WHOLE_WARP ? w->lanes : c.mask;
    check_call(f, c, w, mask);
    f->waits_in = c;
    meeting *m = meeting_of(f, c, w, mask);
    m->arrived |= 1u << f->lane;
    if (m->arrived != mask) {
        wait(IN_WARP);
        return f->result;
    }
    fiber *lanes = f - f->lane;
    *m = w->meetings[--w->n_meetings];
    perform(lanes, mask, c.op);
    /* The others go on from a random lane upwards. */
    const unsigned first = (unsigned)(random_bits() % WARP), others = mask & ~(1u << f->lane);
    for (unsigned rest = others >> first << first; rest != 0; rest &= rest - 1)
        wake(lanes + __builtin_ctz(rest));
    for (unsigned rest = others & ((1u << first) - 1); rest != 0; rest &= rest - 1)
        wake(lanes + __builtin_ctz(rest));
    return f->result;
}

void leave_warp(fiber *f)
{
    warp_state *w = &warps[f->warp];
    w->over |= 1u << f->lane;
    for (int i = 0; i < w->n_meetings; i++) {
        const meeting *m = &w->meetings[i];
        if (m->mask >> f->lane & 1)
            fail(name_of(f) + " returned, but lanes wait for it in " + op_name(m->op) + " at " +
                 place_of(m->at));
    }
}

/* ---- Asynchronous copies. ---- */

void copy_async(void *to, const void *from, unsigned n_bytes, unsigned n_valid)
{
    fiber *f = running();
    if ((uintptr_t)to % n_bytes != 0 || (uintptr_t)from % n_bytes != 0 || n_valid > n_bytes)
        fail(name_of(f) + ": cp.async of " + std::to_string(n_bytes) +
             " bytes is not aligned to them");
    note(to, n_bytes, true, false);
    memset(to, 0xFF, n_bytes); /* it lands as late as the program allows */
    f->copies.push_back({ to, from, n_bytes, n_valid, f->copy_group });
}

void copy_async_commit()
{
    running()->copy_group++;
}

void copy_async_wait(unsigned n_groups)
{
    fiber *f = running();
    size_t n = 0;
    for (; n < f->copies.size() && f->copies[n].group + n_groups < f->copy_group; n++) {
        const pending_copy &c = f->copies[n];
        note(c.from, c.n_valid, false, false);
        note(c.to, c.n_bytes, true, false);
        memcpy(c.to, c.from, c.n_valid);
        memset((char *)c.to + c.n_valid, 0, c.n_bytes - c.n_valid);
    }
    f->copies.erase(f->copies.begin(), f->copies.begin() + (ptrdiff_t)n);
}
} // namespace emulate
