/* Places as addresses of the system, and back. */
#include "bulk/state.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const uint8_t MAPPED[12] = { [10] = 0xff, [11] = 0xff };

bool bulk_place_of(const struct sockaddr *from, struct cluster_place *place)
{
    *place = (struct cluster_place){ .port = 0 };
    if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *at = (const void *)from;
        memcpy(place->host, &at->sin6_addr, sizeof place->host);
        place->port = ntohs(at->sin6_port);
    } else if (from->sa_family == AF_INET) {
        const struct sockaddr_in *at = (const void *)from;
        memcpy(place->host, MAPPED, sizeof MAPPED);
        memcpy(place->host + sizeof MAPPED, &at->sin_addr, 4);
        place->port = ntohs(at->sin_port);
    } else {
        return false;
    }
    return true;
}

static bool is_mapped(const struct cluster_place *place)
{
    return memcmp(place->host, MAPPED, sizeof MAPPED) == 0;
}

unsigned bulk_place_address(const struct cluster_place *place, struct sockaddr_storage *to)
{
    memset(to, 0, sizeof *to);
    if (is_mapped(place)) {
        struct sockaddr_in *at = (void *)to;
        at->sin_family = AF_INET;
        at->sin_port = htons(place->port);
        memcpy(&at->sin_addr, place->host + sizeof MAPPED, 4);
        return sizeof *at;
    }
    struct sockaddr_in6 *at = (void *)to;
    at->sin6_family = AF_INET6;
    at->sin6_port = htons(place->port);
    memcpy(&at->sin6_addr, place->host, sizeof place->host);
    return sizeof *at;
}

bool bulk_place_is_loopback(const struct cluster_place *place)
{
    struct in6_addr at;
    memcpy(&at, place->host, sizeof at);
    return is_mapped(place) ? place->host[12] == IN_LOOPBACKNET : IN6_IS_ADDR_LOOPBACK(&at);
}

bool bulk_place_is_same(const struct cluster_place *a, const struct cluster_place *b)
{
    return a->port == b->port && memcmp(a->host, b->host, sizeof a->host) == 0;
}

enum status bulk_place_resolve(const char *host, uint16_t port, struct cluster_place *place,
                               struct fault *fault)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char text[8];
    snprintf(text, sizeof text, "%u", port);
    int error = getaddrinfo(host, text, &hints, &found);
    if (error != 0)
        return fault_set(fault, STATUS_BAD_INPUT, "bulk: host %.100s: %s", host,
                         gai_strerror(error));
    bool is_known = bulk_place_of(found->ai_addr, place);
    freeaddrinfo(found);
    return is_known
               ? STATUS_OK
               : fault_set(fault, STATUS_BAD_INPUT, "bulk: host %.100s has no IP address", host);
}
