/* SPDX-License-Identifier: Apache-2.0
 * The part of NVIDIA's management library (libnvidia-ml.so.1) that the binding needs to read one
 * board's energy: a board that draws 100 W from the monotonic clock. NVML_STUB_FAULT: a code that
 * the readings return from the 20th call on; NVML_STUB_BOARDS: how many boards there are;
 * NVML_STUB_OLD: set for a board that does not count energy, and says little of itself;
 * NVML_STUB_PID: a process that computes on it; NVML_STUB_INIT: the code that
 * initialising returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
       INSUFFICIENT_SIZE = 7 };
typedef struct nvmlDevice_st { unsigned int index; } *nvmlDevice_t;

static struct nvmlDevice_st boards[8];
static int initialized;
static int readings;

static int setting(const char *name, int otherwise)
{
    return getenv(name) ? atoi(getenv(name)) : otherwise;
}

static int copy(char *into, unsigned int length, const char *text) {
    snprintf(into, length, "%s", text);
    return initialized ? SUCCESS : UNINITIALIZED;
}

static int fault(void) { return ++readings < 20 ? 0 : setting("NVML_STUB_FAULT", 0); }

int nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    initialized = !setting("NVML_STUB_INIT", 0);
    return setting("NVML_STUB_INIT", SUCCESS);
}

int nvmlShutdown(void) {
    int was = initialized;
    initialized = 0;
    return was ? SUCCESS : UNINITIALIZED;
}

const char *nvmlErrorString(int code) { return code == 998 ? "a code of tomorrow" : "stub"; }

int nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return copy(version, length, "999.stub");
}

int nvmlDeviceGetCount_v2(unsigned int *count) {
    *count = (unsigned int)setting("NVML_STUB_BOARDS", 2);
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    if (index >= (unsigned int)setting("NVML_STUB_BOARDS", 2)) return INVALID_ARGUMENT;
    boards[index].index = index;
    *device = &boards[index];
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    if (strcmp(uuid, "GPU-stub-1")) return NOT_FOUND;
    return nvmlDeviceGetHandleByIndex_v2(1, device);
}

int nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
    (void)device;
    return copy(name, length, "NVIDIA Stub 100");
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
    char text[32];
    snprintf(text, sizeof text, "GPU-stub-%u", device->index);
    return copy(uuid, length, text);
}

int nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length) {
    if (device->index == 0) return NOT_SUPPORTED;
    return copy(serial, length, "0123456789");
}

int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy_mj) {
    struct timespec now;
    (void)device;
    if (!initialized) return UNINITIALIZED;
    if (getenv("NVML_STUB_OLD")) return NOT_SUPPORTED;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *energy_mj =
        100000ULL * (unsigned long long)now.tv_sec + (unsigned long long)now.tv_nsec / 10000ULL;
    return fault();
}

int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power_mw) {
    (void)device;
    if (!initialized) return UNINITIALIZED;
    *power_mw = 100000;
    return fault();
}

int nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned int *generation) {
    (void)device;
    *generation = getenv("NVML_STUB_OLD") ? 4 : 9;
    return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion(int *version) {
    *version = 13020;
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(nvmlDevice_t device, int kind, unsigned int *clock_mhz) {
    (void)device;
    *clock_mhz = kind == 2 ? 2619 : 1980;
    return getenv("NVML_STUB_OLD") ? NOT_SUPPORTED : SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit_mw) {
    (void)device;
    *limit_mw = 350000;
    return SUCCESS;
}

int nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned int *limit_mw) {
    (void)device;
    *limit_mw = 700000;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *celsius) {
    (void)device;
    *celsius = 41;
    return sensor ? INVALID_ARGUMENT : SUCCESS;
}

/* The name that drivers before 535 know; the newer one is missing here. */
int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    (void)device;
    *reasons = 0x44;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *now, unsigned int *later) {
    (void)device;
    *now = 0;
    *later = 1;
    return SUCCESS;
}

int nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned int *mode) {
    (void)device;
    *mode = 1;
    return SUCCESS;
}

typedef struct {
    unsigned int pid;
    unsigned long long memory_b;
    unsigned int instance, compute_instance;
} process_t;

int nvmlDeviceGetComputeRunningProcesses_v3(
    nvmlDevice_t device, unsigned int *count, process_t *found
) {
    unsigned int room = *count;
    (void)device;
    *count = getenv("NVML_STUB_PID") ? 1 : 0;
    if (*count > room) return INSUFFICIENT_SIZE;
    if (*count) found[0] = (process_t){(unsigned int)setting("NVML_STUB_PID", 0), 4096, 0, 0};
    return SUCCESS;
}

typedef struct {
    unsigned int field, scope;
    long long time_us, latency_us;
    unsigned int type;
    int code;
    union { double number; unsigned int whole; unsigned long long large; } value;
} field_t;

int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, field_t *fields) {
    (void)device;
    for (int at = 0; at < count; at++) {
        fields[at].code = fields[at].field == 186 && !getenv("NVML_STUB_OLD") ? 0 : NOT_SUPPORTED;
        fields[at].value.whole = 123000;
    }
    return SUCCESS;
}
