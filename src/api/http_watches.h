/* The other things that a server's loop waits for: readable descriptors, signals, and a time. */
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
struct event_base *api_http_watches_base(void); /* of one thread, with precise timers */
/* Calls f(arg) when the time of wake_at has come. */
void api_http_watches_open(struct api_http_watches *watches, struct event_base *base,
                           void (*f)(void *arg), void *arg);
void api_http_watches_wake_at(struct api_http_watches *watches, int64_t at_ns);
/* Calls f(arg) whenever fd is readable; f must clear it. */
void api_http_watches_add(struct api_http_watches *watches, struct event_base *base, int fd,
                          void (*f)(void *arg), void *arg);
/* Calls f(arg) whenever the signal arrives. */
void api_http_watches_add_signal(struct api_http_watches *watches, struct event_base *base,
                                 int number, void (*f)(void *arg), void *arg);
/* Frees the watches. Their signals are ignored from then on. */
void api_http_watches_close(struct api_http_watches *watches);
