/* The CPU backend's face: opens a team on a device's cores and hands passes to it. */
#include "cpu/cpu.h"

#include "base/mem.h"
#include "cpu/pass.h"
#include <stdio.h>
#include <string.h>

struct cpu {
    struct compute_backend face;
    struct cpu_kernels kernels;
    struct team *team;
    struct cpu_store *store;
};

static enum status backend_pack(void *self, const struct tensor *tensor,
                                struct compute_weight **out, struct fault *fault)
{
    struct cpu *cpu = self;
    return cpu_pack(cpu->team, cpu->store, tensor, out, fault);
}

static void backend_unpack(void *self, struct compute_weight *weight)
{
    (void)self;
    cpu_pack_free(weight);
}

static size_t backend_weight_bytes(void *self, const struct compute_weight *weight)
{
    (void)self;
    return weight->n_bytes;
}

static size_t backend_packed_bytes(void *self, const struct tensor *tensor)
{
    (void)self;
    return cpu_pack_bytes(tensor);
}

static size_t backend_workspace_bytes(void *self, const struct compute_program *program,
                                      int32_t n_rows_max, int32_t n_logit_rows_max)
{
    struct cpu *cpu = self;
    struct cpu_layout layout;
    cpu_pass_layout(program, team_size(cpu->team), n_rows_max, n_logit_rows_max, &cpu->kernels,
                    &layout);
    return layout.n_bytes;
}

static void backend_run(void *self, const struct compute_program *program,
                        const struct compute_pass *pass, void *workspace)
{
    struct cpu *cpu = self;
    struct cpu_pass p = { .kernels = &cpu->kernels,
                          .program = program,
                          .pass = pass,
                          .team = cpu->team,
                          .workspace = workspace };
    cpu_pass_layout(program, team_size(cpu->team), pass->n_rows, pass->n_logit_rows, &cpu->kernels,
                    &p.layout);
    memset(p.workspace + p.layout.counters, 0,
           p.layout.n_counters * sizeof(int32_t) * (size_t)team_size(cpu->team));
    cpu_attention_reset(&p);
    team_run(cpu->team, cpu_pass_work, &p);
}

static void backend_share(void *self, void (*work)(void *arg, int rank, int n), void *arg)
{
    struct cpu *cpu = self;
    team_run(cpu->team, work, arg);
}

static void backend_close(void *self)
{
    struct cpu *cpu = self;
    team_close(cpu->team);
    cpu_store_close(cpu->store);
    mem_give(cpu);
}

struct compute_backend *cpu_open(const struct device_spec *device, enum cpu_isa isa_max)
{
    CHECK(device->kind == DEVICE_CPU && device->n_cores > 0);
    enum cpu_isa best = cpu_isa_best();
    struct cpu *cpu = mem_take(sizeof(*cpu));
    cpu_isa_kernels(isa_max < best ? isa_max : best, &cpu->kernels);
    cpu->team = team_open(device->n_cores, device->cores, true);
    cpu->store = cpu_store_open();
    team_let_shrink(cpu->team); /* no sum depends on how many share the work */
    cpu->face = (struct compute_backend){
        .self = cpu,
        .name = cpu->kernels.name,
        .arithmetic =
            cpu->kernels.split != NULL ? COMPUTE_ARITHMETIC_CPU_TILES : COMPUTE_ARITHMETIC_CPU,
        .pack = backend_pack,
        .unpack = backend_unpack,
        .weight_bytes = backend_weight_bytes,
        .packed_bytes = backend_packed_bytes,
        .workspace_bytes = backend_workspace_bytes,
        .run = backend_run,
        .n_members = team_size(cpu->team),
        .share = backend_share,
        .draw = cpu->kernels.draw,
        .close = backend_close,
    };
    return &cpu->face;
}
