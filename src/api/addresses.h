/* Addresses of clients: what a socket or a proxy says, and the networks that are trusted proxies.
 *
 * An address is 16 bytes, IPv4 as ::ffff:a.b.c.d. Of IPv6 only the network of 64 bits counts, since
 * a client has all of it to itself. */
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
/* All zeros where it is neither IPv4 nor IPv6. */
struct api_address api_addresses_of_socket(const struct sockaddr *address);
/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1" or "[2001:db8::1]:80"; false when it is none. */
bool api_addresses_read(struct view text, struct api_address *out);
/* "192.0.2.0/24", "2001:db8::/32", or an address: a fault names the text. */
enum status api_addresses_read_net(const char *text, struct api_net *out,
                                   struct fault *fault) MUST_USE;
bool api_addresses_is_in(const struct api_address *address, const struct api_net *nets, int n_nets);
/* Whom a proxy of these nets speaks for: the last address of X-Forwarded-For that is not one of
 * them. False when there is none, or what stands there is no address. */
bool api_addresses_forwarded(const struct api_http_head *head, const struct api_net *nets,
                             int n_nets, struct api_address *out);
