/* A table of compiled grammars, and one of vocabularies, behind one lock. No memory is taken while
 * it is held, so that a guard (base/mem.h) never abandons a thread that holds it. */
#include "grammar/cache.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/team.h"
#include "grammar/state.h"

enum { GRAMMARS_MAX = 256, REFUSED_MAX = 256, VOCABULARIES_MAX = LIMIT_MODELS };

struct kept {
    struct grammar *grammar; /* NULL: a free place */
    struct hash128 hash;
    uint64_t used; /* when it was taken last, by a count */
};
/* A text that was refused. A compilation is a function of its text, with a bounded number of steps,
 * so the same text is refused again. */
struct refused {
    struct hash128 hash;
    enum status status; /* OK: a free place */
    struct fault fault;
};
struct grammar_cache {
    struct lock *lock;
    int64_t n_bytes, n_bytes_max;
    uint64_t clock;
    struct kept kept[GRAMMARS_MAX];
    struct refused refused[REFUSED_MAX]; /* a ring: the oldest leaves */
    uint32_t n_refused;
    struct {
        const void *tokenizer; /* NULL: a free place */
        struct grammar_vocabulary *vocabulary;
    } vocabularies[VOCABULARIES_MAX];
};

struct grammar_cache *grammar_cache_open(int64_t n_bytes_max)
{
    struct grammar_cache *cache = mem_take(sizeof(*cache));
    cache->lock = lock_open();
    cache->n_bytes_max = n_bytes_max;
    return cache;
}

void grammar_cache_close(struct grammar_cache *cache)
{
    if (cache == NULL)
        return;
    for (int i = 0; i < GRAMMARS_MAX; i++)
        grammar_close(cache->kept[i].grammar);
    for (int i = 0; i < VOCABULARIES_MAX; i++)
        grammar_vocabulary_close(cache->vocabularies[i].vocabulary);
    lock_close(cache->lock);
    mem_give(cache);
}

static bool same_hash(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

/* Finds a grammar that is kept, and takes it. Called under the lock. */
static struct grammar *find(struct grammar_cache *cache, struct hash128 hash)
{
    for (int i = 0; i < GRAMMARS_MAX; i++) {
        struct kept *kept = &cache->kept[i];
        if (kept->grammar == NULL || !same_hash(kept->hash, hash))
            continue;
        kept->used = ++cache->clock;
        kept->grammar->n_users++;
        return kept->grammar;
    }
    return NULL;
}

/* Returns OK when the text was not refused lately. Called under the lock. */
static enum status find_refused(const struct grammar_cache *cache, struct hash128 hash,
                                struct fault *fault)
{
    for (int i = 0; i < REFUSED_MAX; i++) {
        const struct refused *refused = &cache->refused[i];
        if (refused->status == STATUS_OK || !same_hash(refused->hash, hash))
            continue;
        if (fault != NULL)
            *fault = refused->fault;
        return refused->status;
    }
    return STATUS_OK;
}

static void keep_refused(struct grammar_cache *cache, struct hash128 hash, enum status status,
                         const struct fault *fault)
{
    lock_take(cache->lock);
    cache->refused[cache->n_refused++ % REFUSED_MAX] = (struct refused){ hash, status, *fault };
    lock_put(cache->lock);
}

/* Returns the place of the grammar that was used longest ago and is not in use; NULL: there is
 * none. */
static struct kept *oldest(struct grammar_cache *cache)
{
    struct kept *oldest = NULL;
    for (int i = 0; i < GRAMMARS_MAX; i++) {
        struct kept *kept = &cache->kept[i];
        if (kept->grammar != NULL && kept->grammar->n_users == 0 &&
            (oldest == NULL || kept->used < oldest->used))
            oldest = kept;
    }
    return oldest;
}

static struct kept *free_place(struct grammar_cache *cache)
{
    for (int i = 0; i < GRAMMARS_MAX; i++)
        if (cache->kept[i].grammar == NULL)
            return &cache->kept[i];
    return NULL;
}

/* Keeps a grammar if there is room, and moves those that leave for it to `leaving`. Called under
 * the lock. */
static int keep(struct grammar_cache *cache, struct grammar *grammar, struct hash128 hash,
                struct grammar **leaving)
{
    int n = 0;
    int64_t n_bytes = (int64_t)grammar_bytes(grammar);
    struct kept *place = free_place(cache), *old;
    while ((place == NULL || cache->n_bytes + n_bytes > cache->n_bytes_max) &&
           (old = oldest(cache)) != NULL) {
        cache->n_bytes -= (int64_t)grammar_bytes(old->grammar);
        leaving[n++] = old->grammar;
        *old = (struct kept){ 0 };
        place = place != NULL ? place : old;
    }
    if (place == NULL || cache->n_bytes + n_bytes > cache->n_bytes_max)
        return n;
    grammar->is_kept = true;
    cache->n_bytes += n_bytes;
    *place = (struct kept){ grammar, hash, ++cache->clock };
    return n;
}

enum status grammar_cache_take(struct grammar_cache *cache, enum grammar_kind kind,
                               struct view text, const struct grammar **out, struct fault *fault)
{
    uint32_t word = (uint32_t)kind;
    struct hash128 hash = hash_secure(&word, sizeof(word), text.n > 0 ? text.at : "", text.n);
    struct grammar *leaving[GRAMMARS_MAX], *found, *made;
    lock_take(cache->lock);
    *out = found = find(cache, hash);
    enum status status = found == NULL ? find_refused(cache, hash, fault) : STATUS_OK;
    lock_put(cache->lock);
    if (found != NULL || status != STATUS_OK)
        return status;
    struct fault own = { "" };
    struct mem_account *before = mem_account_use(NULL); /* it outlives the work of this thread */
    struct guard *guard = mem_guard_use(NULL);
    status = grammar_open(&made, kind, text, &own);
    (void)mem_guard_use(guard);
    (void)mem_account_use(before);
    if (status != STATUS_OK) {
        keep_refused(cache, hash, status, &own);
        if (fault != NULL)
            *fault = own;
        return status;
    }
    made->n_users = 1;
    lock_take(cache->lock);
    found = find(cache, hash); /* another thread may have been faster */
    int n = found == NULL ? keep(cache, made, hash, leaving) : 0;
    lock_put(cache->lock);
    for (int i = 0; i < n; i++)
        grammar_close(leaving[i]);
    if (found != NULL)
        grammar_close(made);
    *out = found != NULL ? found : made;
    return STATUS_OK;
}

void grammar_cache_put(struct grammar_cache *cache, const struct grammar *grammar)
{
    struct grammar *own = (struct grammar *)(uintptr_t)grammar;
    if (grammar == NULL)
        return;
    lock_take(cache->lock);
    bool is_last = --own->n_users == 0 && !own->is_kept;
    lock_put(cache->lock);
    if (is_last)
        grammar_close(own);
}

static struct grammar_vocabulary *find_vocabulary(struct grammar_cache *cache,
                                                  const void *tokenizer)
{
    for (int i = 0; i < VOCABULARIES_MAX; i++)
        if (cache->vocabularies[i].tokenizer == tokenizer)
            return cache->vocabularies[i].vocabulary;
    return NULL;
}

const struct grammar_vocabulary *grammar_cache_vocabulary(struct grammar_cache *cache,
                                                          const struct grammar_pieces *pieces)
{
    lock_take(cache->lock);
    struct grammar_vocabulary *found = find_vocabulary(cache, pieces->tokenizer);
    lock_put(cache->lock);
    if (found != NULL)
        return found;
    struct mem_account *before = mem_account_use(NULL);
    struct guard *guard = mem_guard_use(NULL);
    struct view *all = mem_take(sizeof(*all) * ((size_t)pieces->n + 1));
    struct str bytes;
    str_init(&bytes);
    for (int32_t id = 0; id < pieces->n; id++) {
        size_t from = bytes.n;
        pieces->add(pieces->tokenizer, id, &bytes);
        all[id].n = bytes.n - from;
    }
    for (size_t id = 0, from = 0; id < (size_t)pieces->n; from += all[id++].n)
        all[id].at = bytes.at + from;
    struct grammar_vocabulary *made = grammar_vocabulary_open(all, pieces->n);
    str_free(&bytes);
    mem_give(all);
    (void)mem_guard_use(guard);
    (void)mem_account_use(before);
    lock_take(cache->lock);
    found = find_vocabulary(cache, pieces->tokenizer);
    for (int i = 0; i < VOCABULARIES_MAX && found == NULL; i++) {
        if (cache->vocabularies[i].tokenizer != NULL)
            continue;
        cache->vocabularies[i].tokenizer = pieces->tokenizer;
        cache->vocabularies[i].vocabulary = found = made;
    }
    lock_put(cache->lock);
    CHECK(found != NULL);
    if (found != made)
        grammar_vocabulary_close(made);
    return found;
}

void grammar_cache_forget(struct grammar_cache *cache, const void *tokenizer)
{
    struct grammar_vocabulary *gone = NULL;
    lock_take(cache->lock);
    for (int i = 0; i < VOCABULARIES_MAX && tokenizer != NULL; i++) {
        if (cache->vocabularies[i].tokenizer != tokenizer)
            continue;
        gone = cache->vocabularies[i].vocabulary;
        cache->vocabularies[i].tokenizer = NULL;
        cache->vocabularies[i].vocabulary = NULL;
    }
    lock_put(cache->lock);
    grammar_vocabulary_close(gone);
}
