/* Replays an engine's log: see replay.h.
 *
 * The reader goes through the log once, in order. The loop handles mail and steps. The engine
 * itself requests the records inside a step, through an executor and an emit that the log answers.
 * There poll finds DONE or nothing, emit finds REFUSED with its number, and planned finds PLAN.
 * Values that would make the engine fail (CHECK) are checked here first, because a log is untrusted
 * input. */
#include "engine/replay.h"

#include "base/mem.h"
#include "engine/replay_check.h"
#include "engine/state.h"

#include <stdio.h>
#include <string.h>

#define REPLAY_MEMORY_MAX (INT64_C(64) << 30)
#define REPLAY_NS_MAX     (INT64_C(1) << 61)

struct replay {
    struct engine_log_reader reader;
    struct engine_log_record record; /* the next one, when has_record */
    bool has_record, is_over;
    enum status status;
    struct fault *fault;
    struct engine_replay *result;
    struct engine *engine;
    struct engine_options options;
    struct engine_log_opened opened;
    struct schedule_config config;
    int64_t now_ns;
    uint64_t n_emits;
    int64_t n_step_plans;
    struct token_logprobs *logprobs; /* zeros, since their values change no plan */
    const struct token_logprobs *logprobs_at[LIMIT_BATCH_ITEMS];
    int32_t n_new[LIMIT_BATCH_ITEMS];
    const struct engine_replay_options *asked;
    int64_t planned_ns[LIMIT_LANES]; /* when the lane's last batches were begun */
};

static void wrong(struct replay *p, const char *what)
{
    if (!p->is_over)
        p->status = fault_set(p->fault, STATUS_BAD_INPUT, "record %lld of the log: %s",
                              (long long)p->result->n_records, what);
    p->is_over = true;
}

static void advance(struct replay *p)
{
    enum engine_log_read read = engine_log_next(&p->reader, &p->record);
    p->has_record = read == ENGINE_LOG_RECORD;
    p->result->n_records += p->has_record;
    if (read == ENGINE_LOG_BROKEN)
        wrong(p, p->result->n_records == 0 ? "its check fails: this is no engine's log"
                                           : "its check fails: the log was changed");
    if (read == ENGINE_LOG_CUT || (p->has_record && p->record.kind == ENGINE_LOG_FULL)) {
        p->result->is_cut = true;
        p->has_record = false;
    }
}

/* Returns whether the next record has this kind and at least this length. */
static bool is_next(const struct replay *p, enum engine_log_kind kind, size_t n_bytes)
{
    return p->has_record && !p->is_over && p->record.kind == kind && p->record.n_bytes >= n_bytes;
}

/* ---- The executor and the submitter that the log drives. ---- */

static void attach(void *self, const struct engine_exec_view *view)
{
    (void)self;
    (void)view;
}

static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct replay *p = self;
    (void)n_batches;
    (void)n_rounds;
    p->planned_ns[batches[0].lane] = p->now_ns;
}

static void cut(void *self, uint16_t lane)
{
    (void)self;
    (void)lane;
}

/* Puts the drawn tokens of each item behind its known ones. Returns false when it can't have drawn
 * them. */
static bool take_tokens(struct replay *p, const struct engine_flight *flight,
                        const struct engine_log_done *head, const int32_t *words)
{
    struct engine *e = p->engine;
    const int32_t *tokens = words + head->n_items;
    int64_t n_left = head->n_tokens;
    for (int32_t i = 0; i < head->n_items; i++) {
        const struct batch_item *item = &flight->batch.items[i];
        const struct request *r = &e->requests[item->slot];
        struct engine_progress progress = engine_exec_progress_of(r, item, head->n_steps);
        int32_t n_new = words[i];
        int32_t n_jumped = engine_exec_jumped(r, progress, n_new);
        if (n_new < 0 || n_new - n_jumped > progress.n_new || (n_new > 0) != (progress.n_new > 0))
            return false;
        bool wants_logprobs = head->has_logprobs && (r->flags & REQUEST_WANTS_LOGPROBS) != 0;
        p->n_new[i] = n_new;
        if (e->bodies == NULL)
            continue;
        if (n_new > n_left || (wants_logprobs && n_new > ENGINE_LOGPROBS_MAX))
            return false;
        memcpy(engine_bodies_at(e->bodies, r->body).tokens + r->n_tokens, tokens,
               (size_t)n_new * sizeof(*tokens));
        tokens += n_new;
        n_left -= n_new;
    }
    return n_left == 0;
}

static void tell(struct replay *p, const struct engine_flight *flight,
                 const struct engine_log_done *head)
{
    const struct batch *batch = &flight->batch;
    if (p->asked->saw == NULL || head->is_failed)
        return;
    p->asked->saw(p->asked->saw_self, &(struct engine_replay_batch){
                                          .service_name = p->engine->specs[batch->service].name,
                                          .service = batch->service,
                                          .lane = batch->lane,
                                          .n_items = batch->n_items,
                                          .n_steps = head->n_steps,
                                          .is_copy = batch->kind != BATCH_COMPUTE,
                                          .is_padded = !batch_is_plain(batch),
                                          .load = flight->load,
                                          .planned_ns = p->planned_ns[batch->lane],
                                          .begin_ns = head->begin_ns,
                                          .end_ns = head->end_ns,
                                          .heard_ns = p->now_ns });
}

static bool poll(void *self, struct engine_exec_done *done)
{
    struct replay *p = self;
    struct engine_log_done head;
    if (!is_next(p, ENGINE_LOG_DONE, sizeof(head)))
        return false;
    memcpy(&head, p->record.payload, sizeof(head));
    const int32_t *words = (const void *)(p->record.payload + sizeof(head));
    const struct engine_flight *flight = engine_commit_flight(p->engine, head.batch);
    int64_t n_words = (int64_t)head.n_items + head.n_tokens;
    bool is_right = flight != NULL && head.n_steps >= 1 && head.n_steps <= flight->n_rounds &&
                    head.n_items == engine_log_items(flight, head.is_failed != 0) &&
                    head.is_failed <= 2 && head.n_tokens >= 0 &&
                    (p->engine->bodies != NULL || head.n_tokens == 0) &&
                    p->record.n_bytes == sizeof(head) + 4 * (size_t)n_words && head.begin_ns >= 0 &&
                    head.end_ns >= head.begin_ns && head.end_ns < REPLAY_NS_MAX;
    if (!is_right || !take_tokens(p, flight, &head, words)) {
        wrong(p, "an answer that no batch in flight can give");
        return false;
    }
    *done = (struct engine_exec_done){ .batch = head.batch,
                                       .n_steps = head.n_steps,
                                       .begin_ns = head.begin_ns,
                                       .end_ns = head.end_ns,
                                       .n_new = p->n_new,
                                       .is_failed = head.is_failed != 0,
                                       .is_lost = head.is_failed == 2,
                                       .logprobs = head.has_logprobs ? p->logprobs_at : NULL };
    tell(p, flight, &head);
    advance(p);
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static int64_t next_ns(void *self)
{
    (void)self;
    return TIME_NEVER;
}

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    struct replay *p = self;
    struct engine_log_word word;
    uint64_t number = p->n_emits++;
    (void)event;
    (void)payload;
    if (!is_next(p, ENGINE_LOG_REFUSED, sizeof(word)))
        return true;
    memcpy(&word, p->record.payload, sizeof(word));
    if (word.id != number)
        return true;
    advance(p);
    return false;
}

/* ---- Plans. ---- */

static void describe(const struct schedule_plan *plan, char text[160])
{
    const struct batch *b = plan->batches;
    if (plan->n_batches == 0)
        snprintf(text, 160, "no batch, %d give way", plan->n_preempts);
    else
        snprintf(text, 160,
                 "%d batches for %d rounds, %d give way; the first: service %d, lane %d, %d "
                 "requests, slot %u with %d tokens",
                 plan->n_batches, plan->n_rounds, plan->n_preempts, b->service, b->lane, b->n_items,
                 b->n_items > 0 ? b->items[0].slot : 0, b->n_items > 0 ? b->items[0].n_tokens : 0);
}

/* Returns whether it is the logged plan. Under an unchecked configuration a policy may plan
 * anything, so the plan is checked before the engine follows it. */
static bool planned(void *self, const struct schedule_plan *plan)
{
    struct replay *p = self;
    struct engine_replay *result = p->result;
    struct engine_log_word word = { .id = 0 };
    if (p->is_over)
        return false;
    if (!p->has_record) { /* the log ends inside of this step */
        p->is_over = true;
        return false;
    }
    result->n_plans++;
    p->n_step_plans++;
    bool is_there = is_next(p, ENGINE_LOG_PLAN, sizeof(word));
    if (is_there)
        memcpy(&word, p->record.payload, sizeof(word));
    if (!is_there || word.id != engine_log_plan_hash(plan)) {
        result->differs = true;
        result->step = result->n_steps;
        result->plan = p->n_step_plans;
        result->now_ns = p->now_ns;
        describe(plan, result->was);
        p->is_over = true;
        return false;
    }
    advance(p);
    const char *illegal = schedule_check(&p->engine->view, plan);
    if (illegal != NULL)
        wrong(p, illegal);
    return illegal == NULL;
}

/* ---- Opening. ---- */

static void set_options(struct replay *p, const struct engine_log_opened *o)
{
    p->options = (struct engine_options){
        .id = o->id,
        .memory_bytes = o->memory_bytes,
        .body_bytes = o->body_bytes,
        .n_requests_max = o->n_requests_max,
        .n_tokens_max = o->n_tokens_max,
        .n_lanes = o->n_lanes,
        .n_services = o->n_services,
        .n_services_max = o->n_services_max,
        .kv_bounds = o->kv_bounds,
        .kv_kind = (enum kv_kind)o->kv_kind,
        .kv_unit_bytes = o->kv_unit_bytes,
        .kv_bytes_max = o->kv_bytes_max,
        .swap_bytes = o->swap_bytes,
        .swap_bytes_per_s = o->swap_bytes_per_s,
        .has_prefix_cache = o->has_prefix_cache != 0,
        .is_virtual = o->is_virtual != 0,
        .has_no_memory = true,
        .config = &p->config,
        .exec = { p, attach, begin, cut, poll, wait_fd, next_ns,
                  .has_row_classes = o->has_prefix_cache == 2 },
        .emit = emit,
        .emit_self = p,
        .planned = planned,
        .planned_self = p,
    };
}

/* Reads the engine's options. Returns NULL, or what is wrong with them. */
static const char *read_opened(struct replay *p, const struct engine_replay_options *options)
{
    struct engine_log_opened o;
    if (!is_next(p, ENGINE_LOG_OPENED, sizeof(o)))
        return "this is no log of an engine";
    memcpy(&o, p->record.payload, sizeof(o));
    const char *problem = engine_replay_check_opened(&o);
    if (problem != NULL)
        return problem;
    size_t n = (size_t)o.n_services, n_specs = n * sizeof(struct service_spec);
    size_t n_layouts = n * sizeof(struct kv_layout);
    const unsigned char *tail = p->record.payload + sizeof(o);
    size_t n_lanes = (size_t)o.n_lanes * sizeof(struct schedule_lane);
    if (p->record.n_bytes != sizeof(o) + n_specs + n_layouts + n_lanes + sizeof(p->config))
        return "options of another length";
    p->opened = o;
    set_options(p, &o);
    p->options.services = (const void *)tail;
    p->options.layouts = (const void *)(tail + n_specs);
    p->options.lanes = (const void *)(tail + n_specs + n_layouts);
    memcpy(&p->config, tail + n_specs + n_layouts + n_lanes, sizeof(p->config));
    for (int32_t i = 0; i < o.n_lanes; i++)
        if (!(p->options.lanes[i].share > 0 && p->options.lanes[i].share <= 1))
            return "a lane of no share";
    problem = engine_replay_check_services(&o, p->options.services, p->options.layouts);
    if (problem == NULL && options->config == NULL)
        problem = engine_replay_check_config(&p->config);
    int64_t memory = options->memory_bytes_max > 0 ? options->memory_bytes_max : REPLAY_MEMORY_MAX;
    if (problem == NULL && engine_replay_check_memory(&o) > memory)
        problem = "its engine would take more memory than a replay may";
    o.policy[sizeof(o.policy) - 1] = '\0';
    p->options.policy = options->policy != NULL ? options->policy : schedule_find(o.policy);
    if (problem == NULL && p->options.policy == NULL)
        return "its policy is none of ours";
    if (problem == NULL)
        snprintf(p->result->policy, sizeof(p->result->policy), "%s", p->options.policy->name);
    p->result->n_services = o.n_services;
    p->result->n_lanes = o.n_lanes;
    if (options->config != NULL)
        p->options.config = options->config;
    return problem;
}

/* ---- Mail. ---- */

static bool read_word(struct replay *p, struct engine_log_word *word)
{
    if (p->record.n_bytes < sizeof(*word)) {
        wrong(p, "too short");
        return false;
    }
    memcpy(word, p->record.payload, sizeof(*word));
    if (word->now_ns < p->now_ns || word->now_ns > REPLAY_NS_MAX) {
        wrong(p, "its time is before that of the one before, or beyond all times");
        return false;
    }
    bool needs_one = p->record.kind == ENGINE_LOG_ROOM || p->record.kind == ENGINE_LOG_OPEN ||
                     p->record.kind == ENGINE_LOG_EMPTY || p->record.kind == ENGINE_LOG_CLOSE ||
                     p->record.kind == ENGINE_LOG_REMOVED;
    if (word->service < 0 || word->service >= p->opened.n_services_max ||
        (needs_one && !engine_has_service(p->engine, word->service))) {
        wrong(p, "a service that is not there");
        return false;
    }
    p->now_ns = word->now_ns;
    return true;
}

static void add_service(struct replay *p, const struct engine_log_record *record,
                        const struct engine_log_word *word)
{
    struct service_spec spec;
    struct kv_layout layout;
    bool is_right = record->n_bytes == sizeof(*word) + sizeof(spec) + sizeof(layout) &&
                    !engine_has_service(p->engine, word->service);
    if (is_right) {
        memcpy(&spec, record->payload + sizeof(*word), sizeof(spec));
        memcpy(&layout, record->payload + sizeof(*word) + sizeof(spec), sizeof(layout));
        is_right = engine_replay_check_service(&p->opened, &spec, &layout) == NULL;
    }
    if (!is_right ||
        engine_add_service(p->engine, word->service, &spec, &layout, word->now_ns) != NULL)
        wrong(p, "a service that can't join");
    else
        p->result->n_services = max_i32(p->result->n_services, word->service + 1);
}

static bool is_body_whole(const struct request_body *body, size_t n_bytes)
{
    return n_bytes >= sizeof(*body) && body->n_bytes == n_bytes &&
           body->n_tokens <= LIMIT_CONTEXT && body->n_stop_ids <= LIMIT_STOP_IDS &&
           body->n_biases <= LIMIT_BIASES && body->n_grammar <= LIMIT_GRAMMAR_BYTES &&
           request_body_whole_bytes(body) == n_bytes;
}

static void submit(struct replay *p, const struct engine_log_record *record,
                   const struct engine_log_word *word)
{
    const struct request *request = (const void *)(record->payload + sizeof(*word));
    size_t n_head = sizeof(*word) + sizeof(*request);
    const struct request_body *body = NULL;
    bool is_right = record->n_bytes >= n_head && request->kind <= REQUEST_SCORE &&
                    request->arrived_ns >= 0 && request->arrived_ns <= REPLAY_NS_MAX &&
                    request->n_predicted >= 0;
    if (is_right && record->n_bytes > n_head) {
        body = (const void *)(request + 1);
        is_right = is_body_whole(body, record->n_bytes - n_head);
    }
    if (!is_right)
        wrong(p, "a request that can't be");
    else
        (void)engine_submit(p->engine, request, body, word->now_ns);
}

static void make_room(struct replay *p, const struct engine_log_word *word)
{
    struct engine_room room;
    uint8_t state = p->engine->room_state[word->service];
    if ((state != ENGINE_ROOM_NONE && state != ENGINE_ROOM_WANTED) ||
        !engine_replay_check_bytes(word->weights_bytes) ||
        !engine_replay_check_bytes(word->activation_bytes))
        wrong(p, "room for a model that has it");
    else
        (void)engine_make_room(p->engine, word->service, word->weights_bytes,
                               word->activation_bytes, word->now_ns, &room);
}

static void open_service(struct replay *p, const struct engine_log_record *record,
                         const struct engine_log_word *word)
{
    struct perf perf;
    uint8_t state = p->engine->room_state[word->service];
    bool is_right = record->n_bytes == sizeof(*word) + sizeof(perf) &&
                    (state == ENGINE_ROOM_NONE || state == ENGINE_ROOM_BOOKED);
    if (is_right)
        memcpy(&perf, record->payload + sizeof(*word), sizeof(perf));
    if (!is_right || !engine_replay_check_perf(&perf))
        wrong(p, "a service that can't open");
    else
        engine_open_service(p->engine, word->service, &perf, word->now_ns);
}

/* Handles one record outside of a step; the engine requests those behind it. */
static void follow(struct replay *p)
{
    const struct engine_log_record record = p->record;
    struct engine_log_word word;
    if (!read_word(p, &word))
        return;
    advance(p);
    if (p->is_over)
        return;
    p->result->n_mails += record.kind != ENGINE_LOG_STEP;
    p->n_step_plans = 0;
    switch (record.kind) {
    case ENGINE_LOG_SUBMIT:
        submit(p, &record, &word);
        break;
    case ENGINE_LOG_CANCEL:
        engine_cancel(p->engine, word.id, word.epoch, word.now_ns);
        break;
    case ENGINE_LOG_ROOM:
        make_room(p, &word);
        break;
    case ENGINE_LOG_OPEN:
        open_service(p, &record, &word);
        break;
    case ENGINE_LOG_EMPTY:
        (void)engine_empty_service(p->engine, word.service, word.now_ns);
        break;
    case ENGINE_LOG_CLOSE:
        (void)engine_close_service(p->engine, word.service, word.now_ns);
        break;
    case ENGINE_LOG_ADDED:
        add_service(p, &record, &word);
        break;
    case ENGINE_LOG_REMOVED:
        if (!engine_remove_service(p->engine, word.service, word.now_ns))
            wrong(p, "a service that can't leave");
        break;
    case ENGINE_LOG_REVIVED:
        if (!engine_revive(p->engine, word.now_ns))
            wrong(p, "an engine that can't be revived");
        break;
    case ENGINE_LOG_DRAIN:
        engine_drain(p->engine);
        break;
    case ENGINE_LOG_STEP:
        p->result->n_steps++;
        (void)engine_step(p->engine, word.now_ns);
        break;
    default:
        /* The engine did not request this answer, plan or refusal, so it took another path. */
        wrong(p, "the engine had no question for this answer");
        break;
    }
}

enum status engine_replay_run(const unsigned char *bytes, size_t n_bytes,
                              const struct engine_replay_options *options,
                              struct engine_replay *result, struct fault *fault)
{
    struct replay *p = mem_take(sizeof(*p));
    *result = (struct engine_replay){ .n_records = 0 };
    p->reader = (struct engine_log_reader){ .at = bytes, .n_bytes = n_bytes };
    p->fault = fault;
    p->result = result;
    p->asked = options;
    p->logprobs = mem_take(ENGINE_LOGPROBS_MAX * sizeof(*p->logprobs));
    for (int i = 0; i < LIMIT_BATCH_ITEMS; i++)
        p->logprobs_at[i] = p->logprobs;
    CHECK((uintptr_t)bytes % 8 == 0);
    advance(p);
    const char *problem = p->is_over ? NULL : read_opened(p, options);
    if (problem != NULL)
        wrong(p, problem);
    if (!p->is_over) {
        p->engine = engine_open(&p->options);
        advance(p);
        while (p->has_record && !p->is_over)
            follow(p);
        engine_close(p->engine);
    }
    enum status status = p->status;
    mem_give(p->logprobs);
    mem_give(p);
    return status;
}
