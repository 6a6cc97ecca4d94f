/* Says which GPU and driver are here, and which symbols of the driver are missing.
 *
 * gpu_probe [FILE]      FILE: the symbols that a program needs, one a line
 *
 * It needs only the C library, so that it can say why nothing else starts. One line of JSON goes to
 * standard output, and sentences to standard error. Exit code 1: no GPU can be used. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { MAJOR = 75, MINOR = 76, PROCESSORS = 16, L2_BYTES = 38, CLOCK_KHZ = 13, MEMORY_KHZ = 36 };

/* The few functions of the driver's API (cuda.h) that are used here. */
static struct {
    int (*init)(unsigned flags);
    int (*version)(int *version);
    int (*count)(int *n);
    int (*device)(int *device, int index);
    int (*name)(char *name, int n_bytes, int device);
    int (*attribute)(int *value, int which, int device);
    int (*total)(size_t *n_bytes, int device);
} driver;

static int n_missing;

static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "gpu_probe: this driver has no %s\n", name);
        n_missing++;
    }
    return symbol;
}

/* dlsym returns a pointer to data, which ISO C does not turn into one to a function. */
#define FIND(to, name)                                                                             \
    do {                                                                                           \
        void *symbol = find(library, name);                                                        \
        memcpy(&(to), &symbol, sizeof(symbol));                                                    \
    } while (0)

static void find_all(void *library, const char *path)
{
    char line[128];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "gpu_probe: %s can't be read\n", path);
        n_missing++;
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0')
            (void)find(library, line);
    }
    fclose(file);
}

static int attribute(int device, int which)
{
    int value = 0;
    (void)driver.attribute(&value, which, device);
    return value;
}

static int describe(void)
{
    int version = 0, n = 0, device = 0, error = driver.init(0);
    char name[128] = "";
    size_t n_bytes = 0;
    if (error != 0) {
        fprintf(stderr, "gpu_probe: the driver does not start: error %d\n", error);
        return 1;
    }
    (void)driver.version(&version);
    if (driver.count(&n) != 0 || n < 1 || driver.device(&device, 0) != 0) {
        fprintf(stderr, "gpu_probe: the driver counts %d GPUs\n", n);
        return 1;
    }
    (void)driver.name(name, (int)sizeof name, device);
    (void)driver.total(&n_bytes, device);
    printf("{\"what\": \"device\", \"chip\": \"%s\", \"gpus\": %d, \"capability\": \"%d.%d\", "
           "\"processors\": %d, \"memory_mib\": %zu, \"l2_mib\": %d, \"clock_mhz\": %d, "
           "\"memory_mhz\": %d, \"driver_api\": \"%d.%d\", \"symbols_missing\": %d}\n",
           name, n, attribute(device, MAJOR), attribute(device, MINOR),
           attribute(device, PROCESSORS), n_bytes >> 20, attribute(device, L2_BYTES) >> 20,
           attribute(device, CLOCK_KHZ) / 1000, attribute(device, MEMORY_KHZ) / 1000,
           version / 1000, version % 1000 / 10, n_missing);
    return n_missing == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "gpu_probe: %s\n", dlerror());
        return 1;
    }
    FIND(driver.init, "cuInit");
    FIND(driver.version, "cuDriverGetVersion");
    FIND(driver.count, "cuDeviceGetCount");
    FIND(driver.device, "cuDeviceGet");
    FIND(driver.name, "cuDeviceGetName");
    FIND(driver.attribute, "cuDeviceGetAttribute");
    FIND(driver.total, "cuDeviceTotalMem_v2");
    if (n_missing > 0)
        return 1;
    if (argc > 1)
        find_all(library, argv[1]);
    return describe();
}
