/* The listening socket, its certificate, and names of HTTP's status codes and methods.
 *
 * The backlog is 4096, because 2,000 clients that come at once take 13 s with 128 (SYN retries).
 * TCP_NODELAY is set on the listening socket, because without it TLS delays each reply by 40 ms
 * (measured: 1,390 against 38,984 requests/s).
 *
 * A client's machine may vanish silently. Keepalive probes it when no data is in flight; otherwise
 * the kernel retransmits. In both cases the client is given up when it has acknowledged nothing for
 * as long as an answer may wait for its reader (api.c). */
#include "api/http_listen.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096, TLS_FILE_BYTES_MAX = 1 << 20 };
enum { SILENT_S = 10, ASK_EACH_S = 5, GONE_MS = 30000 }; /* four probes before it is gone */

const char *api_http_listen_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        { 200, "OK" },
        { 204, "No Content" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 413, "Content Too Large" },
        { 415, "Unsupported Media Type" },
        { 417, "Expectation Failed" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

/* Accepts a decimal number up to 65535 and nothing else, because getaddrinfo would take 99999 for
 * 34463. */
static bool is_port(const char *text)
{
    int32_t port = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || (port = port * 10 + (*at - '0')) > UINT16_MAX)
            return false;
    }
    return *text != '\0';
}

/* Splits the text. The port follows the last colon. */
static const char *split_address(const char *text, char *host, size_t n_max)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL)
        return NULL;
    size_t n = (size_t)(colon - text);
    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (n >= n_max)
        return NULL;
    memcpy(host, text, n);
    host[n] = '\0';
    return colon + 1;
}

/* Returns the port, which stands behind the host; NULL with the fault set. */
static const char *read_address(const char *text, char *host, size_t n_max, struct fault *fault)
{
    const char *port = split_address(text, host, n_max);
    if (port != NULL && is_port(port))
        return port;
    fault_set(fault, STATUS_BAD_INPUT,
              "listen: \"%.100s\" is not ADDRESS:PORT, with a port from 0 to 65535", text);
    return NULL;
}

enum status api_http_listen_check(const char *text, struct fault *fault)
{
    char host[256];
    return read_address(text, host, sizeof(host), fault) != NULL ? STATUS_OK : STATUS_BAD_INPUT;
}

int api_http_listen_open(const char *text, struct fault *fault)
{
    char host[256];
    const char *port = read_address(text, host, sizeof(host), fault);
    struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (port == NULL)
        return -1;
    int error = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &found);
    if (error != 0) {
        fault_set(fault, STATUS_BAD_INPUT, "listen: %.100s: %s", text, gai_strerror(error));
        return -1;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    if (fd >= 0) { /* accepted sockets inherit these */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ SILENT_S }, sizeof(int));
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){ ASK_EACH_S }, sizeof(int));
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){ GONE_MS }, sizeof(int));
    }
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        fault_set(fault, STATUS_IO, "listen: %.100s: %s", text, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

int api_http_listen_port(int fd)
{
    struct sockaddr_storage address = { 0 };
    socklen_t n = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &n) != 0)
        return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

bool api_http_listen_is_local(int fd)
{
    struct sockaddr_storage address = { 0 };
    socklen_t n = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &n) != 0)
        return false;
    if (address.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&address)->sin6_addr);
    return ntohl(((struct sockaddr_in *)&address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static enum status use_files(SSL_CTX *tls, const char *cert, const char *key, struct fault *fault)
{
    const char *const paths[] = { cert, key };
    /* OpenSSL reads the file again, and does not report the system's error. */
    for (int i = 0; i < 2; i++) {
        char *content;
        size_t n_bytes;
        enum status status =
            file_read_regular(paths[i], TLS_FILE_BYTES_MAX, &content, &n_bytes, fault);
        if (status != STATUS_OK)
            return status;
        mem_give(content);
    }
    if (SSL_CTX_use_certificate_chain_file(tls, cert) != 1)
        return fault_set(fault, STATUS_BAD_INPUT, "tls_cert: %.120s holds no certificate in PEM",
                         cert);
    if (SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(tls) != 1)
        return fault_set(
            fault, STATUS_BAD_INPUT,
            "tls_key: %.90s holds no private key, in PEM and not encrypted, that belongs to "
            "%.90s",
            key, cert);
    return STATUS_OK;
}

/* OpenSSL would ask at the terminal for the password of an encrypted key. A server that reloads may
 * have no terminal. */
static int no_password(char *out, int n_max, int is_for_writing, void *self)
{
    (void)out, (void)n_max, (void)is_for_writing, (void)self;
    return -1;
}

enum status api_http_listen_tls(const char *cert, const char *key, SSL_CTX **out,
                                struct fault *fault)
{
    if (cert == NULL && key == NULL)
        return STATUS_OK;
    if (cert == NULL || key == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "tls: tls_cert and tls_key need each other");
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    mem_need(tls != NULL && SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1);
    SSL_CTX_set_default_passwd_cb(tls, no_password);
    enum status status = use_files(tls, cert, key, fault);
    if (status == STATUS_OK) {
        SSL_CTX_free(*out); /* connections that use it hold a reference */
        *out = tls;
    } else {
        SSL_CTX_free(tls);
        ERR_clear_error(); /* else this thread's next connection would get it */
    }
    return status;
}

enum status api_http_listen_tls_check(const char *cert, const char *key, struct fault *fault)
{
    SSL_CTX *tls = NULL;
    enum status status = api_http_listen_tls(cert, key, &tls, fault);
    api_http_listen_tls_free(tls);
    return status;
}

void api_http_listen_tls_free(SSL_CTX *tls)
{
    SSL_CTX_free(tls);
}

void api_http_listen_raise(int32_t n_wanted)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)n_wanted;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted)
        log_line(LOG_WARN, "http", "only %llu descriptors, %d wanted",
                 (unsigned long long)limit.rlim_cur, (int)n_wanted);
}
