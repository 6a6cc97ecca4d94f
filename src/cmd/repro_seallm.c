/* The claims of SeaLLM. */
#include "cmd/repro.h"

const struct repro_claim repro_seallm[] = {
    { NULL, NULL, NULL, NULL },
};
