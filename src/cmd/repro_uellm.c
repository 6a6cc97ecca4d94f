/* The claims of UELLM. */
#include "cmd/repro.h"

const struct repro_claim repro_uellm[] = {
    { NULL, NULL, NULL, NULL },
};
