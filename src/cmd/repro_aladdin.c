/* The claims of Aladdin. */
#include "cmd/repro.h"

const struct repro_claim repro_aladdin[] = {
    { NULL, NULL, NULL, NULL },
};
