/* The merge loop. Short words are scanned for their lowest pair. Long ones keep a heap, so that a
 * megabyte of one letter costs n log n.
 *
 * A heap entry is stale when its symbol is gone or has another rank by now. An entry that agrees in
 * rank and place is as good as a fresh one, since the order depends on nothing else. */
#include "text/merge.h"
#include "base/mem.h"

enum { SCAN_SYMBOLS_MAX = 24 }; /* above it the heap is faster; measured on English and C */

void text_merge_init(struct text_merge *merge)
{
    *merge = (struct text_merge){ 0 };
}

void text_merge_free(struct text_merge *merge)
{
    mem_give(merge->symbols);
    mem_give(merge->heap);
    text_merge_init(merge);
}

void text_merge_begin(struct text_merge *merge, size_t n_max)
{
    merge->n = 0;
    if (n_max <= merge->capacity)
        return;
    size_t capacity = n_max < 64 ? 64 : n_max;
    mem_give(merge->symbols);
    merge->symbols = mem_take(capacity * sizeof(*merge->symbols));
    merge->capacity = capacity;
}

void text_merge_add(struct text_merge *merge, uint32_t start, uint32_t n, int32_t id)
{
    int32_t i = merge->n++;
    merge->symbols[i] = (struct text_symbol){
        .start = start, .n = n, .id = id, .prev = i - 1, .next = -1, .rank = TEXT_RANK_NONE
    };
    if (i > 0)
        merge->symbols[i - 1].next = i;
}

static void rank_pair(struct text_merge *merge, const char *text, int32_t left)
{
    struct text_symbol *symbol = &merge->symbols[left];
    symbol->rank = TEXT_RANK_NONE;
    if (symbol->next >= 0)
        merge->find(merge->of, text, symbol, &merge->symbols[symbol->next]);
}

static void join(struct text_merge *merge, const char *text, int32_t left)
{
    struct text_symbol *symbol = &merge->symbols[left];
    struct text_symbol *right = &merge->symbols[symbol->next];
    symbol->n += right->n;
    symbol->id = symbol->joined;
    right->n = 0;
    symbol->next = right->next;
    if (symbol->next >= 0)
        merge->symbols[symbol->next].prev = left;
    if (symbol->prev >= 0)
        rank_pair(merge, text, symbol->prev);
    rank_pair(merge, text, left);
}

static void run_by_scan(struct text_merge *merge, const char *text)
{
    for (;;) {
        uint32_t lowest = TEXT_RANK_NONE;
        int32_t at = -1;
        for (int32_t i = 0; i >= 0; i = merge->symbols[i].next) {
            if (merge->symbols[i].rank < lowest) {
                lowest = merge->symbols[i].rank;
                at = i;
            }
        }
        if (at < 0)
            return;
        join(merge, text, at);
    }
}

static void heap_push(struct text_merge *merge, int32_t left)
{
    if (left < 0 || merge->symbols[left].rank == TEXT_RANK_NONE)
        return;
    uint64_t entry = (uint64_t)merge->symbols[left].rank << 32 | (uint32_t)left;
    size_t at = merge->n_heap++;
    CHECK(at < merge->heap_capacity);
    for (; at > 0 && merge->heap[(at - 1) / 2] > entry; at = (at - 1) / 2)
        merge->heap[at] = merge->heap[(at - 1) / 2];
    merge->heap[at] = entry;
}

static uint64_t heap_pop(struct text_merge *merge)
{
    uint64_t top = merge->heap[0], entry = merge->heap[--merge->n_heap];
    size_t at = 0, n = merge->n_heap;
    for (size_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && merge->heap[child + 1] < merge->heap[child])
            child++;
        if (merge->heap[child] >= entry)
            break;
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    merge->heap[at] = entry;
    return top;
}

static void run_by_heap(struct text_merge *merge, const char *text)
{
    /* There are n - 1 pairs at the start, and each of at most n - 1 joins adds two. */
    size_t capacity = 3 * (size_t)merge->n;
    if (capacity > merge->heap_capacity) {
        mem_give(merge->heap);
        merge->heap = mem_take(capacity * sizeof(*merge->heap));
        merge->heap_capacity = capacity;
    }
    merge->n_heap = 0;
    for (int32_t i = 0; i < merge->n; i++)
        heap_push(merge, i);
    while (merge->n_heap > 0) {
        uint64_t entry = heap_pop(merge);
        int32_t left = (int32_t)(uint32_t)entry;
        const struct text_symbol *symbol = &merge->symbols[left];
        if (symbol->n == 0 || symbol->rank != (uint32_t)(entry >> 32))
            continue;
        join(merge, text, left);
        heap_push(merge, left);
        heap_push(merge, symbol->prev);
    }
}

void text_merge_run(struct text_merge *merge, const char *text)
{
    for (int32_t i = 0; i < merge->n; i++)
        rank_pair(merge, text, i);
    if (merge->n == 0)
        return;
    if (merge->n <= SCAN_SYMBOLS_MAX)
        run_by_scan(merge, text);
    else
        run_by_heap(merge, text);
}
