/* Masks: walks of a vocabulary's tries along the threads of a state.
 *
 * The tokens that a state allows are those that any of its threads allows. So a mask is made thread
 * by thread, and each of these parts is kept by the hash of the thread. */
#include "base/mem.h"
#include "grammar/state.h"
#include "grammar/take.h"
#include "grammar/vocabulary.h"
#include <string.h>

struct level {
    uint32_t end; /* the node behind this level's subtree */
    uint32_t from, to;
    struct automaton_mark mark; /* before its threads */
    bool is_plain;              /* no byte of its path can end a plain part */
};
struct grammar_masks {
    const struct grammar_vocabulary *vocabulary;
    uint32_t n_kept;  /* a power of two */
    uint64_t *hashes; /* (n_kept) 0: empty */
    uint32_t *kept;   /* (n_kept, n_words) */
    uint32_t *part;   /* (n_words) of one thread */
    struct levels {   /* of a walk, and of a walk of tails inside of it */
        struct level *at;
        uint32_t n_max;
    } levels[2];
    bool *tail_fits; /* (n_tails) for tails_hash */
    uint64_t tails_hash;
    uint64_t n_left; /* steps that this mask may still take; 0: it took too many */
};

/* A mask of a usual schema takes some 10,000 steps, of the slowest known ones some millions. */
enum { STEPS_MAX = 1 << 26 };

struct grammar_masks *grammar_masks_open(const struct grammar_vocabulary *vocabulary,
                                         uint32_t n_kept)
{
    struct grammar_masks *m = mem_take(sizeof(*m));
    size_t n_words = (size_t)vocabulary->n_words;
    m->vocabulary = vocabulary;
    m->n_kept = 1;
    while (m->n_kept < n_kept)
        m->n_kept *= 2;
    m->hashes = mem_take(sizeof(*m->hashes) * m->n_kept);
    m->kept = mem_take(4 * n_words * m->n_kept);
    m->part = mem_take(4 * n_words + 4);
    m->tail_fits = mem_take(vocabulary->n_tails + 1);
    return m;
}

void grammar_masks_close(struct grammar_masks *m)
{
    if (m == NULL)
        return;
    mem_give(m->hashes);
    mem_give(m->kept);
    mem_give(m->part);
    mem_give(m->levels[0].at);
    mem_give(m->levels[1].at);
    mem_give(m->tail_fits);
    mem_give(m);
}

static void allow(uint32_t *mask, int32_t id)
{
    mask[id / 32] |= UINT32_C(1) << id % 32;
}

/* ---- Walking. ---- */

struct walk {
    struct grammar_masks *masks;
    struct automaton *automaton;
    const struct trie *trie;
    /* Takes the entries from first to end that a node allows. */
    void (*take)(struct walk *walk, uint32_t first, uint32_t end);
    /* Takes the whole subtree of a node where it can. NULL: it never can. */
    bool (*shortcut)(struct walk *walk, uint32_t node, uint32_t thread);
};

static void take_ids(struct walk *w, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        allow(w->masks->part, w->trie->ids[i]);
}

static void take_tails(struct walk *w, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        w->masks->tail_fits[w->trie->ids[i]] = true;
}

static void put_level(struct levels *levels, uint32_t i, struct level level)
{
    if (i >= levels->n_max) {
        uint32_t more = levels->n_max * 2 + 64;
        levels->at = mem_grow(levels->at, sizeof(level) * levels->n_max, sizeof(level) * more);
        levels->n_max = more;
    }
    levels->at[i] = level;
}

/* Counts the work of n threads at a node: each becomes others, which are compared pairwise. */
static bool is_over(struct grammar_masks *m, uint32_t n)
{
    uint64_t n_steps = n + (uint64_t)n * n / 16;
    m->n_left = m->n_left > n_steps ? m->n_left - n_steps : 0;
    return m->n_left == 0;
}

/* Follows threads [from, to) through the whole trie, or until the steps are used up. */
static void walk_all(struct walk *w, uint32_t from, uint32_t to)
{
    struct levels *levels = &w->masks->levels[w->take == take_tails];
    const struct trie *t = w->trie;
    struct automaton *a = w->automaton;
    uint32_t depth = 0;
    put_level(levels, 0, (struct level){ t->n_nodes, from, to, automaton_at(a), true });
    for (uint32_t node = 0; node < t->n_nodes;) {
        struct level *level = &levels->at[depth];
        if (node == level->end) {
            automaton_cut(a, level->mark);
            depth--;
            continue;
        }
        if (is_over(w->masks, level->to - level->from))
            break;
        struct automaton_mark mark = automaton_at(a);
        uint8_t byte = t->bytes[node];
        uint32_t first = a->n_threads;
        bool is_plain = level->is_plain && byte >= 0x20 && byte != '"' && byte != '\\';
        uint32_t n = automaton_step(a, level->from, level->to, byte);
        if (n > 0)
            w->take(w, t->firsts[node], trie_own_end(t, node));
        bool is_whole = n == 0 || t->ends[node] == node + 1 ||
                        (is_plain && n == 1 && w->shortcut != NULL && w->shortcut(w, node, first));
        if (is_whole) {
            automaton_cut(a, mark);
            node = t->ends[node];
            continue;
        }
        put_level(levels, ++depth,
                  (struct level){ t->ends[node], first, first + n, mark, is_plain });
        node++;
    }
    automaton_cut(a, levels->at[0].mark);
}

/* Finds the tails that fit behind a thread. */
static void find_tails(struct grammar_masks *m, struct automaton *a, uint32_t thread)
{
    uint64_t hash = automaton_hash(a, &a->threads[thread]);
    struct walk tails = { m, a, &m->vocabulary->tails, take_tails, NULL };
    if (m->tails_hash == hash)
        return;
    memset(m->tail_fits, 0, m->vocabulary->n_tails);
    m->tails_hash = hash;
    walk_all(&tails, thread, thread + 1);
}

/* In a string whose plain characters all lead back to the same thread, tokens fit by their tails.
 */
static bool take_mixed(struct walk *w, uint32_t node, uint32_t thread)
{
    const struct grammar_vocabulary *v = w->masks->vocabulary;
    struct automaton *a = w->automaton;
    bool is_free;
    if (!take_is_any(a, &a->threads[thread], v->n_codes + 1, &is_free) || !is_free)
        return false;
    find_tails(w->masks, a, thread);
    uint32_t end = v->mixed.firsts[v->mixed.ends[node]];
    for (uint32_t i = v->mixed.firsts[node]; i < end; i++)
        if (w->masks->tail_fits[v->tails_of[i]])
            allow(w->masks->part, v->mixed.ids[i]);
    return true;
}

/* Makes the mask of one thread. */
static void fill_part(struct grammar_masks *m, struct automaton *a, uint32_t thread)
{
    const struct grammar_vocabulary *v = m->vocabulary;
    bool is_free, is_any = take_is_any(a, &a->threads[thread], v->n_codes + 1, &is_free);
    struct walk w = { m, a, is_any ? &v->mixed : &v->all, take_ids, is_any ? take_mixed : NULL };
    if (!is_any) {
        bool is_in_free = a->program->nodes[a->threads[thread].pc].op == OP_FREE;
        memset(m->part, 0, 4 * (size_t)v->n_words);
        if (is_in_free)
            memcpy(m->part, v->blank, 4 * (size_t)v->n_words);
        walk_all(&w, thread, thread + 1);
        return;
    }
    memcpy(m->part, v->plain, 4 * (size_t)v->n_words);
    if (!is_free) {
        walk_all(&w, thread, thread + 1);
        return;
    }
    find_tails(m, a, thread);
    for (uint32_t tail = 0; tail < v->n_tails; tail++)
        for (uint32_t i = v->tail_first[tail]; i < v->tail_first[tail + 1] && m->tail_fits[tail];
             i++)
            allow(m->part, v->by_tail[i]);
}

bool grammar_masks_fill(struct grammar_masks *m, struct grammar_state *state, uint32_t *mask)
{
    struct automaton *a = &state->now;
    size_t n_words = (size_t)m->vocabulary->n_words;
    uint32_t n = a->n_threads;
    memset(mask, 0, 4 * n_words);
    m->n_left = STEPS_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (a->threads[i].pc == a->program->done)
            continue;
        uint64_t hash = automaton_hash(a, &a->threads[i]) | 1;
        uint32_t place = (uint32_t)(hash >> 32) & (m->n_kept - 1);
        uint32_t *kept = m->kept + (size_t)place * n_words;
        if (m->hashes[place] != hash) {
            fill_part(m, a, i);
            if (m->n_left == 0) { /* what was found so far is not kept */
                m->tails_hash = 0;
                return false;
            }
            memcpy(kept, m->part, 4 * n_words);
            m->hashes[place] = hash;
        }
        for (size_t w = 0; w < n_words; w++)
            mask[w] |= kept[w];
    }
    return !a->is_full;
}
