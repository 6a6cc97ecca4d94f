/* Reads a file piece by piece from peers that are not trusted with its bytes. */
#include "fetch/peers.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "fetch/room.h"
#include "fetch/stop.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20, TRIES_MAX = 3, TURNS_MAX = 1000 };
static const int64_t BUSY_NS = 50 * TIME_NS_PER_MS;

void fetch_peers_restart(struct fetch_transfer *t)
{
    t->is_wrong = false;
    t->n_there = t->synced = 0;
    t->n_whole = -1;
    fetch_digest_restart(&t->digest);
    if (ftruncate(t->fd, 0) != 0)
        t->is_final = true;
}

/* Takes the length of the file from the first piece, and makes room. */
static enum status begin(struct fetch_transfer *t, const struct fetch_piece *piece)
{
    if (t->n_whole == piece->n_whole)
        return STATUS_OK;
    if (t->n_whole >= 0 || piece->n_whole < t->n_there)
        return fault_set(&t->fault, STATUS_BAD_INPUT, "it has a file of another length");
    t->n_whole = piece->n_whole;
    t->synced = t->n_there;
    if (fetch_room_make(t->options->folder, t->fd, t->n_there, t->n_whole - t->n_there,
                        t->options->n_bytes_max, &t->fault) == STATUS_OK)
        return STATUS_OK;
    t->n_whole = -1;
    return STATUS_UNSUPPORTED; /* the length may be a lie, so other sources are asked, too */
}

/* Waits until the bytes since begin_ns are within the rate. */
static void pace(const struct fetch_transfer *t, int64_t n_bytes, int64_t begin_ns)
{
    int64_t rate = t->options->n_bytes_per_s;
    if (rate <= 0)
        return;
    double due_ns = (double)n_bytes / (double)rate * (double)TIME_NS_PER_S;
    fetch_sleep_ns(max_i64(begin_ns + (int64_t)due_ns - time_now_ns(), 0));
}

/* Reads to the end of the file over one connection. */
static enum status read_all(struct fetch_transfer *t, void *client, const char *sha256,
                            void *buffer)
{
    const struct fetch_peers *peers = t->options->peers;
    int64_t begin_ns = time_now_ns(), from = t->n_there, heard_ns = begin_ns;
    int64_t rate = t->options->n_bytes_per_s;
    int64_t n_piece = rate > 0 ? min_i64(max_i64(rate / 8, 4096), PIECE_BYTES) : PIECE_BYTES;
    while (t->n_whole < 0 || t->n_there < t->n_whole) {
        struct fetch_piece piece = {
            .sha256 = sha256, .offset = t->n_there, .to = buffer, .n_max = n_piece
        };
        if (fetch_is_stopped())
            return fault_set(&t->fault, STATUS_CANCELLED, "the process ends");
        enum status status = peers->read(client, &piece, &t->fault);
        if (status == STATUS_BUSY && time_now_ns() - heard_ns < t->options->stall_ns) {
            fetch_sleep_ns(BUSY_NS);
            continue;
        }
        if (status == STATUS_OK)
            status = begin(t, &piece);
        if (status != STATUS_OK)
            return status;
        if (piece.n <= 0 && t->n_there < t->n_whole)
            return fault_set(&t->fault, STATUS_IO, "it sends no more bytes");
        if (piece.n > t->n_whole - t->n_there)
            return fault_set(&t->fault, STATUS_IO, "it sends more bytes than the file has");
        if (!fetch_transfer_put(t, buffer, (size_t)piece.n))
            return STATUS_TOO_LARGE; /* this disk's fault, not the peer's */
        heard_ns = time_now_ns();
        pace(t, t->n_there - from, begin_ns);
    }
    return STATUS_OK;
}

static enum status read_from(struct fetch_transfer *t, int peer, const char *sha256, void *buffer)
{
    const struct fetch_peers *peers = t->options->peers;
    void *client;
    enum status status = peers->open(peers->self, peer, &client, &t->fault);
    if (status != STATUS_OK)
        return status;
    t->n_whole = -1;
    status = read_all(t, client, sha256, buffer);
    peers->close(client);
    return status;
}

static bool is_right(struct fetch_transfer *t, const char *sha256)
{
    char text[65];
    fetch_digest_end(&t->digest, text);
    if (strcmp(text, sha256) == 0)
        return true;
    fault_set(&t->fault, STATUS_BAD_INPUT, "it sent another file: its SHA-256 is %.16s...", text);
    return false;
}

/* Tries one peer for as long as that brings bytes. *is_over: no source is of use now. */
static bool try_peer(struct fetch_transfer *t, int peer, const char *sha256, bool *is_over)
{
    unsigned char *buffer = mem_take(PIECE_BYTES);
    bool was_resumed = t->n_there > 0, is_done = false;
    for (int n_failed = 0, turn = 0; n_failed < TRIES_MAX && turn < TURNS_MAX; turn++) {
        int64_t before = t->n_there;
        enum status status = read_from(t, peer, sha256, buffer);
        is_done = status == STATUS_OK && is_right(t, sha256);
        if (is_done)
            break;
        log_line(LOG_WARN, "fetch", "%.16s... from peer %.100s: %s: %lld bytes are there", sha256,
                 t->options->peers->names[peer], t->fault.text, (long long)t->n_there);
        bool is_wrong = status == STATUS_OK || status == STATUS_BAD_INPUT;
        *is_over = status == STATUS_TOO_LARGE || status == STATUS_CANCELLED;
        if (is_wrong) /* an earlier source may be to blame, so this one gets a second try */
            fetch_peers_restart(t);
        bool is_useless = status == STATUS_NOT_FOUND || status == STATUS_UNSUPPORTED;
        if (*is_over || is_useless || (is_wrong && !was_resumed))
            break;
        was_resumed = was_resumed && !is_wrong;
        n_failed += t->n_there <= before;
    }
    mem_give(buffer);
    return is_done;
}

bool fetch_peers_run(struct fetch_transfer *t, const char *sha256)
{
    bool is_over = false;
    int n = t->options->peers != NULL ? t->options->peers->n : 0;
    for (int i = 0; i < n && !is_over; i++)
        if (try_peer(t, i, sha256, &is_over))
            return true;
    t->is_final = is_over;
    return false;
}
