/* Starts and stops etcd. */
#include "etcd/server.h"

#include "test.h"

#include "base/time.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static int free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &n) == 0);
    close(fd);
    return ntohs(at.sin_port);
}

bool etcd_server_open(struct etcd_server *s, const char *cert, const char *key, const char *ca)
{
    if (access("/usr/bin/etcd", X_OK) != 0)
        return false;
    *s = (struct etcd_server){ .cert = cert, .key = key, .ca = ca };
    snprintf(s->folder, sizeof s->folder, "/tmp/shoal-etcd-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->client, sizeof s->client, "%s://127.0.0.1:%d", cert != NULL ? "https" : "http",
             free_port());
    snprintf(s->peer, sizeof s->peer, "http://127.0.0.1:%d", free_port());
    return true;
}

static bool answers(const struct etcd_server *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_port = htons((uint16_t)atoi(strrchr(s->client, ':') + 1));
    bool does = connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
    close(fd);
    return does;
}

void etcd_server_start(struct etcd_server *s)
{
    char data[96], peers[96];
    snprintf(data, sizeof data, "%s/data", s->folder);
    snprintf(peers, sizeof peers, "s=%s", s->peer);
    const char *words[40] = { "etcd",
                              "--name=s",
                              "--data-dir",
                              data,
                              "--listen-client-urls",
                              s->client,
                              "--advertise-client-urls",
                              s->client,
                              "--listen-peer-urls",
                              s->peer,
                              "--initial-advertise-peer-urls",
                              s->peer,
                              "--initial-cluster",
                              peers,
                              "--unsafe-no-fsync",
                              "--logger=zap",
                              "--log-level=error",
                              "--heartbeat-interval=50",
                              "--election-timeout=500" };
    int n = 19;
    if (s->cert != NULL) {
        const char *tls[] = { "--cert-file",       s->cert, "--key-file",        s->key,
                              "--trusted-ca-file", s->ca,   "--client-cert-auth" };
        for (size_t i = 0; i < COUNT_OF(tls); i++)
            words[n++] = tls[i];
    }
    fflush(NULL);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        int null = open("/dev/null", O_RDWR);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        execv("/usr/bin/etcd", (char *const *)words);
        _exit(127);
    }
    for (int i = 0; i < 1000 && !answers(s); i++)
        time_sleep_ns(10 * TIME_NS_PER_MS);
    assert_true(answers(s));
}

void etcd_server_stop(struct etcd_server *s)
{
    if (s->pid > 0) {
        kill(s->pid, SIGKILL);
        assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
    }
    s->pid = 0;
}

void etcd_server_wipe(struct etcd_server *s)
{
    char command[96];
    etcd_server_stop(s);
    snprintf(command, sizeof command, "rm -rf %s/data", s->folder);
    assert_int_equal(system(command), 0);
}

void etcd_server_close(struct etcd_server *s)
{
    etcd_server_wipe(s);
    assert_int_equal(rmdir(s->folder), 0);
}
