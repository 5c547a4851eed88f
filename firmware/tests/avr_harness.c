/* SPDX-License-Identifier: Apache-2.0 */
/* An ATmega328P in simavr with its lines to the outside: the host's UART on a pseudo-terminal, the
   DUT's bit by bit at its pins, and SYNC.

   avr_harness IMAGE [--dut PATH] [--edges FD] [--host-baud N] [--dut-baud N] [--ina US]

   Prints `pty PATH`, the host's line; without --dut also `dut PATH`, where a test plays the DUT.
   --edges takes the edge lines of the POSIX firmware. --ina puts an INA226 at I2C address 0x40; its
   conversions take so long, and its shunt register counts them. Standard input takes commands, each
   answered by `done`; its end is the end of the program:
     falls NS...        SYNC pulses of 50 us, or half the time to the next, so long from now
     dut low | high     the DUT's line without power, and with it again
     dut open PATH      another DUT
     noise SEED NS      the DUT's line flutters so long
     reset              of the AVR
     deaf N             the chip does not acknowledge its next N addresses
     late               answered by `late N`: edges so far that came too late to be played in time
   It runs in real time, or slower where the machine is slower or stands still; whatever happens at
   a pin does so at an exact cycle. */
#define _GNU_SOURCE /* ppoll, posix_openpt */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <avr_ioport.h>
#include <avr_timer.h>
#include <avr_twi.h>
#include <avr_uart.h>
#include <sim_avr.h>
#include <sim_cycle_timers.h>
#include <sim_elf.h>

enum {
    HZ = 16000000,
    BOOT_MS = 20,
    SLICE_CYCLES = 8000, /* between two looks at the lines */
    QUEUE_B = 1024,
    EDGES = 4096,
    PULSE_NS = 50000,
    EDGE_DELAY_NS = 200000000, /* an edge line must have come by then */
    BURST_NS = 500000000,
    /* caught up; beyond it the AVR stands still with its machine, as whoever it speaks with may
       have */
    LAG_MS = 50,
    BITS = 10,
    DUT_RX_PIN = 2, /* port D: what the DUT sends */
    DUT_TX_PIN = 6
};

/* Bytes, and when they came: a machine that lags behind gives them to the AVR as far apart as they
   were. */
struct queue {
    uint8_t bytes[QUEUE_B];
    avr_cycle_count_t due[QUEUE_B];
    size_t first;
    size_t used;
};

struct edge {
    avr_cycle_count_t cycle;
    uint32_t level;
};

struct harness {
    avr_t *avr;
    int64_t origin_ns;
    uint32_t host_baud;
    uint32_t dut_baud;

    int host_fd;
    int host_keep_fd; /* the slave stays open, so that clients come and go */
    struct queue host_in;
    bool host_feeding;
    avr_irq_t *uart_in;

    int dut_fd;
    int dut_keep_fd;
    struct queue dut_in;
    avr_irq_t *dut_rx;
    avr_cycle_count_t send_start;
    uint32_t send_bit;
    bool sending;
    bool unpowered;
    uint64_t noise;
    avr_cycle_count_t noise_end;

    avr_cycle_count_t receive_start;
    uint32_t receive_bit;
    bool receiving;
    uint32_t dut_tx_level;
    uint8_t receive_byte;
    unsigned long misframed;

    int edge_fd;
    char edge_text[4096];
    size_t edge_text_b;
    struct edge edges[EDGES];
    size_t edge_first;
    size_t edge_used;
    avr_irq_t *sync;
    avr_irq_t *capture;
    int64_t edge_shift_ns;
    int64_t edge_last_ns;
    unsigned long late;

    bool chip_selected;
    bool chip_pointed; /* the byte that chooses a register has come */
    uint8_t chip_reg;
    uint8_t chip_byte;
    uint16_t chip_count;
    uint32_t chip_us;
    unsigned chip_deaf;
    avr_cycle_count_t chip_ready;
    avr_irq_t *twi_in;
};

static void fail(const char *what)
{
    (void)fprintf(stderr, "avr_harness: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static avr_cycle_count_t cycles_of_ns(int64_t ns)
{
    return (avr_cycle_count_t)(ns * (HZ / 1000000) / 1000);
}

/* Where the AVR should be at this moment. */
static avr_cycle_count_t present(struct harness *h)
{
    avr_cycle_count_t latest = h->avr->cycle + HZ / 1000 * LAG_MS;
    avr_cycle_count_t cycle = cycles_of_ns(now_ns() - h->origin_ns);
    if (cycle > latest) {
        h->origin_ns += (int64_t)(cycle - latest) * 1000 / (HZ / 1000000);
        cycle = latest;
    }
    return cycle;
}

/* The end of bit `bit` of a byte that began at `start`. */
static avr_cycle_count_t bit_end(avr_cycle_count_t start, uint32_t bit, uint32_t baud)
{
    return start + ((avr_cycle_count_t)(bit + 1) * HZ + baud / 2) / baud;
}

/* ---- queues and files ---- */

static uint8_t pop(struct queue *queue)
{
    uint8_t byte = queue->bytes[queue->first];
    queue->first = (queue->first + 1) % QUEUE_B;
    queue->used--;
    return byte;
}

/* Takes what fits: the rest stays in the pseudo-terminal, nothing is lost. False at the end of the
   line. */
static bool fill(struct queue *queue, int fd, avr_cycle_count_t due)
{
    uint8_t block[QUEUE_B];
    ssize_t got;
    if (queue->used == QUEUE_B) {
        return true;
    }
    got = read(fd, block, QUEUE_B - queue->used);
    for (ssize_t i = 0; i < got; i++) {
        size_t at = (queue->first + queue->used++) % QUEUE_B;
        queue->bytes[at] = block[i];
        queue->due[at] = due;
    }
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void send_out(int fd, uint8_t byte)
{
    while (fd >= 0 && write(fd, &byte, 1) != 1) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (errno != EAGAIN || poll(&room, 1, 100) <= 0) {
            return; /* nobody reads: as on a board, the byte is gone */
        }
    }
}

static void make_raw(int fd)
{
    struct termios settings;
    if (tcgetattr(fd, &settings) == 0) {
        cfmakeraw(&settings);
        (void)tcsetattr(fd, TCSANOW, &settings);
    }
}

static int open_pty(const char *word, int *keep_fd)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0) {
        fail("no pseudo-terminal");
    }
    *keep_fd = open(ptsname(fd), O_RDWR | O_NOCTTY);
    make_raw(*keep_fd);
    (void)printf("%s %s\n", word, ptsname(fd));
    return fd;
}

static int open_device(const char *path)
{
    int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        fail(path);
    }
    make_raw(fd);
    return fd;
}

/* ---- the host's line: whole bytes, one each ten bit times ---- */

static avr_cycle_count_t feed_host_byte(avr_t *avr, avr_cycle_count_t when, void *context)
{
    struct harness *h = context;
    (void)avr;
    if (h->host_in.used == 0) {
        h->host_feeding = false;
        return 0;
    }
    if (h->host_in.due[h->host_in.first] > when) {
        return h->host_in.due[h->host_in.first];
    }
    avr_raise_irq(h->uart_in, pop(&h->host_in));
    return when + (avr_cycle_count_t)BITS * HZ / h->host_baud;
}

static void host_byte_out(avr_irq_t *irq, uint32_t value, void *context)
{
    struct harness *h = context;
    (void)irq;
    send_out(h->host_fd, (uint8_t)value);
}

static void serve_host(struct harness *h)
{
    (void)fill(&h->host_in, h->host_fd, present(h));
    if (h->host_in.used > 0 && !h->host_feeding) {
        h->host_feeding = true;
        avr_cycle_timer_register(h->avr, (avr_cycle_count_t)BITS * HZ / h->host_baud,
                                 feed_host_byte, h);
    }
}

/* ---- the DUT's line: bit by bit ---- */

static void set_dut_rx(struct harness *h, uint32_t level) { avr_raise_irq(h->dut_rx, level); }

/* Bit 0 is the start bit, 1 to 8 data, 9 the stop bit; then the next byte, if it has come. */
static avr_cycle_count_t send_bit(avr_t *avr, avr_cycle_count_t when, void *context)
{
    struct harness *h = context;
    uint32_t frame;
    (void)avr;
    if (h->send_bit == BITS) {
        (void)pop(&h->dut_in);
        h->send_bit = 0;
        h->send_start = when;
    }
    h->sending = h->dut_in.used > 0 && !h->unpowered;
    if (!h->sending) {
        return 0;
    }
    if (h->send_bit == 0 && h->dut_in.due[h->dut_in.first] > when) {
        h->send_start = h->dut_in.due[h->dut_in.first];
        return h->send_start;
    }
    frame = (uint32_t)h->dut_in.bytes[h->dut_in.first] << 1 | 1U << (BITS - 1);
    set_dut_rx(h, frame >> h->send_bit & 1U);
    return bit_end(h->send_start, h->send_bit++, h->dut_baud);
}

static void serve_dut(struct harness *h)
{
    if (h->dut_fd >= 0 && !fill(&h->dut_in, h->dut_fd, present(h)) && h->dut_keep_fd < 0) {
        (void)close(h->dut_fd); /* the DUT is gone, and its line falls */
        h->dut_fd = -1;
        h->unpowered = true;
        set_dut_rx(h, 0);
    }
    if (h->unpowered || h->noise != 0) {
        h->dut_in.used = 0;
        h->send_bit = 0;
    } else if (h->dut_in.used > 0 && !h->sending) {
        h->sending = true;
        h->send_bit = 0;
        h->send_start = h->avr->cycle + 1;
        avr_cycle_timer_register(h->avr, 1, send_bit, h);
    }
}

/* Looks at the middle of each bit; a byte without a stop bit is none. */
static avr_cycle_count_t receive_bit(avr_t *avr, avr_cycle_count_t when, void *context)
{
    struct harness *h = context;
    (void)avr;
    (void)when;
    if (h->receive_bit == BITS - 1) {
        h->receiving = false;
        if (h->dut_tx_level == 0) {
            h->misframed++;
        } else if (!h->unpowered) {
            send_out(h->dut_fd, h->receive_byte);
        }
        return 0;
    }
    if (h->receive_bit > 0) {
        h->receive_byte = (uint8_t)(h->receive_byte >> 1 | (h->dut_tx_level != 0 ? 0x80 : 0));
    }
    return bit_end(h->receive_start, h->receive_bit++, h->dut_baud) + HZ / h->dut_baud / 2;
}

static void dut_tx_change(avr_irq_t *irq, uint32_t value, void *context)
{
    struct harness *h = context;
    bool fell = h->dut_tx_level != 0 && (value & 1) == 0;
    (void)irq;
    h->dut_tx_level = value & 1;
    if (fell && !h->receiving) {
        h->receiving = true;
        h->receive_start = h->avr->cycle;
        h->receive_bit = 0;
        avr_cycle_timer_register(h->avr, HZ / h->dut_baud / 2, receive_bit, h);
    }
}

static avr_cycle_count_t flutter(avr_t *avr, avr_cycle_count_t when, void *context)
{
    struct harness *h = context;
    (void)avr;
    if (when >= h->noise_end) {
        h->noise = 0;
        set_dut_rx(h, h->unpowered ? 0 : 1);
        (void)printf("done\n");
        (void)fflush(stdout);
        return 0;
    }
    h->noise = h->noise * 6364136223846793005U + 1442695040888963407U;
    set_dut_rx(h, (uint32_t)(h->noise >> 63));
    return when + 80 + (h->noise >> 40) % 4800; /* 5 to 305 us */
}

/* ---- SYNC ---- */

static avr_cycle_count_t play_edge(avr_t *avr, avr_cycle_count_t when, void *context)
{
    struct harness *h = context;
    const struct edge *edge = &h->edges[h->edge_first];
    (void)avr;
    if (edge->cycle > when) {
        return edge->cycle;
    }
    avr_raise_irq(h->sync, edge->level);
    h->edge_first = (h->edge_first + 1) % EDGES;
    h->edge_used--;
    return h->edge_used == 0                      ? 0
           : h->edges[h->edge_first].cycle > when ? h->edges[h->edge_first].cycle
                                                  : when + 1;
}

static void add_edge(struct harness *h, avr_cycle_count_t cycle, uint32_t level)
{
    if (h->edge_used == EDGES) {
        fail("too many edges");
    }
    if (cycle <= h->avr->cycle) {
        h->late++;
        cycle = h->avr->cycle + 1;
    }
    h->edges[(h->edge_first + h->edge_used++) % EDGES] = (struct edge){cycle, level};
    if (h->edge_used == 1) {
        avr_cycle_timer_register(h->avr, cycle - h->avr->cycle, play_edge, h);
    }
}

/* `tick true_ns level phase stolen_ns`: true time is what the host left the device; what it took is
   caught up between bursts. */
static void take_edge_line(struct harness *h, const char *line)
{
    long long tick;
    long long true_ns;
    long long stolen_ns;
    unsigned level;
    unsigned phase;
    if (sscanf(line, "%lld %lld %u %u %lld", &tick, &true_ns, &level, &phase, &stolen_ns) != 5) {
        errno = EINVAL;
        fail(line);
    }
    if (true_ns - h->edge_last_ns > BURST_NS) {
        (void)present(h); /* brings the origin up to date */
        h->edge_shift_ns = stolen_ns - h->origin_ns + EDGE_DELAY_NS;
    }
    h->edge_last_ns = true_ns;
    if (true_ns + h->edge_shift_ns > 0) { /* the level before the beginning is no edge */
        add_edge(h, cycles_of_ns(true_ns + h->edge_shift_ns), level);
    }
}

static void serve_edges(struct harness *h)
{
    ssize_t got =
        read(h->edge_fd, h->edge_text + h->edge_text_b, sizeof h->edge_text - 1 - h->edge_text_b);
    char *end;
    if (got == 0) {
        (void)close(h->edge_fd);
        h->edge_fd = -1;
    }
    h->edge_text_b += got > 0 ? (size_t)got : 0;
    h->edge_text[h->edge_text_b] = '\0';
    while ((end = strchr(h->edge_text, '\n')) != NULL) {
        *end = '\0';
        take_edge_line(h, h->edge_text);
        h->edge_text_b -= (size_t)(end + 1 - h->edge_text);
        memmove(h->edge_text, end + 1, h->edge_text_b + 1);
    }
}

/* ---- an INA226 ---- */

/* The shunt's register, the bus voltage's and the chip's name. Until a conversion is over, the one
   before it is read. */
static uint16_t chip_value(const struct harness *h)
{
    switch (h->chip_reg) {
    case 1: return (uint16_t)(h->chip_count - (h->avr->cycle < h->chip_ready ? 1U : 0U));
    case 2: return 0x0A50;
    case 0xFF: return 0x2260;
    default: return 0;
    }
}

static void take_chip_byte(struct harness *h, uint8_t byte)
{
    if (!h->chip_pointed) {
        h->chip_reg = byte;
        h->chip_pointed = true;
        h->chip_byte = 0;
    } else if (++h->chip_byte == 2 && h->chip_reg == 0) {
        h->chip_count++;
        h->chip_ready = h->avr->cycle + (avr_cycle_count_t)h->chip_us * (HZ / 1000000);
    }
}

static void on_twi(avr_irq_t *irq, uint32_t value, void *context)
{
    struct harness *h = context;
    avr_twi_msg_irq_t message;
    (void)irq;
    message.u.v = value;
    if ((message.u.twi.msg & TWI_COND_STOP) != 0) {
        h->chip_selected = false;
    }
    if ((message.u.twi.msg & TWI_COND_START) != 0) {
        h->chip_selected = message.u.twi.addr >> 1 == 0x40 && h->chip_deaf == 0;
        h->chip_deaf -= h->chip_deaf > 0 ? 1 : 0;
        h->chip_pointed = false;
        h->chip_byte = 0;
        if (h->chip_selected) {
            avr_raise_irq(h->twi_in, avr_twi_irq_msg(TWI_COND_ACK, message.u.twi.addr, 1));
        }
    }
    if (h->chip_selected && (message.u.twi.msg & TWI_COND_WRITE) != 0) {
        avr_raise_irq(h->twi_in, avr_twi_irq_msg(TWI_COND_ACK, message.u.twi.addr, 1));
        take_chip_byte(h, message.u.twi.data);
    }
    if (h->chip_selected && (message.u.twi.msg & TWI_COND_READ) != 0) {
        uint8_t byte = (uint8_t)(chip_value(h) >> (h->chip_byte == 0 ? 8 : 0));
        h->chip_byte++;
        avr_raise_irq(h->twi_in, avr_twi_irq_msg(TWI_COND_READ, message.u.twi.addr, byte));
    }
}

static void attach_chip(struct harness *h, uint32_t us)
{
    h->chip_us = us;
    h->twi_in = avr_io_getirq(h->avr, AVR_IOCTL_TWI_GETIRQ(0), TWI_IRQ_INPUT);
    avr_irq_register_notify(avr_io_getirq(h->avr, AVR_IOCTL_TWI_GETIRQ(0), TWI_IRQ_OUTPUT), on_twi,
                            h);
}

/* ---- commands ---- */

static void command_falls(struct harness *h, char *arguments)
{
    avr_cycle_count_t base = h->avr->cycle + 1;
    char *word = strtok(arguments, " ");
    while (word != NULL) {
        int64_t at_ns = atoll(word);
        int64_t pulse_ns = PULSE_NS;
        word = strtok(NULL, " ");
        if (word != NULL && (atoll(word) - at_ns) / 2 < pulse_ns) {
            pulse_ns = (atoll(word) - at_ns) / 2;
        }
        add_edge(h, base + cycles_of_ns(at_ns), 0);
        add_edge(h, base + cycles_of_ns(at_ns + pulse_ns), 1);
    }
}

/* simavr forgets its cycle timers and its pins. */
static void reset(struct harness *h)
{
    avr_reset(h->avr);
    h->host_feeding = h->sending = h->receiving = false;
    h->host_in.used = h->dut_in.used = h->edge_used = 0;
    h->dut_tx_level = 1;
    set_dut_rx(h, h->unpowered ? 1 : 0);
    set_dut_rx(h, h->unpowered ? 0 : 1);
    avr_raise_irq(h->sync, 0);
    avr_raise_irq(h->sync, 1);
}

/* True where the answer is not `done`, or comes later. */
static bool command(struct harness *h, char *line)
{
    unsigned long long seed;
    long long duration_ns;
    if (strncmp(line, "falls ", 6) == 0) {
        command_falls(h, line + 6);
    } else if (sscanf(line, "deaf %u", &h->chip_deaf) == 1) {
        /* from the next address on */
    } else if (strcmp(line, "dut low") == 0) {
        h->unpowered = true;
        set_dut_rx(h, 0);
    } else if (strcmp(line, "reset") == 0) {
        reset(h);
    } else if (strcmp(line, "late") == 0) {
        (void)printf("late %lu\n", h->late);
        (void)fflush(stdout);
        return true;
    } else if (strcmp(line, "dut high") == 0) {
        h->unpowered = false;
        set_dut_rx(h, 1);
    } else if (strncmp(line, "dut open ", 9) == 0) {
        if (h->dut_fd >= 0) {
            (void)close(h->dut_fd);
        }
        h->dut_fd = open_device(line + 9);
        h->unpowered = false;
        set_dut_rx(h, 1);
    } else if (sscanf(line, "noise %llu %lld", &seed, &duration_ns) == 2) {
        h->noise = seed * 2 + 1;
        h->noise_end = h->avr->cycle + cycles_of_ns(duration_ns);
        avr_cycle_timer_register(h->avr, 1, flutter, h);
        return true;
    } else {
        errno = EINVAL;
        fail(line);
    }
    return false;
}

static void serve_commands(struct harness *h)
{
    static char text[16384];
    static size_t used;
    ssize_t got = read(STDIN_FILENO, text + used, sizeof text - 1 - used);
    char *end;
    if (got <= 0) {
        (void)fprintf(stderr, "late %lu misframed %lu\n", h->late, h->misframed);
        exit(0);
    }
    used += (size_t)got;
    text[used] = '\0';
    while ((end = strchr(text, '\n')) != NULL) {
        *end = '\0';
        if (!command(h, text)) {
            (void)printf("done\n");
            (void)fflush(stdout);
        }
        used -= (size_t)(end + 1 - text);
        memmove(text, end + 1, used + 1);
    }
}

/* ---- the machine ---- */

/* simavr would sleep by itself; time passes in `serve` instead. */
static void no_sleep(avr_t *avr, avr_cycle_count_t how_long)
{
    (void)avr;
    (void)how_long;
}

static void quiet(avr_t *avr, const int level, const char *format, va_list arguments)
{
    (void)avr;
    if (level <= LOG_ERROR) {
        (void)vfprintf(stderr, format, arguments);
    }
}

static void start(struct harness *h, const char *image)
{
    elf_firmware_t firmware;
    uint32_t flags = 0;
    memset(&firmware, 0, sizeof firmware);
    avr_global_logger_set(quiet);
    if (elf_read_firmware(image, &firmware) != 0
        || (h->avr = avr_make_mcu_by_name("atmega328p")) == NULL) {
        fail(image);
    }
    (void)avr_init(h->avr);
    h->avr->frequency = HZ;
    avr_load_firmware(h->avr, &firmware);
    h->avr->frequency = HZ;
    h->avr->sleep = no_sleep;
    /* neither a copy on the console nor a sleep of its own */
    (void)avr_ioctl(h->avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    h->uart_in = avr_io_getirq(h->avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    avr_irq_register_notify(avr_io_getirq(h->avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT),
                            host_byte_out, h);
    h->dut_rx = avr_io_getirq(h->avr, AVR_IOCTL_IOPORT_GETIRQ('D'), DUT_RX_PIN);
    avr_irq_register_notify(avr_io_getirq(h->avr, AVR_IOCTL_IOPORT_GETIRQ('D'), DUT_TX_PIN),
                            dut_tx_change, h);
    h->sync = avr_io_getirq(h->avr, AVR_IOCTL_IOPORT_GETIRQ('B'), 0);
    h->dut_tx_level = 1;
    set_dut_rx(h, 1);
    avr_raise_irq(h->sync, 1);
}

static void run_to(struct harness *h, avr_cycle_count_t end)
{
    while (h->avr->cycle < end) {
        int state = avr_run(h->avr);
        if (state == cpu_Done || state == cpu_Crashed) {
            errno = ECHILD;
            fail("the AVR has stopped");
        }
    }
}

static void serve(struct harness *h, int wait_us)
{
    enum { HOST, DUT, EDGE, COMMANDS, COUNT };
    struct pollfd fds[COUNT] = {
        [HOST] = {.fd = h->host_in.used < QUEUE_B ? h->host_fd : -1, .events = POLLIN},
        [DUT] = {.fd = h->dut_in.used < QUEUE_B ? h->dut_fd : -1, .events = POLLIN},
        [EDGE] = {.fd = h->edge_fd, .events = POLLIN},
        [COMMANDS] = {.fd = STDIN_FILENO, .events = POLLIN},
    };
    struct timespec wait = {.tv_nsec = wait_us * 1000L};
    (void)ppoll(fds, COUNT, &wait, NULL);
    if (fds[EDGE].revents != 0) {
        serve_edges(h);
    }
    if (fds[HOST].revents != 0) {
        serve_host(h);
    }
    if (fds[DUT].revents != 0 || h->dut_in.used > 0) {
        serve_dut(h);
    }
    if (fds[COMMANDS].revents != 0) {
        serve_commands(h);
    }
}

int main(int count, char **words)
{
    static struct harness h = {
        .host_baud = 115200, .dut_baud = 9600, .dut_fd = -1, .dut_keep_fd = -1, .edge_fd = -1};
    if (count < 2) {
        errno = EINVAL;
        fail("avr_harness IMAGE [--dut PATH] [--edges FD] [--host-baud N] [--dut-baud N]");
    }
    start(&h, words[1]);
    for (int i = 2; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--dut") == 0) {
            h.dut_fd = open_device(words[i + 1]);
        } else if (strcmp(words[i], "--edges") == 0) {
            h.edge_fd = atoi(words[i + 1]);
        } else if (strcmp(words[i], "--host-baud") == 0) {
            h.host_baud = (uint32_t)atol(words[i + 1]);
        } else if (strcmp(words[i], "--dut-baud") == 0) {
            h.dut_baud = (uint32_t)atol(words[i + 1]);
        } else if (strcmp(words[i], "--ina") == 0) {
            attach_chip(&h, (uint32_t)atol(words[i + 1]));
        } else {
            errno = EINVAL;
            fail(words[i]);
        }
    }
    h.host_fd = open_pty("pty", &h.host_keep_fd);
    if (h.dut_fd < 0) {
        h.dut_fd = open_pty("dut", &h.dut_keep_fd);
    }
    /* its first words are over, as on a board, before a client comes */
    run_to(&h, HZ / 1000 * BOOT_MS);
    (void)fflush(stdout);
    h.origin_ns = now_ns() - BOOT_MS * 1000000;
    h.edge_shift_ns = EDGE_DELAY_NS - h.origin_ns;
    for (;;) {
        avr_cycle_count_t target = present(&h);
        bool ahead = h.avr->cycle >= target;
        serve(&h, ahead ? 300 : 0);
        if (!ahead) {
            run_to(&h, h.avr->cycle + SLICE_CYCLES < target ? h.avr->cycle + SLICE_CYCLES : target);
        }
    }
}
