/* Reads NVML once a second: see nvml.h. Its functions are declared here, after nvml.h of NVIDIA,
 * whose ABI is stable: results are 0 or an error. */
#include "metrics/nvml.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"
#include <dlfcn.h>
#include <stdatomic.h>

const char nvml_library[] = "libnvidia-ml.so.1";

typedef struct nvml_device *nvml_handle;
enum { SENSOR_GPU = 0 };
struct memory_info {
    unsigned long long total, free, used;
};
struct utilisation {
    unsigned gpu, memory; /* percent */
};
struct functions {
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *bus, nvml_handle *out);
    int (*memory)(nvml_handle gpu, struct memory_info *out);
    int (*power)(nvml_handle gpu, unsigned *milliwatts);
    int (*utilisation)(nvml_handle gpu, struct utilisation *out);
    int (*temperature)(nvml_handle gpu, int sensor, unsigned *celsius);
};
struct nvml {
    void *library;
    struct functions call;
    int n;
    nvml_handle gpus[NVML_GPUS_MAX]; /* NULL: the library does not know it */
    struct lock *lock;
    struct nvml_reading readings[NVML_GPUS_MAX]; /* under the lock */
    struct thread *reader;
    struct wake end;
    _Atomic bool is_closing;
};

static bool find_functions(void *library, struct functions *call)
{
    const struct {
        const char *name;
        void *at; /* a pointer to a function pointer */
    } names[] = {
        { "nvmlInit_v2", &call->init },
        { "nvmlShutdown", &call->shutdown },
        { "nvmlDeviceGetHandleByPciBusId_v2", &call->find },
        { "nvmlDeviceGetMemoryInfo", &call->memory },
        { "nvmlDeviceGetPowerUsage", &call->power },
        { "nvmlDeviceGetUtilizationRates", &call->utilisation },
        { "nvmlDeviceGetTemperature", &call->temperature },
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        *(void **)names[i].at = dlsym(library, names[i].name);
        if (*(void **)names[i].at == NULL)
            return false;
    }
    return true;
}

static void set(struct nvml_reading *reading, enum nvml_figure figure, double value)
{
    reading->has[figure] = true;
    reading->of[figure] = value;
}

static struct nvml_reading read_gpu(const struct functions *call, nvml_handle gpu)
{
    struct nvml_reading reading = { { false } };
    struct memory_info memory;
    struct utilisation utilisation;
    unsigned n;
    if (gpu == NULL)
        return reading;
    if (call->memory(gpu, &memory) == 0) {
        set(&reading, NVML_MEMORY_TOTAL, (double)memory.total);
        set(&reading, NVML_MEMORY_USED, (double)memory.used);
    }
    if (call->power(gpu, &n) == 0)
        set(&reading, NVML_POWER, n * 1e-3);
    if (call->utilisation(gpu, &utilisation) == 0)
        set(&reading, NVML_UTILISATION, utilisation.gpu * 1e-2);
    if (call->temperature(gpu, SENSOR_GPU, &n) == 0)
        set(&reading, NVML_TEMPERATURE, n);
    return reading;
}

static void read_all(struct nvml *nvml)
{
    for (int i = 0; i < nvml->n; i++) {
        struct nvml_reading reading = read_gpu(&nvml->call, nvml->gpus[i]);
        lock_take(nvml->lock);
        nvml->readings[i] = reading;
        lock_put(nvml->lock);
    }
}

static void run(void *arg)
{
    struct nvml *nvml = arg;
    while (!atomic_load(&nvml->is_closing)) {
        (void)wake_wait(&nvml->end, TIME_NS_PER_S);
        read_all(nvml);
    }
}

enum status nvml_open(const char *library, const char *const *buses, int n, struct nvml **out,
                      struct fault *fault)
{
    struct functions call;
    CHECK(n >= 0 && n <= NVML_GPUS_MAX);
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED, "NVML: %.120s is not on this machine", library);
    const char *why = NULL;
    if (!find_functions(loaded, &call))
        why = "lacks a function that is needed";
    else if (call.init() != 0)
        why = "does not reach a driver";
    if (why != NULL) {
        dlclose(loaded);
        return fault_set(fault, STATUS_UNSUPPORTED, "NVML: %.120s %s", library, why);
    }
    struct nvml *nvml = mem_take(sizeof(*nvml));
    nvml->library = loaded;
    nvml->call = call;
    nvml->n = n;
    for (int i = 0; i < n; i++)
        if (call.find(buses[i], &nvml->gpus[i]) != 0)
            nvml->gpus[i] = NULL;
    nvml->lock = lock_open();
    read_all(nvml);
    wake_open(&nvml->end);
    nvml->reader = thread_start("nvml", run, nvml);
    *out = nvml;
    return STATUS_OK;
}

void nvml_close(struct nvml *nvml)
{
    if (nvml == NULL)
        return;
    atomic_store(&nvml->is_closing, true);
    wake_up(&nvml->end);
    thread_join(nvml->reader);
    wake_close(&nvml->end);
    lock_close(nvml->lock);
    (void)nvml->call.shutdown();
    dlclose(nvml->library);
    mem_give(nvml);
}

struct nvml_reading nvml_read(struct nvml *nvml, int index)
{
    struct nvml_reading reading = { { false } };
    if (nvml == NULL)
        return reading;
    CHECK(index >= 0 && index < nvml->n);
    lock_take(nvml->lock);
    reading = nvml->readings[index];
    lock_put(nvml->lock);
    return reading;
}
