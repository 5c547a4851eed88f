/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NR_PORT_H
#define NR_PORT_H

#include <stddef.h>
#include <stdint.h>

/* A port: the functions of a board that the core needs. One struct, filled by ports/NAME; the core
   calls no function from an interrupt. */
struct nr_port {
    void *context; /* passed to every function */

    /* rate of `ticks`, at least 1000; 1 MHz or more is expected of a real board */
    uint32_t tick_hz;
    uint16_t hold_min_us; /* shortest SYNC pulse this port makes, 1 or more */
    uint8_t flags;        /* enum nr_caps_flag */
    /* UART rate at power-up: where a failed baud switch goes back to at first */
    uint32_t baud;
    const char *device;   /* name for people, ASCII */
    const char *build;    /* what identifies the image: version-control revision or hash, ASCII */
    const char *sync_pin; /* "PA8"; empty where there is none */

    /* Takes up to `capacity_b` received bytes without waiting; returns their number, 0 when none. A
       port with an interrupt-driven ring returns the content of the ring. Bytes lost by an overrun
       are simply missing: the frame CRC detects that. */
    size_t (*read)(void *context, uint8_t *bytes, size_t capacity_b);

    /* Hands over all `length_b` bytes, waiting as long as that takes. */
    void (*write)(void *context, const uint8_t *bytes, size_t length_b);

    /* Returns when the last bit of everything written has left the UART. */
    void (*drain)(void *context);

    /* The device's own time in ticks since an arbitrary moment; monotonic, 64 bits (the port
       extends a narrower counter). */
    uint64_t (*ticks)(void *context);

    /* Drops SYNC, then reads the tick, both in constant time, and sees to it that SYNC rises
       `hold_us` later, never sooner; returns the tick. May block for the pulse where no timer can
       end it (then NR_CAP_MARK_NONBLOCKING is clear), and for the rest of the previous pulse and an
       equally long high time. `phase` is the phase that begins: a real port ignores it, a simulated
       one draws its current from it. */
    uint64_t (*mark)(void *context, uint8_t phase, uint16_t hold_us);

    /* Waits `duration_us` configured and ready (not asleep): the idle state whose power is
       reported. */
    void (*wait)(void *context, uint32_t duration_us);

    /* Rests until a byte may have come: wait-for-interrupt, or a short sleep. May return at any
       time, and does so within 10 ms while a stream is played (between its marks NR_PHASE_STREAM or
       NR_PHASE_DECIDED and the next one). */
    void (*rest)(void *context);

    /* Changes the UART rate; the core has called `drain` before. Returns 0, or -1 and no change
       when the rate cannot be made within 2 %. May be called to and fro while the line is idle, as
       the core tries a rate before it agrees to it. NULL: fixed rate. */
    int (*set_baud)(void *context, uint32_t baud);

    /* The size of the stack, and the bytes of it that were never used since power-up (the start-up
       code paints it, this counts the paint that is left). NULL and 0 where that is not known.
       Called outside of windows only. */
    uint32_t stack_b;
    uint32_t (*stack_unused_b)(void *context);

    /* Received bytes that were lost before `read` could return them, since power-up, as far as the
       hardware and the ring tell: modulo 2^32. NULL where that is not known. */
    uint32_t (*rx_lost_b)(void *context);

    /* The present level of SYNC, 0 or 1, read back from the pin and not from the output register.
       NULL where that is impossible. */
    uint8_t (*sync_level)(void *context);
};

#endif
