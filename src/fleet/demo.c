/* Starts etcd, two managers, three nodes and two gateways on the loopback, asks without pause, and
 * kills some of them. */
#include "fleet/demo.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "config/options.h"
#include "loadgen/client.h"
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANAGERS = 2, NODES = 3, GATEWAYS = 2, ROLES = MANAGERS + NODES + GATEWAYS, ASKERS = 4 };
enum { WORDS_MAX = 32, WORD_BYTES = 600, READY_S_MAX = 60, BODY_TOKENS = 300 };

struct role {
    const char *name;
    pid_t pid;
    int n_words;
    char words[WORDS_MAX][WORD_BYTES];
};
struct demo {
    char folder[64];
    struct role etcd, roles[ROLES];
    char listens[GATEWAYS][32];
    _Atomic bool is_over;
    _Atomic int n_whole, n_broken, n_different, n_asked;
    _Atomic int64_t worst_ns;
    struct str expected;
    int64_t begun_ns;
};
struct asker {
    struct demo *demo;
    int gateway;
};

static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
              getsockname(fd, (struct sockaddr *)&address, &n) == 0;
    if (fd >= 0)
        close(fd);
    return ok ? ntohs(address.sin_port) : 0;
}

static void tell(const struct demo *demo, const char *what)
{
    printf("%6.1f s  %s (answered %d)\n", (double)(time_now_ns() - demo->begun_ns) * 1e-9, what,
           atomic_load(&demo->n_whole));
    fflush(stdout);
}

/* ---- Processes. ---- */

static void add_word(struct role *role, const char *word)
{
    CHECK(role->n_words < WORDS_MAX - 1);
    snprintf(role->words[role->n_words++], WORD_BYTES, "%s", word);
}

static void add_words(struct role *role, const char *key, const char *value)
{
    add_word(role, key);
    add_word(role, value);
}

static void start(const struct demo *demo, struct role *role)
{
    char *words[WORDS_MAX], log[128];
    for (int i = 0; i < role->n_words; i++)
        words[i] = role->words[i];
    words[role->n_words] = NULL;
    snprintf(log, sizeof log, "%s/%s.log", demo->folder, role->name);
    fflush(NULL);
    role->pid = fork();
    if (role->pid != 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (freopen(log, "a", stdout) != NULL && freopen(log, "a", stderr) != NULL) {
        bool is_etcd = strcmp(role->words[0], "etcd") == 0;
        (void)(is_etcd ? execvp(words[0], words) : execv("/proc/self/exe", words));
    }
    _exit(127);
}

static void end(struct role *role)
{
    if (role->pid > 0 && kill(role->pid, SIGKILL) == 0)
        (void)waitpid(role->pid, NULL, 0);
    role->pid = 0;
}

static void describe_etcd(struct demo *demo, const char *client)
{
    char peer[64], text[160];
    struct role *role = &demo->etcd;
    snprintf(peer, sizeof peer, "http://127.0.0.1:%d", free_port());
    role->name = "etcd";
    add_word(role, "etcd");
    add_words(role, "--name", "demo");
    snprintf(text, sizeof text, "%s/etcd", demo->folder);
    add_words(role, "--data-dir", text);
    add_words(role, "--listen-client-urls", client);
    add_words(role, "--advertise-client-urls", client);
    add_words(role, "--listen-peer-urls", peer);
    add_words(role, "--initial-advertise-peer-urls", peer);
    snprintf(text, sizeof text, "demo=%s", peer);
    add_words(role, "--initial-cluster", text);
    add_words(role, "--log-level", "error");
    add_words(role, "--logger", "zap");
    add_words(role, "--experimental-watch-progress-notify-interval", "1s");
}

static void describe(struct demo *demo, struct role *role, const char *verb, const char *name,
                     const char *store, const char *model)
{
    char text[128];
    role->name = name;
    add_word(role, "shoal");
    add_word(role, verb);
    add_words(role, "--store", store);
    add_words(role, "--model", model);
    snprintf(text, sizeof text, "127.0.0.1:%d", free_port());
    add_words(role, "--listen", text);
    if (strcmp(verb, "gateway") == 0)
        return;
    snprintf(text, sizeof text, "%s/%s", demo->folder, name);
    add_words(role, "--state-dir", text);
}

static void describe_all(struct demo *demo, const char *models)
{
    static const char *const names[ROLES] = { "manager-1", "manager-2", "node-1",   "node-2",
                                              "node-3",    "gateway-1", "gateway-2" };
    static const char *const verbs[ROLES] = { "manager", "manager", "node",   "node",
                                              "node",    "gateway", "gateway" };
    char store[64], model[WORD_BYTES], text[64];
    snprintf(store, sizeof store, "http://127.0.0.1:%d", free_port());
    snprintf(model, sizeof model, "tale=%.500s/tale.gguf", models);
    describe_etcd(demo, store);
    for (int i = 0; i < ROLES; i++) {
        struct role *role = &demo->roles[i];
        describe(demo, role, verbs[i], names[i], store, model);
        if (strcmp(verbs[i], "node") == 0) {
            snprintf(text, sizeof text, "127.0.0.1:%d", free_port());
            add_words(role, "--bus-listen", text);
            add_words(role, "--devices", "cpu:0");
            add_words(role, "--memory", "256MiB");
        } else if (strcmp(verbs[i], "gateway") == 0) {
            snprintf(demo->listens[i - MANAGERS - NODES], sizeof demo->listens[0], "%s",
                     role->words[7]);
        }
    }
}

/* ---- Asking. ---- */

/* Returns the text of an answer; NULL: there is none. */
static char *ask(const struct demo *demo, int gateway)
{
    char body[256];
    struct fault fault;
    struct str answer;
    int status = 0;
    char *text = NULL;
    const struct client_options client = { demo->listens[gateway], NULL };
    snprintf(body, sizeof body,
             "{\"model\":\"tale\",\"prompt\":\"And it came to pass\",\"max_tokens\":%d,"
             "\"temperature\":0.7,\"seed\":7,\"ignore_eos\":true}",
             (int)BODY_TOKENS);
    str_init(&answer);
    if (client_call(&client, "/v1/completions", body, &status, &answer, &fault) == STATUS_OK &&
        status == 200) {
        json_t *root = json_loads(answer.at, 0, NULL);
        const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
        const char *found = json_string_value(json_object_get(choice, "text"));
        text = found != NULL ? mem_copy_text(found) : NULL;
        json_decref(root);
    }
    str_free(&answer);
    return text;
}

static void ask_on(void *self)
{
    struct asker *asker = self;
    struct demo *demo = asker->demo;
    while (!atomic_load(&demo->is_over)) {
        int64_t begin_ns = time_now_ns();
        char *text = ask(demo, asker->gateway);
        int64_t took_ns = time_now_ns() - begin_ns, worst = atomic_load(&demo->worst_ns);
        while (took_ns > worst && !atomic_compare_exchange_weak(&demo->worst_ns, &worst, took_ns)) {
        }
        if (text == NULL) {
            atomic_fetch_add(&demo->n_broken, 1);
            time_sleep_ns(100 * TIME_NS_PER_MS);
        } else {
            atomic_fetch_add(&demo->n_whole, 1);
            atomic_fetch_add(&demo->n_different, strcmp(text, demo->expected.at) != 0);
        }
        mem_give(text);
    }
}

/* ---- The story. ---- */

/* Waits for the first answer, with which the others are compared. */
static bool wait_ready(struct demo *demo)
{
    for (int i = 0; i < READY_S_MAX * 10; i++) {
        char *text = ask(demo, 0);
        if (text != NULL)
            str_add_text(&demo->expected, text);
        mem_give(text);
        if (text != NULL)
            return true;
        if (waitpid(demo->etcd.pid, NULL, WNOHANG) != 0) {
            demo->etcd.pid = 0;
            fprintf(stderr,
                    "shoal: etcd did not start: install it (Debian: etcd-server); its log "
                    "is in %s\n",
                    demo->folder);
            return false;
        }
        time_sleep_ns(100 * TIME_NS_PER_MS);
    }
    fprintf(stderr, "shoal: the cluster did not become ready; its logs are in %s\n", demo->folder);
    return false;
}

static void pass(double seconds)
{
    time_sleep_ns((int64_t)(seconds * 1e9));
}

static void break_things(struct demo *demo)
{
    struct role *node = &demo->roles[MANAGERS], *manager = &demo->roles[0];
    pass(3);
    end(node);
    tell(demo, "killed node-1: its requests go on at other nodes");
    pass(3);
    start(demo, node);
    tell(demo, "started node-1 again: it joins by itself");
    pass(3);
    end(manager);
    tell(demo,
         "killed manager-1: manager-2 leads when the lease of 5 s ends, if it did not before");
    pass(8);
    start(demo, manager);
    tell(demo, "started manager-1 again: it follows");
    kill(node[1].pid, SIGSTOP);
    tell(demo, "stopped node-2 (SIGSTOP): its sessions end after 3 s of silence");
    pass(6);
    kill(node[1].pid, SIGCONT);
    tell(demo, "node-2 goes on");
    pass(2);
    end(&demo->etcd);
    tell(demo, "killed etcd: serving does not need it");
    pass(6);
    start(demo, &demo->etcd);
    tell(demo, "started etcd again");
    pass(6);
}

static int report(struct demo *demo)
{
    int n_whole = atomic_load(&demo->n_whole), n_broken = atomic_load(&demo->n_broken),
        n_different = atomic_load(&demo->n_different);
    printf("\n%d answers, %d of them different, %d requests lost; the longest took %.1f s\n",
           n_whole, n_different, n_broken, (double)atomic_load(&demo->worst_ns) * 1e-9);
    return n_whole > 0 && n_broken == 0 && n_different == 0 ? 0 : 1;
}

static int run(struct demo *demo, const char *models)
{
    struct thread *threads[ASKERS];
    struct asker askers[ASKERS];
    demo->begun_ns = time_now_ns();
    describe_all(demo, models);
    start(demo, &demo->etcd);
    for (int i = 0; i < ROLES; i++)
        start(demo, &demo->roles[i]);
    if (!wait_ready(demo))
        return 1;
    tell(demo, "etcd, 2 managers, 3 nodes and 2 gateways are ready");
    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){ demo, i % GATEWAYS };
        threads[i] = thread_start("ask", ask_on, &askers[i]);
    }
    break_things(demo);
    atomic_store(&demo->is_over, true);
    for (int i = 0; i < ASKERS; i++)
        thread_join(threads[i]);
    return report(demo);
}

static void remove_folder(const char *folder)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", folder, (char *)NULL);
        _exit(127);
    }
    if (child > 0)
        (void)waitpid(child, NULL, 0);
}

int fleet_demo_run(int argc, char **argv)
{
    static char name[] = "shoal cluster demo";
    const char *models = "models", *plain[1];
    const struct options_extra extras[] = { { "models", "the folder of tale.gguf", &models,
                                              true } };
    const struct options_verb verb = { .doc = "Starts a cluster on this machine's loopback, kills "
                                              "parts of it while it answers, and prints what "
                                              "happens. It needs etcd (Debian: etcd-server).",
                                       .arguments = "",
                                       .extras = extras,
                                       .n_extras = COUNT_OF(extras) };
    int n_plain;
    argv[0] = name;
    if (!config_options_parse(&verb, argc, argv, NULL, plain, &n_plain))
        return 2;
    struct demo *demo = mem_take(sizeof *demo);
    snprintf(demo->folder, sizeof demo->folder, "/tmp/shoal-demo-XXXXXX");
    if (mkdtemp(demo->folder) == NULL) {
        fprintf(stderr, "shoal: %s: %s\n", demo->folder, strerror(errno));
        mem_give(demo);
        return 1;
    }
    str_init(&demo->expected);
    int code = run(demo, models);
    for (int i = 0; i < ROLES; i++)
        end(&demo->roles[i]);
    end(&demo->etcd);
    if (code == 0)
        remove_folder(demo->folder);
    str_free(&demo->expected);
    mem_give(demo);
    return code;
}
