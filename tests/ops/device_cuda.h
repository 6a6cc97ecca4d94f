/* Tests of the device contract that are other ones on a GPU, for device_test.c, behind its helpers:
 * the host can't touch memory, which comes in granules, and faults are those of the emulated
 * driver. */
#pragma once
/* The first byte of each granule, by way of the host. */
static void read_granules(struct compute_device *device, struct compute_memory *memory,
                          unsigned char *out, int64_t n, int64_t granule_bytes)
{
    struct compute_memory *host;
    struct copy_part parts[16];
    const struct compute_memory_options o = { .n_bytes = n, .is_host = true };
    assert_int_equal(device->memory_open(device->self, &o, &host, NULL), STATUS_OK);
    for (int64_t i = 0; i < n; i++)
        parts[i] = (struct copy_part){ i * granule_bytes, i, 1 };
    struct compute_copy copy = { { .kind = COMPUTE_WORK_COPY }, memory, host, (int32_t)n, parts };
    assert_int_equal(compute_device_wait(device, device->lanes[0], &copy.work), COMPUTE_DONE);
    memcpy(out, host->base, (size_t)n);
    device->memory_close(device->self, host);
}

/* The base stays, what was not dropped is kept, and all memory is given back. Memory of a GPU comes
 * in granules; an object of the host is pinned in the same ones. */
static void ranges_grow_and_shrink(void **state)
{
    enum { N = 16 };
    struct compute_device *device = open_device(0);
    size_t n_before = emulate_mapped_bytes();
    (void)state;
    for (int is_host = 0; is_host < 2; is_host++) {
        struct compute_memory *memory, *ones;
        unsigned char got[N];
        const struct compute_memory_options o = { .n_bytes = N * GRANULE - 5,
                                                  .is_reserved = true,
                                                  .is_host = is_host != 0 };
        const struct compute_memory_options plain = { .n_bytes = N, .is_host = true };
        const struct copy_part part = { 0, 0, N };
        assert_int_equal(device->memory_open(device->self, &plain, &ones, NULL), STATUS_OK);
        memset(ones->base, 1, N);
        assert_int_equal(device->memory_open(device->self, &o, &memory, NULL), STATUS_OK);
        unsigned char *base = memory->base;
        assert_true(device->memory_back(device->self, memory, 1, 10 * GRANULE));
        assert_true(is_host || emulate_mapped_bytes() == n_before + 10 * GRANULE);
        for (int64_t i = 0; i < 10; i++) {
            const struct copy_part to = { part.from, i * GRANULE, 1 };
            struct compute_copy copy = { { .kind = COMPUTE_WORK_COPY }, ones, memory, 1, &to };
            assert_int_equal(compute_device_wait(device, device->lanes[0], &copy.work),
                             COMPUTE_DONE);
        }
        device->memory_drop(device->self, memory, 3 * GRANULE + 1, 9 * GRANULE - 1);
        assert_true(is_host || emulate_mapped_bytes() == n_before + 6 * GRANULE);
        assert_true(device->memory_back(device->self, memory, 0, o.n_bytes));
        read_granules(device, memory, got, N, GRANULE);
        for (int64_t k = 0; k < 10; k++)
            assert_true((got[k] == 1) == (k < 4 || k >= 8));
        assert_ptr_equal(memory->base, base);
        device->memory_close(device->self, memory);
        device->memory_close(device->self, ones);
        assert_int_equal(emulate_mapped_bytes(), n_before);
    }
    device->close(device->self);
}

/* A range that can't be backed whole is left as it was. */
static void ranges_are_backed_whole_or_not_at_all(void **state)
{
    struct compute_device *device = open_device(0);
    struct compute_memory *memory;
    const struct compute_memory_options o = { .n_bytes = 64 * GRANULE, .is_reserved = true };
    size_t n_before = emulate_mapped_bytes();
    (void)state;
    assert_int_equal(device->memory_open(device->self, &o, &memory, NULL), STATUS_OK);
    emulate_limit_memory(n_before + 10 * GRANULE);
    assert_true(device->memory_back(device->self, memory, 2 * GRANULE, 4 * GRANULE));
    assert_false(device->memory_back(device->self, memory, 0, 11 * GRANULE));
    assert_int_equal(emulate_mapped_bytes(), n_before + 2 * GRANULE);
    assert_true(device->memory_back(device->self, memory, 0, 10 * GRANULE));
    emulate_limit_memory((size_t)3 << 30);
    device->memory_close(device->self, memory);
    device->close(device->self);
}

/* A pass whose launch is refused fails alone; once the GPU is lost, so is all work. */
static void work_fails_alone_or_with_its_device(void **state)
{
    struct scene *s = mem_take(sizeof *s);
    (void)state;
    open_scene_on(s, open_device(3));
    for (int i = 0; i < 6; i++) {
        struct step *step = make_step(s, 0, 0, N_PROMPT, 1);
        emulate_refuse_launch(i % 2 == 0 ? -1 : 5 * i);
        enum compute_state how =
            compute_device_wait(s->device, s->device->lanes[0], &step->pass.work);
        assert_int_equal(how, i % 2 == 0 ? COMPUTE_DONE : COMPUTE_FAILED);
    }
    emulate_refuse_launch(-1);
    generate(s);
    emulate_lose(100);
    int n_lost = 0;
    for (int i = 0; i < 8; i++) {
        struct step *step = make_step(s, 0, 0, N_PROMPT, 1);
        enum compute_state how =
            compute_device_wait(s->device, s->device->lanes[0], &step->pass.work);
        assert_int_equal(how, i == 0 || n_lost == 0 ? how : COMPUTE_LOST);
        assert_true(how == COMPUTE_DONE || how == COMPUTE_LOST);
        n_lost += how == COMPUTE_LOST;
    }
    assert_true(n_lost > 4);
    close_scene(s);
    mem_give(s);
}

/* Lanes with shares have whole units of processors, and none in common, which the driver checks. */
static void lanes_have_processors_of_their_own(void **state)
{
    static const int32_t shares[LIMIT_LANES] = { 2, 1, 1, 1, 1, 1, 1, 1 };
    struct cuda_options gpu = { .index = 0, .n_lanes = 3, .shares = shares };
    struct compute_device *device;
    struct fault fault;
    (void)state;
    assert_int_equal(cuda_open(&gpu, &device, &fault), STATUS_OK);
    assert_int_equal(device->lanes[0]->n_members, 13);
    assert_int_equal(device->lanes[1]->n_members, 8);
    assert_int_equal(device->lanes[2]->n_members, 4);
    device->close(device->self);
    gpu.n_lanes = 8;
    assert_int_equal(cuda_open(&gpu, &device, &fault), STATUS_UNSUPPORTED);
    assert_string_equal(fault.text, "7 lanes: this GPU has 6 partitions of 2 processors");
}
