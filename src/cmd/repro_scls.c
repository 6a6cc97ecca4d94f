/* The claims of SCLS. */
#include "cmd/repro.h"

const struct repro_claim repro_scls[] = {
    { NULL, NULL, NULL, NULL },
};
