/* A checker for JSON (RFC 8259) as a table-free state machine. A bit for each open bracket says
 * whether it is an array. */
#include "calls/json.h"
#include <string.h>

enum state {
    VALUE,       /* a value must follow */
    FIRST_VALUE, /* a value, or the end of an empty array */
    FIRST_KEY,   /* a key, or the end of an empty object */
    KEY,
    COLON,
    AFTER, /* a value inside of brackets is complete */
    STRING,
    STRING_KEY,
    ESCAPE,
    ESCAPE_KEY,
    HEX,
    HEX_KEY,
    LITERAL,
    MINUS,
    ZERO,
    DIGITS,
    POINT,
    FRACTION,
    EXPONENT,
    EXPONENT_SIGN,
    EXPONENT_DIGITS,
    DONE,
};

void calls_json_init(struct calls_json *json)
{
    *json = (struct calls_json){ .state = VALUE };
}

bool calls_json_in_string(const struct calls_json *json)
{
    return json->state >= STRING && json->state <= HEX_KEY;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_in_array(const struct calls_json *json)
{
    unsigned at = json->depth - 1u;
    return (json->is_array[at / 64] >> (at % 64)) & 1;
}

static bool open_bracket(struct calls_json *json, bool is_array)
{
    if (json->depth == CALLS_JSON_DEPTH_MAX)
        return false;
    unsigned at = json->depth++;
    json->is_array[at / 64] &= ~(UINT64_C(1) << (at % 64));
    json->is_array[at / 64] |= (uint64_t)is_array << (at % 64);
    json->state = is_array ? FIRST_VALUE : FIRST_KEY;
    return true;
}

static void end_value(struct calls_json *json)
{
    json->state = json->depth == 0 ? DONE : AFTER;
}

static bool close_bracket(struct calls_json *json, bool is_array)
{
    if (json->depth == 0 || is_in_array(json) != is_array)
        return false;
    json->depth--;
    end_value(json);
    return true;
}

static bool begin_value(struct calls_json *json, char c)
{
    static const char *const literals[] = { "true", "false", "null" };
    if (c == '{' || c == '[')
        return open_bracket(json, c == '[');
    for (size_t i = 0; i < COUNT_OF(literals); i++)
        if (c == literals[i][0]) {
            json->state = LITERAL;
            json->literal = literals[i] + 1;
            return true;
        }
    json->state = c == '"' ? STRING : c == '-' ? MINUS : c == '0' ? ZERO : DIGITS;
    return c == '"' || c == '-' || is_digit(c);
}

static bool take_in_string(struct calls_json *json, char c)
{
    bool is_key = json->state == STRING_KEY || json->state == ESCAPE_KEY || json->state == HEX_KEY;
    bool is_hex = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    switch (json->state) {
    case STRING:
    case STRING_KEY:
        if (c == '\\')
            json->state = is_key ? ESCAPE_KEY : ESCAPE;
        else if (c == '"' && is_key)
            json->state = COLON;
        else if (c == '"')
            end_value(json);
        return true;
    case ESCAPE:
    case ESCAPE_KEY:
        json->n_left = 4;
        json->state = c == 'u' ? (is_key ? HEX_KEY : HEX) : (is_key ? STRING_KEY : STRING);
        return c != '\0' && strchr("\"\\/bfnrtu", c) != NULL;
    default:
        if (--json->n_left == 0)
            json->state = is_key ? STRING_KEY : STRING;
        return is_hex;
    }
}

static bool take_literal(struct calls_json *json, char c)
{
    if (*json->literal != c)
        return false;
    if (*++json->literal == '\0')
        end_value(json);
    return true;
}

/* Takes a byte behind the first of a number. *is_over: the number ended before it. */
static bool take_number(struct calls_json *json, char c, bool *is_over)
{
    uint8_t from = json->state;
    bool is_whole = from == ZERO || from == DIGITS || from == FRACTION || from == EXPONENT_DIGITS;
    if (is_digit(c) && from != ZERO) {
        json->state = from == MINUS                               ? (c == '0' ? ZERO : DIGITS)
                      : from == POINT                             ? FRACTION
                      : from == EXPONENT || from == EXPONENT_SIGN ? EXPONENT_DIGITS
                                                                  : from;
        return true;
    }
    if (c == '.' && (from == ZERO || from == DIGITS)) {
        json->state = POINT;
        return true;
    }
    if ((c == 'e' || c == 'E') && (from == ZERO || from == DIGITS || from == FRACTION)) {
        json->state = EXPONENT;
        return true;
    }
    if ((c == '+' || c == '-') && from == EXPONENT) {
        json->state = EXPONENT_SIGN;
        return true;
    }
    *is_over = is_whole;
    return is_whole;
}

static bool take_structure(struct calls_json *json, char c)
{
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
        return true;
    switch (json->state) {
    case FIRST_VALUE:
        if (c == ']')
            return close_bracket(json, true);
        return begin_value(json, c);
    case FIRST_KEY:
        if (c == '}')
            return close_bracket(json, false);
        json->state = STRING_KEY;
        return c == '"';
    case KEY:
        json->state = STRING_KEY;
        return c == '"';
    case COLON:
        json->state = VALUE;
        return c == ':';
    case AFTER:
        if (c == ']' || c == '}')
            return close_bracket(json, c == ']');
        json->state = is_in_array(json) ? VALUE : KEY;
        return c == ',';
    default:
        return begin_value(json, c);
    }
}

enum calls_json_end calls_json_take(struct calls_json *json, struct view bytes, size_t *n)
{
    size_t i = 0;
    while (i < bytes.n && json->state != DONE) {
        char c = bytes.at[i];
        bool is_over = false, is_fine;
        if (calls_json_in_string(json))
            is_fine = take_in_string(json, c);
        else if (json->state == LITERAL)
            is_fine = take_literal(json, c);
        else if (json->state >= MINUS)
            is_fine = take_number(json, c, &is_over);
        else
            is_fine = take_structure(json, c);
        if (!is_fine) {
            *n = i;
            return CALLS_JSON_BAD;
        }
        if (is_over)
            end_value(json); /* and the byte is looked at again */
        else
            i++;
    }
    *n = i;
    return json->state == DONE ? CALLS_JSON_DONE : CALLS_JSON_MORE;
}

bool calls_json_is_value(struct view bytes)
{
    struct calls_json json;
    size_t n = 0;
    calls_json_init(&json);
    if (bytes.n == 0 || strchr(" \n\t\r", bytes.at[0]) != NULL)
        return false;
    enum calls_json_end end = calls_json_take(&json, bytes, &n);
    bool is_number = json.state == ZERO || json.state == DIGITS || json.state == FRACTION ||
                     json.state == EXPONENT_DIGITS;
    return n == bytes.n &&
           (end == CALLS_JSON_DONE || (end == CALLS_JSON_MORE && json.depth == 0 && is_number));
}
