/* The CPU device: its lanes, its memory, and packing by a separate team, so that a load stops no
 * pass. */
#include "cpu/cpu.h"

#include "base/mem.h"
#include "compute/host.h"
#include "cpu/lane.h"
#include "cpu/pack.h"

struct cpu {
    struct compute_device face;
    struct cpu_kernels kernels;
    struct device_spec spec;
    struct cpu_lane lanes[LIMIT_LANES];
    struct cpu_lane *shares[LIMIT_LANES]; /* lanes but lane 0 */
    int n_shares, n_none;                 /* n_none: 0 */
    struct lock *pack_lock;
    struct team *packers; /* NULL until something is packed; they run as the first loader does */
};

static int64_t packed_bytes(void *self, const struct tensor *tensor)
{
    (void)self;
    return (int64_t)cpu_pack_bytes(tensor);
}

static enum status pack(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault)
{
    struct cpu *cpu = self;
    CHECK(at % 64 == 0 && at + (int64_t)cpu_pack_bytes(tensor) <= memory->n_bytes);
    lock_take(cpu->pack_lock);
    if (cpu->packers == NULL)
        cpu->packers = team_open(cpu->spec.n_cores, cpu->spec.cores, true);
    enum status status = cpu_pack(cpu->packers, tensor, memory->base + at, fault);
    lock_put(cpu->pack_lock);
    return status;
}

static enum status bind(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault)
{
    (void)self;
    (void)fault;
    CHECK(at % 64 == 0 && at + (int64_t)cpu_pack_bytes(tensor) <= memory->n_bytes);
    *out = cpu_pack_bind(tensor, memory->base + at);
    return STATUS_OK;
}

static void unbind(void *self, struct compute_weight *weight)
{
    (void)self;
    cpu_pack_unbind(weight);
}

static int64_t workspace_bytes(void *self, const struct compute_lane *lane,
                               const struct compute_program *program, struct compute_sizes sizes)
{
    (void)self;
    return cpu_lane_workspace_bytes((const struct cpu_lane *)lane, program, sizes);
}

static enum status workspace_open(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault)
{
    struct cpu_workspace *workspace = NULL;
    (void)self;
    enum status status =
        cpu_lane_workspace_open((struct cpu_lane *)lane, program, sizes, &workspace, fault);
    *out = status == STATUS_OK ? &workspace->face : NULL;
    return status;
}

static void workspace_close(void *self, struct compute_workspace *workspace)
{
    (void)self;
    cpu_lane_workspace_close((struct cpu_workspace *)workspace);
}

static void begin(void *self, struct compute_lane *lane, struct compute_work *work)
{
    (void)self;
    cpu_lane_begin((struct cpu_lane *)lane, work);
}

static enum compute_state poll(void *self, struct compute_work *work)
{
    (void)self;
    return (enum compute_state)atomic_load(&work->state);
}

static void masks(void *self, struct compute_pass *pass)
{
    struct cpu_workspace *workspace = (struct cpu_workspace *)pass->workspace;
    struct cpu_lane *lane = workspace->lane;
    (void)self;
    atomic_store(&pass->has_masks, true);
    wake_up(&lane->wake);
}

static void close_all(void *self)
{
    struct cpu *cpu = self;
    for (int i = 0; i < cpu->face.n_lanes; i++)
        cpu_lane_close(&cpu->lanes[i]);
    team_close(cpu->packers);
    lock_close(cpu->pack_lock);
    mem_give(cpu);
}

static void add_lane(struct cpu *cpu, const struct device_spec *cores)
{
    int index = cpu->face.n_lanes;
    CHECK(index < LIMIT_LANES);
    const struct cpu_lane_options options = { cores, &cpu->kernels, cpu->shares,
                                              index == 0 ? &cpu->n_shares : &cpu->n_none, index };
    cpu_lane_open(&cpu->lanes[index], &options);
    cpu->face.lanes[index] = &cpu->lanes[index].face;
    cpu->face.n_lanes++;
}

void cpu_add_lane(struct compute_device *device, const struct device_spec *part)
{
    struct cpu *cpu = device->self;
    add_lane(cpu, part);
    cpu->shares[cpu->n_shares++] = &cpu->lanes[cpu->face.n_lanes - 1];
}

struct compute_device *cpu_open(const struct device_spec *device, enum cpu_isa isa_max)
{
    CHECK(device->kind == DEVICE_CPU && device->n_cores > 0);
    enum cpu_isa best = cpu_isa_best();
    struct cpu *cpu = mem_take(sizeof(*cpu));
    cpu_isa_kernels(isa_max < best ? isa_max : best, &cpu->kernels);
    cpu->spec = *device;
    cpu->pack_lock = lock_open();
    cpu->face = (struct compute_device){
        .self = cpu,
        .name = cpu->kernels.name,
        .arithmetic =
            cpu->kernels.split != NULL ? COMPUTE_ARITHMETIC_CPU_TILES : COMPUTE_ARITHMETIC_CPU,
        .n_ranks = 1,
        .has_experts = true,
        .has_vectors = true,
        .has_adapters = true,
        .memory_open = compute_host_open,
        .memory_close = compute_host_close,
        .memory_back = compute_host_back,
        .memory_drop = compute_host_drop,
        .packed_bytes = packed_bytes,
        .pack = pack,
        .bind = bind,
        .unbind = unbind,
        .workspace_bytes = workspace_bytes,
        .workspace_open = workspace_open,
        .workspace_close = workspace_close,
        .begin = begin,
        .poll = poll,
        .masks = masks,
        .close = close_all,
    };
    add_lane(cpu, device);
    return &cpu->face;
}
