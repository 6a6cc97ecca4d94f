/* Certificates for tests, made anew each time: an authority of the cluster's own, and a stranger.
 */
#pragma once

enum certificate { CERTIFICATE_GATEWAY, CERTIFICATE_NODE, CERTIFICATE_OTHER, CERTIFICATE_STRANGER };
struct certificates {
    char folder[64];
    char ca[96]; /* of all but the stranger's, which an authority of the same name signed */
    struct {
        char cert[96], key[96];
    } of[4];
};
/* Their names are gateway.test, node.test, other.test and gateway.test. */
void certificates_make(struct certificates *certificates);
void certificates_remove(const struct certificates *certificates);
