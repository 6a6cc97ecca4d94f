/* Any bytes as a scenario. */
#include "base/base.h"
#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct scenario scenario;
    struct fault fault = { "" };
    scenario_init(&scenario);
    if (scenario_parse(&scenario, "fuzz", (const char *)data, n, &fault) != STATUS_OK)
        CHECK(fault.text[0] != '\0');
    scenario_close(&scenario);
    return 0;
}
