/* The running requests of a service that do nothing but decode, kept together.
 *
 * A round gives each of them one token, so what it does to one it does to all: the engine counts
 * rounds, and their records (n_tokens, n_computed, served_ns, blocks in their tables) stay as they
 * were, late, until one of them leaves or somebody looks. A step of a thousand decodes then costs
 * what a step of one does.
 *
 * For policies: as long as is_whole, these are all running requests of the service that lack one
 * token, in the order of `running`. A batch that begins with all of them says so (batch.n_steady).
 * schedule_settle brings their records up to date, which changes nothing that is shown; a policy
 * that does not say reads_late finds them up to date always. What never is late: whether a request
 * lacks more than one token, and everything that a round does not change. */
#pragma once
#include "core/batch.h"

enum { STEADY_BLOCK_TOKENS_MAX = 64 };

struct schedule_steady {
    bool is_whole; /* else n is 0 */
    bool is_late;
    int32_t n;
    int32_t n_rounds;         /* done together, ever; all below reckons in these */
    struct batch_item *items; /* (n) one token each */
    int32_t *known;           /* (n) n_tokens is this and n_rounds */
    int32_t *ends;            /* (n) it draws its last token with this round */
    int32_t *exceeds;         /* (n) it outruns its prediction with this round; INT32_MAX: never */
    int32_t first_end, first_exceed; /* the least of them */
    int32_t most_known;              /* the most of those; INT32_MIN: of nobody */
    int64_t n_tokens;                /* of all of them, known */
    int64_t served_ns;
    /* The engine's own, where it tells of waits, else NULL: (n) the longest time of each between
     * two tokens, and since somebody last came that of the first n_old of them,
     * whose last tokens came at last_ns. */
    int64_t *gaps;
    int64_t gap_ns, last_ns;
    int32_t n_old;
    int32_t n_ahead; /* rounds in flight, whose blocks are taken */
    int32_t block_tokens;
    int32_t phase;                               /* n_rounds modulo block_tokens */
    int32_t n_crossing[STEADY_BLOCK_TOKENS_MAX]; /* by phase: who needs a block in such a round */
};

/* Rounds until the first of them draws its last token. */
static inline int32_t schedule_steady_left(const struct schedule_steady *steady)
{
    return steady->n > 0 ? steady->first_end - steady->n_rounds : INT32_MAX;
}
/* Blocks that all of them need for the next n rounds beside those of their tables. */
static inline int64_t schedule_steady_blocks(const struct schedule_steady *steady, int32_t n)
{
    int64_t n_blocks = (int64_t)(n / steady->block_tokens) * steady->n;
    int32_t at = steady->phase;
    for (int32_t i = n % steady->block_tokens; i > 0; i--) {
        n_blocks += steady->n_crossing[at];
        at = at + 1 == steady->block_tokens ? 0 : at + 1;
    }
    return n_blocks;
}
