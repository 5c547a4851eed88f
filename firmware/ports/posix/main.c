/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"
#include "nr_image_workload.h"
#include "nr_posix.h"
#include "nr_shim.h"

#ifndef NR_BUILD
#define NR_BUILD "unknown"
#endif
#ifndef NR_IMAGE_KERNELS
#define NR_IMAGE_KERNELS ""
#endif
#ifdef NR_IMAGE_SLOTS
#define NR_SLOTS NR_IMAGE_SLOTS /* as many as a workload wants */
#endif
#ifndef NR_SLOTS
#define NR_SLOTS NR_SLOTS_MAX
#endif
#ifndef NR_SLOT_MEMORY_B
#define NR_SLOT_MEMORY_B (NR_SLOTS * NR_IMAGE_SLOT_B) /* costs no memory until it is touched */
#endif
#ifndef NR_OUTPUT_MEMORY_B
#define NR_OUTPUT_MEMORY_B (64U << 10)
#endif

static uint8_t slot_memory[NR_SLOT_MEMORY_B];
static uint8_t output_memory[NR_OUTPUT_MEMORY_B];
static struct nr_posix posix;
static struct nr_port port;
static struct nr_workload workload;
static nr_image_workload state;
static struct nr_shim shim;
static uint64_t (*posix_mark)(void *context, uint8_t phase, uint16_t hold_us);
static uint64_t (*quick_mark)(void *context, uint8_t phase, uint16_t hold_us);
static jmp_buf power_on;

enum { BLOCK_NS = 25 }; /* makes ASC take some ten milliseconds, as on a small microcontroller */

static const char usage[] =
    "The device firmware as a process. Prints `pty PATH`, then serves that line until standard\n"
    "input ends.\n"
    "  --link PATH              symbolic link to the line\n"
    "  --tick-hz N              rate of the device's timer (1000000)\n"
    "  --block-ns N             what its processor takes for a basic block; 0: CPU time of this\n"
    "                           process (25)\n"
    "  --host-clock             the device is this host: its timer is CLOCK_MONOTONIC, and it\n"
    "                           takes what it takes\n"
    "  --ppm P                  its error in parts per million, such as -12.5 (0)\n"
    "  --offset TICKS           its value at true time 0 (0)\n"
    "  --edges FD               write the changes of SYNC there: tick true_ns level phase\n"
    "                           stolen_ns\n"
    "  --baud N                 strict rate: bytes are spoilt while the client's rate differs\n"
    "                           (any rate will do)\n"
    "  --die-after-queries N    end in the first phase of the query after N\n"
    "  --mute-after-queries N   send nothing from there on\n"
    "  --skip-iterations N      run each phase N times less often than asked, and say so in DONE\n"
    "  --restart-after-bytes N  lose power, once, when N bytes have come: memory is empty, the\n"
    "                           timer begins anew\n"
    "  --restart-after-queries N  the same in the first phase of the query after N\n"
    "  --slow-hop US            take so many microseconds more for each window of a stream\n"
    "  --wrong-cost             a search claims a cost that is lower by one than its vector's\n"
    "  --short-vector           the last byte of its vector is missing\n"
    "  --overrun-timeout US     it ends so many microseconds after its time-out\n";

static int fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    return 2;
}

static int64_t number_of(const char *text, int64_t minimum, int64_t maximum, const char **problem)
{
    char *end;
    long long value;
    errno = 0;
    value = strtoll(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || value < minimum || value > maximum) {
        *problem = "not a number in the allowed range";
    }
    return value;
}

static int32_t ppb_of(const char *text, const char **problem)
{
    char *end;
    double ppm = strtod(text, &end);
    if (end == text || *end != '\0' || !(ppm > -100000.0 && ppm < 100000.0)) {
        *problem = "not a number of parts per million below 100000";
        return 0;
    }
    return (int32_t)(ppm * 1000.0 + (ppm < 0.0 ? -0.5 : 0.5));
}

static const struct option option_table[] = {
    {"link", required_argument, NULL, 'l'},
    {"tick-hz", required_argument, NULL, 't'},
    {"block-ns", required_argument, NULL, 'n'},
    {"host-clock", no_argument, NULL, 'c'},
    {"ppm", required_argument, NULL, 'p'},
    {"offset", required_argument, NULL, 'o'},
    {"edges", required_argument, NULL, 'e'},
    {"baud", required_argument, NULL, 'b'},
    {"die-after-queries", required_argument, NULL, 'd'},
    {"mute-after-queries", required_argument, NULL, 'm'},
    {"skip-iterations", required_argument, NULL, 's'},
    {"restart-after-bytes", required_argument, NULL, 'r'},
    {"restart-after-queries", required_argument, NULL, 'q'},
    {"slow-hop", required_argument, NULL, 'x'},
    {"wrong-cost", no_argument, NULL, 'w'},
    {"short-vector", no_argument, NULL, 'v'},
    {"overrun-timeout", required_argument, NULL, 'u'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void set_option(struct nr_posix_options *options, int option, const char *value,
                       const char **problem)
{
    switch (option) {
    case 'l': options->link = value; break;
    case 't': options->rate.tick_hz = (uint32_t)number_of(value, 1000, UINT32_MAX, problem); break;
    case 'n': options->block_ns = (uint32_t)number_of(value, 0, 1000000, problem); break;
    case 'c': options->host_clock = true; break;
    case 'p': options->rate.ppb = ppb_of(value, problem); break;
    case 'o':
        options->rate.offset = (uint64_t)number_of(value, INT64_MIN, INT64_MAX, problem);
        break;
    case 'e': options->edge_fd = (int)number_of(value, 0, 1 << 20, problem); break;
    case 'b': options->baud = (uint32_t)number_of(value, 300, 4000000, problem); break;
    case 'd': options->die_after_queries = number_of(value, 0, INT64_MAX, problem); break;
    case 'm': options->mute_after_queries = number_of(value, 0, INT64_MAX, problem); break;
    case 's': options->skip_iterations = (uint32_t)number_of(value, 0, UINT32_MAX, problem); break;
    case 'r': options->restart_after_b = number_of(value, 0, INT64_MAX, problem); break;
    case 'q': options->restart_after_queries = number_of(value, 0, INT64_MAX, problem); break;
    case 'x': options->slow_hop_us = (uint32_t)number_of(value, 0, UINT32_MAX, problem); break;
    case 'w': options->search.wrong_cost = true; break;
    case 'v': options->search.short_vector = true; break;
    case 'u':
        options->search.overrun_us = (uint32_t)number_of(value, 0, UINT32_MAX, problem);
        break;
    default: *problem = "unknown option or missing value; see --help"; break;
    }
}

static const char *parse_options(struct nr_posix_options *options, int count, char *arguments[])
{
    const char *problem = NULL;
    int option = getopt_long(count, arguments, "", option_table, NULL);
    while (option != -1 && problem == NULL) {
        if (option == 'h') {
            (void)fputs(usage, stdout);
            exit(0);
        }
        set_option(options, option, optarg, &problem);
        option = getopt_long(count, arguments, "", option_table, NULL);
    }
    return problem == NULL && optind < count ? "takes no arguments but options; see --help"
                                             : problem;
}

/* The fault of --skip-iterations: a firmware whose loop ends early. It shortens the job as its
   first phase begins, unnoticed by the code that counts. */
static uint64_t mark_of_a_lazy_device(void *context, uint8_t phase, uint16_t hold_us)
{
    uint64_t tick = posix_mark(context, phase, hold_us);
    if (phase == NR_PHASE_PREPROCESS || phase == NR_PHASE_BATCH) {
        shim.job.repeat -= shim.job.repeat < posix.options.skip_iterations
                               ? shim.job.repeat
                               : posix.options.skip_iterations;
    }
    return tick;
}

/* The fault of --slow-hop: a processor that takes longer than its workload does. */
static uint64_t mark_of_a_slow_device(void *context, uint8_t phase, uint16_t hold_us)
{
    uint64_t tick = quick_mark(context, phase, hold_us);
    if (phase == NR_PHASE_PREPROCESS && shim.stream.state == NR_STREAM_PLAYING) {
        if (posix.options.host_clock) {
            port.wait(port.context, posix.options.slow_hop_us);
        } else {
            nr_blocks_add((uint64_t)posix.options.slow_hop_us * 1000U / posix.options.block_ns);
        }
    }
    return tick;
}

static void start(void)
{
    const struct nr_memory memory = {slot_memory, NR_SLOTS, output_memory, sizeof output_memory};
    NR_IMAGE_FILL_WORKLOAD(&workload, &state);
    nr_search_faults(&posix.options.search, port.tick_hz, &workload);
    nr_shim_init(&shim, &port, &workload, &memory);
}

/* A port calls this when its power has been cut and is back: the program restarts from any point.
   */
static void power_up(void) { longjmp(power_on, 1); }

static void serve(void)
{
    if (setjmp(power_on) != 0) {
        memset(slot_memory, 0, sizeof slot_memory);
        memset(output_memory, 0, sizeof output_memory);
        memset(&state, 0, sizeof state);
        start();
    }
    for (;;) {
        nr_shim_poll(&shim);
    }
}

int main(int count, char *arguments[])
{
    struct nr_posix_options options = {
        {0, 1000000, 0}, false, BLOCK_NS, -1, 0, NULL, NR_POSIX_NEVER, NR_POSIX_NEVER, 0,
        NR_POSIX_NEVER, NR_POSIX_NEVER, {false, false, 0}, 0,
    };
    const char *problem = parse_options(&options, count, arguments);
    if (problem != NULL) {
        return fail(arguments[0], problem);
    }
    if (fcntl(STDIN_FILENO, F_GETFD) < 0) {
        return fail(arguments[0],
                    "standard input is closed; it must stay open: its end stops this process");
    }
    NR_IMAGE_FILL_WORKLOAD(&workload, &state);
    if (workload.slot_bytes > NR_SLOT_MEMORY_B / NR_SLOTS
        || workload.output_bytes > NR_OUTPUT_MEMORY_B / NR_SLOTS) {
        return fail(arguments[0], "built with too little slot or output memory for this workload");
    }
    problem = nr_posix_open(&posix, &options, NR_BUILD NR_IMAGE_KERNELS, &port, power_up);
    if (problem != NULL) {
        return fail(problem, strerror(errno));
    }
    if (options.skip_iterations != 0) {
        posix_mark = port.mark;
        port.mark = mark_of_a_lazy_device;
    }
    if (options.slow_hop_us != 0) {
        if (!options.host_clock && options.block_ns == 0) {
            return fail(arguments[0], "--slow-hop needs --host-clock, or a --block-ns");
        }
        quick_mark = port.mark;
        port.mark = mark_of_a_slow_device;
    }
    start();
    /* Last, so that a client who connects at once finds the boot text sent, and not on its way. */
    (void)printf("pty %s\n", nr_posix_path(&posix));
    (void)fflush(stdout);
    serve();
}
