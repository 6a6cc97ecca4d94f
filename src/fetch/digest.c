/* SHA-256, by libcrypto. */
#include "fetch/digest.h"

#include "base/mem.h"
#include "fetch/stop.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

void fetch_digest_open(struct fetch_digest *digest)
{
    digest->context = EVP_MD_CTX_new();
    mem_need(digest->context != NULL);
    fetch_digest_restart(digest);
}

void fetch_digest_close(struct fetch_digest *digest)
{
    EVP_MD_CTX_free(digest->context);
    digest->context = NULL;
}

void fetch_digest_restart(struct fetch_digest *digest)
{
    mem_need(EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) == 1);
}

void fetch_digest_add(struct fetch_digest *digest, const void *bytes, size_t n)
{
    mem_need(EVP_DigestUpdate(digest->context, bytes, n) == 1);
}

bool fetch_digest_add_file(struct fetch_digest *digest, int fd, int64_t n_bytes)
{
    char *piece = mem_take(PIECE_BYTES);
    int64_t at = 0;
    while (at < n_bytes && !fetch_is_stopped()) {
        ssize_t n = pread(fd, piece, (size_t)min_i64(PIECE_BYTES, n_bytes - at), at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        fetch_digest_add(digest, piece, (size_t)n);
        at += n;
    }
    mem_give(piece);
    return at == n_bytes;
}

void fetch_digest_end(struct fetch_digest *digest, char out[65])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    mem_need(EVP_DigestFinal_ex(digest->context, bytes, NULL) == 1);
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

bool fetch_digest_is_text(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdefABCDEF") == 64;
}

enum status fetch_digest_check_file(const char *path, const char *sha256, struct fault *fault)
{
    struct stat info;
    struct fetch_digest digest;
    char text[65] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        int why = fd < 0 ? errno : EISDIR;
        if (fd >= 0)
            close(fd);
        return fault_set(fault, STATUS_IO, "%.150s has no SHA-256: %s", path,
                         why == EISDIR ? "it is not a regular file" : strerror(why));
    }
    fetch_digest_open(&digest);
    bool is_read = fetch_digest_add_file(&digest, fd, info.st_size);
    fetch_digest_end(&digest, text);
    fetch_digest_close(&digest);
    close(fd);
    if (!is_read)
        return fault_set(fault, STATUS_IO, "%.150s can't be read to its end", path);
    if (strcasecmp(text, sha256) == 0)
        return STATUS_OK;
    return fault_set(
        fault, STATUS_BAD_INPUT,
        "%.100s has the SHA-256 %.16s..., but %.16s... is configured: replace the file, or "
        "correct sha256",
        path, text, sha256);
}
