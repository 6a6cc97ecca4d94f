/* Client addresses: as a socket or a trusted proxy reports them, and networks of trusted proxies.
 *
 * An address has 16 bytes; IPv4 is mapped to ::ffff:a.b.c.d. The last 64 bits of IPv6 are dropped,
 * since a client usually owns a whole network of 64 bits. */
#pragma once
#include "api/http_parse.h"
#include "base/status.h"

struct sockaddr;

struct api_address {
    unsigned char bytes[16];
};
struct api_net { /* the first n_bits of the address */
    struct api_address address;
    int n_bits;
};
/* Returns all zeros for a socket address that is neither IPv4 nor IPv6. */
struct api_address api_addresses_of_socket(const struct sockaddr *address);
/* Reads "192.0.2.1", "192.0.2.1:80", "2001:db8::1" or "[2001:db8::1]:80"; returns false for any
 * other text. */
bool api_addresses_read(struct view text, struct api_address *out);
/* Reads "192.0.2.0/24", "2001:db8::/32" or a single address. The fault names the text. */
enum status api_addresses_read_net(const char *text, struct api_net *out,
                                   struct fault *fault) MUST_USE;
bool api_addresses_is_in(const struct api_address *address, const struct api_net *nets, int n_nets);
/* Finds the client that a trusted proxy forwards for: the last address of X-Forwarded-For that is
 * not in these nets. Returns false when there is none, or when that entry is not an address. */
bool api_addresses_forwarded(const struct api_http_head *head, const struct api_net *nets,
                             int n_nets, struct api_address *out);
