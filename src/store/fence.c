/* A node's memory of managers. */
#include "store/fence.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include <stdio.h>
#include <string.h>

const char *store_fence_verdict_name(enum store_verdict verdict)
{
    static const char *const names[] = { "obey", "old epoch", "same epoch of another manager",
                                         "other life of the cluster", "cannot remember" };
    return names[verdict];
}

/* ---- The file: "shoal-fence 1 NONCE EPOCH MANAGER\n". ---- */

static enum status refuse(const char *path, struct fault *fault)
{
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%.160s is damaged: it does not say which manager this node obeyed last; "
                     "restore it, or remove it on a node that is given a new cluster",
                     path);
}

static enum status parse(struct store_fence *fence, const char *text, size_t n, struct fault *fault)
{
    unsigned long long epoch;
    char nonce[64], manager[64], rest[2];
    struct store_stamp *kept = &fence->kept;
    if (strlen(text) != n ||
        sscanf(text, "shoal-fence 1 %63s %20llu %63s%1[\n]", nonce, &epoch, manager, rest) != 4 ||
        !store_id_read(nonce, strlen(nonce), &kept->nonce) ||
        !store_id_read(manager, strlen(manager), &kept->manager))
        return refuse(fence->path, fault);
    kept->epoch = epoch;
    return STATUS_OK;
}

enum status store_fence_open(struct store_fence *fence, const char *path, struct fault *fault)
{
    char *text;
    size_t n;
    *fence = (struct store_fence){ .path = "" };
    if (path == NULL)
        return STATUS_OK;
    if (strlen(path) >= sizeof(fence->path))
        return fault_set(fault, STATUS_BAD_INPUT, "%.160s...: the path is too long", path);
    snprintf(fence->path, sizeof(fence->path), "%s", path);
    if (!file_exists(path))
        return STATUS_OK;
    enum status status = file_read_regular(path, 256, &text, &n, fault);
    if (status != STATUS_OK)
        return status;
    status = parse(fence, text, n, fault);
    mem_give(text);
    return status;
}

static enum status keep(struct store_fence *fence, const struct store_stamp *stamp,
                        struct fault *fault)
{
    char text[160], nonce[STORE_ID_TEXT], manager[STORE_ID_TEXT];
    if (fence->path[0] != '\0') {
        store_id_write(stamp->nonce, nonce);
        store_id_write(stamp->manager, manager);
        int n = snprintf(text, sizeof(text), "shoal-fence 1 %s %llu %s\n", nonce,
                         (unsigned long long)stamp->epoch, manager);
        enum status status = file_write(fence->path, text, (size_t)n, fault);
        if (status == STATUS_OK)
            status = file_sync_folder_of(fence->path, fault);
        if (status != STATUS_OK)
            return status;
    }
    fence->kept = *stamp;
    return STATUS_OK;
}

/* Returns whether the file has this nonce by now, and takes over what it says then. */
static bool is_adopted(struct store_fence *fence, struct store_id nonce)
{
    struct store_fence there;
    if (fence->path[0] == '\0' || store_fence_open(&there, fence->path, NULL) != STATUS_OK ||
        !store_id_equal(there.kept.nonce, nonce))
        return false;
    fence->kept = there.kept;
    return true;
}

/* Returns whether an operator adopted another life in the file since it was read, and takes over
 * what it says then. */
static bool is_adopted_over(struct store_fence *fence)
{
    struct store_fence there;
    if (fence->path[0] == '\0' || store_fence_open(&there, fence->path, NULL) != STATUS_OK ||
        store_id_is_none(there.kept.nonce) ||
        store_id_equal(there.kept.nonce, fence->kept.nonce))
        return false;
    fence->kept = there.kept;
    return true;
}

enum store_verdict store_fence_check(struct store_fence *fence, const struct store_stamp *stamp)
{
    const struct store_stamp *kept = &fence->kept;
    if (stamp->epoch == 0 || store_id_is_none(stamp->nonce))
        return STORE_OLD_EPOCH;
    if (!store_id_is_none(kept->nonce) && !store_id_equal(kept->nonce, stamp->nonce) &&
        !is_adopted(fence, stamp->nonce))
        return STORE_OTHER_LIFE;
    if (stamp->epoch < kept->epoch)
        return STORE_OLD_EPOCH;
    if (stamp->epoch == kept->epoch)
        return store_id_equal(kept->manager, stamp->manager) ? STORE_OBEY : STORE_SAME_EPOCH;
    /* A late message of the old life must not undo what an operator adopted. */
    if (is_adopted_over(fence) && !store_id_equal(kept->nonce, stamp->nonce))
        return STORE_OTHER_LIFE;
    if (stamp->epoch <= kept->epoch)
        return STORE_OLD_EPOCH;
    return keep(fence, stamp, NULL) == STATUS_OK ? STORE_OBEY : STORE_CANNOT_REMEMBER;
}

enum status store_fence_adopt(struct store_fence *fence, struct store_id nonce, struct fault *fault)
{
    const struct store_stamp stamp = { .nonce = nonce };
    if (store_id_equal(fence->kept.nonce, nonce))
        return STATUS_OK;
    return keep(fence, &stamp, fault);
}
