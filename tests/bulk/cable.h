/* A TCP cable on loopback that does what bad networks do. */
#pragma once
#include "base/base.h"

struct cable_faults {      /* per connection; 0: never */
    int64_t delay_ns;      /* of each piece */
    int64_t corrupt_bytes; /* one byte in this many changes */
    int64_t cut_bytes;     /* the connection ends after this many */
    int64_t stall_bytes;   /* it is silent after this many */
};
struct cable;
struct cable *cable_open(const struct cable_faults *faults);
uint16_t cable_port(const struct cable *cable);
void cable_lead_to(struct cable *cable, uint16_t port); /* new connections go there */
void cable_close(struct cable *cable);
