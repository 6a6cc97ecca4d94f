/* Reads and writes the files of blocks. */
#include "kv/disk_file.h"

#include "base/file.h"
#include "base/mem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_VERSION = 1, NAME_BYTES = 40, DISK_PAGE_BYTES = 4096 };
static const char TEMPORARY[] = "block.tmp";
static const char MAGIC[8] = "shoalkv";

struct head {
    char magic[8];
    uint32_t version; /* it changes with the layout of a head or of a block's bytes */
    int32_t position;
    struct kv_disk_key key;
    struct hash128 name;
    struct hash128 bytes_check; /* of the block's bytes */
    struct hash128 head_check;  /* of all fields before it */
};
_Static_assert(sizeof(struct head) == 16 + sizeof(struct kv_disk_key) + 48,
               "no byte of it is padding");

/* ---- The folder. ---- */

static enum status refuse(struct fault *fault, const char *path, int error)
{
    char reason[128];
    return fault_set(fault, STATUS_IO, "kv_disk: %s: %s", path,
                     strerror_r(error, reason, sizeof reason));
}

static enum status make(const char *path, struct fault *fault)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return STATUS_OK;
    return refuse(fault, path, errno);
}

/* The lock belongs to the process, and ends with it, however it ends. */
static enum status lock(struct kv_disk_folder *folder, const char *path, struct fault *fault)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    folder->lock_fd = openat(folder->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (folder->lock_fd < 0)
        return refuse(fault, path, errno);
    if (fcntl(folder->lock_fd, F_SETLK, &whole) == 0)
        return STATUS_OK;
    if (errno != EACCES && errno != EAGAIN)
        return refuse(fault, path, errno);
    return fault_set(fault, STATUS_BUSY,
                     "kv_disk: %s is in use by another process: give each server a folder of its "
                     "own",
                     path);
}

enum status kv_disk_file_open(struct kv_disk_folder *folder, const char *path, int engine,
                              struct fault *fault)
{
    char own[4096];
    *folder = (struct kv_disk_folder){ .fd = -1, .lock_fd = -1 };
    int n = snprintf(own, sizeof own, "%s/engine-%d", path, engine);
    if (n < 0 || (size_t)n >= sizeof own)
        return fault_set(fault, STATUS_TOO_LARGE, "kv_disk: the path is too long");
    enum status status = make(path, fault);
    if (status == STATUS_OK)
        status = make(own, fault);
    if (status != STATUS_OK)
        return status;
    folder->fd = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0)
        return refuse(fault, own, errno);
    status = lock(folder, own, fault);
    if (status != STATUS_OK)
        kv_disk_file_close(folder);
    return status;
}

void kv_disk_file_close(struct kv_disk_folder *folder)
{
    if (folder->lock_fd >= 0)
        close(folder->lock_fd);
    if (folder->fd >= 0)
        close(folder->fd);
    *folder = (struct kv_disk_folder){ .fd = -1, .lock_fd = -1 };
}

/* ---- A block. ---- */

static void print_name(struct hash128 name, char text[NAME_BYTES])
{
    snprintf(text, NAME_BYTES, "%016llx%016llx.kv", (unsigned long long)name.high,
             (unsigned long long)name.low);
}

static struct head head_of(const struct kv_disk_file *file, struct hash128 bytes_check)
{
    struct head head = { .version = FILE_VERSION,
                         .position = file->position,
                         .key = file->key,
                         .name = file->name,
                         .bytes_check = bytes_check };
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    head.head_check = hash_fast(&head, offsetof(struct head, head_check), 0);
    return head;
}

static enum kv_disk_result result_of(int error)
{
    return error == ENOSPC || error == EDQUOT ? KV_DISK_FULL : KV_DISK_FAILED;
}

static void set_time(int fd, int64_t used_ns)
{
    const struct timespec at = { .tv_sec = used_ns / 1000000000, .tv_nsec = used_ns % 1000000000 };
    const struct timespec times[2] = { at, at };
    (void)futimens(fd, times); /* without it, the file only seems older or newer than it is */
}

enum kv_disk_result kv_disk_file_write(const struct kv_disk_folder *folder,
                                       const struct kv_disk_file *file, const void *bytes)
{
    char name[NAME_BYTES];
    size_t n = (size_t)file->key.block_bytes;
    const struct head head = head_of(file, hash_fast(bytes, n, 0));
    int fd = openat(folder->fd, TEMPORARY,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return result_of(errno);
    print_name(file->name, name);
    enum kv_disk_result result = KV_DISK_DONE;
    if (!file_put(fd, &head, sizeof head) || !file_put(fd, bytes, n))
        result = result_of(errno);
    set_time(fd, file->used_ns);
    if (close(fd) != 0 && result == KV_DISK_DONE)
        result = result_of(errno);
    if (result == KV_DISK_DONE && renameat(folder->fd, TEMPORARY, folder->fd, name) != 0)
        result = result_of(errno);
    if (result != KV_DISK_DONE)
        (void)unlinkat(folder->fd, TEMPORARY, 0);
    return result;
}

/* Reads all n bytes. A shorter file is BAD. */
static enum kv_disk_result read_all(int fd, void *to, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, (unsigned char *)to + at, n - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? KV_DISK_BAD : KV_DISK_FAILED;
        at += (size_t)got;
    }
    return KV_DISK_DONE;
}

static enum kv_disk_result read_block(int fd, const struct kv_disk_file *file, void *bytes)
{
    struct stat info;
    struct head head;
    size_t n = (size_t)file->key.block_bytes;
    if (fstat(fd, &info) != 0)
        return KV_DISK_FAILED;
    if (!S_ISREG(info.st_mode) || info.st_size != (off_t)(sizeof head + n))
        return KV_DISK_BAD;
    enum kv_disk_result result = read_all(fd, &head, sizeof head);
    if (result == KV_DISK_DONE)
        result = read_all(fd, bytes, n);
    if (result != KV_DISK_DONE)
        return result;
    const struct head expected = head_of(file, hash_fast(bytes, n, 0));
    return memcmp(&head, &expected, sizeof head) == 0 ? KV_DISK_DONE : KV_DISK_BAD;
}

enum kv_disk_result kv_disk_file_read(const struct kv_disk_folder *folder,
                                      const struct kv_disk_file *file, void *bytes)
{
    char name[NAME_BYTES];
    print_name(file->name, name);
    int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ELOOP)
        return KV_DISK_BAD;
    if (fd < 0)
        return errno == ENOENT ? KV_DISK_GONE : KV_DISK_FAILED;
    enum kv_disk_result result = read_block(fd, file, bytes);
    if (result == KV_DISK_DONE)
        set_time(fd, file->used_ns);
    close(fd);
    return result;
}

void kv_disk_file_remove(const struct kv_disk_folder *folder, struct hash128 name)
{
    char text[NAME_BYTES];
    print_name(name, text);
    (void)unlinkat(folder->fd, text, 0);
}

/* Counts whole pages, and one for an empty file. */
static int64_t on_disk(int64_t n_bytes)
{
    return max_i64(div_up_i64(n_bytes, DISK_PAGE_BYTES), 1) * DISK_PAGE_BYTES;
}

int64_t kv_disk_file_bytes(int64_t block_bytes)
{
    return on_disk(block_bytes + (int64_t)sizeof(struct head));
}

/* ---- What an earlier process left. ---- */

static bool read_half(const char *text, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < 16; i++) {
        char c = text[i];
        bool is_digit = c >= '0' && c <= '9', is_letter = c >= 'a' && c <= 'f';
        if (!is_digit && !is_letter)
            return false;
        *out = *out << 4 | (uint64_t)(is_digit ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static bool read_name(const char *text, struct hash128 *name)
{
    return strlen(text) == 35 && read_half(text, &name->high) && read_half(text + 16, &name->low) &&
           strcmp(text + 32, ".kv") == 0;
}

static int compare(const void *a, const void *b)
{
    const struct kv_disk_found *x = a, *y = b;
    if (x->used_ns != y->used_ns)
        return x->used_ns < y->used_ns ? -1 : 1;
    return memcmp(&x->name, &y->name, sizeof x->name);
}

int64_t kv_disk_file_list(const struct kv_disk_folder *folder, struct kv_disk_found **found)
{
    size_t n = 0, n_max = 0;
    struct dirent *entry;
    struct stat info;
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = fd >= 0 ? fdopendir(fd) : NULL;
    *found = NULL;
    if (files == NULL && fd >= 0)
        close(fd);
    (void)unlinkat(folder->fd, TEMPORARY, 0);
    while (files != NULL && (entry = readdir(files)) != NULL) {
        struct hash128 name;
        if (!read_name(entry->d_name, &name) ||
            fstatat(folder->fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        if (n == n_max) {
            *found = mem_grow(*found, n_max * sizeof **found, (2 * n_max + 64) * sizeof **found);
            n_max = 2 * n_max + 64;
        }
        int64_t used_s = min_i64(max_i64(info.st_mtim.tv_sec, 0), INT32_MAX);
        (*found)[n++] = (struct kv_disk_found){ name, on_disk(info.st_size),
                                                used_s * 1000000000 + info.st_mtim.tv_nsec };
    }
    if (files != NULL)
        closedir(files);
    if (n > 0)
        qsort(*found, n, sizeof **found, compare);
    return (int64_t)n;
}
