/* Watches of descriptors, signals and the time, as events of libevent. */
#include "api/http_watches.h"
#include "base/mem.h"
#include "base/time.h"
#include <event2/event.h>
#include <signal.h>

struct event_base *api_http_watches_base(void)
{
    event_set_mem_functions(mem_library_take, mem_library_grow, mem_library_give);
    struct event_config *config = event_config_new();
    mem_need(config != NULL);
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    if (base == NULL)
        base_refuse(
            "the system gives no descriptor to wait for events with (ulimit -n), or no memory");
    return base;
}

static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct api_http_watch *watch = arg;
    watch->f(watch->arg);
}

/* Returns the next watch, which still needs its event. */
static struct api_http_watch *take(struct api_http_watches *watches, void (*f)(void *arg),
                                   void *arg)
{
    CHECK(watches->n < HTTP_WATCHES_MAX);
    struct api_http_watch *watch = &watches->of[watches->n++];
    *watch = (struct api_http_watch){ .f = f, .arg = arg };
    return watch;
}

static void start(struct api_http_watch *watch, struct event_base *base, int number, short what)
{
    watch->event = event_new(base, number, what | EV_PERSIST, on_watch, watch);
    if (watch->event == NULL || event_add(watch->event, NULL) != 0)
        base_refuse(
            "the system watches no more descriptors or signals (ulimit -n), or has no memory");
}

void api_http_watches_open(struct api_http_watches *watches, struct event_base *base,
                           void (*f)(void *arg), void *arg)
{
    watches->timer = (struct api_http_watch){ .f = f, .arg = arg };
    watches->timer.event = event_new(base, -1, 0, on_watch, &watches->timer);
    mem_need(watches->timer.event != NULL);
}

void api_http_watches_wake_at(struct api_http_watches *watches, int64_t at_ns)
{
    if (at_ns == TIME_NEVER) {
        event_del(watches->timer.event);
        return;
    }
    int64_t span_ns = max_i64(at_ns - time_now_ns(), 0);
    struct timeval span = { .tv_sec = span_ns / TIME_NS_PER_S,
                            .tv_usec = span_ns % TIME_NS_PER_S / 1000 };
    event_add(watches->timer.event, &span);
}

void api_http_watches_add(struct api_http_watches *watches, struct event_base *base, int fd,
                          void (*f)(void *arg), void *arg)
{
    start(take(watches, f, arg), base, fd, EV_READ);
}

void api_http_watches_add_signal(struct api_http_watches *watches, struct event_base *base,
                                 int number, void (*f)(void *arg), void *arg)
{
    struct api_http_watch *watch = take(watches, f, arg);
    watch->signal = number;
    start(watch, base, number, EV_SIGNAL);
}

void api_http_watches_close(struct api_http_watches *watches)
{
    for (int i = 0; i < watches->n; i++) {
        event_free(watches->of[i].event);
        if (watches->of[i].signal != 0) /* a signal that is sent again during the close */
            signal(watches->of[i].signal, SIG_IGN);
    }
    watches->n = 0;
    event_free(watches->timer.event);
}
