/* Large answers on their way out: handed over as they lie, in slices.
 *
 * Over TLS a piece of libevent's buffer goes to OpenSSL whole, and counts as sent when all of it
 * is: in one piece an answer of megabytes would look as if its reader took nothing of it. */
#include "api/http_out.h"
#include "base/mem.h"
#include <event2/buffer.h>

enum { SLICE_BYTES = 16 << 10 }; /* of one record of TLS */

static void on_last(const void *slice, size_t n, void *arg)
{
    (void)slice, (void)n;
    mem_give(arg);
}

void api_http_out_add(struct evbuffer *out, struct str *text)
{
    for (size_t at = 0; at < text->n; at += SLICE_BYTES) {
        bool is_last = text->n - at <= SLICE_BYTES;
        size_t n = is_last ? text->n - at : SLICE_BYTES;
        evbuffer_ref_cleanup_cb done = is_last ? on_last : NULL;
        if (evbuffer_add_reference(out, text->at + at, n, done, text->at) != 0)
            mem_refuse(n);
    }
    if (text->n == 0)
        mem_give(text->at);
    str_init(text);
}
