/* The GPU's streams. */
#include "emulate/fiber.h"

#include <memory>

namespace emulate
{
void open_device_memory(bool)
{
}

bool submit(cuda_stream *, const call *c)
{
    const std::unique_ptr<const call> owner(c);
    const std::string refusal = refusal_of(c->shape);
    if (!refusal.empty()) {
        report(refusal);
        return false;
    }
    return run(*c);
}
} // namespace emulate
