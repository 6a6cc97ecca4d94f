/* Strict HTTP/1.1 parsing: heads line by line, chunked bodies byte by byte. */
#include "api/http_parse.h"
#include <string.h>

static bool is_token_char(unsigned char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
        return true;
    return c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool is_token(struct view v)
{
    for (size_t i = 0; i < v.n; i++)
        if (!is_token_char((unsigned char)v.at[i]))
            return false;
    return v.n > 0;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool equal_nocase(struct view v, const char *text) /* text in lower case */
{
    size_t n = strlen(text);
    if (v.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (lower(v.at[i]) != text[i])
            return false;
    return true;
}

/* Returns whether a comma-separated list holds this word. */
static bool list_has(struct view list, const char *word)
{
    size_t at = 0;
    while (at < list.n) {
        while (at < list.n && strchr(" \t,", list.at[at]) != NULL)
            at++;
        size_t end = at;
        while (end < list.n && strchr(" \t,", list.at[end]) == NULL)
            end++;
        if (equal_nocase(view_of(list.at + at, end - at), word))
            return true;
        at = end;
    }
    return false;
}

size_t api_http_parse_extent(struct view bytes, size_t *at)
{
    for (size_t i = *at; i + 4 <= bytes.n; i++)
        if (memcmp(bytes.at + i, "\r\n\r\n", 4) == 0)
            return i + 4;
    *at = bytes.n > 3 ? bytes.n - 3 : 0;
    return 0;
}

static enum api_http_method method_of(struct view v)
{
    static const char *const names[] = { "GET", "HEAD", "POST", "OPTIONS", "DELETE" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (view_equal_text(v, names[i]))
            return (enum api_http_method)i;
    return HTTP_OTHER;
}

/* Reads the origin form, "*", or the absolute form (without its scheme and authority). */
static bool parse_target(struct view v, struct api_http_head *head)
{
    for (size_t i = 0; i < v.n; i++)
        if (v.at[i] <= 0x20 || v.at[i] > 0x7e)
            return false;
    if (view_starts(v, "http://") || view_starts(v, "https://")) {
        size_t at = v.at[4] == 's' ? 8 : 7;
        while (at < v.n && v.at[at] != '/')
            at++;
        v = view_of(v.at + at, v.n - at);
    }
    if (v.n == 0 || (v.at[0] != '/' && !view_equal_text(v, "*")))
        return false;
    const char *mark = memchr(v.at, '?', v.n);
    size_t n_path = mark != NULL ? (size_t)(mark - v.at) : v.n;
    head->path = view_of(v.at, n_path);
    head->query = mark != NULL ? view_of(mark + 1, v.n - n_path - 1) : view_of(v.at + v.n, 0);
    return true;
}

static int parse_request_line(struct view line, struct api_http_head *head, const char **why)
{
    const char *first = memchr(line.at, ' ', line.n);
    *why = "the request line is malformed";
    if (first == NULL)
        return 400;
    size_t n_method = (size_t)(first - line.at);
    struct view rest = view_of(first + 1, line.n - n_method - 1);
    const char *second = memchr(rest.at, ' ', rest.n);
    if (second == NULL || !is_token(view_of(line.at, n_method)))
        return 400;
    struct view version = view_of(second + 1, rest.n - (size_t)(second - rest.at) - 1);
    head->method = method_of(view_of(line.at, n_method));
    if (!parse_target(view_of(rest.at, (size_t)(second - rest.at)), head))
        return 400;
    if (version.n != 8 || memcmp(version.at, "HTTP/", 5) != 0 || version.at[6] != '.')
        return 400;
    if (version.at[5] != '1' || (version.at[7] != '0' && version.at[7] != '1')) {
        *why = "only HTTP/1.0 and HTTP/1.1 are supported";
        return 505;
    }
    head->is_1_0 = version.at[7] == '0';
    return 0;
}

static int parse_length(struct view v, int64_t *n, const char **why)
{
    *why = "Content-Length must be digits";
    if (v.n == 0)
        return 400;
    int64_t sum = 0;
    for (size_t i = 0; i < v.n; i++) {
        if (v.at[i] < '0' || v.at[i] > '9')
            return 400;
        if (sum > (INT64_MAX - 9) / 10) {
            *why = "Content-Length is too large";
            return 413;
        }
        sum = sum * 10 + (v.at[i] - '0');
    }
    *n = sum;
    return 0;
}

static bool is_host(struct view v)
{
    for (size_t i = 0; i < v.n; i++)
        if (!is_token_char((unsigned char)v.at[i]) && strchr(":[]()=;", v.at[i]) == NULL)
            return false;
    return true;
}

struct seen {
    int n_hosts, n_lengths, n_encodings;
};

/* Notes what a header means for framing. The handlers read the other headers. */
static int note_header(struct api_http_head *head, struct seen *seen,
                       const struct api_http_header *header, const char **why)
{
    if (equal_nocase(header->name, "host")) {
        *why = "Host must be given once and be a host name";
        head->host = header->value;
        return seen->n_hosts++ > 0 || !is_host(header->value) ? 400 : 0;
    }
    if (equal_nocase(header->name, "content-length")) {
        *why = "Content-Length may be given once";
        if (seen->n_lengths++ > 0)
            return 400;
        return parse_length(header->value, &head->n_body, why);
    }
    if (equal_nocase(header->name, "transfer-encoding")) {
        *why = "the only supported Transfer-Encoding is a single \"chunked\"";
        head->is_chunked = true;
        return seen->n_encodings++ > 0 || !equal_nocase(header->value, "chunked") ? 400 : 0;
    }
    if (equal_nocase(header->name, "connection")) {
        if (list_has(header->value, "close"))
            head->keeps_alive = false;
        else if (head->is_1_0 && list_has(header->value, "keep-alive"))
            head->keeps_alive = true;
    }
    if (equal_nocase(header->name, "expect")) {
        *why = "the only supported expectation is 100-continue";
        if (!equal_nocase(header->value, "100-continue"))
            return 417;
        head->expects_continue = !head->is_1_0;
    }
    return 0;
}

static int parse_header(struct view line, struct api_http_header *header, const char **why)
{
    const char *colon = memchr(line.at, ':', line.n);
    *why = "a header line is malformed";
    if (colon == NULL)
        return 400;
    size_t n_name = (size_t)(colon - line.at);
    header->name = view_of(line.at, n_name);
    struct view v = view_of(colon + 1, line.n - n_name - 1);
    while (v.n > 0 && (v.at[0] == ' ' || v.at[0] == '\t'))
        v = view_of(v.at + 1, v.n - 1);
    while (v.n > 0 && (v.at[v.n - 1] == ' ' || v.at[v.n - 1] == '\t'))
        v.n--;
    header->value = v;
    return is_token(header->name) ? 0 : 400;
}

/* Returns false for control characters, a CR without LF or an LF without CR in a head. */
static bool is_clean(struct view v)
{
    for (size_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.at[i];
        if (c == '\r') {
            if (i + 1 >= v.n || v.at[i + 1] != '\n')
                return false;
            i++;
        } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static struct view take_line(struct view *rest)
{
    const char *end = memchr(rest->at, '\r', rest->n);
    size_t n = end != NULL ? (size_t)(end - rest->at) : rest->n;
    struct view line = view_of(rest->at, n);
    size_t n_all = end != NULL ? n + 2 : n;
    *rest = view_of(rest->at + n_all, rest->n - n_all);
    return line;
}

int api_http_parse_head(struct view bytes, struct api_http_head *head, const char **why)
{
    struct seen seen = { 0 };
    memset(head, 0, sizeof(*head));
    *why = "control characters in the head";
    if (!is_clean(bytes))
        return 400;
    struct view rest = bytes;
    int status = parse_request_line(take_line(&rest), head, why);
    if (status != 0)
        return status;
    head->keeps_alive = !head->is_1_0;
    for (;;) {
        struct view line = take_line(&rest);
        if (line.n == 0)
            break;
        *why = "too many headers";
        if (head->n_headers == HTTP_HEADERS_MAX)
            return 431;
        struct api_http_header *header = &head->headers[head->n_headers++];
        if ((status = parse_header(line, header, why)) != 0 ||
            (status = note_header(head, &seen, header, why)) != 0)
            return status;
    }
    *why = "Content-Length and Transfer-Encoding exclude each other";
    if (seen.n_encodings > 0 && (seen.n_lengths > 0 || head->is_1_0))
        return 400;
    *why = "Host is missing";
    return seen.n_hosts == 0 && !head->is_1_0 ? 400 : 0;
}

struct view api_http_parse_find(const struct api_http_head *head, const char *name)
{
    for (int i = 0; i < head->n_headers; i++)
        if (equal_nocase(head->headers[i].name, name))
            return head->headers[i].value;
    return view_of(NULL, 0);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool api_http_parse_percent(struct view text, char *out, size_t n_max)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if (c == '%') {
            int high = i + 2 < text.n ? hex_digit(text.at[i + 1]) : -1;
            int low = i + 2 < text.n ? hex_digit(text.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0' || n + 1 >= n_max)
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return true;
}

/* SIZE -(;)-> EXTENSION -> SIZE_LF -> DATA -> DATA_CR -> DATA_LF -> SIZE
 *                          SIZE_LF of a last chunk -> TRAILER_START -(CR)-> END_LF -> done
 *                                                     TRAILER -> TRAILER_LF -> TRAILER_START */
enum {
    SIZE,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER_START,
    TRAILER,
    TRAILER_LF,
    END_LF
};
enum { CHUNK_DIGITS_MAX = 12, CHUNK_LINE_MAX = 256, TRAILER_BYTES_MAX = 4096 };

static bool is_line_char(char c)
{
    return (unsigned char)c >= 0x20 || c == '\t';
}

/* Takes one byte outside chunk data. Returns the next state, -1 when the byte is not allowed
 * there. */
static int step_size(struct api_http_chunks *chunks, char c)
{
    int digit = hex_digit(c);
    if (digit >= 0) {
        chunks->left = chunks->left * 16 + (uint64_t)digit;
        return ++chunks->n_digits <= CHUNK_DIGITS_MAX ? SIZE : -1;
    }
    if (chunks->n_digits == 0)
        return -1;
    chunks->n_line = 0;
    return c == '\r' ? SIZE_LF : c == ';' ? EXTENSION : -1;
}

static int step(struct api_http_chunks *chunks, char c)
{
    switch (chunks->state) {
    case SIZE:
        return step_size(chunks, c);
    case EXTENSION:
        if (c == '\r')
            return SIZE_LF;
        return is_line_char(c) && ++chunks->n_line <= CHUNK_LINE_MAX ? EXTENSION : -1;
    case SIZE_LF:
        return c != '\n' ? -1 : chunks->left > 0 ? DATA : TRAILER_START;
    case DATA_CR:
        return c == '\r' ? DATA_LF : -1;
    case DATA_LF:
        chunks->n_digits = 0;
        chunks->left = 0;
        return c == '\n' ? SIZE : -1;
    case TRAILER_START:
        if (c == '\r')
            return END_LF;
        chunks->n_trailers++;
        return is_token_char((unsigned char)c) ? TRAILER : -1;
    case TRAILER:
        if (c == '\r')
            return TRAILER_LF;
        return is_line_char(c) && ++chunks->n_trailers <= TRAILER_BYTES_MAX ? TRAILER : -1;
    default: /* TRAILER_LF */
        return c == '\n' ? TRAILER_START : -1;
    }
}

enum api_http_chunks_said api_http_parse_chunks(struct api_http_chunks *chunks, struct view bytes,
                                                struct str *out, size_t *n_taken)
{
    size_t at = 0;
    while (at < bytes.n) {
        if (chunks->state == DATA) {
            size_t n = bytes.n - at;
            if (n > chunks->left)
                n = (size_t)chunks->left;
            str_add(out, bytes.at + at, n);
            chunks->left -= n;
            at += n;
            if (chunks->left == 0)
                chunks->state = DATA_CR;
            continue;
        }
        char c = bytes.at[at++];
        if (chunks->state == END_LF) {
            *n_taken = at;
            return c == '\n' ? HTTP_CHUNKS_DONE : HTTP_CHUNKS_BAD;
        }
        int next = step(chunks, c);
        if (next < 0) {
            *n_taken = at;
            return HTTP_CHUNKS_BAD;
        }
        chunks->state = next;
    }
    *n_taken = at;
    return HTTP_CHUNKS_MORE;
}

enum api_http_query api_http_parse_query(struct view query, const char *name, char *out,
                                         size_t n_max)
{
    size_t n_name = strlen(name);
    out[0] = '\0';
    while (query.n > 0) {
        const char *end = memchr(query.at, '&', query.n);
        struct view part = view_of(query.at, end != NULL ? (size_t)(end - query.at) : query.n);
        if (view_starts(part, name) && part.n > n_name && part.at[n_name] == '=') {
            struct view value = view_of(part.at + n_name + 1, part.n - n_name - 1);
            return api_http_parse_percent(value, out, n_max) ? API_HTTP_QUERY_FOUND
                                                             : API_HTTP_QUERY_BAD;
        }
        size_t n_skipped = end != NULL ? part.n + 1 : part.n;
        query = view_of(query.at + n_skipped, query.n - n_skipped);
    }
    return API_HTTP_QUERY_ABSENT;
}
