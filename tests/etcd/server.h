/* A real etcd on this machine's loopback, for tests: ports and folder of its own. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct etcd_server {
    pid_t pid; /* 0: it does not run */
    char folder[64], client[64], peer[64];
    const char *cert, *key, *ca; /* NULL: plain http */
};
/* False: no etcd is installed. */
bool etcd_server_open(struct etcd_server *server, const char *cert, const char *key,
                      const char *ca);
void etcd_server_start(struct etcd_server *server); /* returns when it answers */
void etcd_server_stop(struct etcd_server *server);  /* kill -9 */
void etcd_server_wipe(struct etcd_server *server);  /* stops it and removes what it has */
void etcd_server_close(struct etcd_server *server);
