/* A merge sort over pairs of a key and a value. */
#include "template/jinja_sort.h"
#include "template/jinja_compare.h"
#include <string.h>

/* Merges two sorted halves; the first half wins ties. */
static void merge_halves(struct jinja_run *run, struct jinja_pair *at, int64_t n_left, int64_t n,
                         struct jinja_pair *spare, bool descends)
{
    int64_t i = 0, j = n_left, k = 0;
    while (i < n_left && j < n && !jinja_failed(run)) {
        bool takes_right = descends ? jinja_compare_less(run, at[i].key, at[j].key)
                                    : jinja_compare_less(run, at[j].key, at[i].key);
        spare[k++] = takes_right ? at[j++] : at[i++];
    }
    while (i < n_left)
        spare[k++] = at[i++];
    memcpy(at, spare, (size_t)k * sizeof(*at));
}

void jinja_sort(struct jinja_run *run, struct jinja_pair *at, int64_t n, bool descends)
{
    struct jinja_pair *spare = jinja_take(run, (size_t)(n + 1) * sizeof(*at));
    for (int64_t width = 1; width < n && spare != NULL; width *= 2) {
        for (int64_t start = 0; start + width < n && jinja_charge(run, width); start += 2 * width) {
            int64_t n_run = min_i64(2 * width, n - start);
            merge_halves(run, at + start, width, n_run, spare, descends);
        }
    }
}

const struct jinja_pair *jinja_sort_pairs(struct jinja_run *run, const struct jinja_dict *dict)
{
    struct jinja_pair *sorted = jinja_take(run, (size_t)(dict->n + 1) * sizeof(*sorted));
    if (sorted == NULL)
        return dict->at;
    if (dict->n > 0)
        memcpy(sorted, dict->at, (size_t)dict->n * sizeof(*sorted));
    jinja_sort(run, sorted, dict->n, false);
    return sorted;
}
