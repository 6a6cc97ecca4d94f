/* Counts and evicts the files of a folder, under its lock. */
#include "fetch/room.h"

#include "base/log.h"
#include "base/mem.h"
#include "fetch/digest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FILES_MAX = 4096, NAME_BYTES = 72 };
static const int64_t DISK_LEFT_BYTES = INT64_C(256) << 20; /* for others */

struct entry {
    char name[NAME_BYTES];
    int64_t n_bytes, used_ns;
    ino_t inode;
};

/* Whether it is SHA256 or SHA256.part: any other file is not ours to count or remove. */
static bool is_ours(const char *name)
{
    char head[65];
    if (strlen(name) != 64 && (strlen(name) != 69 || strcmp(name + 64, ".part") != 0))
        return false;
    snprintf(head, sizeof head, "%.64s", name);
    return fetch_digest_is_text(head);
}

static int by_use(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

static int list(const char *folder, struct entry *out)
{
    DIR *directory = opendir(folder);
    int n = 0;
    if (directory == NULL)
        return 0;
    for (struct dirent *d; n < FILES_MAX && (d = readdir(directory)) != NULL;) {
        struct stat info;
        if (!is_ours(d->d_name) ||
            fstatat(dirfd(directory), d->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        struct entry *entry = &out[n++];
        snprintf(entry->name, sizeof entry->name, "%.71s", d->d_name);
        entry->n_bytes = max_i64(info.st_size, (int64_t)info.st_blocks * 512); /* reserved ones */
        entry->used_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        entry->inode = info.st_ino;
    }
    (void)closedir(directory);
    qsort(out, (size_t)n, sizeof *out, by_use);
    return n;
}

/* Removes a file that no process has locked. */
static bool evict(const char *folder, const struct entry *entry)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, entry->name);
    int fd = n < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    bool is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && unlink(path) == 0;
    if (is_free)
        log_line(LOG_INFO, "fetch", "%.16s...: evicted, %lld MiB", entry->name,
                 (long long)(entry->n_bytes >> 20));
    if (fd >= 0)
        close(fd);
    return is_free;
}

static int64_t disk_bytes(const char *folder)
{
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0)
        return INT64_MAX;
    return (int64_t)min_i64((int64_t)disk.f_bavail, INT64_MAX / 4096 / 64) * (int64_t)disk.f_frsize;
}

/* The bytes that the disk has to give: those of the part that are reserved already are not. */
static enum status make(const char *folder, int part_fd, int64_t wanted, int64_t n_bytes_max,
                        struct fault *fault)
{
    struct entry *entries = mem_take(sizeof *entries * FILES_MAX);
    struct stat part;
    int n = list(folder, entries), i = 0;
    int64_t sum = wanted, own = 0;
    bool is_there = fstat(part_fd, &part) == 0;
    if (is_there)
        own = max_i64(part.st_size, (int64_t)part.st_blocks * 512);
    for (int k = 0; k < n; k++)
        sum += is_there && entries[k].inode == part.st_ino ? 0 : entries[k].n_bytes;
    int64_t disk_need = max_i64(wanted - own, 0) + DISK_LEFT_BYTES;
    /* A file that can never fit takes no other's place. */
    bool may_fit = (n_bytes_max == 0 || wanted <= n_bytes_max) &&
                   disk_bytes(folder) >= disk_need - (sum - wanted);
    for (; may_fit && i < n &&
           ((n_bytes_max > 0 && sum > n_bytes_max) || disk_bytes(folder) < disk_need);
         i++)
        if (!(is_there && entries[i].inode == part.st_ino) && evict(folder, &entries[i]))
            sum -= entries[i].n_bytes;
    mem_give(entries);
    if (n_bytes_max > 0 && sum > n_bytes_max)
        return fault_set(
            fault, STATUS_TOO_LARGE,
            "the file of %lld MiB has no room: the folder's quota is %lld MiB, of which "
            "%lld MiB are in use (model_cache_bytes)",
            (long long)(wanted >> 20), (long long)(n_bytes_max >> 20),
            (long long)((sum - wanted) >> 20));
    if (disk_bytes(folder) < disk_need)
        return fault_set(
            fault, STATUS_TOO_LARGE,
            "the file of %lld MiB has no room: the disk has %lld MiB free, and %lld MiB "
            "have to stay free",
            (long long)(wanted >> 20), (long long)(disk_bytes(folder) >> 20),
            (long long)(DISK_LEFT_BYTES >> 20));
    return STATUS_OK;
}

enum status fetch_room_make(const char *folder, int part_fd, int64_t n_there, int64_t n_bytes,
                            int64_t n_bytes_max, struct fault *fault)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/.lock", folder);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        enum status status =
            fault_set(fault, STATUS_IO, "%.150s can't be locked: %s", path, strerror(errno));
        if (lock >= 0)
            close(lock);
        return status;
    }
    enum status status =
        n_bytes > INT64_MAX / 4 - n_there
            ? fault_set(fault, STATUS_TOO_LARGE,
                        "the source announces %lld bytes, which no file has: check its address",
                        (long long)n_bytes)
            : make(folder, part_fd, n_there + n_bytes, n_bytes_max, fault);
    /* Without support of the file system, room is only counted. */
    if (status == STATUS_OK && n_bytes > 0 &&
        fallocate(part_fd, FALLOC_FL_KEEP_SIZE, n_there, n_bytes) != 0 && errno == ENOSPC)
        status = fault_set(fault, STATUS_TOO_LARGE, "the disk has no room for %lld MiB more",
                           (long long)(n_bytes >> 20));
    close(lock);
    return status;
}
