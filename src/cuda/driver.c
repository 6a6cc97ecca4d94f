/* One GPU by the CUDA driver API: see driver.h. Built only into the plug-in. */
#include "cuda/driver.h"

#include "base/mem.h"
#include <cuda.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

enum { UNITS_MAX = 256 };

struct cuda_driver {
    CUdevice device;
    CUcontext context;
    struct cuda_driver_info info;
    _Atomic bool is_lost;
    bool is_split;
    CUdevResource units[UNITS_MAX]; /* of the one split */
};
struct cuda_partition {
    CUgreenCtx context;
};

static CUstream stream_of(struct cuda_stream *stream)
{
    return (CUstream)(void *)stream;
}

static CUevent event_of(struct cuda_event *event)
{
    return (CUevent)(void *)event;
}

static CUdeviceptr address_of(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

/* Returns whether the call went well. An error that ends the context for good is remembered. */
static bool is_well(struct cuda_driver *driver, CUresult result)
{
    if (result == CUDA_SUCCESS)
        return true;
    bool is_of_capture = result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
                         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (result != CUDA_ERROR_OUT_OF_MEMORY && result != CUDA_ERROR_INVALID_VALUE &&
        result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED && result != CUDA_ERROR_NOT_SUPPORTED &&
        !is_of_capture)
        atomic_store(&driver->is_lost, true);
    return false;
}

static enum status refuse(struct fault *fault, const char *what, CUresult result)
{
    const char *text = NULL;
    (void)cuGetErrorString(result, &text);
    return fault_set(fault, STATUS_UNSUPPORTED, "%s: %s", what,
                     text != NULL ? text : "an error without a name");
}

static CUmemAllocationProp memory_kind(const struct cuda_driver *driver)
{
    return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                .id = driver->device } };
}

static int attribute(CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    (void)cuDeviceGetAttribute(&value, which, device);
    return value;
}

/* Sets what is known of a GPU that is not open. */
static CUresult look(CUdevice device, struct cuda_driver_info *info)
{
    size_t n_all = 0;
    CUresult result = cuDeviceGetName(info->name, (int)sizeof(info->name), device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetPCIBusId(info->bus, (int)sizeof(info->bus), device);
    if (result == CUDA_SUCCESS)
        result = cuDeviceTotalMem(&n_all, device);
    info->major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    info->minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    info->n_processors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->memory_bytes = (int64_t)n_all;
    return result;
}

/* Old drivers divide no GPU. */
static void describe_units(struct cuda_driver *driver)
{
    struct cuda_driver_info *info = &driver->info;
    CUdevResource all;
    if (cuDeviceGetDevResource(driver->device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS)
        return;
    int32_t unit = (int32_t)all.sm.minSmPartitionSize;
    if (unit < 1)
        unit = info->major >= 9 ? 8 : 2;
    unsigned n = 0;
    if (cuDevSmResourceSplitByCount(NULL, &n, &all, NULL, 0, (unsigned)unit) != CUDA_SUCCESS)
        return;
    info->unit_processors = unit;
    info->n_units = min_i32((int32_t)n, UNITS_MAX);
}

static CUresult describe(struct cuda_driver *driver)
{
    struct cuda_driver_info *info = &driver->info;
    CUmemAllocationProp kind = memory_kind(driver);
    size_t granule = 0, n_free = 0, n_all = 0;
    CUresult result = look(driver->device, info);
    if (result == CUDA_SUCCESS)
        result =
            cuMemGetAllocationGranularity(&granule, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (result == CUDA_SUCCESS)
        result = cuMemGetInfo(&n_free, &n_all);
    info->memory_bytes = (int64_t)n_all;
    info->context_bytes = (int64_t)(n_all - n_free);
    info->granule_bytes = (int64_t)granule;
    describe_units(driver);
    return result;
}

static enum status count(int *n, struct fault *fault)
{
    *n = 0;
    CUresult result = cuInit(0);
    if (result != CUDA_SUCCESS)
        return refuse(fault, "the CUDA driver does not start", result);
    result = cuDeviceGetCount(n);
    if (result != CUDA_SUCCESS)
        return refuse(fault, "the CUDA driver counts no GPUs", result);
    return *n > 0 ? STATUS_OK : fault_set(fault, STATUS_UNSUPPORTED, "this machine has no GPU");
}

int32_t cuda_driver_count(struct fault *fault)
{
    int n;
    return count(&n, fault) == STATUS_OK ? n : 0;
}

bool cuda_driver_look(int32_t index, struct cuda_driver_info *info)
{
    CUdevice device;
    *info = (struct cuda_driver_info){ .name = "" };
    return cuDeviceGet(&device, index) == CUDA_SUCCESS && look(device, info) == CUDA_SUCCESS;
}

static enum status open_device(struct cuda_driver *driver, int32_t index, struct fault *fault)
{
    int n = 0;
    CUresult result;
    enum status status = count(&n, fault);
    if (status != STATUS_OK)
        return status;
    if (index < 0 || index >= n)
        return fault_set(fault, STATUS_UNSUPPORTED, "there is no GPU %d: this machine has %d",
                         (int)index, n);
    result = cuDeviceGet(&driver->device, index);
    if (result == CUDA_SUCCESS)
        result = cuDevicePrimaryCtxRetain(&driver->context, driver->device);
    if (result != CUDA_SUCCESS)
        return refuse(fault, "the GPU can't be opened", result);
    result = cuCtxSetCurrent(driver->context);
    if (result == CUDA_SUCCESS)
        result = describe(driver);
    if (result != CUDA_SUCCESS)
        status = refuse(fault, "the GPU does not describe itself", result);
    else if (attribute(driver->device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) ==
                 0 ||
             driver->info.major < 8)
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           "GPU %d (%s) has compute capability %d.%d; 8.0 is needed", (int)index,
                           driver->info.name, (int)driver->info.major, (int)driver->info.minor);
    if (status != STATUS_OK)
        (void)cuDevicePrimaryCtxRelease(driver->device);
    return status;
}

enum status cuda_driver_open(int32_t index, struct cuda_driver **out, struct fault *fault)
{
    struct cuda_driver *driver = mem_take(sizeof(*driver));
    enum status status = open_device(driver, index, fault);
    if (status == STATUS_OK)
        *out = driver;
    else
        mem_give(driver);
    return status;
}

void cuda_driver_close(struct cuda_driver *driver)
{
    (void)cuDevicePrimaryCtxRelease(driver->device);
    mem_give(driver);
}

const struct cuda_driver_info *cuda_driver_describe(const struct cuda_driver *driver)
{
    return &driver->info;
}

void cuda_driver_enter(struct cuda_driver *driver)
{
    (void)is_well(driver, cuCtxSetCurrent(driver->context));
}

void *cuda_driver_open_library(struct cuda_driver *driver, const char *name)
{
    (void)driver;
    return dlopen(name, RTLD_LAZY | RTLD_LOCAL);
}

bool cuda_driver_is_lost(struct cuda_driver *driver)
{
    return atomic_load(&driver->is_lost);
}

/* ---- Memory. ---- */

unsigned char *cuda_driver_reserve(struct cuda_driver *driver, int64_t n_bytes)
{
    CUdeviceptr base = 0;
    if (!is_well(driver, cuMemAddressReserve(&base, (size_t)n_bytes, 0, 0, 0)))
        return NULL;
    return (unsigned char *)(uintptr_t)base;
}

void cuda_driver_release(struct cuda_driver *driver, unsigned char *base, int64_t n_bytes)
{
    if (base != NULL)
        (void)is_well(driver, cuMemAddressFree(address_of(base), (size_t)n_bytes));
}

bool cuda_driver_map(struct cuda_driver *driver, unsigned char *at, int64_t n_bytes)
{
    CUmemAllocationProp kind = memory_kind(driver);
    CUmemAccessDesc access = { .location = kind.location,
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle memory;
    if (!is_well(driver, cuMemCreate(&memory, (size_t)n_bytes, &kind, 0)))
        return false;
    bool is_mapped = is_well(driver, cuMemMap(address_of(at), (size_t)n_bytes, 0, memory, 0));
    (void)cuMemRelease(memory); /* it lives as long as it is mapped */
    if (is_mapped &&
        !is_well(driver, cuMemSetAccess(address_of(at), (size_t)n_bytes, &access, 1))) {
        (void)cuMemUnmap(address_of(at), (size_t)n_bytes);
        is_mapped = false;
    }
    return is_mapped;
}

void cuda_driver_unmap(struct cuda_driver *driver, unsigned char *at, int64_t n_bytes)
{
    (void)is_well(driver, cuMemUnmap(address_of(at), (size_t)n_bytes));
}

bool cuda_driver_pin(struct cuda_driver *driver, void *p, int64_t n_bytes)
{
    return is_well(driver, cuMemHostRegister(p, (size_t)n_bytes, CU_MEMHOSTREGISTER_PORTABLE));
}

void cuda_driver_unpin(struct cuda_driver *driver, void *p)
{
    (void)is_well(driver, cuMemHostUnregister(p));
}

/* ---- Partitions, streams and events. ---- */

static bool split(struct cuda_driver *driver)
{
    CUdevResource all;
    unsigned n = (unsigned)driver->info.n_units;
    driver->is_split =
        driver->is_split ||
        (is_well(driver, cuDeviceGetDevResource(driver->device, &all, CU_DEV_RESOURCE_TYPE_SM)) &&
         is_well(driver, cuDevSmResourceSplitByCount(driver->units, &n, &all, NULL, 0,
                                                     (unsigned)driver->info.unit_processors)) &&
         n == (unsigned)driver->info.n_units);
    return driver->is_split;
}

struct cuda_partition *cuda_driver_partition_open(struct cuda_driver *driver, int32_t first_unit,
                                                  int32_t n_units)
{
    CUdevResourceDesc what;
    CUgreenCtx context;
    CHECK(first_unit >= 0 && n_units > 0 && first_unit + n_units <= driver->info.n_units);
    if (!split(driver) ||
        !is_well(driver,
                 cuDevResourceGenerateDesc(&what, driver->units + first_unit, (unsigned)n_units)) ||
        !is_well(driver,
                 cuGreenCtxCreate(&context, what, driver->device, CU_GREEN_CTX_DEFAULT_STREAM)))
        return NULL;
    struct cuda_partition *partition = mem_take(sizeof(*partition));
    partition->context = context;
    return partition;
}

void cuda_driver_partition_close(struct cuda_driver *driver, struct cuda_partition *partition)
{
    if (partition != NULL)
        (void)is_well(driver, cuGreenCtxDestroy(partition->context));
    mem_give(partition);
}

struct cuda_stream *cuda_driver_stream_open(struct cuda_driver *driver,
                                            struct cuda_partition *partition)
{
    CUstream stream = NULL;
    CUresult result = partition == NULL ? cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)
                                        : cuGreenCtxStreamCreate(&stream, partition->context,
                                                                 CU_STREAM_NON_BLOCKING, 0);
    if (!is_well(driver, result))
        return NULL;
    return (struct cuda_stream *)(void *)stream;
}

void cuda_driver_stream_close(struct cuda_driver *driver, struct cuda_stream *stream)
{
    if (stream == NULL)
        return;
    (void)is_well(driver, cuStreamSynchronize(stream_of(stream)));
    (void)is_well(driver, cuStreamDestroy(stream_of(stream)));
}

bool cuda_driver_copy(struct cuda_driver *driver, struct cuda_stream *stream, void *to,
                      const void *from, int64_t n_bytes)
{
    return n_bytes == 0 || is_well(driver, cuMemcpyAsync(address_of(to), address_of(from),
                                                         (size_t)n_bytes, stream_of(stream)));
}

bool cuda_driver_fill(struct cuda_driver *driver, struct cuda_stream *stream, void *to,
                      unsigned char byte, int64_t n_bytes)
{
    return n_bytes == 0 || is_well(driver, cuMemsetD8Async(address_of(to), byte, (size_t)n_bytes,
                                                           stream_of(stream)));
}

struct cuda_event *cuda_driver_event_open(struct cuda_driver *driver)
{
    CUevent event = NULL;
    if (!is_well(driver, cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC)))
        return NULL;
    return (struct cuda_event *)(void *)event;
}

void cuda_driver_event_close(struct cuda_driver *driver, struct cuda_event *event)
{
    if (event != NULL)
        (void)is_well(driver, cuEventDestroy(event_of(event)));
}

bool cuda_driver_record(struct cuda_driver *driver, struct cuda_event *event,
                        struct cuda_stream *stream)
{
    return is_well(driver, cuEventRecord(event_of(event), stream_of(stream)));
}

bool cuda_driver_follow(struct cuda_driver *driver, struct cuda_stream *stream,
                        struct cuda_event *event)
{
    return is_well(driver, cuStreamWaitEvent(stream_of(stream), event_of(event), 0));
}

bool cuda_driver_wait(struct cuda_driver *driver, struct cuda_event *event)
{
    return is_well(driver, cuEventSynchronize(event_of(event)));
}

/* ---- Graphs. ---- */

bool cuda_driver_capture(struct cuda_driver *driver, struct cuda_stream *stream)
{
    return is_well(driver,
                   cuStreamBeginCapture(stream_of(stream), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

struct cuda_graph *cuda_driver_captured(struct cuda_driver *driver, struct cuda_stream *stream)
{
    CUgraph graph = NULL;
    CUgraphExec executable = NULL;
    if (!is_well(driver, cuStreamEndCapture(stream_of(stream), &graph)) || graph == NULL)
        return NULL;
    bool is_made = is_well(driver, cuGraphInstantiate(&executable, graph, 0));
    (void)cuGraphDestroy(graph);
    return is_made ? (struct cuda_graph *)(void *)executable : NULL;
}

bool cuda_driver_replay(struct cuda_driver *driver, struct cuda_graph *graph,
                        struct cuda_stream *stream)
{
    return is_well(driver, cuGraphLaunch((CUgraphExec)(void *)graph, stream_of(stream)));
}

void cuda_driver_graph_close(struct cuda_driver *driver, struct cuda_graph *graph)
{
    if (graph != NULL)
        (void)is_well(driver, cuGraphExecDestroy((CUgraphExec)(void *)graph));
}
