/* Checks the folders of disk tiers. */
#include "serve/disk.h"

#include "kv/disk.h"

enum status serve_disk_check(const struct config *config, int n_engines, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (int e = 0; e < n_engines && config->kv_disk != NULL && status == STATUS_OK; e++)
        status = kv_disk_check(config->kv_disk, e, fault);
    return status;
}
