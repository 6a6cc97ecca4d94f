/* Reads, writes and maps files. Every refusal names the file and the reason. */
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_PAGE_BYTES 4096
#define FILE_PATH_MAX   4096

/* Counts pages of maps that were read after the file was cut, or whose disk failed. */
static _Atomic uint32_t n_missing;

/* Handles SIGBUS, which the kernel sends when a mapped file is cut or replaced while it is read.
 * Without a handler it would end the process with all its requests. The page reads as zeros
 * instead, and is counted. */
static void on_missing_page(int number, siginfo_t *info, void *context)
{
    (void)context;
    uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(FILE_PAGE_BYTES - 1);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, error = errno;
    if (info->si_code == BUS_ADRERR &&
        mmap((void *)at, FILE_PAGE_BYTES, PROT_READ, flags, -1, 0) != MAP_FAILED)
        atomic_fetch_add(&n_missing, 1);
    else
        (void)signal(number, SIG_DFL); /* it comes again at once */
    errno = error;
}

static void survive_missing_pages(void)
{
    struct sigaction action = { .sa_sigaction = on_missing_page, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

static int64_t changed_ns(const struct stat *info)
{
    return info->st_mtim.tv_sec * INT64_C(1000000000) + info->st_mtim.tv_nsec;
}

static enum status refuse(struct fault *fault, const char *path, int error)
{
    char reason[128];
    const char *text = strerror_r(error, reason, sizeof(reason));
    bool is_missing = error == ENOENT || error == ENOTDIR;
    return fault_set(fault, is_missing ? STATUS_NOT_FOUND : STATUS_IO, "%s: %s", path, text);
}

/* Opens without waiting; a plain open of a pipe waits until another process writes into it. */
static enum status open_regular(const char *path, int *fd, size_t *n_bytes, struct fault *fault)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return refuse(fault, path, errno);
    enum status status = STATUS_OK;
    if (fstat(*fd, &info) != 0)
        status = refuse(fault, path, errno);
    else if (!S_ISREG(info.st_mode))
        status = fault_set(fault, STATUS_BAD_INPUT, "%s is not a regular file", path);
    else
        *n_bytes = (size_t)info.st_size;
    if (status != STATUS_OK)
        close(*fd);
    return status;
}

enum status file_map_open(struct file_map *map, const char *path, struct fault *fault)
{
    struct stat info;
    survive_missing_pages();
    *map = (struct file_map){ .fd = -1 };
    enum status status = open_regular(path, &map->fd, &map->n_bytes, fault);
    map->at = (const unsigned char *)"";
    map->n_missing = atomic_load(&n_missing);
    if (status == STATUS_OK && fstat(map->fd, &info) == 0)
        map->changed_ns = changed_ns(&info);
    if (status == STATUS_OK && map->n_bytes > 0) {
        void *at = mmap(NULL, map->n_bytes, PROT_READ, MAP_SHARED, map->fd, 0);
        if (at == MAP_FAILED) {
            status = refuse(fault, path, errno);
            close(map->fd);
        }
        map->at = at;
    }
    if (status != STATUS_OK)
        *map = (struct file_map){ .fd = -1 };
    return status;
}

void file_map_close(struct file_map *map)
{
    if (map->at != NULL && map->n_bytes > 0)
        munmap((void *)(uintptr_t)map->at, map->n_bytes);
    if (map->at != NULL)
        close(map->fd);
    *map = (struct file_map){ .fd = -1 };
}

bool file_map_is_whole(const struct file_map *map)
{
    struct stat info;
    return map->n_missing == atomic_load(&n_missing) && fstat(map->fd, &info) == 0 &&
           (size_t)info.st_size == map->n_bytes && changed_ns(&info) == map->changed_ns;
}

void file_map_drop(const struct file_map *map, size_t offset, size_t n_bytes)
{
    CHECK(offset <= map->n_bytes && n_bytes <= map->n_bytes - offset);
    size_t start = (size_t)align_up_u64(offset, FILE_PAGE_BYTES);
    size_t end = (offset + n_bytes) & ~(size_t)(FILE_PAGE_BYTES - 1);
    if (start < end) /* advice only: its failure changes nothing */
        (void)madvise((void *)((uintptr_t)map->at + start), end - start, MADV_DONTNEED);
}

static enum status read_all(int fd, const char *path, size_t n_bytes_max, char **content,
                            size_t *n_bytes, struct fault *fault)
{
    size_t capacity = n_bytes_max < 4096 ? n_bytes_max + 2 : 4096;
    char *buffer = mem_take(capacity);
    size_t n = 0;
    for (;;) {
        ssize_t got = read(fd, buffer + n, capacity - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int error = errno;
            mem_give(buffer);
            return refuse(fault, path, error);
        }
        n += (size_t)got;
        if (n > n_bytes_max) {
            mem_give(buffer);
            return fault_set(fault, STATUS_TOO_LARGE, "%s: larger than %zu bytes", path,
                             n_bytes_max);
        }
        if (got == 0)
            break;
        if (capacity - 1 == n) {
            size_t grown = n_bytes_max - n < n ? n_bytes_max + 2 : 2 * capacity;
            buffer = mem_grow(buffer, capacity, grown);
            capacity = grown;
        }
    }
    buffer[n] = '\0';
    *content = buffer;
    *n_bytes = n;
    return STATUS_OK;
}

enum status file_read(const char *path, size_t n_bytes_max, char **content, size_t *n_bytes,
                      struct fault *fault)
{
    CHECK(n_bytes_max < PTRDIFF_MAX / 2);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse(fault, path, errno);
    enum status status = read_all(fd, path, n_bytes_max, content, n_bytes, fault);
    close(fd);
    return status;
}

enum status file_read_regular(const char *path, size_t n_bytes_max, char **content, size_t *n_bytes,
                              struct fault *fault)
{
    int fd;
    CHECK(n_bytes_max < PTRDIFF_MAX / 2);
    enum status status = open_regular(path, &fd, n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    status = read_all(fd, path, n_bytes_max, content, n_bytes, fault);
    close(fd);
    return status;
}

/* Returns the descriptor that a path names; -1 if it names none. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
    int64_t fd;
    if (strcmp(path, "/dev/stdin") == 0)
        return STDIN_FILENO;
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) == 0 && parse_i64(path + n, &fd) && fd <= INT_MAX)
            return (int)fd;
    }
    return -1;
}

static enum status move_all(int from, int to, const char *path, size_t n_bytes_max,
                            struct fault *fault)
{
    char bytes[FILE_PAGE_BYTES];
    size_t n = 0;
    for (;;) {
        ssize_t got = read(from, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || (got > 0 && !file_put(to, bytes, (size_t)got)))
            return refuse(fault, path, errno);
        if (got == 0)
            return STATUS_OK;
        n += (size_t)got;
        if (n > n_bytes_max)
            return fault_set(fault, STATUS_TOO_LARGE, "%s: larger than %zu bytes", path,
                             n_bytes_max);
    }
}

enum status file_keep(const char *path, size_t n_bytes_max, struct fault *fault)
{
    struct stat info;
    int fd = descriptor_of(path);
    if (fd < 0 || fstat(fd, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
        return STATUS_OK;
    int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("kept", MFD_CLOEXEC);
    enum status status = from < 0 || to < 0 ? refuse(fault, path, errno)
                                            : move_all(from, to, path, n_bytes_max, fault);
    if (status == STATUS_OK && dup2(to, fd) < 0)
        status = refuse(fault, path, errno);
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return status;
}

bool file_put(int fd, const void *bytes, size_t n_bytes)
{
    const char *at = bytes;
    while (n_bytes > 0) {
        ssize_t written = write(fd, at, n_bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        n_bytes -= (size_t)written;
    }
    return true;
}

/* Returns whether a rename would destroy what the path names: a device, a pipe, a terminal. */
static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

static enum status write_into(const char *path, const void *content, size_t n_bytes,
                              struct fault *fault)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return refuse(fault, path, errno);
    bool is_written = file_put(fd, content, n_bytes);
    int error = errno;
    close(fd);
    return is_written ? STATUS_OK : refuse(fault, path, error);
}

enum status file_write(const char *path, const void *content, size_t n_bytes, struct fault *fault)
{
    char draft[FILE_PATH_MAX];
    if (is_special(path))
        return write_into(path, content, n_bytes, fault);
    int n = snprintf(draft, sizeof(draft), "%s.%ld.draft", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof(draft))
        return fault_set(fault, STATUS_BAD_INPUT, "%s: the path is too long", path);
    int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return refuse(fault, path, errno);
    bool is_written = file_put(fd, content, n_bytes) && fsync(fd) == 0;
    int error = errno;
    if (close(fd) != 0 && is_written) {
        is_written = false;
        error = errno;
    }
    if (is_written && rename(draft, path) == 0)
        return STATUS_OK;
    if (is_written)
        error = errno;
    unlink(draft);
    return refuse(fault, path, error);
}

/* The folder that holds the path's last part, with "/." behind it. */
static enum status folder_of(const char *path, char folder[FILE_PATH_MAX], struct fault *fault)
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, FILE_PATH_MAX, ".");
    if (slash != NULL && (size_t)(slash - path) + sizeof("/.") > FILE_PATH_MAX)
        return refuse(fault, path, ENAMETOOLONG);
    if (slash != NULL)
        snprintf(folder, FILE_PATH_MAX, "%.*s/.", (int)(slash - path), path);
    return STATUS_OK;
}

enum status file_sync_folder_of(const char *path, struct fault *fault)
{
    char folder[FILE_PATH_MAX];
    if (folder_of(path, folder, fault) != STATUS_OK)
        return STATUS_IO;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return refuse(fault, folder, errno);
    enum status status = fsync(fd) == 0 ? STATUS_OK : refuse(fault, folder, errno);
    close(fd);
    return status;
}

enum status file_may_write(const char *path, struct fault *fault)
{
    char folder[FILE_PATH_MAX];
    if (file_is_directory(path))
        return refuse(fault, path, EISDIR);
    if (folder_of(path, folder, fault) != STATUS_OK)
        return STATUS_IO;
    bool may = access(is_special(path) ? path : folder, W_OK) == 0;
    return may ? STATUS_OK : refuse(fault, path, errno);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool file_find(const char *directory, const char *ending, char name[FILE_NAME_BYTES])
{
    DIR *folder = opendir(directory);
    size_t n_ending = strlen(ending);
    bool is_found = false;
    if (folder == NULL)
        return false;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t n = strlen(entry->d_name);
        bool ends_so = n >= n_ending && strcmp(entry->d_name + n - n_ending, ending) == 0;
        if (!ends_so || n >= FILE_NAME_BYTES || (is_found && strcmp(entry->d_name, name) >= 0))
            continue;
        memcpy(name, entry->d_name, n + 1);
        is_found = true;
    }
    closedir(folder);
    return is_found;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

int file_list(const char *path, const char *ending, char (*names)[FILE_NAME_BYTES], int n_max)
{
    DIR *directory = opendir(path);
    size_t n_ending = strlen(ending);
    int n = 0;
    if (directory == NULL)
        return -1;
    for (const struct dirent *entry; n < n_max && (entry = readdir(directory)) != NULL;) {
        size_t n_name = strlen(entry->d_name);
        bool ends_so = n_name > n_ending && n_name < FILE_NAME_BYTES &&
                       strcmp(entry->d_name + n_name - n_ending, ending) == 0;
        if (ends_so)
            memcpy(names[n++], entry->d_name, n_name + 1);
    }
    closedir(directory);
    qsort(names, (size_t)n, sizeof(names[0]), compare_names);
    return n;
}
