/* One thread that carries bytes between pairs of sockets. */
#include "cable.h"

#include "../test.h"
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS_MAX = 64 };
struct cable {
    struct cable_faults faults;
    int listener;
    uint16_t port;
    _Atomic uint16_t to;
    atomic_bool is_over;
    struct thread *thread;
    struct {
        int fds[2]; /* -1: unused */
        int64_t n_bytes;
    } pairs[PAIRS_MAX];
};

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons(port),
                                 .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static void end_pair(struct cable *cable, int i)
{
    close(cable->pairs[i].fds[0]);
    close(cable->pairs[i].fds[1]);
    cable->pairs[i].fds[0] = cable->pairs[i].fds[1] = -1;
}

static void take_in(struct cable *cable)
{
    const struct sockaddr_in at = loopback(atomic_load(&cable->to));
    int near = accept(cable->listener, NULL, NULL), far = socket(AF_INET, SOCK_STREAM, 0);
    bool is_through = connect(far, (const struct sockaddr *)&at, sizeof at) == 0;
    for (int i = 0; i < PAIRS_MAX && is_through; i++) {
        if (cable->pairs[i].fds[0] >= 0)
            continue;
        cable->pairs[i].fds[0] = near;
        cable->pairs[i].fds[1] = far;
        cable->pairs[i].n_bytes = 0;
        return;
    }
    close(near);
    close(far);
}

/* Carries what has come from one end to the other. */
static void carry(struct cable *cable, int i, int from)
{
    const struct cable_faults *faults = &cable->faults;
    unsigned char bytes[2048];
    ssize_t n = recv(cable->pairs[i].fds[from], bytes, sizeof bytes, MSG_DONTWAIT);
    int64_t before = cable->pairs[i].n_bytes, after = before + n;
    if (n > 0 && faults->delay_ns > 0)
        time_sleep_ns(faults->delay_ns);
    if (n > 0 && faults->corrupt_bytes > 0 &&
        before / faults->corrupt_bytes != after / faults->corrupt_bytes)
        bytes[n / 2] ^= 0x41;
    if (n > 0 && faults->cut_bytes > 0 && after > faults->cut_bytes)
        n = max_i64(faults->cut_bytes - before, 0);
    cable->pairs[i].n_bytes = after;
    if (n <= 0 || send(cable->pairs[i].fds[!from], bytes, (size_t)n, MSG_NOSIGNAL) != n)
        end_pair(cable, i);
}

static bool is_stalled(const struct cable *cable, int i)
{
    return cable->faults.stall_bytes > 0 && cable->pairs[i].n_bytes > cable->faults.stall_bytes;
}

static void run(void *arg)
{
    struct cable *cable = arg;
    while (!atomic_load(&cable->is_over)) {
        struct pollfd fds[1 + 2 * PAIRS_MAX] = { { cable->listener, POLLIN, 0 } };
        for (int k = 0; k < 2 * PAIRS_MAX; k++)
            fds[1 + k] =
                (struct pollfd){ is_stalled(cable, k / 2) ? -1 : cable->pairs[k / 2].fds[k % 2],
                                 POLLIN, 0 };
        (void)poll(fds, COUNT_OF(fds), 20);
        for (int k = 0; k < 2 * PAIRS_MAX; k++)
            if (fds[1 + k].revents != 0 && cable->pairs[k / 2].fds[0] >= 0)
                carry(cable, k / 2, k % 2);
        if (fds[0].revents != 0)
            take_in(cable);
    }
}

struct cable *cable_open(const struct cable_faults *faults)
{
    struct cable *cable = mem_take(sizeof *cable);
    struct sockaddr_in at = loopback(0);
    socklen_t n = sizeof at;
    cable->faults = *faults;
    for (int i = 0; i < PAIRS_MAX; i++)
        cable->pairs[i].fds[0] = cable->pairs[i].fds[1] = -1;
    cable->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(cable->listener, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(cable->listener, 16), 0);
    assert_int_equal(getsockname(cable->listener, (struct sockaddr *)&at, &n), 0);
    cable->port = ntohs(at.sin_port);
    cable->thread = thread_start("cable", run, cable);
    return cable;
}

uint16_t cable_port(const struct cable *cable)
{
    return cable->port;
}

void cable_lead_to(struct cable *cable, uint16_t port)
{
    atomic_store(&cable->to, port);
}

void cable_close(struct cable *cable)
{
    atomic_store(&cable->is_over, true);
    thread_join(cable->thread);
    for (int i = 0; i < PAIRS_MAX; i++)
        if (cable->pairs[i].fds[0] >= 0)
            end_pair(cable, i);
    close(cable->listener);
    mem_give(cable);
}
