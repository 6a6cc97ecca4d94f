/* A file that other nodes may have. */
#pragma once
#include "fetch/transfer.h"

/* Goes on with the part from one peer after the other, until its bytes are whole and right. False:
 * no peer has them; the part, which may be empty, is for the next source. sha256: in lower case. */
bool fetch_peers_run(struct fetch_transfer *transfer, const char *sha256) MUST_USE;
/* Forgets what came. */
void fetch_peers_restart(struct fetch_transfer *transfer);
