/* Checks texts of settings by their kind. */
#include "config/text.h"

#include "core/limits.h"
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES_MAX = 1024, PATH_BYTES_MAX = 4000, ADDRESS_BYTES_MAX = 300 };

static const struct kind {
    const char *expected;
    size_t n_bytes_max;
    bool is_ascii, has_spaces; /* spaces: inside; for paths and templates also at the ends */
    bool has_lines;
} kinds[CONFIG_TEXTS_N] = {
    [CONFIG_TEXT_WORD] = { "printable ASCII characters without spaces", 1023, true, false },
    [CONFIG_TEXT_NAME] = { "printable UTF-8", LIMIT_NAME_BYTES - 1, false, true },
    [CONFIG_TEXT_PATH] = { "printable UTF-8", PATH_BYTES_MAX, false, true },
    [CONFIG_TEXT_KEY] = { "printable ASCII characters, as a header carries them", KEY_BYTES_MAX,
                          true, true },
    [CONFIG_TEXT_TENANT] = { "NAME=KEY", LIMIT_NAME_BYTES + KEY_BYTES_MAX, false, true },
    [CONFIG_TEXT_ADAPTER] = { "NAME=PATH", LIMIT_NAME_BYTES + PATH_BYTES_MAX, false, true },
    [CONFIG_TEXT_ORIGIN] = { "*, or a scheme and a host as in https://pages.example:8080", 300,
                             true, false },
    [CONFIG_TEXT_ADDRESS] = { "printable ASCII characters without spaces", ADDRESS_BYTES_MAX, true,
                              false },
    [CONFIG_TEXT_TEMPLATE] = { "UTF-8 text", 1 << 20, false, true, true },
};

/* Returns whether it breaks a line, or reverses the reading direction. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
           (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

static enum status complain(const char *what, const struct kind *kind, const char *has, size_t at,
                            struct fault *fault)
{
    return fault_set(fault, STATUS_BAD_INPUT, "%.60s has %s at byte %zu, expected %s", what, has,
                     at + 1, kind->expected);
}

static enum status check_characters(const struct kind *kind, const char *what, struct view text,
                                    struct fault *fault)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        char has[48];
        int n = utf8_decode(view_of(text.at + i, text.n - i), &c);
        if (n <= 0) {
            snprintf(has, sizeof has, "a byte that is no UTF-8 (0x%02x)",
                     (unsigned)(unsigned char)text.at[i]);
            return complain(what, kind, has, i, fault);
        }
        bool is_layout = kind->has_lines && (c == '\n' || c == '\r' || c == '\t');
        if ((is_control(c) && !is_layout) || (kind->is_ascii && c > 0x7E)) {
            snprintf(has, sizeof has, "%s (U+%04X)",
                     is_control(c) ? "a control character" : "a character outside ASCII",
                     (unsigned)c);
            return complain(what, kind, has, i, fault);
        }
        if (utf8_is_space(c) && !kind->has_spaces)
            return complain(what, kind, "a space", i, fault);
        i += (size_t)n;
    }
    return STATUS_OK;
}

/* Returns whether it is "https://pages.example:8080", the form that browsers send, without a
 * path. */
static bool is_origin(struct view text)
{
    size_t n_scheme = 0;
    if (view_equal_text(text, "*"))
        return true;
    while (n_scheme < text.n && text.at[n_scheme] != ':')
        n_scheme++;
    struct view rest = view_of(text.at + n_scheme, text.n - n_scheme);
    bool has_host = n_scheme > 0 && view_starts(rest, "://") && rest.n > 3 && rest.at[3] != ':';
    for (size_t i = 3; i < rest.n && has_host; i++)
        has_host = strchr("/?#@,\\", rest.at[i]) == NULL;
    return has_host;
}

static enum status check_tenant(const char *what, struct view text, struct fault *fault)
{
    const char *sign = text.n > 0 ? memchr(text.at, '=', text.n) : NULL;
    char part[80];
    if (sign == NULL || sign == text.at || sign + 1 == text.at + text.n)
        return fault_set(fault, STATUS_BAD_INPUT, "%.60s has a text that is not NAME=KEY", what);
    size_t n_name = (size_t)(sign - text.at);
    snprintf(part, sizeof part, "a tenant's name in %.40s", what);
    enum status status = config_text_check(CONFIG_TEXT_NAME, part, view_of(text.at, n_name), fault);
    snprintf(part, sizeof part, "a tenant's key in %.40s", what);
    return status != STATUS_OK ? status
                               : config_text_check(CONFIG_TEXT_KEY, part,
                                                   view_of(sign + 1, text.n - n_name - 1), fault);
}

static enum status check_adapter(const char *what, struct view text, struct fault *fault)
{
    const char *sign = text.n > 0 ? memchr(text.at, '=', text.n) : NULL;
    size_t n_name = sign != NULL ? (size_t)(sign - text.at) : 0;
    char part[80];
    if (n_name == 0 || n_name + 1 == text.n || memchr(text.at, ':', n_name) != NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%.60s has a text that is not NAME=PATH, with a name without a colon",
                         what);
    snprintf(part, sizeof part, "an adapter's name in %.40s", what);
    enum status status = config_text_check(CONFIG_TEXT_NAME, part, view_of(text.at, n_name), fault);
    snprintf(part, sizeof part, "an adapter's path in %.40s", what);
    return status != STATUS_OK ? status
                               : config_text_check(CONFIG_TEXT_PATH, part,
                                                   view_of(sign + 1, text.n - n_name - 1), fault);
}

enum status config_text_check(enum config_text which, const char *what, struct view text,
                              struct fault *fault)
{
    const struct kind *kind = &kinds[which];
    CHECK(which > CONFIG_TEXT_NONE && which < CONFIG_TEXTS_N);
    if (text.n == 0)
        return fault_set(fault, STATUS_BAD_INPUT, "%.60s is empty", what);
    if (text.n > kind->n_bytes_max)
        return fault_set(fault, STATUS_TOO_LARGE, "%.60s has %zu bytes, expected at most %zu", what,
                         text.n, kind->n_bytes_max);
    if (which == CONFIG_TEXT_TENANT)
        return check_tenant(what, text, fault);
    if (which == CONFIG_TEXT_ADAPTER)
        return check_adapter(what, text, fault);
    enum status status = check_characters(kind, what, text, fault);
    bool may_end_blank = which == CONFIG_TEXT_PATH || which == CONFIG_TEXT_TEMPLATE;
    if (status == STATUS_OK && !may_end_blank && (text.at[0] == ' ' || text.at[text.n - 1] == ' '))
        status = fault_set(fault, STATUS_BAD_INPUT, "%.60s begins or ends with a space", what);
    if (status == STATUS_OK && which == CONFIG_TEXT_ORIGIN && !is_origin(text))
        status = fault_set(fault, STATUS_BAD_INPUT, "%.60s is no origin, expected %s", what,
                           kind->expected);
    return status;
}
