/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pseudo-terminals, cfmakeraw and clock_nanosleep under -std=c99 */
#include "nr_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "line_rate.h"
#include "nr_wire.h"

enum {
    BAUD_AT_START = 115200,
    SLOWEST_BAUD = 300,
    FASTEST_BAUD = 4000000,
    /* a UART does not wait for a listener: after this its bytes are gone */
    LISTENER_TIMEOUT_MS = 1000,
    /* the last part of a wait is spun: a sleep ends late by some tens of microseconds */
    SPIN_NS = 150000,
    SLICE_NS = 100000000,       /* longest sleep without a look at the parent */
    OFF_NS = 50000000,          /* for this long a device whose power was cut is off */
    /* for this long after something happened, rest() returns within a millisecond */
    BRISK_NS = 2000000000
};

/* ---- the end ---- */

/* Used by a signal handler, hence static: a process is one device. */
static const char *link_to_remove;
static char link_target[128];
static pid_t parent;

/* Removes the link while it is ours: a device started since may have taken its place. */
static void leave(int status)
{
    char target[sizeof link_target];
    ssize_t length = link_to_remove != NULL ? readlink(link_to_remove, target, sizeof target) : -1;
    if (length > 0 && (size_t)length == strlen(link_target)
        && memcmp(target, link_target, (size_t)length) == 0) {
        (void)unlink(link_to_remove);
    }
    _exit(status);
}

static void on_signal(int number)
{
    (void)number;
    leave(0);
}

/* The kernel tells the death of the thread that started us, not only of its process: leave only
   when the parent is really gone. */
static void on_parent_signal(int number)
{
    (void)number;
    if (getppid() != parent) {
        leave(0);
    }
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    (void)sigaction(number, &action, NULL);
}

static void catch_signals(void)
{
    parent = getppid();
    handle(SIGTERM, on_signal);
    handle(SIGINT, on_signal);
    handle(SIGHUP, on_signal);
    handle(SIGUSR2, on_parent_signal);
    handle(SIGPIPE, SIG_IGN);
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGUSR2);
#endif
}

/* Standard input tells of the parent: when the process at its other end is gone, end too. */
static void end_with_parent(const struct pollfd *input)
{
    char ignored[64];
    if (input->revents != 0 && read(STDIN_FILENO, ignored, sizeof ignored) == 0) {
        leave(0);
    }
}

/* ---- the line ---- */

static void cycle_power(struct nr_posix *posix);

static bool rates_differ(const struct nr_posix *posix)
{
    return posix->options.baud != 0 && nr_line_rate(posix->slave_fd) != posix->baud;
}

/* Bytes received at a wrong rate, made deterministic: every other one is lost, the rest are wrong.
   */
static size_t spoil(struct nr_posix *posix, uint8_t *bytes, size_t length_b)
{
    size_t kept_b = 0;
    for (size_t i = 0; i < length_b; i++) {
        if (posix->spoilt++ % 2 == 0) {
            bytes[kept_b++] = bytes[i] ^ 0xA5U;
        }
    }
    return kept_b;
}

static size_t posix_read(void *context, uint8_t *bytes, size_t capacity_b)
{
    struct nr_posix *posix = context;
    ssize_t got = read(posix->master_fd, bytes, capacity_b);
    if (got <= 0) {
        return 0;
    }
    posix->active_ns = nr_wall_ns();
    posix->received_b += got;
    if (posix->options.restart_after_b != NR_POSIX_NEVER
        && posix->received_b >= posix->options.restart_after_b) {
        cycle_power(posix);
    }
    return rates_differ(posix) ? spoil(posix, bytes, (size_t)got) : (size_t)got;
}

static bool wait_for_listener(const struct nr_posix *posix, int64_t until_ns)
{
    struct pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {posix->master_fd, POLLOUT, 0}};
    while (nr_wall_ns() < until_ns) {
        if (poll(fds, 2, 10) > 0) {
            end_with_parent(&fds[0]);
            if ((fds[1].revents & POLLOUT) != 0) {
                return true;
            }
        }
    }
    return false;
}

static void write_line(const struct nr_posix *posix, const uint8_t *bytes, size_t length_b)
{
    int64_t until_ns = nr_wall_ns() + (int64_t)LISTENER_TIMEOUT_MS * 1000000;
    while (length_b != 0) {
        ssize_t put = write(posix->master_fd, bytes, length_b);
        if (put > 0) {
            bytes += put;
            length_b -= (size_t)put;
        } else if (!wait_for_listener(posix, until_ns)) {
            return;
        }
    }
}

static void posix_write(void *context, const uint8_t *bytes, size_t length_b)
{
    struct nr_posix *posix = context;
    uint8_t spoilt[64];
    posix->active_ns = nr_wall_ns();
    if (posix->muted) {
        return;
    }
    if (!rates_differ(posix)) {
        write_line(posix, bytes, length_b);
        return;
    }
    while (length_b != 0) {
        size_t part_b = length_b < sizeof spoilt ? length_b : sizeof spoilt;
        memcpy(spoilt, bytes, part_b);
        write_line(posix, spoilt, spoil(posix, spoilt, part_b));
        bytes += part_b;
        length_b -= part_b;
    }
}

/* A pseudo-terminal has no shift register: written bytes have arrived. */
static void posix_drain(void *context) { (void)context; }

static int posix_set_baud(void *context, uint32_t baud)
{
    struct nr_posix *posix = context;
    if (baud < SLOWEST_BAUD || baud > FASTEST_BAUD) {
        return -1;
    }
    posix->baud = baud;
    return 0;
}

/* ---- time and SYNC ---- */

static uint64_t posix_ticks(void *context)
{
    const struct nr_posix *posix = context;
    return nr_ticks_of(&posix->options.rate, nr_true_time_ns(&posix->time));
}

static void write_edge(struct nr_posix *posix, int64_t true_ns, int level, uint8_t phase,
                       int64_t stolen_ns)
{
    char line[96];
    int length =
        snprintf(line, sizeof line, "%" PRIu64 " %" PRId64 " %d %d %" PRId64 "\n",
                 nr_ticks_of(&posix->options.rate, true_ns), true_ns, level, (int)phase, stolen_ns);
    struct pollfd fd = {posix->options.edge_fd, POLLOUT, 0};
    /* short enough for a pipe to take it whole or not at all */
    while (fd.fd >= 0 && length > 0 && write(fd.fd, line, (size_t)length) < 0) {
        if (errno == EAGAIN) {
            (void)poll(&fd, 1, 100);
        } else if (errno != EINTR) {
            posix->options.edge_fd = -1; /* no reader is left */
            return;
        }
    }
}

static void sleep_until(int64_t wall_ns)
{
    struct timespec until;
    until.tv_sec = (time_t)(wall_ns / 1000000000);
    until.tv_nsec = (long)(wall_ns % 1000000000);
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Cuts the power, once: the job, the memory and the bytes on the line are lost, the timer restarts.
   Does not return. */
static void cycle_power(struct nr_posix *posix)
{
    uint8_t lost[256];
    int64_t now_ns = nr_true_time_ns(&posix->time);
    int64_t rest_ns = now_ns > posix->mark_free_ns ? now_ns : posix->mark_free_ns;
    posix->options.restart_after_b = NR_POSIX_NEVER;
    posix->options.restart_after_queries = NR_POSIX_NEVER;
    posix->in_query = false;
    posix->listening = false;
    posix->baud = posix->options.baud != 0 ? posix->options.baud : BAUD_AT_START;
    if (!posix->options.host_clock) {
        int64_t wall_ns = nr_wall_ns();
        posix->options.rate.offset += posix->offset - nr_ticks_of(&posix->options.rate, rest_ns);
        nr_true_time_resume(&posix->time, rest_ns, wall_ns, false);
        posix->stolen_ns = wall_ns - rest_ns;
    }
    write_edge(posix, rest_ns, 1, NR_PHASE_END, posix->stolen_ns);
    sleep_until(nr_wall_ns() + OFF_NS);
    while (read(posix->master_fd, lost, sizeof lost) > 0) {
    }
    posix->power_up();
}

static bool is_busy_phase(uint8_t phase)
{
    return (phase != NR_PHASE_END && phase < NR_PHASE_STREAM) || phase >= NR_PHASE_REACHED;
}

/* Counts queries and plays the faults that were asked for. */
static void note_query(struct nr_posix *posix, uint8_t phase)
{
    if (is_busy_phase(phase) && !posix->in_query) {
        posix->in_query = true;
        if (posix->queries == posix->options.die_after_queries) {
            leave(3);
        }
        if (posix->queries == posix->options.mute_after_queries) {
            posix->muted = true;
        }
        if (posix->queries == posix->options.restart_after_queries) {
            cycle_power(posix);
        }
    } else if (phase == NR_PHASE_END && posix->in_query) {
        posix->in_query = false;
        posix->queries++;
    }
}

static uint64_t posix_mark(void *context, uint8_t phase, uint16_t hold_us)
{
    struct nr_posix *posix = context;
    int64_t hold_ns = (int64_t)hold_us * 1000;
    int64_t now_ns = nr_true_time_ns(&posix->time);
    if (now_ns < posix->mark_free_ns) {
        now_ns = posix->mark_free_ns; /* the device waits for its pulse to be over */
    }
    sleep_until(now_ns + posix->stolen_ns);
    posix->active_ns = nr_wall_ns();
    posix->stolen_ns = posix->options.host_clock ? 0 : posix->active_ns - now_ns;
    posix->rise_ns = now_ns + hold_ns;
    posix->mark_free_ns = now_ns + 2 * hold_ns;
    write_edge(posix, now_ns, 0, phase, posix->stolen_ns);
    write_edge(posix, now_ns + hold_ns, 1, phase, posix->stolen_ns);
    note_query(posix, phase);
    posix->listening = phase == NR_PHASE_STREAM || phase == NR_PHASE_DECIDED;
    if (!posix->options.host_clock) {
        nr_true_time_resume(&posix->time, now_ns, posix->active_ns, is_busy_phase(phase));
    }
    return nr_ticks_of(&posix->options.rate, now_ns);
}

/* The pin, driven by this process alone: low for the pulse of the last mark. */
static uint8_t posix_sync_level(void *context)
{
    const struct nr_posix *posix = context;
    return nr_true_time_ns(&posix->time) >= posix->rise_ns;
}

static void posix_wait(void *context, uint32_t duration_us)
{
    const struct nr_posix *posix = context;
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    int64_t until_ns = nr_true_time_ns(&posix->time) + (int64_t)duration_us * 1000;
    int64_t left_ns = until_ns - nr_true_time_ns(&posix->time);
    while (left_ns > 0) {
        if (left_ns > SPIN_NS) {
            int64_t sleep_ns = left_ns - SPIN_NS;
            sleep_until(nr_wall_ns() + (sleep_ns < SLICE_NS ? sleep_ns : SLICE_NS));
            (void)poll(&input, 1, 0);
            end_with_parent(&input);
        }
        left_ns = until_ns - nr_true_time_ns(&posix->time);
    }
}

static void posix_rest(void *context)
{
    const struct nr_posix *posix = context;
    struct pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {posix->master_fd, POLLIN, 0}};
    /* Guards and time-outs count from recent bytes; a stream's windows come at any state of the
       line. */
    int timeout_ms = posix->listening || nr_wall_ns() - posix->active_ns < BRISK_NS ? 1 : 50;
    (void)poll(fds, 2, timeout_ms);
    end_with_parent(&fds[0]);
}

/* ---- opening ---- */

static void make_raw(int fd)
{
    struct termios line;
    if (tcgetattr(fd, &line) == 0) {
        cfmakeraw(&line);
        (void)tcsetattr(fd, TCSANOW, &line);
    }
}

static const char *open_line(struct nr_posix *posix)
{
    posix->master_fd = posix_openpt(O_RDWR | O_NOCTTY);
    if (posix->master_fd < 0 || grantpt(posix->master_fd) != 0 || unlockpt(posix->master_fd) != 0) {
        return "cannot open a pseudo-terminal";
    }
    posix->slave_fd = open(nr_posix_path(posix), O_RDWR | O_NOCTTY);
    if (posix->slave_fd < 0) {
        return "cannot open the pseudo-terminal's other end";
    }
    make_raw(posix->slave_fd);
    nr_line_rate_set(posix->slave_fd, posix->baud);
    if (fcntl(posix->master_fd, F_SETFL, O_NONBLOCK) != 0) {
        return "cannot make the pseudo-terminal non-blocking";
    }
    return NULL;
}

static const char *make_link(const struct nr_posix *posix)
{
    struct stat old;
    if (posix->options.link == NULL) {
        return NULL;
    }
    if (lstat(posix->options.link, &old) == 0 && S_ISLNK(old.st_mode)) {
        (void)unlink(posix->options.link); /* left behind by a device that was killed */
    }
    if (symlink(nr_posix_path(posix), posix->options.link) != 0) {
        return "cannot make the link";
    }
    (void)snprintf(link_target, sizeof link_target, "%s", nr_posix_path(posix));
    link_to_remove = posix->options.link;
    return NULL;
}

const char *nr_posix_path(const struct nr_posix *posix) { return ptsname(posix->master_fd); }

static void fill_port(struct nr_posix *posix, const char *build, struct nr_port *port)
{
    port->context = posix;
    port->tick_hz = posix->options.rate.tick_hz;
    port->hold_min_us = 1;
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = posix->baud;
    port->device = "posix";
    port->build = build;
    port->sync_pin = "edge wire";
    port->read = posix_read;
    port->write = posix_write;
    port->drain = posix_drain;
    port->ticks = posix_ticks;
    port->mark = posix_mark;
    port->wait = posix_wait;
    port->rest = posix_rest;
    port->set_baud = posix_set_baud;
    /* On the host's own clock a pulse may be over before it can be looked at. */
    port->sync_level = posix->options.host_clock ? NULL : posix_sync_level;
}

const char *nr_posix_open(struct nr_posix *posix, const struct nr_posix_options *options,
                          const char *build, struct nr_port *port, void (*power_up)(void))
{
    const char *problem;
    memset(posix, 0, sizeof *posix);
    posix->options = *options;
    posix->offset = options->rate.offset;
    posix->power_up = power_up;
    posix->baud = options->baud != 0 ? options->baud : BAUD_AT_START;
    catch_signals();
    nr_true_time_start(&posix->time, options->block_ns);
    posix->active_ns = nr_wall_ns();
    problem = open_line(posix);
    if (problem == NULL) {
        problem = make_link(posix);
    }
    fill_port(posix, build, port);
    write_edge(posix, posix->time.true_ns, 1, NR_PHASE_END, 0);
    return problem;
}
