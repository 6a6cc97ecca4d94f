/* Questions about files over a socket that blocks. */
#include "bulk/reader.h"

#include "base/mem.h"
#include "base/time.h"
#include "bulk/frame.h"
#include "bulk/state.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A node that drips slower than this is given up. */
static const int64_t SLOW_BYTES_PER_S = 16 << 10;

struct bulk_reader {
    int fd;
    struct ssl_ctx_st *context;
    struct ssl_st *tls; /* NULL: it is plain */
    uint64_t n_serials;
    int64_t stall_ns, until_ns; /* until_ns: of the call that waits */
};

static bool put(struct bulk_reader *c, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t done =
            c->tls != NULL ? SSL_write(c->tls, at, (int)n) : send(c->fd, at, n, MSG_NOSIGNAL);
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static bool take(struct bulk_reader *c, void *bytes, size_t n)
{
    char *at = bytes;
    while (n > 0) {
        int most = (int)min_i64((int64_t)n, 1 << 20);
        ssize_t done =
            c->tls != NULL ? SSL_read(c->tls, at, most) : recv(c->fd, at, (size_t)most, 0);
        if (done <= 0 || time_now_ns() > c->until_ns)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static enum status lost(const char *what, struct fault *fault)
{
    bool is_silent = errno == EAGAIN || errno == EWOULDBLOCK;
    ERR_clear_error();
    return fault_set(fault, STATUS_IO, "%s: %s", what,
                     is_silent ? "the node is silent" : "the connection ended");
}

static enum status dial(struct bulk_reader *c, const struct bulk_reader_options *o,
                        struct fault *fault)
{
    struct cluster_place place;
    struct sockaddr_storage at;
    const struct timeval stall = { .tv_sec = max_i64(o->stall_ns / TIME_NS_PER_S, 1) };
    enum status status = bulk_place_resolve(o->host, o->port, &place, fault);
    if (status != STATUS_OK)
        return status;
    if (o->tls == NULL && !bulk_place_is_loopback(&place))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%.100s is not an address of this machine's loopback, where alone bulk "
                         "data goes without TLS: set bus_cert, bus_key and bus_ca",
                         o->host);
    socklen_t n = (socklen_t)bulk_place_address(&place, &at);
    c->fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof stall) != 0 ||
        setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof stall) != 0 ||
        connect(c->fd, (const struct sockaddr *)&at, n) != 0)
        return fault_set(fault, STATUS_IO, "%.100s port %u: %s", o->host, o->port, strerror(errno));
    return STATUS_OK;
}

static enum status begin_tls(struct bulk_reader *c, const struct bulk_reader_options *o,
                             struct fault *fault)
{
    c->context = cluster_tcp_tls_open(o->tls, fault);
    if (c->context == NULL)
        return STATUS_BAD_INPUT;
    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to what a peer closed without a guard */
    c->tls = cluster_tcp_tls_new(c->context, NULL);
    if (c->tls == NULL || SSL_set_fd(c->tls, c->fd) != 1 || SSL_connect(c->tls) != 1)
        return lost("TLS", fault);
    if (!cluster_tcp_tls_is_known(c->tls, o->tls->names, o->tls->n_names))
        return fault_set(fault, STATUS_IO,
                         "%.100s: its certificate has none of the names in bulk_names", o->host);
    return STATUS_OK;
}

static enum status greet(struct bulk_reader *c, struct fault *fault)
{
    unsigned char own[BULK_HELLO_BYTES], other[BULK_HELLO_BYTES];
    bulk_frame_hello(own);
    if (!put(c, own, sizeof own) || !take(c, other, sizeof other))
        return lost("hello", fault);
    return memcmp(own, other, sizeof own) == 0
               ? STATUS_OK
               : fault_set(fault, STATUS_UNSUPPORTED,
                           "it does not speak this version of Shoal's bulk connection");
}

enum status bulk_reader_open(struct bulk_reader **out, const struct bulk_reader_options *options,
                             struct fault *fault)
{
    struct bulk_reader *c = mem_take(sizeof *c);
    c->fd = -1;
    c->stall_ns = options->stall_ns;
    c->until_ns = time_now_ns() + 2 * options->stall_ns;
    enum status status = dial(c, options, fault);
    if (status == STATUS_OK && options->tls != NULL)
        status = begin_tls(c, options, fault);
    if (status == STATUS_OK)
        status = greet(c, fault);
    *out = status == STATUS_OK ? c : NULL;
    if (status != STATUS_OK)
        bulk_reader_close(c);
    return status;
}

void bulk_reader_close(struct bulk_reader *c)
{
    SSL_free(c->tls);
    cluster_tcp_tls_close(c->context);
    if (c->fd >= 0)
        close(c->fd);
    mem_give(c);
}

/* An answer to this question, with all that was asked for, up to the file's end: a node that sends
 * byte by byte would take forever. */
static bool is_answer(const struct bulk_head *head, const struct bulk_head *ask)
{
    int64_t n = max_i64(min_i64(head->offset - ask->offset, ask->n), 0);
    return head->kind == BULK_PART && head->serial == ask->serial &&
           (head->index != BULK_HERE || head->n == n);
}

enum status bulk_reader_read(struct bulk_reader *c, struct bulk_reader_piece *piece,
                             struct fault *fault)
{
    const struct bulk_head ask = { .kind = BULK_ASK,
                                   .n_bytes = BULK_SHA256_BYTES,
                                   .serial = ++c->n_serials,
                                   .n = min_i64(piece->n_max, BULK_PART_BYTES_MAX),
                                   .offset = piece->offset };
    struct bulk_head head;
    c->until_ns = time_now_ns() + 2 * c->stall_ns + ask.n * (TIME_NS_PER_S / SLOW_BYTES_PER_S);
    if (!put(c, &ask, sizeof ask) || !put(c, piece->sha256, sizeof piece->sha256) ||
        !take(c, &head, sizeof head))
        return lost("a question", fault);
    if (!bulk_frame_is_head(&head) || !is_answer(&head, &ask))
        return fault_set(fault, STATUS_IO, "it sent what is no answer to a question");
    if (head.index == BULK_GONE)
        return fault_set(fault, STATUS_NOT_FOUND, "it does not have the file");
    if (head.index == BULK_LATER)
        return fault_set(fault, STATUS_BUSY, "it is busy");
    if (!take(c, piece->to, (size_t)head.n))
        return lost("an answer", fault);
    piece->n = head.n;
    piece->n_whole = head.offset;
    return STATUS_OK;
}
