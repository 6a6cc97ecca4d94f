/* The promises of the device contract besides the arithmetic, on every device: the reference and
 * the CPU, plain and late (tests/late.h).
 *
 * They cover passes that are chained by drawn ids, masks that come after begin, scores, drafts,
 * copies between passes, objects that are lent, sealed and mapped again, and work that fails. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "late.h"
#include "toy.h"
#include <fcntl.h>
#include <sys/mman.h>

#ifdef TEST_CUDA
#include "cuda/cuda.h"
#include "emulate/control.h"
#endif

enum { N_PROMPT = 9, N_NEW = 12, N_TOKENS = N_PROMPT + N_NEW, BLOCK_TOKENS = 4 };

static const struct toy_options options = { .dtype = DTYPE_Q8_0,
                                            .n_layers = 2,
                                            .width = 64,
                                            .n_heads = 4,
                                            .n_kv_heads = 2,
                                            .head_dim = 16,
                                            .ffn = 96,
                                            .n_vocabulary = 101,
                                            .n_positions = 64,
                                            .n_rope_dims = 16,
                                            .is_gated = true,
                                            .act = ACT_SILU,
                                            .kv_dtype = DTYPE_F16 };

#ifdef TEST_CUDA
/* An emulated GPU, whose streams have another order each time; or a real one. */
enum { N_DEVICES = 2, LOAD_ROWS = 16384 }; /* a pass takes long there */
#ifdef TEST_GPU
enum { GRANULE = 2 << 20 };
#else
enum { GRANULE = 64 << 10 };
#endif

static struct compute_device *open_device(int i)
{
    static const int32_t shares[] = { 1 };
    const struct cuda_options cuda = { .index = 0,
                                       .n_lanes = 2,
                                       .shares = i % 2 == 0 ? shares : NULL };
    struct compute_device *device;
    emulate_seed_streams(test_seed(11) + (uint64_t)i);
    assert_int_equal(cuda_open(&cuda, &device, NULL), STATUS_OK);
    return device;
}
#else
enum { N_DEVICES = 4, LOAD_ROWS = 2048 };

static struct compute_device *open_device(int i)
{
    static const struct device_spec cores = { .kind = DEVICE_CPU, .n_cores = 2, .cores = { 0, 1 } };
    struct compute_device *device = i % 2 == 0 ? compute_reference_open(COMPUTE_ARITHMETIC_CPU)
                                               : cpu_open(&cores, CPU_ISA_AVX2);
    return i < 2 ? device : late_open(device, test_seed(11));
}
#endif

/* One sequence of a toy model on a device, with passes in flight one behind the other. */
struct scene {
    struct compute_device *device;
    struct toy toy;
    struct compute_packed packed;
    struct compute_program program;
    struct compute_workspace *workspace;
    struct compute_memory *cache;
    uint32_t blocks[64 / BLOCK_TOKENS];
    struct request_body *body;
    struct step {
        struct compute_pass pass;
        struct compute_sequence sequence;
        int32_t ids[N_TOKENS], positions[N_TOKENS], rows[N_TOKENS], drawn[N_TOKENS];
        struct compute_ask asks[N_TOKENS];
        struct token_logprobs logprobs[N_TOKENS];
    } steps[2 + N_TOKENS];
    int32_t tokens[N_TOKENS]; /* the prompt, and the tokens read back */
};

static struct request_body *make_body(float temperature)
{
    struct request_body *body = mem_take(request_body_bytes(0, 0, 0));
    *body = (struct request_body){ .seed = 77,
                                   .sampling = { .temperature = temperature,
                                                 .top_p = 0.95f,
                                                 .frequency_penalty = 0.5f,
                                                 .repetition_penalty = 1.1f,
                                                 .n_top_logprobs = 3 } };
    return body;
}

static void open_scene_on(struct scene *s, struct compute_device *device)
{
    int64_t n_bytes =
        INT64_C(64) * options.n_layers * 2 * options.n_kv_heads * options.head_dim * 2;
    const struct compute_memory_options cache = { .n_bytes = n_bytes };
    memset(s, 0, sizeof *s);
    s->device = device;
    toy_init(&s->toy, &options, 3);
    toy_pack(&s->packed, device, s->toy.tensors, s->toy.n_tensors);
    s->program = toy_program(&s->toy, &s->packed);
    assert_int_equal(device->memory_open(device->self, &cache, &s->cache, NULL), STATUS_OK);
    assert_int_equal(device->workspace_open(device->self, device->lanes[0], &s->program,
                                            (struct compute_sizes){ N_TOKENS, N_TOKENS },
                                            &s->workspace, NULL),
                     STATUS_OK);
    for (uint32_t i = 0; i < COUNT_OF(s->blocks); i++)
        s->blocks[i] = (uint32_t)COUNT_OF(s->blocks) - 1 - i;
    for (int32_t i = 0; i < N_PROMPT; i++)
        s->tokens[i] = toy_token(&s->toy, 0, i);
    s->body = make_body(0.8f);
}

static void close_scene(struct scene *s)
{
    s->device->workspace_close(s->device->self, s->workspace);
    s->device->memory_close(s->device->self, s->cache);
    compute_packed_close(&s->packed);
    s->device->close(s->device->self);
    toy_free(&s->toy);
    mem_give(s->body);
}

/* A pass over positions [n_before, n_before + n) that draws from its last n_asks rows; ids are
 * those of s->tokens. */
static struct step *make_step(struct scene *s, int at, int32_t n_before, int32_t n, int32_t n_asks)
{
    struct step *step = &s->steps[at];
    uint64_t block_bytes =
        (uint64_t)BLOCK_TOKENS *
        (uint64_t)(options.n_layers * 2 * options.n_kv_heads * options.head_dim * 2);
    step->sequence = (struct compute_sequence){ 0, n, n_before, s->blocks, 0 };
    for (int32_t i = 0; i < n; i++) {
        step->ids[i] = s->tokens[n_before + i];
        step->positions[i] = n_before + i;
    }
    for (int32_t i = 0; i < n_asks; i++) {
        step->rows[i] = n - n_asks + i;
        step->asks[i] = (struct compute_ask){ .kind = COMPUTE_ASK_TOKEN,
                                              .body = s->body,
                                              .tokens = s->tokens,
                                              .n_prompt = N_PROMPT,
                                              .n_tokens = n_before + n - n_asks + i + 1,
                                              .logprobs = &step->logprobs[i] };
    }
    step->pass = (struct compute_pass){ .work = { .kind = COMPUTE_WORK_PASS },
                                        .program = &s->program,
                                        .workspace = s->workspace,
                                        .n_rows = n,
                                        .ids = step->ids,
                                        .positions = step->positions,
                                        .n_sequences = 1,
                                        .sequences = &step->sequence,
                                        .kv = { .memory = s->cache,
                                                .unit_bytes = block_bytes,
                                                .block_bytes = block_bytes,
                                                .blocks_per_unit = 1,
                                                .block_tokens = BLOCK_TOKENS,
                                                .dtype = DTYPE_F16,
                                                .n_layers = options.n_layers,
                                                .n_kv_heads = options.n_kv_heads,
                                                .head_dim = options.head_dim },
                                        .n_logit_rows = n_asks,
                                        .logit_rows = step->rows,
                                        .asks = step->asks,
                                        .drawn = step->drawn };
    return step;
}

static void run_step(struct scene *s, struct step *step)
{
    assert_int_equal(compute_device_wait(s->device, s->device->lanes[0], &step->pass.work),
                     COMPUTE_DONE);
}

static void begin(struct scene *s, struct compute_work *work)
{
    s->device->begin(s->device->self, s->device->lanes[0], work);
}

static enum compute_state end(struct scene *s, struct compute_work *work)
{
    enum compute_state state;
    while ((state = s->device->poll(s->device->self, work)) == COMPUTE_BEGUN)
        ;
    return state;
}

/* Token by token, each read back before the next pass. */
static void generate(struct scene *s)
{
    for (int32_t n = N_PROMPT; n < N_TOKENS; n++) {
        struct step *step =
            n == N_PROMPT ? make_step(s, 0, 0, N_PROMPT, 1) : make_step(s, 0, n - 1, 1, 1);
        run_step(s, step);
        s->tokens[n] = step->drawn[0];
    }
}

static void on_every_device(void (*f)(struct scene *s, const struct scene *plain))
{
    struct scene *plain = mem_take(sizeof *plain), *s = mem_take(sizeof *s);
    open_scene_on(plain, open_device(0));
    generate(plain);
    for (int i = 0; i < N_DEVICES; i++) {
        open_scene_on(s, open_device(i));
        f(s, plain);
        close_scene(s);
    }
    close_scene(plain);
    mem_give(plain);
    mem_give(s);
}

static void check_generates(struct scene *s, const struct scene *plain)
{
    generate(s);
    assert_memory_equal(s->tokens, plain->tokens, sizeof s->tokens);
}

static void every_device_draws_the_same(void **state)
{
    (void)state;
    on_every_device(check_generates);
}

/* All passes are begun before the first token is known. Ids and histories refer to the draws of the
 * pass before. The history's tokens before the last one are read back meanwhile, with two passes at
 * a time in flight. */
static void check_chain(struct scene *s, const struct scene *plain)
{
    begin(s, &make_step(s, 0, 0, N_PROMPT, 1)->pass.work);
    for (int32_t k = 1; k <= N_NEW; k++) {
        struct step *before = &s->steps[k - 1];
        if (k < N_NEW) {
            struct step *step = make_step(s, k, N_PROMPT + k - 1, 1, 1);
            step->ids[0] = compute_drawn(0);
            step->asks[0].n_tokens--;
            step->asks[0].follows = compute_drawn(0);
            begin(s, &step->pass.work);
        }
        assert_int_equal(end(s, &before->pass.work), COMPUTE_DONE);
        s->tokens[N_PROMPT + k - 1] = before->drawn[0];
        assert_int_equal(before->drawn[0], plain->tokens[N_PROMPT + k - 1]);
        assert_true(before->logprobs[0].logprob < 0 && before->logprobs[0].n_top == 3);
    }
}

static void passes_are_chained_by_what_they_draw(void **state)
{
    (void)state;
    on_every_device(check_chain);
}

/* Drafts: one pass draws behind each of them, and gives the same as passes of one row. */
static void check_drafts(struct scene *s, const struct scene *plain)
{
    memcpy(s->tokens, plain->tokens, sizeof s->tokens);
    struct step *step = make_step(s, 0, 0, N_TOKENS - 1, N_NEW);
    run_step(s, step);
    assert_memory_equal(step->drawn, plain->tokens + N_PROMPT, sizeof(int32_t) * N_NEW);
}

static void drafts_are_rows_of_one_pass(void **state)
{
    (void)state;
    on_every_device(check_drafts);
}

/* Scores of the prompt's own tokens equal those of a draw from the same logits. */
static void check_scores(struct scene *s, const struct scene *plain)
{
    float sum = 0;
    memcpy(s->tokens, plain->tokens, sizeof s->tokens);
    struct step *step = make_step(s, 0, 0, N_TOKENS - 1, N_NEW);
    run_step(s, step);
    struct step *scored = make_step(s, 1, 0, N_TOKENS - 1, N_NEW);
    for (int32_t i = 0; i < N_NEW; i++) {
        scored->asks[i].kind = COMPUTE_ASK_SCORE;
        scored->asks[i].id = plain->tokens[N_PROMPT + i];
    }
    run_step(s, scored);
    for (int32_t i = 0; i < N_NEW; i++) {
        assert_true(scored->logprobs[i].logprob == step->logprobs[i].logprob);
        sum += scored->logprobs[i].logprob;
    }
    assert_true(sum < 0);
}

static void tokens_are_scored(void **state)
{
    (void)state;
    on_every_device(check_scores);
}

/* The masks are written only after begin, and after polling. Until then nothing is drawn. */
static void check_masks(struct scene *s, const struct scene *plain)
{
    uint32_t mask[(101 + 31) / 32];
    struct step *step = make_step(s, 0, 0, N_PROMPT, 1);
    (void)plain;
    memset(mask, 0xFF, sizeof mask); /* not yet the final mask */
    step->asks[0].mask = mask;
    step->pass.has_late_masks = true;
    begin(s, &step->pass.work);
    for (int i = 0; i < 100; i++)
        assert_int_equal(s->device->poll(s->device->self, &step->pass.work), COMPUTE_BEGUN);
    memset(mask, 0, sizeof mask);
    mask[71 / 32] |= 1U << 71 % 32;
    s->device->masks(s->device->self, &step->pass);
    assert_int_equal(end(s, &step->pass.work), COMPUTE_DONE);
    assert_int_equal(step->drawn[0], 71);
}

static void masks_may_come_late(void **state)
{
    (void)state;
    on_every_device(check_masks);
}

/* A block is copied out to the host, the cache is overwritten, and the block comes back to another
 * place. All of it is begun at once, in front of the pass that reads the block. */
static void check_copies(struct scene *s, const struct scene *plain)
{
    struct compute_device *device = s->device;
    int64_t n = (int64_t)s->steps[0].pass.kv.block_bytes, n_blocks = COUNT_OF(s->blocks);
    struct compute_memory *host;
    run_step(s, make_step(s, 0, 0, N_PROMPT, 0));
    n = (int64_t)s->steps[0].pass.kv.block_bytes;
    const struct compute_memory_options o = { .n_bytes = n * n_blocks, .is_host = true };
    assert_int_equal(device->memory_open(device->self, &o, &host, NULL), STATUS_OK);
    struct copy_part out[64 / BLOCK_TOKENS], junk[64 / BLOCK_TOKENS], in[64 / BLOCK_TOKENS];
    for (int32_t i = 0; i < n_blocks; i++) {
        out[i] = (struct copy_part){ i * n, (n_blocks - 1 - i) * n, n };
        junk[i] = (struct copy_part){ 0, i * n, n };
        in[i] = (struct copy_part){ (n_blocks - 1 - i) * n, (i + 3) % n_blocks * n, n };
    }
    struct compute_copy copies[] = {
        { { .kind = COMPUTE_WORK_COPY }, s->cache, host, (int32_t)n_blocks, out },
        { { .kind = COMPUTE_WORK_COPY }, host, s->cache, (int32_t)n_blocks, junk },
        { { .kind = COMPUTE_WORK_COPY }, host, s->cache, (int32_t)n_blocks, in },
    };
    for (uint32_t i = 0; i < n_blocks; i++)
        s->blocks[i] = (s->blocks[i] + 3) % (uint32_t)n_blocks;
    struct step *step = make_step(s, 1, N_PROMPT - 1, 1, 1);
    for (int i = 0; i < 3; i++)
        begin(s, &copies[i].work);
    begin(s, &step->pass.work);
    assert_int_equal(end(s, &step->pass.work), COMPUTE_DONE);
    assert_int_equal(step->drawn[0], plain->tokens[N_PROMPT]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(end(s, &copies[i].work), COMPUTE_DONE);
    device->memory_close(device->self, host);
}

static void copies_stand_in_line_with_passes(void **state)
{
    (void)state;
    on_every_device(check_copies);
}

/* Weights are packed into memory that the caller supplies, sealed, and bound by another device that
 * maps it at another address and packs nothing. */
static void sealed_weights_are_bound_again(void **state)
{
    (void)state;
    for (int i = 0; i < N_DEVICES; i++) {
        struct scene *a = mem_take(sizeof *a), *b = mem_take(sizeof *b);
        struct compute_device *devices[] = { open_device(i), open_device(i) };
        struct compute_memory *memory[2];
        const struct tensor *list[TOY_WEIGHTS_MAX];
        open_scene_on(a, devices[0]);
        open_scene_on(b, devices[1]);
        for (int t = 0; t < a->toy.n_tensors; t++)
            list[t] = &a->toy.tensors[t];
        struct compute_memory_options o = { .n_bytes = compute_packed_bytes(devices[0], list,
                                                                            a->toy.n_tensors),
                                            .has_fd = true,
                                            .fd = memfd_create("weights", MFD_ALLOW_SEALING) };
        assert_true(o.fd >= 0 && ftruncate(o.fd, o.n_bytes) == 0);
        compute_packed_close(&a->packed);
        compute_packed_close(&b->packed);
        for (int k = 0; k < 2; k++) {
            struct scene *s = k == 0 ? a : b;
            o.is_readonly = k == 1;
            assert_int_equal(devices[k]->memory_open(devices[k]->self, &o, &memory[k], NULL),
                             STATUS_OK);
            assert_int_equal(compute_packed_open(&s->packed, devices[k], list, a->toy.n_tensors,
                                                 memory[k], NULL),
                             STATUS_OK);
            for (int t = 0; t < a->toy.n_tensors; t++)
                assert_int_equal(compute_packed_add(&s->packed, list[t], k == 1, NULL), STATUS_OK);
            s->program = toy_program(&s->toy, &s->packed);
            if (k == 0)
                assert_int_equal(fcntl(o.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK), 0);
        }
        assert_true(memory[0]->base != memory[1]->base);
        generate(a);
        generate(b);
        assert_memory_equal(a->tokens, b->tokens, sizeof a->tokens);
        compute_packed_close(&a->packed);
        compute_packed_close(&b->packed);
        for (int k = 0; k < 2; k++)
            devices[k]->memory_close(devices[k]->self, memory[k]);
        close(o.fd);
        close_scene(a);
        close_scene(b);
        mem_give(a);
        mem_give(b);
    }
}

/* An object that is too small for the weights is refused with a sentence. */
static void small_objects_are_refused(void **state)
{
    struct compute_device *device = open_device(1);
    struct toy toy;
    struct compute_packed packed;
    struct compute_memory *memory;
    struct fault fault;
    const struct compute_memory_options o = { .n_bytes = 100 };
    (void)state;
    toy_init(&toy, &options, 3);
    const struct tensor *list[] = { &toy.tensors[0], &toy.tensors[1] };
    assert_int_equal(device->memory_open(device->self, &o, &memory, NULL), STATUS_OK);
    assert_int_equal(compute_packed_open(&packed, device, list, 2, memory, &fault),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "has 100 bytes"));
    compute_packed_close(&packed);
    device->memory_close(device->self, memory);
    const struct compute_memory_options vast = { .n_bytes = INT64_MAX };
    assert_int_equal(device->memory_open(device->self, &vast, &memory, &fault), STATUS_TOO_LARGE);
    device->close(device->self);
    toy_free(&toy);
}

#ifdef TEST_CUDA
#include "device_cuda.h"
#else
/* The base stays, dropped parts read as zeros once they are backed again, and the rest is kept. */
static void ranges_grow_and_shrink(void **state)
{
    enum { PAGE = 4096, N_PAGES = 40 };
    (void)state;
    for (int i = 0; i < N_DEVICES; i++) {
        struct compute_device *device = open_device(i);
        struct compute_memory *memory;
        const struct compute_memory_options o = { .n_bytes = N_PAGES * PAGE, .is_reserved = true };
        assert_int_equal(device->memory_open(device->self, &o, &memory, NULL), STATUS_OK);
        unsigned char *base = memory->base, *at = late_private(device, memory);
        assert_true(device->memory_back(device->self, memory, 0, 10 * PAGE));
        memset(at, 1, 10 * PAGE);
        device->memory_drop(device->self, memory, 3 * PAGE + 1, 9 * PAGE - 1);
        assert_true(device->memory_back(device->self, memory, 0, N_PAGES * PAGE));
        for (int64_t k = 0; k < 10 * PAGE; k++)
            assert_int_equal(at[k], k < 4 * PAGE || k >= 8 * PAGE);
        assert_int_equal(at[N_PAGES * PAGE - 1], 0);
        assert_ptr_equal(memory->base, base);
        device->memory_close(device->self, memory);
        device->close(device->self);
    }
}

#endif

static void touch(void *base)
{
    signal(SIGSEGV, SIG_DFL);
    *(volatile unsigned char *)base = 1;
}

/* The public addresses of a late device, and those of a GPU, can't be touched. */
static void public_addresses_are_closed(void **state)
{
    struct compute_device *device = open_device(2);
    struct compute_memory *memory;
    const struct compute_memory_options o = { .n_bytes = 100 };
    int status = 0;
    (void)state;
    assert_int_equal(device->memory_open(device->self, &o, &memory, NULL), STATUS_OK);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        touch(memory->base);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    device->memory_close(device->self, memory);
    device->close(device->self);
}

#ifndef TEST_CUDA
/* A pass that fails does so alone. Once the device is lost, all work is. */
static void work_fails_alone_or_with_its_device(void **state)
{
    struct scene *s = mem_take(sizeof *s);
    (void)state;
    open_scene_on(s, open_device(3));
    late_fail(s->device, 2);
    int n_failed = 0;
    for (int i = 0; i < 6; i++) {
        struct step *step = make_step(s, 0, 0, N_PROMPT, 1);
        enum compute_state how =
            compute_device_wait(s->device, s->device->lanes[0], &step->pass.work);
        assert_true(how == COMPUTE_DONE || how == COMPUTE_FAILED);
        n_failed += how == COMPUTE_FAILED;
    }
    assert_int_equal(n_failed, 3);
    late_fail(s->device, 0);
    late_lose(s->device, 1);
    for (int i = 0; i < 4; i++) {
        struct step *step = make_step(s, 0, 0, N_PROMPT, 1);
        assert_int_equal(compute_device_wait(s->device, s->device->lanes[0], &step->pass.work),
                         i == 0 ? COMPUTE_DONE : COMPUTE_LOST);
    }
    close_scene(s);
    mem_give(s);
}
#endif

struct loading { /* packs one matrix again and again */
    struct compute_device *device;
    struct tensor tensor;
    struct compute_memory *memory;
    _Atomic int n_begun, n_ended;
    _Atomic bool is_over;
};

static void load(void *arg)
{
    struct loading *l = arg;
    while (!atomic_load(&l->is_over)) {
        atomic_fetch_add(&l->n_begun, 1);
        assert_int_equal(l->device->pack(l->device->self, &l->tensor, l->memory, 0, NULL),
                         STATUS_OK);
        atomic_fetch_add(&l->n_ended, 1);
    }
}

/* A pass begins and ends while one matrix is being packed. */
static void check_loads(struct scene *s, const struct scene *plain)
{
    const int32_t n = 2048;
    struct loading l = { .device = s->device,
                         .tensor = { .dtype = DTYPE_F32,
                                     .n_rows = LOAD_ROWS,
                                     .n_columns = n,
                                     .row_bytes = 4 * n,
                                     .data = mem_take((size_t)LOAD_ROWS * 4 * (size_t)n) } };
    const struct compute_memory_options o = { .n_bytes = s->device->packed_bytes(s->device->self,
                                                                                 &l.tensor) };
    int64_t end_ns = time_now_ns() + 20 * TIME_NS_PER_S;
    bool is_inside = false;
    (void)plain;
    assert_int_equal(s->device->memory_open(s->device->self, &o, &l.memory, NULL), STATUS_OK);
    struct thread *loader = thread_start("loader", load, &l);
    while (!is_inside && time_now_ns() < end_ns) {
        int n_begun = atomic_load(&l.n_begun);
        bool was_open = n_begun > atomic_load(&l.n_ended);
        run_step(s, make_step(s, 0, 0, N_PROMPT, 1));
        is_inside = was_open && atomic_load(&l.n_ended) < n_begun;
    }
    atomic_store(&l.is_over, true);
    thread_join(loader);
    s->device->memory_close(s->device->self, l.memory);
    mem_give((void *)(uintptr_t)l.tensor.data);
    assert_true(is_inside);
}

static void a_load_stops_no_pass(void **state)
{
    (void)state;
    on_every_device(check_loads);
}

/* A shape that a device does not compute is refused by its name, or fails. */
static void check_shapes(struct scene *s, const struct scene *plain)
{
    struct compute_device *device = s->device;
    struct compute_workspace *workspace;
    struct fault fault;
    const struct {
        struct compute_shapes shapes;
        const char *name;
        bool is_computed;
    } known[] = {
        { { .n_kv_groups = 1 }, "unlike caches" },
        { { .experts = { .n_experts = 2, .n_used = 1 } }, "experts", device->has_experts },
        { { .has_sinks = true }, "sinks", device->has_experts },
        { { .has_caps = true }, "soft caps", device->has_experts },
        { { .has_clamped_gates = true }, "clamped gates", device->has_experts },
        { { .has_latents = true }, "latent attention", device->has_experts },
        { { .n_adapters = 1 }, "LoRA" },
        { { .output = COMPUTE_OUTPUT_VECTORS }, "encoders", device->has_vectors },
        { { .sums_over_ranks = true }, "ranks" }
    };
    (void)plain;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct compute_program program = s->program;
        if (known[i].is_computed)
            continue;
        program.shapes = known[i].shapes;
        assert_int_equal(device->workspace_open(device->self, device->lanes[0], &program,
                                                (struct compute_sizes){ 1, 1 }, &workspace, &fault),
                         STATUS_UNSUPPORTED);
        assert_non_null(strstr(fault.text, known[i].name));
    }
    struct step *step = make_step(s, 0, 0, N_PROMPT, 1);
    step->pass.shapes.last_op = 3;
    assert_int_equal(compute_device_wait(device, device->lanes[0], &step->pass.work),
                     COMPUTE_FAILED);
}

static void shapes_to_come_are_refused(void **state)
{
    (void)state;
    on_every_device(check_shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_device_draws_the_same),
        cmocka_unit_test(passes_are_chained_by_what_they_draw),
        cmocka_unit_test(drafts_are_rows_of_one_pass),
        cmocka_unit_test(tokens_are_scored),
        cmocka_unit_test(masks_may_come_late),
        cmocka_unit_test(copies_stand_in_line_with_passes),
        cmocka_unit_test(sealed_weights_are_bound_again),
        cmocka_unit_test(small_objects_are_refused),
        cmocka_unit_test(ranges_grow_and_shrink),
#ifdef TEST_CUDA
        cmocka_unit_test(ranges_are_backed_whole_or_not_at_all),
        cmocka_unit_test(lanes_have_processors_of_their_own),
#endif
        cmocka_unit_test(public_addresses_are_closed),
        cmocka_unit_test(work_fails_alone_or_with_its_device),
        cmocka_unit_test(a_load_stops_no_pass),
        cmocka_unit_test(shapes_to_come_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
