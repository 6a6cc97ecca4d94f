/* The loader's thread of a unit: it reads a model's header, then its weights. */
#include "run/unit_loader.h"

#include "base/time.h"
#include "run/profile.h"
#include "run/guides.h"
#include "run/unit_device.h"
#include "run/unit_state.h"
#include "text/tokenizer.h"
#include <unistd.h>

/* Returns whether keys, values and vectors of texts have the same sizes. */
static bool is_of_same_sizes(const struct model_spec *a, const struct model_spec *b)
{
    return a->n_layers == b->n_layers && a->n_kv_heads == b->n_kv_heads &&
           a->head_dim == b->head_dim && a->is_encoder == b->is_encoder &&
           a->kv_groups[0].has_keys_only == b->kv_groups[0].has_keys_only &&
           model_spec_vector(a) == model_spec_vector(b);
}

/* Checks the spec. Blocks are cut and prompts are tokenized for the model that the file held at
 * start. Another model would write past its blocks or vectors, and look up tokens that it does not
 * have. */
static enum status check_spec(const struct run_unit *unit, const struct run_unit_job *job,
                              struct fault *fault)
{
    const struct run_unit_service *s = &unit->services[job->service];
    const struct model_spec *now = weights_spec(job->weights), *then = s->spec;
    if (!then || (is_of_same_sizes(now, then) && now->n_vocabulary == then->n_vocabulary &&
                  now->n_positions_max == then->n_positions_max))
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%.150s holds another model than at the start: restart the server to use it",
                     s->path);
}

static enum status load_header(struct run_unit *unit, struct run_unit_job *job)
{
    const struct run_unit_service *s = &unit->services[job->service];
    if (s->is_asleep) { /* all is known, and the file is not read again */
        job->weights_bytes = s->model.weights_bytes;
        job->adapters_bytes = run_adapters_bytes(s->model.adapters);
        job->activation_bytes = s->activation_bytes;
        return STATUS_OK;
    }
    enum status status =
        weights_open(&job->weights, unit->services[job->service].path, &job->fault);
    if (status == STATUS_OK)
        status = check_spec(unit, job, &job->fault);
    if (status != STATUS_OK)
        return status;
    job->weights_bytes = run_model_packed_bytes(job->weights, unit->options.device);
    if (s->adapters != NULL && s->adapters->n > 0)
        status = run_adapters_open(&job->adapters, s->adapters, job->weights, unit->options.device,
                                   &job->fault);
    if (status != STATUS_OK)
        return status;
    job->adapters_bytes = run_adapters_bytes(job->adapters);
    job->activation_bytes = run_model_adapted_peak_bytes(
        job->weights, job->adapters, unit->options.device,
        (struct compute_sizes){ unit->options.n_rows_max, unit->options.n_logit_rows_max });
    return STATUS_OK;
}

/* Maps the weights that another process packed from the same file. */
static enum status borrow(struct run_unit *unit, struct run_unit_job *job)
{
    const struct run_unit_lender *lender = &unit->options.lender;
    struct compute_device *device = unit->options.device;
    struct run_unit_lent lent;
    enum status status = lender->lend(lender->self, job->service, job->weights_bytes,
                                      &unit->progress, &lent, &job->fault);
    if (status != STATUS_OK)
        return status;
    const struct compute_memory_options options = {
        .n_bytes = job->weights_bytes, .has_fd = true, .is_readonly = true, .fd = lent.fd
    };
    if (lent.file_hash != weights_hash(job->weights))
        status = fault_set(&job->fault, STATUS_IO, "the file changed while it was read");
    if (status == STATUS_OK)
        status = device->memory_open(device->self, &options, &unit->services[job->service].lent,
                                     &job->fault);
    close(lent.fd);
    return status;
}

/* Opens the tokenizer that guides the model's requests, and prepares its vocabulary here, so that
 * the owner's thread does not wait for it. */
static enum status open_tokenizer(struct run_unit *unit, struct run_unit_service *s,
                                  const struct weights *weights, struct fault *fault)
{
    if (unit->options.open_tokenizer == NULL)
        return STATUS_OK;
    enum status status =
        unit->options.open_tokenizer(&s->own_tokenizer, weights_card(weights), fault);
    if (status == STATUS_OK)
        run_guides_prepare_vocabulary(unit->options.grammars, s->own_tokenizer,
                                      weights_spec(weights)->n_vocabulary);
    return status;
}

static void close_tokenizer(struct run_unit *unit, struct run_unit_service *s)
{
    if (s->own_tokenizer == NULL)
        return;
    grammar_cache_forget(unit->options.grammars, s->own_tokenizer);
    tokenizer_close(s->own_tokenizer);
    if (s->tokenizer == s->own_tokenizer)
        s->tokenizer = NULL;
    s->own_tokenizer = NULL;
}

void run_unit_loader_close(struct run_unit *unit, struct run_unit_service *s)
{
    struct compute_device *device = unit->options.device;
    if (s->model.weights != NULL)
        run_model_close(&s->model);
    if (s->lent != NULL)
        device->memory_close(device->self, s->lent);
    s->lent = NULL;
    close_tokenizer(unit, s);
}

void run_unit_loader_end_sleep(struct run_unit *unit, struct run_unit_service *s)
{
    if (s->is_asleep)
        run_unit_loader_close(unit, s);
    s->is_asleep = false;
    s->sleep_bytes = 0;
}

/* Moves the weights of the model that is to sleep. */
static void put_to_sleep(struct run_unit *unit)
{
    struct run_unit_nap *nap = &unit->nap;
    nap->status = run_model_sleep(&unit->services[nap->service].model, &nap->fault);
    atomic_store(&nap->phase, NAP_OVER);
    wake_up(&unit->loader_wake);
}

static enum status load_weights(struct run_unit *unit, struct run_unit_job *job)
{
    struct run_unit_service *s = &unit->services[job->service];
    int64_t begun_ns = time_now_ns();
    if (s->is_asleep) {
        job->perf = s->loaded_perf;
        enum status woken = run_model_wake(&s->model, &unit->progress, &job->fault);
        job->copy_ns = time_now_ns() - begun_ns;
        return woken;
    }
    bool is_lent = unit->options.lender.lend != NULL;
    enum status status = is_lent ? borrow(unit, job) : STATUS_OK;
    struct weights *weights = job->weights;
    struct run_adapters *adapters = job->adapters;
    if (status == STATUS_OK)
        status = open_tokenizer(unit, s, weights, &job->fault);
    if (status != STATUS_OK) {
        run_unit_loader_close(unit, s);
        return status; /* the owner closes what the job has */
    }
    job->weights = NULL;
    job->adapters = NULL;
    const struct run_model_options options = { .device = unit->options.device,
                                               .kv_dtype = s->kv_dtype,
                                               .memory = s->lent,
                                               .is_packed = is_lent,
                                               .progress = &unit->progress,
                                               .adapters = adapters };
    status = run_model_open(job->model, weights, &options, &job->fault);
    if (status != STATUS_OK) {
        run_unit_loader_close(unit, s);
        return status;
    }
    job->copy_ns = time_now_ns() - begun_ns;
    if (s->has_perf) {
        job->perf = s->perf;
        return STATUS_OK;
    }
    const struct run_profile_options profile = {
        .budget_ns = unit->options.profile_ns,
        .n_rows_max = min_i32(unit->options.n_rows_max, 256),
        .n_decodes_max = min_i32(unit->options.n_logit_rows_max, 32),
        /* Booked for the batches of a model that has none so far. */
        .bytes_max = job->activation_bytes,
    };
    run_profile(job->model, &profile, &job->perf);
    return STATUS_OK;
}

void run_unit_loader(void *arg)
{
    struct run_unit *unit = arg;
    struct run_unit_job *job = &unit->job;
    struct pace pace;
    thread_give_way(); /* requests take precedence over a load */
    pace_begin(&pace, unit->name);
    while (!atomic_load(&unit->is_closing)) {
        wake_wait(&unit->job_wake, -1);
        wake_clear(&unit->job_wake);
        if (atomic_load(&unit->nap.phase) == NAP_WANTED)
            put_to_sleep(unit);
        int phase = atomic_load(&job->phase);
        if (phase != JOB_WANT_OPEN && phase != JOB_WANT_PACK && phase != JOB_WANT_DEVICE)
            continue;
        (void)pace_due(&pace, job->said_ns, "began a load later than told by");
        if (phase == JOB_WANT_DEVICE) {
            bool is_open = run_unit_device_reopen(unit, &job->fault) == STATUS_OK;
            atomic_store(&job->phase, is_open ? JOB_HAVE_DEVICE : JOB_NO_DEVICE);
            wake_up(&unit->loader_wake);
            continue;
        }
        job->status = phase == JOB_WANT_OPEN ? load_header(unit, job) : load_weights(unit, job);
        job->said_ns = time_now_ns();
        int done = phase == JOB_WANT_OPEN ? JOB_HAVE_OPEN : JOB_HAVE_PACK;
        atomic_store(&job->phase, job->status == STATUS_OK ? done : JOB_FAILED);
        wake_up(&unit->loader_wake);
    }
}
