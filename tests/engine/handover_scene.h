/* Engines that hand requests over to each other with their KV, clients that send them, and faults.
 * The fake executor's tokens depend on the content of every block (fake.h), so a wrong block shows.
 */
#pragma once
#include "base/rng.h"
#include "engine/engine.h"
#include "engine/exchange.h"
#include "fake.h"

enum {
    HANDOVER_ENGINES = 3,
    HANDOVER_CLIENTS = 48,
    HANDOVER_STAMP_WORDS = sizeof(struct exchange_stamp) / 4
};

struct handover_client {
    struct request request;
    struct request_body *body;
    int32_t expected[256], got[256];
    int32_t n_expected, n_got, engine; /* engine: -1, none */
    bool is_over, is_cancelled;
    uint64_t ticket;
    int32_t n_kept, kept_engine;
};
struct handover_scene {
    int64_t clock_ns;
    struct rng rng;
    uint64_t seed;
    /* NULL: all engines have one exchange. Else each has its own, and these open and close its way
     * to the others (exchange_open with `pass`), and tell it where a ticket's offer is. */
    void (*open_way)(int part);
    void (*close_way)(int part);
    void (*learn)(int part, uint64_t ticket, int source);
    bool leaves_offers; /* acknowledgements may be lost, and the end does not wait ten seconds */
    bool is_real;       /* the clock is the machine's, since the way takes its time */
    struct handover_part {
        struct fake fake;
        struct engine *engine;
        struct exchange *exchange;
        int64_t wake_ns;
        int64_t n_kept, n_handed, n_lost; /* of engines that were killed */
    } parts[HANDOVER_ENGINES];
    struct handover_client clients[HANDOVER_CLIENTS];
    int64_t swap_bytes, step_ns;
    /* Faults: one block in this many; 0 = never. */
    uint32_t spoil_one, delay_one, lose_one;
    int spoil_word; /* of the stamp; HANDOVER_STAMP_WORDS: of the bytes; negative: any */
    int n_spoiled, n_blocks;
    bool has_prefix_cache;
};
extern struct handover_scene handover;

bool handover_happens(uint32_t one_in);
/* For exchange_options.pass: the faults of blocks. */
enum exchange_said handover_pass(void *self, struct exchange_stamp *stamp, void *bytes, int64_t n);
void handover_open(uint64_t seed);
/* Sends the client's request to the engine, which may be of any role here. */
void handover_send(struct handover_client *client, int engine, int32_t n_lease);
/* Ends an engine as it is, and opens it anew. Its requests are taken back; their tickets may be
 * stale then. */
void handover_kill(int part);
void handover_step(void);
/* All are over; nothing is left, at the latest when the last offer has expired. */
void handover_close(void);
int handover_n_open(void);
/* Sends what waits: prompts to engine 0 and all else to the others, or anything anywhere. */
void handover_send_all(bool anywhere, int32_t n_lease);
/* Runs all to their ends. */
void handover_run(int32_t n_lease);
/* Runs all to their ends while requests are cancelled, models leave and engines are killed. */
void handover_run_chaos(bool anywhere);
