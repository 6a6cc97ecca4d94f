/* Reads addresses and X-Forwarded-For. The list is read from the right, since everything to the
 * left of an untrusted address was written by an untrusted client. */
#include "api/addresses.h"
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static bool is_mapped(const struct api_address *address)
{
    return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

/* Keeps the bits that tell clients apart. */
static struct api_address client_of(struct api_address address)
{
    if (!is_mapped(&address))
        memset(address.bytes + 8, 0, 8);
    return address;
}

struct api_address api_addresses_of_socket(const struct sockaddr *address)
{
    struct api_address out = { { 0 } };
    if (address->sa_family == AF_INET6) {
        memcpy(out.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    } else if (address->sa_family == AF_INET) {
        memcpy(out.bytes, mapped, sizeof(mapped));
        memcpy(out.bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    }
    return client_of(out);
}

/* Returns the address without brackets and port. An IPv6 address may have a port only in
 * brackets. */
static struct view bare(struct view text)
{
    if (text.n > 0 && text.at[0] == '[') {
        const char *end = memchr(text.at, ']', text.n);
        return end != NULL ? view_of(text.at + 1, (size_t)(end - text.at) - 1) : view_of(NULL, 0);
    }
    const char *colon = text.n > 0 ? memchr(text.at, ':', text.n) : NULL;
    size_t n_before = colon != NULL ? (size_t)(colon - text.at) : text.n;
    bool is_only = colon != NULL && memchr(colon + 1, ':', text.n - n_before - 1) == NULL;
    return view_of(text.at, is_only ? n_before : text.n);
}

static bool read_whole(struct view text, struct api_address *out)
{
    char copy[INET6_ADDRSTRLEN];
    text = bare(text);
    if (text.n == 0 || text.n >= sizeof(copy))
        return false;
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    *out = (struct api_address){ { 0 } };
    if (inet_pton(AF_INET6, copy, out->bytes) == 1)
        return true;
    memcpy(out->bytes, mapped, sizeof(mapped));
    return inet_pton(AF_INET, copy, out->bytes + 12) == 1;
}

bool api_addresses_read(struct view text, struct api_address *out)
{
    if (!read_whole(text, out))
        return false;
    *out = client_of(*out);
    return true;
}

enum status api_addresses_read_net(const char *text, struct api_net *out, struct fault *fault)
{
    const char *slash = strchr(text, '/');
    size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
    int64_t n_bits = -1;
    bool is_net = read_whole(view_of(text, n), &out->address);
    int n_bits_max = is_net && is_mapped(&out->address) ? 32 : 128;
    if (is_net && slash != NULL)
        is_net = parse_i64(slash + 1, &n_bits) && n_bits >= 0 && n_bits <= n_bits_max;
    if (!is_net)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "proxies: \"%.80s\" is neither an address nor ADDRESS/BITS, such as "
                         "10.0.0.0/8",
                         text);
    out->n_bits = (slash != NULL ? (int)n_bits : n_bits_max) + 128 - n_bits_max;
    return STATUS_OK;
}

static bool is_in_net(const struct api_address *address, const struct api_net *net)
{
    size_t n_whole = (size_t)net->n_bits / 8;
    int n_more = net->n_bits % 8;
    if (memcmp(address->bytes, net->address.bytes, n_whole) != 0)
        return false;
    if (n_more == 0)
        return true;
    return (address->bytes[n_whole] ^ net->address.bytes[n_whole]) >> (8 - n_more) == 0;
}

bool api_addresses_is_in(const struct api_address *address, const struct api_net *nets, int n_nets)
{
    for (int i = 0; i < n_nets; i++)
        if (is_in_net(address, &nets[i]))
            return true;
    return false;
}

/* Removes the last entry of a comma-separated list and returns it. */
static struct view take_last(struct view *list)
{
    size_t end = list->n;
    while (end > 0 && strchr(" \t", list->at[end - 1]) != NULL)
        end--;
    size_t start = end;
    while (start > 0 && list->at[start - 1] != ',')
        start--;
    struct view entry = view_of(list->at + start, end - start);
    while (entry.n > 0 && strchr(" \t", entry.at[0]) != NULL)
        entry = view_of(entry.at + 1, entry.n - 1);
    list->n = start > 0 ? start - 1 : 0;
    return entry;
}

bool api_addresses_forwarded(const struct api_http_head *head, const struct api_net *nets,
                             int n_nets, struct api_address *out)
{
    static const char name[] = "x-forwarded-for";
    for (int i = head->n_headers - 1; i >= 0; i--) {
        struct view list = head->headers[i].value, of = head->headers[i].name;
        if (of.n != strlen(name) || strncasecmp(of.at, name, of.n) != 0)
            continue;
        while (list.n > 0) {
            struct api_address whole;
            if (!read_whole(take_last(&list), &whole))
                return false;
            *out = client_of(whole);
            if (!api_addresses_is_in(&whole, nets, n_nets))
                return true;
        }
    }
    return false;
}
