/* Sends a datagram to the socket that NOTIFY_SOCKET names, which is the whole protocol. */
#include "base/notify.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool notify_manager(const char *state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = getenv("NOTIFY_SOCKET");
    size_t n = path != NULL ? strlen(path) : 0;
    if (n < 2 || n >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
        return false;
    memcpy(address.sun_path, path, n);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* of the abstract name space */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    socklen_t n_address = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    bool is_told = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                          n_address) >= 0;
    close(fd);
    return is_told;
}
