/* Makes, maps and closes the memory between an engine's process and its parent. */
#include "process/channel.h"

#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x31656e69676e6573) /* "sengine1" */

static uint64_t head_bytes(void)
{
    return align_up_u64(sizeof(struct process_channel_head), 64);
}

/* Sets the pointers. The sizes were checked, or are the parent's own. */
static void place(struct process_channel *c, void *map, size_t options_bytes)
{
    unsigned char *at = map;
    c->head = map;
    c->options = at + head_bytes();
    at += head_bytes() + align_up_u64(options_bytes, 64);
    c->down = (void *)at;
    at += align_up_u64(ring_bytes(c->down_bytes), 64);
    c->up = (void *)at;
    c->events = (void *)(at + align_up_u64(ring_bytes(c->up_bytes), 64));
}

static uint64_t all_bytes(const struct process_channel *c, uint64_t options_bytes)
{
    return head_bytes() + align_up_u64(options_bytes, 64) +
           align_up_u64(ring_bytes(c->down_bytes), 64) + align_up_u64(ring_bytes(c->up_bytes), 64) +
           align_up_u64(ring_bytes(c->events_bytes), 64);
}

enum status process_channel_open(struct process_channel *c, size_t options_bytes,
                                 uint64_t down_bytes, uint64_t up_bytes, uint64_t events_bytes,
                                 struct fault *fault)
{
    int sockets[2];
    *c = (struct process_channel){
        .down_bytes = down_bytes, .up_bytes = up_bytes, .events_bytes = events_bytes, .socket = -1
    };
    c->n_bytes = all_bytes(c, options_bytes);
    c->fd = memfd_create("shoal-engine", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool is_made = c->fd >= 0 && ftruncate(c->fd, (off_t)c->n_bytes) == 0 &&
                   fcntl(c->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    void *map =
        is_made ? mmap(NULL, c->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        int error = errno;
        if (map != MAP_FAILED)
            (void)munmap(map, c->n_bytes);
        if (c->fd >= 0)
            close(c->fd);
        *c = (struct process_channel){ .fd = -1 };
        return fault_set(fault, STATUS_IO, "can't share memory with a process: %s",
                         strerror(error));
    }
    place(c, map, options_bytes);
    c->socket = sockets[0];
    c->child_socket = sockets[1];
    ring_init(c->down, down_bytes);
    ring_init(c->up, up_bytes);
    ring_init(c->events, events_bytes);
    c->head->options_bytes = options_bytes;
    c->head->down_bytes = down_bytes;
    c->head->up_bytes = up_bytes;
    c->head->events_bytes = events_bytes;
    c->head->magic = MAGIC;
    wake_open(&c->down_wake);
    wake_open(&c->up_wake);
    return STATUS_OK;
}

enum status process_channel_join(struct process_channel *c, int fd, struct fault *fault)
{
    struct stat file;
    *c = (struct process_channel){ .fd = fd };
    size_t n = 0;
    void *map = MAP_FAILED;
    if (fstat(fd, &file) == 0 && (size_t)file.st_size > head_bytes()) {
        n = (size_t)file.st_size;
        map = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    const struct process_channel_head *head = map;
    bool is_ours = map != MAP_FAILED && head->magic == MAGIC;
    if (is_ours) {
        c->down_bytes = head->down_bytes;
        c->up_bytes = head->up_bytes;
        c->events_bytes = head->events_bytes;
    }
    if (!is_ours || all_bytes(c, head->options_bytes) != n)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "this verb is for shoal itself, which starts its engines with it");
    c->n_bytes = n;
    place(c, map, head->options_bytes);
    c->down_wake.fd = fd + 1;
    c->up_wake.fd = fd + 2;
    c->socket = fd + 3;
    c->child_socket = -1;
    return STATUS_OK;
}

void process_channel_close(struct process_channel *c)
{
    if (c->head == NULL)
        return;
    CHECK(munmap(c->head, c->n_bytes) == 0);
    wake_close(&c->down_wake);
    wake_close(&c->up_wake);
    close(c->fd);
    if (c->socket >= 0)
        close(c->socket);
    if (c->child_socket >= 0)
        close(c->child_socket);
    *c = (struct process_channel){ .fd = -1, .socket = -1, .child_socket = -1 };
}

/* ---- Descriptors. ---- */

union room { /* for one descriptor, aligned as the system wants it */
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr head;
};

bool process_channel_send_fd(struct process_channel *c, int fd, uint64_t tag)
{
    union room room = { { 0 } };
    struct iovec data = { &tag, sizeof tag };
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(c->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof tag;
}

int process_channel_take_fd(struct process_channel *c, uint64_t *tag)
{
    union room room = { { 0 } };
    struct iovec data = { tag, sizeof *tag };
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room
    };
    int fd = -1;
    if (recvmsg(c->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *tag)
        return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}
