/* Names of statuses, and faults written so that they always fit and are always valid UTF-8. */
#include "base/status.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Replaces what is not UTF-8 (a file name can be anything) and what controls a terminal or breaks
 * the line, and drops a character that was cut at the end. */
static void repair(char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        uint32_t c = 0;
        int length = utf8_decode(view_of(text + i, n - i), &c);
        if (length > 0 && (c < 0x20 || (c >= 0x7F && c < 0xA0)))
            memset(text + i, ' ', (size_t)length);
        if (length > 0) {
            i += (size_t)length;
        } else if (length < 0 && n == sizeof(((struct fault *)0)->text) - 1) {
            text[i] = '\0';
            return;
        } else {
            text[i++] = '?';
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
    repair(fault->text);
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
