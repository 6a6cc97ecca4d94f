/* A door and peers that break the rules: rogue receivers and rogue sources, over raw sockets. */
#include "../test.h"
#include "base/mem.h"
#include "base/time.h"
#include "bulk/door.h"
#include "bulk/frame.h"
#include "bulk/pulls.h"
#include "engine/exchange.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096, BLOCKS = 3 };

static struct {
    struct exchange *exchange;
    struct bulk_pulls *pulls;
    struct bulk_door *door;
    unsigned char bytes[BLOCKS * BLOCK_BYTES];
    uint64_t ticket;
} s;

static void open_all(bool has_exchange)
{
    static const struct hash128 tokens[BLOCKS];
    static const uint32_t pages[BLOCKS + 1];
    struct fault fault;
    s.pulls = bulk_pulls_open();
    s.exchange = exchange_open(&(struct exchange_options){
        .seed = 1, .n_offers_max = 4, .remote = bulk_pulls_remote(s.pulls) });
    s.door =
        bulk_door_open(&(struct bulk_door_options){ .exchange = has_exchange ? s.exchange : NULL,
                                                    .pulls = s.pulls,
                                                    .parent_fd = -1,
                                                    .listen_host = "127.0.0.1" },
                       &fault);
    assert_non_null(s.door);
    memset(s.bytes, 'x', sizeof s.bytes);
    s.ticket = exchange_offer(
        s.exchange, &(struct exchange_offer){
                        .stamp = { .session = 1, .block_bytes = BLOCK_BYTES, .block_tokens = 16 },
                        .n_positions = 16 * BLOCKS,
                        .view = { .next = pages,
                                  .page = 0,
                                  .n_blocks = BLOCKS,
                                  .per_page = BLOCKS,
                                  .page_bytes = sizeof s.bytes,
                                  .block_bytes = BLOCK_BYTES },
                        .base = s.bytes,
                        .tokens = tokens });
    assert_true(s.ticket != 0);
}

static void close_all(void)
{
    bulk_door_close(s.door);
    exchange_withdraw(s.exchange, s.ticket);
    exchange_close(s.exchange);
    bulk_pulls_close(s.pulls);
}

/* ---- A rogue receiver. ---- */

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons(port),
                                 .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static void put(int fd, const void *bytes, size_t n)
{
    assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static bool take(int fd, void *bytes, size_t n)
{
    return recv(fd, bytes, n, MSG_WAITALL) == (ssize_t)n;
}

static void greet(int fd)
{
    static const unsigned char hello[BULK_HELLO_BYTES] = { 's', 'h', 'o', 'a',         'l',
                                                           'b', 'l', 'k', BULK_VERSION };
    unsigned char other[BULK_HELLO_BYTES];
    put(fd, hello, sizeof hello);
    assert_true(take(fd, other, sizeof other));
    assert_memory_equal(hello, other, sizeof hello);
}

static int dial(void)
{
    const struct sockaddr_in at = loopback(bulk_door_port(s.door));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static bool is_ended(int fd)
{
    unsigned char bytes[4096];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        continue;
    return n <= 0;
}

static const struct bulk_head pull = { .kind = BULK_PULL, .serial = 7, .n = BLOCK_BYTES };

static void a_receiver_gets_blocks(void **state)
{
    struct bulk_head head;
    struct exchange_stamp stamp;
    unsigned char bytes[BLOCK_BYTES];
    (void)state;
    open_all(true);
    int fd = dial();
    greet(fd);
    for (int32_t i = 0; i <= BLOCKS; i++) {
        struct bulk_head ask = pull;
        ask.ticket = s.ticket;
        ask.index = i;
        put(fd, &ask, sizeof ask);
        assert_true(take(fd, &head, sizeof head));
        assert_int_equal(head.kind, BULK_BLOCK);
        assert_int_equal(head.serial, 7);
        assert_int_equal(head.index, i < BLOCKS ? BULK_HERE : BULK_GONE);
        if (i == BLOCKS)
            break;
        assert_true(take(fd, &stamp, sizeof stamp) && take(fd, bytes, sizeof bytes));
        assert_int_equal(stamp.position, 16 * i);
        assert_memory_equal(bytes, s.bytes, sizeof bytes);
    }
    /* another size, another ticket: there is no such block */
    struct bulk_head asks[] = { pull, pull };
    asks[0].ticket = s.ticket;
    asks[0].n = BLOCK_BYTES / 2;
    asks[1].ticket = s.ticket + 2;
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        put(fd, &asks[i], sizeof asks[i]);
        assert_true(take(fd, &head, sizeof head));
        assert_int_equal(head.index, BULK_GONE);
    }
    assert_false(exchange_is_taken(s.exchange, s.ticket));
    const struct bulk_head done = { .kind = BULK_DONE, .ticket = s.ticket };
    put(fd, &done, sizeof done);
    for (int i = 0; !exchange_is_taken(s.exchange, s.ticket); i++) {
        assert_true(i < 1000);
        time_sleep_ns(10 * TIME_NS_PER_MS);
    }
    close(fd);
    close_all();
}

static void a_rogue_receiver_is_cut(void **state)
{
    static const struct bulk_head bad[] = {
        { .kind = 99 },
        { .kind = BULK_BLOCK, .serial = 1, .index = BULK_GONE }, /* an answer to no question */
        { .kind = BULK_BLOCK, .serial = 4096, .index = BULK_GONE },
        { .kind = BULK_BLOCK, .serial = 1, .n = 8, .n_bytes = 8 + sizeof(struct exchange_stamp) },
        { .kind = BULK_PULL, .ticket = 1, .n = BULK_BLOCK_BYTES_MAX + 1 },
        { .kind = BULK_PART, .serial = 4096, .index = BULK_GONE },
    };
    (void)state;
    open_all(true);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int fd = dial();
        greet(fd);
        put(fd, &bad[i], sizeof bad[i]);
        assert_true(is_ended(fd));
        close(fd);
    }
    int fd = dial();
    put(fd, "GET / HTTP/1.1\r\n\r\n", 18);
    assert_true(is_ended(fd));
    close(fd);
    close_all();
}

/* It asks without end and takes nothing: the door keeps within its bounds and cuts it. */
static void a_receiver_that_takes_nothing_is_cut(void **state)
{
    struct bulk_head asks[256];
    bool is_cut = false;
    (void)state;
    open_all(true);
    int fd = dial();
    greet(fd);
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        asks[i] = pull;
        asks[i].ticket = s.ticket;
    }
    int64_t end_ns = time_now_ns() + 60 * TIME_NS_PER_S;
    while (!is_cut && time_now_ns() < end_ns) {
        ssize_t n = send(fd, asks, sizeof asks, MSG_NOSIGNAL | MSG_DONTWAIT);
        struct pollfd state_of = { .fd = fd, .events = POLLOUT };
        is_cut =
            n < 0 && poll(&state_of, 1, 20) > 0 && (state_of.revents & (POLLERR | POLLHUP)) != 0;
    }
    assert_true(is_cut);
    close(fd);
    fd = dial(); /* others are served */
    greet(fd);
    close(fd);
    close_all();
}

/* Without a free descriptor the door does not spin, and it accepts once there is one. */
static void a_door_without_descriptors_waits(void **state)
{
    struct rlimit before, low;
    (void)state;
    open_all(true);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct sockaddr_in at = loopback(bulk_door_port(s.door));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    low = before;
    low.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    clock_t begin = clock();
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    time_sleep_ns(TIME_NS_PER_S);
    assert_true(clock() - begin < CLOCKS_PER_SEC / 5);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    greet(fd);
    close(fd);
    close_all();
}

/* ---- A rogue source. ---- */

enum deed { TELLS_TRUTH, SAYS_GONE, ENDS, SAYS_MORE, SAYS_LESS, OTHER_SERIAL, TWICE, ASKS_BACK };

/* Answers the first question on a connection. Returns what is left to be closed. */
static void answer(int fd, enum deed deed)
{
    struct bulk_head ask;
    struct exchange_stamp stamp = { .session = 5 };
    static unsigned char bytes[2 * BLOCK_BYTES];
    greet(fd);
    assert_true(take(fd, &ask, sizeof ask));
    assert_int_equal(ask.kind, BULK_PULL);
    struct bulk_head head = { .kind = BULK_BLOCK, .serial = ask.serial, .n = ask.n };
    head.n += deed == SAYS_MORE ? 8 : deed == SAYS_LESS ? -8 : 0;
    head.serial += deed == OTHER_SERIAL;
    head.n_bytes = (uint32_t)(sizeof stamp + (size_t)head.n);
    if (deed == SAYS_GONE)
        head = (struct bulk_head){ .kind = BULK_BLOCK, .serial = ask.serial, .index = BULK_GONE };
    if (deed == ASKS_BACK)
        head = (struct bulk_head){ .kind = BULK_PULL, .ticket = s.ticket, .n = BLOCK_BYTES };
    if (deed == ENDS)
        return;
    for (int i = 0; i < 1 + (deed == TWICE); i++) {
        (void)send(fd, &head, sizeof head, MSG_NOSIGNAL);
        if (head.n_bytes > 0)
            (void)send(fd, &stamp, sizeof stamp, MSG_NOSIGNAL);
        if (head.n_bytes > 0)
            (void)send(fd, bytes, head.n_bytes - sizeof stamp, MSG_NOSIGNAL);
    }
}

/* Opens a door that is asked for ticket 1001 at a rogue. Returns the rogue's listener. */
static int open_rogue(void)
{
    struct sockaddr_in at = loopback(0);
    socklen_t n = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
    open_all(true);
    struct cluster_place place = bulk_door_place(s.door);
    place.port = ntohs(at.sin_port);
    bulk_door_learn(s.door, 1001, &place);
    return listener;
}

/* Asks for a block until there is an answer, which has to come within n_s_max seconds. */
static enum exchange_said pull_block(uint64_t ticket, int64_t n_s_max)
{
    struct exchange_stamp stamp;
    unsigned char to[BLOCK_BYTES];
    enum exchange_said said;
    int64_t begin_ns = time_now_ns();
    while ((said = exchange_pull(s.exchange, ticket, 0, &stamp, to, sizeof to)) == EXCHANGE_LATER)
        time_sleep_ns(TIME_NS_PER_MS);
    assert_true(time_now_ns() - begin_ns < n_s_max * TIME_NS_PER_S);
    return said;
}

/* A block is taken only if it is what was asked for, and only once. All else is GONE, at once. */
static void a_rogue_source_is_not_believed(void **state)
{
    (void)state;
    for (enum deed deed = TELLS_TRUTH; deed <= ASKS_BACK; deed++) {
        int listener = open_rogue();
        struct exchange_stamp stamp;
        unsigned char to[BLOCK_BYTES];
        enum exchange_said said = exchange_pull(s.exchange, 1001, 0, &stamp, to, sizeof to);
        assert_int_equal(said, EXCHANGE_LATER);
        int fd = accept(listener, NULL, NULL);
        answer(fd, deed);
        if (deed == ENDS)
            close(fd);
        said = pull_block(1001, 4);
        bool is_taken = deed == TELLS_TRUTH || deed == TWICE;
        assert_true(is_taken ? said == EXCHANGE_BLOCK || deed == TWICE : said == EXCHANGE_GONE);
        exchange_acknowledge(s.exchange, 1001);
        if (deed > SAYS_GONE && deed != ENDS)
            assert_true(is_ended(fd));
        if (deed != ENDS)
            close(fd);
        close(listener);
        close_all();
    }
}

/* A source that is silent costs its receivers about five seconds, and then its block is gone. */
static void a_silent_source_is_given_up(void **state)
{
    (void)state;
    int listener = open_rogue();
    int64_t begin_ns = time_now_ns();
    assert_int_equal(pull_block(1001, 8), EXCHANGE_GONE);
    assert_true(time_now_ns() - begin_ns > 4 * TIME_NS_PER_S);
    close(listener);
    close_all();
}

/* Tickets that were not learned, and places that may not be dialled. */
static void unknown_places_are_gone(void **state)
{
    (void)state;
    open_all(true);
    struct cluster_place far = { .host = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 }, .port = 7 };
    struct cluster_place own = bulk_door_place(s.door), none = { .port = 0 };
    bulk_door_learn(s.door, 2001, &far); /* plain connections stay on loopback */
    bulk_door_learn(s.door, 2002, &own);
    bulk_door_learn(s.door, 2003, &none);
    for (uint64_t ticket = 2000; ticket < 2004; ticket++)
        assert_int_equal(pull_block(ticket, 2), EXCHANGE_GONE);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receiver_gets_blocks),
        cmocka_unit_test(a_rogue_receiver_is_cut),
        cmocka_unit_test(a_receiver_that_takes_nothing_is_cut),
        cmocka_unit_test(a_door_without_descriptors_waits),
        cmocka_unit_test(a_rogue_source_is_not_believed),
        cmocka_unit_test(a_silent_source_is_given_up),
        cmocka_unit_test(unknown_places_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
