/* SPDX-License-Identifier: Apache-2.0 */
/* A port that compiles and does nothing: copy this folder to ports/NAME and fill the eight
   functions in.

   What a port is.   One struct nr_port (core/nr_port.h), which this file fills and hands to
   nr_shim_init. The core calls it from one context only, the main loop, and never from an
   interrupt. Your interrupt handlers talk to these functions through your own variables.

   What to decide first.
   1. The timer: a free-running counter that does not stop in the state `wait` leaves the device in.
      1 MHz or more; 1 kHz is the floor. Its rate goes into tick_hz as it is nominally; the rig
      measures the error.
   2. The SYNC pin: push-pull, high at rest from the first instruction on (set the output level
      before the direction), idle otherwise.
   3. The UART: 8N1, 115 200 baud at power-up, receiving through an interrupt or DMA into a ring. A
      ring of NR_WINDOW frames (8 * (NR_MAX_PAYLOAD_B + 10) bytes) loses nothing; a smaller one
      works too, as lost frames are sent again: set NR_WINDOW to what fits.

   How to know that it is right.   `rig` against the null workload: the pulses of a SYNC burst must
   have the intervals 1, 2, 1, 4, marks and edges must agree within the timer's resolution, and a
   window of the null workload is the overhead that every result contains.

   Order of work: write, ticks, read, and the text layer answers `name%`; then mark, then set_baud,
   then what waits for power: wait, rest. */
#include "nr_image_workload.h"
#include "nr_port.h"
#include "nr_shim.h"

/* a stream needs a second one, to take in a window while another is played; it costs one more
   input */
enum { SLOTS = 1 };

/* State of your functions; they get it as `context`. */
struct board {
    uint64_t ticks_high; /* for instance: the upper bits of a 32-bit counter */
};

/* Takes up to `capacity_b` bytes out of the receive ring and returns their number; 0 at once when
   there are none. Write here: copy from the ring under the interrupt handler's rules (one producer,
   one consumer: no lock needed, two indices). Receive errors and overruns need no report:
   acknowledge them in the handler, the frame's CRC finds them. Counting them is worth a line: as
   rx_lost_b, it tells `rig probe` why frames break. */
static size_t board_read(void *context, uint8_t *bytes, size_t capacity_b)
{
    (void)context;
    (void)bytes;
    (void)capacity_b;
    return 0;
}

/* Hands over all bytes; may wait as long as that takes. Never called between the first and the last
   mark of a window. Write here: wait for the transmit register, write one byte, repeat; or fill a
   DMA buffer and wait for its end. */
static void board_write(void *context, const uint8_t *bytes, size_t length_b)
{
    (void)context;
    (void)bytes;
    (void)length_b;
}

/* Returns when the last stop bit has left the pin, not when the register is empty: a UART still
   shifting is current in the window. Write here: wait for "transmission complete" (TC on STM32),
   not "register empty" (TXE). */
static void board_drain(void *context) { (void)context; }

/* The device's own time in ticks, 64 bits, monotonic. Write here: read the counter and extend it. A
   32-bit counter at 1 MHz wraps every 71 minutes: it must be read at least once in that time (the
   main loop does, but not during a long window), or count its overflows in an interrupt and read
   high, low, high again. */
static uint64_t board_ticks(void *context)
{
    const struct board *board = context;
    return board->ticks_high;
}

/* Drops SYNC, reads the tick, returns it; SYNC is high again `hold_us` later, never sooner: a
   counter that is read has begun its tick before, so the line rises a tick later than tick and hold
   say. The distance from the falling edge to the reading must be the same every time: disable
   interrupts around the two, call nothing in between, keep the code in the same memory (flash wait
   states). If the line has been high for less than the hold of the previous pulse, wait for that
   first. Write here, best: a one-shot timer or an output-compare channel raises the line, and the
   flag NR_CAP_MARK_NONBLOCKING is set. Write here, else: spin for the hold, clear the flag; the
   pulse is then part of the phase, and the null workload shows how much. `phase` is for
   simulations: ignore it. */
static uint64_t board_mark(void *context, uint8_t phase, uint16_t hold_us)
{
    (void)phase;
    (void)hold_us;
    return board_ticks(context);
}

/* Waits `duration_us`, configured and ready but not asleep: the idle state whose power is reported
   and subtracted. Clocks, RAM and peripherals stay as they are in a window. Write here: what your
   main loop would do while it waits for work, usually wait-for-interrupt with the timer as its end.
   Within some tens of microseconds is near enough, as both ends are marked. */
static void board_wait(void *context, uint32_t duration_us)
{
    (void)context;
    (void)duration_us;
}

/* Nothing to do until a byte comes or a millisecond has passed. May return at any time, also at
   once. Write here: wait-for-interrupt, with a timer tick armed (a stream relies on 10 ms at most),
   and with the test for "ring empty" and the sleep made one by disabling interrupts around both (on
   Cortex-M a pending interrupt ends WFI even so). */
static void board_rest(void *context) { (void)context; }

/* Changes the UART's rate; everything written has been drained. Returns 0, or -1 and no change when
   the divider is off by more than 2 %. Write here: compute the divider, compare baud * divider with
   the clock, set it. Or leave set_baud NULL: then the rate is fixed. */
static int board_set_baud(void *context, uint32_t baud)
{
    (void)context;
    (void)baud;
    return -1;
}

static uint8_t slot_memory[SLOTS * NR_IMAGE_SLOT_B];
/* An output for each slot of a batch, or for each answer of a stream that waits. */
static uint8_t
    output_memory[(SLOTS > NR_STREAM_RECORDS ? SLOTS : NR_STREAM_RECORDS) * NR_IMAGE_OUTPUT_B];
static struct board this_board;
static struct nr_port port;
static struct nr_workload workload;
static nr_image_workload state;
static struct nr_shim shim; /* about 2 KiB; too large for most stacks */

static void fill_port(void)
{
    port.context = &this_board;
    port.tick_hz = 1000000;
    port.hold_min_us = 1;
    /* add NR_CAP_BAUD and NR_CAP_MARK_NONBLOCKING when they are true */
    port.flags = NR_CAP_SYNC_LINE;
    port.baud = 115200;
    port.device = "template";
    port.build = "unknown"; /* let the build fill in a hash of the sources */
    port.sync_pin = "";
    port.read = board_read;
    port.write = board_write;
    port.drain = board_drain;
    port.ticks = board_ticks;
    port.mark = board_mark;
    port.wait = board_wait;
    port.rest = board_rest;
    port.set_baud = board_set_baud;
    /* stack_b and stack_unused_b, rx_lost_b, sync_level: each is left out until `rig probe` is to
       tell more (core/nr_port.h). */
}

/* Clocks, pins, timer and UART come first; write them here or in the start-up code. */
int main(void)
{
    struct nr_memory memory = {slot_memory, SLOTS, output_memory, sizeof output_memory};
    fill_port();
    NR_IMAGE_FILL_WORKLOAD(&workload, &state);
    nr_shim_init(&shim, &port, &workload, &memory);
    for (;;) {
        nr_shim_poll(&shim);
    }
}
