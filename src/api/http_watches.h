/* What else a server's loop waits for: descriptors that become readable, signals, and a time. */
#pragma once
#include "base/base.h"

struct event;
struct event_base;

enum { HTTP_WATCHES_MAX = 8 };
struct api_http_watch { /* private */
    struct event *event;
    void (*f)(void *arg);
    void *arg;
    int signal; /* 0: a descriptor is watched */
};
struct api_http_watches {
    struct api_http_watch timer;
    int n;
    struct api_http_watch of[HTTP_WATCHES_MAX];
};
struct event_base *api_http_watches_base(void); /* of one thread, with exact timers */
/* f(arg) when the time of wake_at has come. */
void api_http_watches_open(struct api_http_watches *watches, struct event_base *base,
                           void (*f)(void *arg), void *arg);
void api_http_watches_wake_at(struct api_http_watches *watches, int64_t at_ns);
/* f(arg) whenever fd is readable; whoever is called clears it. */
void api_http_watches_add(struct api_http_watches *watches, struct event_base *base, int fd,
                          void (*f)(void *arg), void *arg);
/* f(arg) whenever the signal comes. */
void api_http_watches_add_signal(struct api_http_watches *watches, struct event_base *base,
                                 int number, void (*f)(void *arg), void *arg);
/* The signals are ignored from then on. */
void api_http_watches_close(struct api_http_watches *watches);
