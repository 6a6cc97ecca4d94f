/* The JSON writer: commas, escapes and numbers, straight into a str. */
#include "base/json_out.h"
#include <string.h>

#define JSON_OUT_DEPTH_MAX 63

void json_out_init(struct json_out *json, struct str *to)
{
    *json = (struct json_out){ .to = to };
}

/* Writes what precedes a value or a key: a comma, unless it is the first at its depth. */
static void begin_item(struct json_out *json)
{
    uint64_t bit = UINT64_C(1) << json->depth;
    if (json->after_key)
        json->after_key = false;
    else if (json->has_member & bit)
        str_add_char(json->to, ',');
    json->has_member |= bit;
}

void json_out_open(struct json_out *json, char bracket)
{
    CHECK(bracket == '{' || bracket == '[');
    CHECK(json->depth < JSON_OUT_DEPTH_MAX);
    begin_item(json);
    json->depth++;
    json->has_member &= ~(UINT64_C(1) << json->depth);
    str_add_char(json->to, bracket);
}

void json_out_close(struct json_out *json, char bracket)
{
    CHECK(bracket == '}' || bracket == ']');
    CHECK(json->depth > 0 && !json->after_key);
    json->depth--;
    str_add_char(json->to, bracket);
}

static void add_escaped(struct str *to, char c)
{
    static const char hex[] = "0123456789abcdef";
    const char *named = c != '\0' ? strchr("\"\"\\\\\bb\ff\nn\rr\tt", c) : NULL;
    if (named != NULL) {
        str_add(to, (char[]){ '\\', named[1] }, 2);
    } else {
        char code[] = { '\\', 'u', '0', '0', hex[c >> 4 & 1], hex[c & 15] };
        str_add(to, code, sizeof(code));
    }
}

static void add_quoted(struct str *to, struct view text)
{
    size_t clean = 0; /* start of what was read but not yet written */
    str_add_char(to, '"');
    for (size_t i = 0; i < text.n;) {
        unsigned char c = (unsigned char)text.at[i];
        int n = c < 0x80 ? 1 : utf8_decode(view_of(text.at + i, text.n - i), NULL);
        if (n > 0 && c >= 0x20 && c != '"' && c != '\\') {
            i += (size_t)n;
            continue;
        }
        str_add(to, text.at + clean, i - clean);
        if (n > 0)
            add_escaped(to, (char)c);
        else
            str_add(to, "\xEF\xBF\xBD", 3);
        clean = ++i;
    }
    if (text.n > clean)
        str_add(to, text.at + clean, text.n - clean);
    str_add_char(to, '"');
}

void json_out_key(struct json_out *json, const char *key)
{
    CHECK(!json->after_key);
    begin_item(json);
    add_quoted(json->to, view_text(key));
    str_add_char(json->to, ':');
    json->after_key = true;
}

void json_out_text(struct json_out *json, const char *text)
{
    if (text == NULL)
        json_out_null(json);
    else
        json_out_view(json, view_text(text));
}

void json_out_view(struct json_out *json, struct view text)
{
    begin_item(json);
    add_quoted(json->to, text);
}

void json_out_i64(struct json_out *json, int64_t value)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        digits[--at] = '-';
    begin_item(json);
    str_add(json->to, digits + at, sizeof(digits) - at);
}

void json_out_f64(struct json_out *json, double value)
{
    if (!(value - value == 0)) {
        json_out_null(json);
        return;
    }
    begin_item(json);
    str_printf(json->to, "%.9g", value);
}

void json_out_bool(struct json_out *json, bool value)
{
    begin_item(json);
    str_add_text(json->to, value ? "true" : "false");
}

void json_out_null(struct json_out *json)
{
    begin_item(json);
    str_add_text(json->to, "null");
}
