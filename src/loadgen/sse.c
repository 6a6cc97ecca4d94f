/* The parser of server-sent events: a line at a time, however the input is cut. */
#include "loadgen/sse.h"

#include <string.h>

void loadgen_sse_init(struct loadgen_sse *sse)
{
    *sse = (struct loadgen_sse){ .wrong = NULL };
    str_init(&sse->line);
    str_init(&sse->data);
}

void loadgen_sse_free(struct loadgen_sse *sse)
{
    str_free(&sse->line);
    str_free(&sse->data);
}

static void field(struct loadgen_sse *sse)
{
    struct view line = view_of(sse->line.at, sse->line.n);
    const char *colon = memchr(line.at, ':', line.n);
    struct view name = view_of(line.at, colon != NULL ? (size_t)(colon - line.at) : line.n);
    struct view value = view_of(line.at + line.n, 0);
    if (colon != NULL)
        value = view_of(colon + 1, line.n - name.n - 1);
    if (value.n > 0 && value.at[0] == ' ')
        value = view_of(value.at + 1, value.n - 1);
    if (name.n == 0 && colon != NULL)
        return; /* a comment */
    if (view_equal_text(name, "data")) {
        if (sse->has_data)
            str_add_char(&sse->data, '\n');
        str_add(&sse->data, value.at, value.n);
        sse->has_data = true;
    } else if (!view_equal_text(name, "event") && !view_equal_text(name, "id") &&
               !view_equal_text(name, "retry")) {
        sse->wrong = "a line of the stream that is no field of server-sent events";
    }
}

static void end_of_line(struct loadgen_sse *sse, void (*take)(void *, const char *, size_t),
                        void *self)
{
    if (sse->line.n > 0) {
        field(sse);
    } else if (sse->has_data) {
        take(self, sse->data.at, sse->data.n);
        str_clear(&sse->data);
        sse->has_data = false;
    }
    str_clear(&sse->line);
}

void loadgen_sse_feed(struct loadgen_sse *sse, const char *bytes, size_t n,
                      void (*take)(void *self, const char *data, size_t n), void *self)
{
    for (size_t i = 0; i < n && sse->wrong == NULL;) {
        if (sse->after_cr && bytes[i] == '\n')
            i++;
        sse->after_cr = false;
        size_t from = i;
        while (i < n && bytes[i] != '\n' && bytes[i] != '\r')
            i++;
        str_add(&sse->line, bytes + from, i - from);
        if (sse->line.n + sse->data.n > LOADGEN_SSE_BYTES_MAX)
            sse->wrong = "an event of the stream that is too long";
        if (i == n)
            break;
        sse->after_cr = bytes[i++] == '\r';
        end_of_line(sse, take, self);
    }
}

bool loadgen_sse_is_whole(const struct loadgen_sse *sse)
{
    return sse->line.n == 0 && !sse->has_data;
}
