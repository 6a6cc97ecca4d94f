/* Sends large answers in slices without copying them.
 *
 * Over TLS a whole piece of libevent's buffer goes to OpenSSL, and counts as sent only when all of
 * it is. So an answer of megabytes in one piece would look as if its reader took none of it. */
#include "api/http_out.h"
#include "base/mem.h"
#include <event2/buffer.h>

enum { SLICE_BYTES = 16 << 10 }; /* of one record of TLS */

struct text {
    char *at;
    size_t n_slices; /* still to be sent */
};

static void drop_slices(struct text *text, size_t n)
{
    text->n_slices -= n;
    if (text->n_slices > 0)
        return;
    mem_give(text->at);
    mem_give(text);
}

static void on_sent(const void *slice, size_t n, void *arg)
{
    (void)slice, (void)n;
    drop_slices(arg, 1);
}

bool api_http_out_add(struct evbuffer *out, struct str *text)
{
    struct text *held = mem_try(sizeof(*held));
    size_t n_slices = (text->n + SLICE_BYTES - 1) / SLICE_BYTES, i = 0;
    if (held == NULL || n_slices == 0) {
        mem_give(held);
        bool is_all = text->n == 0;
        str_free(text);
        return is_all;
    }
    *held = (struct text){ .at = text->at, .n_slices = n_slices };
    for (; i < n_slices; i++) {
        size_t at = i * SLICE_BYTES;
        size_t n = text->n - at < SLICE_BYTES ? text->n - at : SLICE_BYTES;
        if (evbuffer_add_reference(out, text->at + at, n, on_sent, held) != 0)
            break;
    }
    str_init(text);
    if (i < n_slices)
        drop_slices(held, n_slices - i);
    return i == n_slices;
}
