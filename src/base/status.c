/* Names of statuses, and faults written so that they always fit and are always valid UTF-8. */
#include "base/status.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Drops a character that was cut at the end. */
static void drop_cut(char *text, size_t n)
{
    for (size_t i = n - 3; i < n; i++) {
        if (utf8_decode(view_of(text + i, n - i), NULL) < 0) {
            text[i] = '\0';
            return;
        }
    }
}

enum status fault_set(struct fault *fault, enum status status, const char *fmt, ...)
{
    if (fault == NULL)
        return status;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(fault->text, sizeof(fault->text), fmt, args);
    va_end(args);
    if (n < 0)
        fault->text[0] = '\0';
    if (n >= (int)sizeof(fault->text))
        drop_cut(fault->text, sizeof(fault->text) - 1);
    utf8_tame(fault->text);
    return status;
}

const char *status_name(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return "ok";
    case STATUS_BAD_INPUT:
        return "bad input";
    case STATUS_UNSUPPORTED:
        return "unsupported";
    case STATUS_NOT_FOUND:
        return "not found";
    case STATUS_TOO_LARGE:
        return "too large";
    case STATUS_BUSY:
        return "busy";
    case STATUS_CANCELLED:
        return "cancelled";
    case STATUS_IO:
        return "input/output error";
    }
    return "unknown";
}

bool fault_is_text(const struct fault *fault)
{
    return memchr(fault->text, 0, sizeof(fault->text)) != NULL;
}
