/* A render makes the context, runs the statements and gives everything back. */
#include "template/chat_template.h"

#include "base/mem.h"
#include "template/chat_context.h"
#include "template/jinja_exec.h"
#include <jansson.h>

enum status chat_template_run(const struct chat_template *t, const struct chat_options *options,
                              const void *kwargs, int64_t steps_max, struct str *out,
                              struct fault *fault)
{
    size_t n_before = out->n;
    struct jinja_run run = { .out = out, .line = 1, .steps_max = steps_max, .time = t->time };
    struct str own;
    str_init(&own);
    run.out = &own;
    chat_context_make(&run, t, options, kwargs);
    if (!jinja_failed(&run))
        jinja_exec_template(&run, t->body, &t->root);
    if (!jinja_failed(&run))
        str_add(out, own.at, own.n);
    else
        (void)fault_set(fault, run.status, "%s", run.fault.text);
    CHECK(!jinja_failed(&run) || out->n == n_before);
    str_free(&own);
    pile_free(&run.pile);
    return run.status;
}
