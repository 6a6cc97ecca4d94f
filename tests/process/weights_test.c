/* Tests of the store of packed weights: one copy, sealed, packed by a loader, which is this program
 * started again. */
#include "test.h"
#include "base/team.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "process/child.h"
#include "process/loader.h"
#include "process/weights.h"
#include "run/model.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#define LLAMA SOURCE_ROOT "/tests/golden/data/llama3"

static const struct process_device device = { .spec = { .kind = DEVICE_CPU, .n_cores = 1 },
                                              .n_lanes = 1 };
static int epoll_fd;

static enum status open_device(const struct process_device *of, struct compute_device **out,
                               struct fault *fault)
{
    (void)fault;
    if (getenv("PROCESS_TEST_CRASH") != NULL)
        raise(SIGSEGV);
    *out = cpu_open(&of->spec, cpu_isa_best());
    return STATUS_OK;
}

static void wait_answer(struct process_weights *w, const struct process_weights_want *want,
                        struct process_weights_answer *answer)
{
    int64_t end_ns = time_now_ns() + 30 * TIME_NS_PER_S;
    do {
        struct epoll_event event;
        (void)epoll_wait(epoll_fd, &event, 1, 10);
        process_weights_step(w);
        process_weights_use(w, want, answer);
        assert_true(time_now_ns() < end_ns);
    } while (answer->state == PROCESS_WEIGHTS_WAITS);
}

/* Opens the model with weights of its own, packed here. */
static void open_model(struct compute_device *cpu, struct run_model *model)
{
    struct weights *weights;
    struct fault fault;
    const struct run_model_options options = { .device = cpu, .kv_dtype = DTYPE_F16 };
    assert_int_equal(weights_open(&weights, LLAMA, &fault), STATUS_OK);
    assert_int_equal(run_model_open(model, weights, &options, &fault), STATUS_OK);
}

static void test_one_copy_for_all(void **state)
{
    (void)state;
    struct compute_device *cpu = cpu_open(&device.spec, cpu_isa_best());
    struct process_weights *w = process_weights_open(&device, epoll_fd);
    struct run_model model;
    struct process_weights_answer first = { .lent.fd = -1 }, second = { .lent.fd = -1 };
    open_model(cpu, &model);
    struct process_weights_want want = { 0, 3, 1, LLAMA, model.weights_bytes };
    wait_answer(w, &want, &first);
    assert_int_equal(first.state, PROCESS_WEIGHTS_READY);
    assert_true(first.lent.file_hash == weights_hash(model.weights));
    want.engine = 1;
    process_weights_use(w, &want, &second);
    assert_int_equal(second.state, PROCESS_WEIGHTS_READY);
    assert_int_equal(second.lent.fd, first.lent.fd);

    size_t n = (size_t)model.weights_bytes;
    void *map = mmap(NULL, n, PROT_READ, MAP_SHARED, first.lent.fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_memory_equal(map, model.packed.memory->base, n); /* the bits that are packed here */
    assert_ptr_equal(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, first.lent.fd, 0),
                     MAP_FAILED);
    assert_int_not_equal(ftruncate(first.lent.fd, 0), 0);
    assert_int_equal(munmap(map, n), 0);

    process_weights_release(w, 0, 3);
    process_weights_use(w, &want, &second); /* the other engine still has them */
    assert_int_equal(second.state, PROCESS_WEIGHTS_READY);
    int fd = second.lent.fd;
    process_weights_release(w, 1, 3);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* no engine uses them any more */
    process_weights_close(w);
    run_model_close(&model);
    cpu->close(cpu->self);
}

static void test_faults_have_a_sentence(void **state)
{
    (void)state;
    struct process_weights *w = process_weights_open(&device, epoll_fd);
    struct process_weights_answer answer = { .lent.fd = -1 };
    struct process_weights_want want = { 0, 0, 1, SOURCE_ROOT "/nothing-here.gguf", 4096 };
    wait_answer(w, &want, &answer);
    assert_int_equal(answer.state, PROCESS_WEIGHTS_FAILED);
    assert_non_null(strstr(answer.fault.text, "nothing-here.gguf"));
    want.path = LLAMA; /* whose weights have another size */
    wait_answer(w, &want, &answer);
    assert_int_equal(answer.state, PROCESS_WEIGHTS_FAILED);
    assert_string_equal(answer.fault.text, "the file changed while it was read");
    assert_int_equal(setenv("PROCESS_TEST_CRASH", "1", 1), 0);
    wait_answer(w, &want, &answer);
    assert_int_equal(unsetenv("PROCESS_TEST_CRASH"), 0);
    assert_int_equal(answer.state, PROCESS_WEIGHTS_FAILED);
    assert_int_equal(answer.status, STATUS_BAD_INPUT);
    assert_non_null(strstr(answer.fault.text, "is not loaded, since the process that read it"));
    process_weights_close(w);
}

/* A load that is not wanted any more ends with its loader. */
static void test_a_release_cancels(void **state)
{
    (void)state;
    struct process_weights *w = process_weights_open(&device, epoll_fd);
    struct process_weights_answer answer;
    const struct process_weights_want want = { 2, 5, 1, LLAMA, 4096 };
    process_weights_use(w, &want, &answer);
    process_weights_step(w);
    assert_int_equal(answer.state, PROCESS_WEIGHTS_WAITS);
    process_weights_release(w, 2, 5);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* there is no child */
    assert_int_equal(process_weights_percent(w, 5), 0);
    process_weights_close(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_copy_for_all),
        cmocka_unit_test(test_faults_have_a_sentence),
        cmocka_unit_test(test_a_release_cancels),
    };
    if (argc > 1 && strcmp(argv[1], PROCESS_CHILD_VERB) == 0)
        return process_child_begin(argc, argv) ? process_loader_run(open_device) : 9;
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
