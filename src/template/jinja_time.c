/* strftime_now. The directives are those of the C library, as in Python. Python itself replaces
 * those of fractions and time zones, since the time has none. */
#include "template/jinja_time.h"
#include "base/time.h"
#include "template/jinja_value.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TIME_BYTES_MAX = 4096 };

static bool is_date(const struct tm *tm)
{
    static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int year = tm->tm_year + 1900;
    bool leaps = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return year >= 1970 && year <= 9999 && tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
           tm->tm_mday <= days[tm->tm_mon] && (tm->tm_mon != 1 || leaps || tm->tm_mday < 29) &&
           tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

/* Reads two or four digits. Returns -1 when they are missing. */
static int read_digits(const char **at, int n)
{
    int value = 0;
    for (; n > 0; n--, (*at)++) {
        if (**at < '0' || **at > '9')
            return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

static bool read_time(const char *text, struct tm *tm)
{
    static const char between[] = "--T::";
    int parts[6] = { 0 }, n = 0;
    memset(tm, 0, sizeof(*tm));
    for (; n < 6; n++) {
        parts[n] = read_digits(&text, n == 0 ? 4 : 2);
        if (parts[n] < 0)
            return false;
        if (n == 5 || *text != between[n])
            break;
        text++;
    }
    tm->tm_year = parts[0] - 1900;
    tm->tm_mon = parts[1] - 1;
    tm->tm_mday = parts[2];
    tm->tm_hour = parts[3];
    tm->tm_min = parts[4];
    tm->tm_sec = parts[5];
    tm->tm_isdst = -1;
    if (*text != '\0' || (n != 2 && n != 5) || !is_date(tm))
        return false;
    struct tm utc = *tm; /* for the days of the week and of the year */
    (void)timegm(&utc);
    tm->tm_wday = utc.tm_wday;
    tm->tm_yday = utc.tm_yday;
    return true;
}

bool jinja_time_is_valid(const char *text)
{
    struct tm tm;
    return read_time(text, &tm);
}

static void local_now(struct tm *tm, int64_t *micros)
{
    int64_t now_ns = time_unix_ns();
    time_t seconds = (time_t)(now_ns / TIME_NS_PER_S);
    *micros = now_ns % TIME_NS_PER_S / 1000;
    (void)localtime_r(&seconds, tm);
}

/* Replaces the directives that Python handles itself. */
static void replace_own(struct jinja_run *run, struct view format, int64_t micros, struct str *out)
{
    for (size_t i = 0; i < format.n; i++) {
        char c = format.at[i], next = i + 1 < format.n ? format.at[i + 1] : '\0';
        if (c != '%') {
            str_add_char(out, c);
            continue;
        }
        i++;
        if (next == 'f')
            str_printf(out, "%06lld", (long long)micros);
        else if (next == '\0')
            jinja_fail(run, STATUS_UNSUPPORTED, "a %% at the end of a format of strftime_now");
        else if (next == ':' || next == 's' || (next >= '0' && next <= '9'))
            jinja_fail(run, STATUS_UNSUPPORTED, "the directive %%%c of strftime_now", next);
        else if (next != 'z' && next != 'Z') /* a naive time has no zone */
            str_printf(out, "%%%c", next);
    }
}

struct jinja_value jinja_time_format(struct jinja_run *run, struct view format)
{
    struct tm tm;
    int64_t micros = 0;
    char text[TIME_BYTES_MAX];
    struct str own;
    str_init(&own);
    if (run->time == NULL)
        local_now(&tm, &micros);
    else if (!read_time(run->time, &tm))
        jinja_fail(run, STATUS_BAD_INPUT, "the time \"%.40s\" is not a date", run->time);
    if (format.n > 0 && memchr(format.at, '\0', format.n) != NULL)
        jinja_fail(run, STATUS_UNSUPPORTED, "a zero letter in a format of strftime_now");
    if (format.n > TIME_BYTES_MAX / 4)
        jinja_fail(run, STATUS_TOO_LARGE, "a format of strftime_now of more than %d bytes",
                   TIME_BYTES_MAX / 4);
    if (!jinja_failed(run))
        replace_own(run, format, micros, &own);
    size_t n = 0;
    if (!jinja_failed(run) && own.n > 0)
        n = strftime(text, sizeof(text), own.at, &tm);
    if (!jinja_failed(run) && n == 0 && own.n > 0)
        jinja_fail(run, STATUS_TOO_LARGE, "a text of strftime_now of more than %d bytes",
                   TIME_BYTES_MAX);
    str_free(&own);
    return jinja_value_copy(run, view_of(text, n));
}
