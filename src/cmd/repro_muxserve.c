/* The claims of MuxServe. */
#include "cmd/repro.h"

const struct repro_claim repro_muxserve[] = {
    { NULL, NULL, NULL, NULL },
};
