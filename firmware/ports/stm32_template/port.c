/* SPDX-License-Identifier: Apache-2.0 */
/* A port for STM32, on registers alone: USART with an interrupt into a ring, a 32-bit timer as the
   device's time, a GPIO as SYNC, and the core's SysTick, which ends the SYNC pulse and wakes the
   processor. What a board changes is in boards/NAME; the places in this file that a board may want
   different say BOARD: as well. What each function owes the core is in core/nr_port.h.

   Two contexts: the main loop, which is all of the core and of this file but the two nr_on_
   functions at the top, and the interrupts. They share the ring (its two indices have one writer
   each) and the level of SYNC. */
#include "nr_image_workload.h"
#include "nr_port.h"
#include "nr_shim.h"
#include "start.h"
#include "stm32.h"

#ifndef NR_BUILD
#define NR_BUILD "unknown"
#endif
#ifndef NR_IMAGE_KERNELS
#define NR_IMAGE_KERNELS ""
#endif

enum {
    /* BOARD: a faster tick tells shorter windows apart; its period must divide a microsecond, and
       the timer's rate it */
    TICK_HZ = 1000000,
    HOLD_MIN_US = 2,     /* SysTick ends a pulse some cycles late, never early */
    REST_US = 1000,
    /* the last part of a wait: to fall asleep and wake takes some microseconds of its own */
    SPIN_US = 20,
    /* BOARD: a stream needs a second slot, which costs one more input of RAM */
    SLOTS = 1,
    RING_B = 4096        /* a power of two; NR_WINDOW full frames are 8 * (256 + 10) bytes */
};

/* BOARD: another rate after reset, as -DBAUD_AT_START=... as well. */
#ifndef BAUD_AT_START
#define BAUD_AT_START 115200U
#endif
#define BAUD_ERROR_MAX 50U /* one part in so many */
#define DIVIDER_MIN 16U    /* the USART samples a bit 16 times */
#define DIVIDER_MAX 0xFFFFU
#define DIVIDER_OF(baud) ((USART_HZ + (baud) / 2U) / (baud))
#define OFF_HZ(divider, baud) \
    ((divider) * (baud) > USART_HZ ? (divider) * (baud) - USART_HZ : USART_HZ - (divider) * (baud))
#define IS_REFUSED(divider, baud) \
    ((divider) < DIVIDER_MIN || (divider) > DIVIDER_MAX \
     || OFF_HZ(divider, baud) * BAUD_ERROR_MAX > USART_HZ)
#if BAUD_AT_START == 0 || IS_REFUSED(DIVIDER_OF(BAUD_AT_START), BAUD_AT_START)
#error "BAUD_AT_START: the USART cannot make this rate from USART_HZ within 2 percent"
#endif

/* Fails to compile where a microsecond is no whole number of ticks, the timer cannot make the tick,
   or SysTick cannot count to 65 535 us. BOARD: for the last, give SysTick its slower clock: leave
   SYST_CLKSOURCE out below and put CORE_HZ / 8 for CORE_HZ. */
typedef char nr_check_tick[(TICK_HZ % 1000000 == 0 && TIMER_HZ % TICK_HZ == 0) ? 1 : -1];
#define CYCLES_PER_US ((CORE_HZ + 999999U) / 1000000U) /* rounded up: a pulse is never too short */
typedef char nr_check_systick[(CYCLES_PER_US * 65536U <= SYST_MAX) ? 1 : -1];

struct board {
    uint32_t tick_low; /* the timer when it was last read */
    uint32_t tick_high;
    uint64_t sync_free_tick; /* from here on the next pulse may begin */
    volatile uint8_t ring[RING_B];
    volatile uint32_t ring_in;  /* bytes put in since reset, by the interrupt alone */
    volatile uint32_t ring_out; /* bytes taken out, by the main loop alone */
    /* at least so many: an overrun of the USART counts once, however long it was */
    volatile uint32_t lost_b;
};

static struct board this_board; /* static, because an interrupt handler gets no context */

/* ---- pins ---- */

/* The lower half of BSRR sets, the upper half clears: one store, no interrupt can come in
   between. */
static inline void sync_high(void) { *reg(SYNC_PORT + GPIO_BSRR) = 1U << SYNC_PIN; }
static inline void sync_low(void) { *reg(SYNC_PORT + GPIO_BSRR) = 1U << (SYNC_PIN + 16U); }

/* ---- interrupts ---- */

/* SysTick counts in a circle: where a pulse is short, the next turn may be pending already when the
   first one is answered. */
static inline void stop_systick(void)
{
    *reg(SYST_CSR) = 0;
    *reg(SCB_ICSR) = ICSR_PENDSTCLR;
}

/* A pulse is over. The end of a rest does not come here, it only wakes (see doze). */
void nr_on_systick(void)
{
    sync_high();
    stop_systick();
}

/* One byte into the ring; what finds it full is lost, and the frame's CRC finds out. So it does for
   bytes with errors: they only have to be acknowledged, or the interrupt comes again for ever. */
void nr_on_usart(void)
{
    struct board *board = &this_board;
    uint32_t status = *reg(USART + USART_STATUS);
    /* older USART: this acknowledges all, as the status was read before */
    uint8_t byte = (uint8_t)*reg(USART + USART_RECEIVE);
#if !USART_HAS_DR
    *reg(USART + USART_ICR) = status & USART_ERRORS;
#endif
    if ((status & USART_ORE) != 0) {
        board->lost_b++;
    }
    if ((status & USART_RXNE) == 0) {
        return;
    }
    if (board->ring_in - board->ring_out < RING_B) {
        board->ring[board->ring_in % RING_B] = byte;
        board->ring_in++;
    } else {
        board->lost_b++;
    }
}

/* ---- the UART ---- */

static size_t board_read(void *context, uint8_t *bytes, size_t capacity_b)
{
    struct board *board = context;
    size_t taken_b = 0;
    while (taken_b < capacity_b && board->ring_out != board->ring_in) {
        bytes[taken_b++] = board->ring[board->ring_out % RING_B];
        board->ring_out++;
    }
    return taken_b;
}

static uint32_t board_rx_lost_b(void *context)
{
    const struct board *board = context;
    return board->lost_b;
}

static void board_write(void *context, const uint8_t *bytes, size_t length_b)
{
    (void)context;
    for (size_t i = 0; i < length_b; i++) {
        while ((*reg(USART + USART_STATUS) & USART_TXE) == 0) {
        }
        *reg(USART + USART_TRANSMIT) = bytes[i];
    }
}

/* TC, not TXE: only then has the stop bit left the pin. */
static void board_drain(void *context)
{
    (void)context;
    while ((*reg(USART + USART_STATUS) & USART_TC) == 0) {
    }
}

/* The divider for a rate, or 0 where it would be off by more than 2 %. */
static uint32_t divider_of(uint32_t baud)
{
    uint64_t divider = baud != 0 ? DIVIDER_OF(baud) : 0;
    return IS_REFUSED(divider, baud) ? 0 : (uint32_t)divider;
}

static int board_set_baud(void *context, uint32_t baud)
{
    uint32_t divider = divider_of(baud);
    (void)context;
    if (divider == 0) {
        return -1;
    }
    *reg(USART + USART_CR1) = 0; /* newer USART: the divider takes no change while it is on */
    *reg(USART + USART_BRR) = divider;
    *reg(USART + USART_CR1) = USART_CR1_UE | USART_CR1_TE | USART_CR1_RE | USART_CR1_RXNEIE;
    return 0;
}

/* ---- time ---- */

/* Extends a reading of the timer to 64 bits. One reading in 71 minutes is enough; the main loop
   does it each millisecond, so that only a window longer than that could lose a turn. BOARD: a
   timer of 16 bits turns each 65 ms; count its turns in its update interrupt. */
static uint64_t extend(struct board *board, uint32_t low)
{
    board->tick_high += low < board->tick_low;
    board->tick_low = low;
    return (uint64_t)board->tick_high << 32 | low;
}

static uint64_t board_ticks(void *context) { return extend(context, *reg(TIMER + TIM_CNT)); }

/* SysTick, set to interrupt once after `duration_us`; it runs from the next line on. */
static inline void set_systick(uint32_t duration_us)
{
    stop_systick();
    *reg(SYST_RVR) = duration_us * CYCLES_PER_US;
    *reg(SYST_CVR) = 0;
}

static inline void start_systick(void)
{
    *reg(SYST_CSR) = SYST_CLKSOURCE | SYST_TICKINT | SYST_ENABLE;
}

/* Falling edge and reading of the timer are a store and a load with interrupts off, which cannot be
   interrupted in between. An interrupt raises the line again; it is part of the phase, some 30
   cycles. BOARD: a pin that is also an output of a timer (output compare, one-pulse mode) rises
   without one. */
static uint64_t board_mark(void *context, uint8_t phase, uint16_t hold_us)
{
    struct board *board = context;
    uint64_t tick;
    uint32_t low;
    (void)phase;
    while (board_ticks(board) < board->sync_free_tick) {
    }
    interrupts_off();
    set_systick(hold_us);
    sync_low();
    low = *reg(TIMER + TIM_CNT);
    start_systick();
    interrupts_on();
    tick = extend(board, low);
    /* 4: both readings may be late, so may the handler */
    board->sync_free_tick = tick + (2U * (uint64_t)hold_us + 4U) * (TICK_HZ / 1000000);
    return tick;
}

/* The input register shows the pin, also that of an output: what holds the line down is found. QEMU
   has no pins to read. */
#ifdef EMULATED
#define board_sync_level NULL
#else
static uint8_t board_sync_level(void *context)
{
    (void)context;
    return (uint8_t)(*reg(SYNC_PORT + GPIO_IDR) >> SYNC_PIN & 1U);
}
#endif

/* ---- waiting ---- */

/* Sleeps until any interrupt, at most `limit_us`. Interrupts are off: one that is pending ends WFI
   all the same, so none is slept through. */
static void doze(uint32_t limit_us)
{
    bool pulse = (*reg(SYST_CSR) & SYST_ENABLE) != 0; /* its end will wake us */
    if (!pulse) {
        set_systick(limit_us);
        start_systick();
    }
    wait_for_interrupt();
    if (!pulse) { /* or it would end the next pulse early */
        stop_systick();
    }
}

/* BOARD: WFI stops the clock of the core alone ("Sleep mode"). If your application waits
   differently, do the same here: this is the idle state whose power is reported. Do not use a
   deeper sleep that stops the timer. */
static void board_wait(void *context, uint32_t duration_us)
{
    struct board *board = context;
    uint64_t end_tick = board_ticks(board) + (uint64_t)duration_us * (TICK_HZ / 1000000);
    uint64_t tick = board_ticks(board);
    while (tick < end_tick) {
        uint64_t left_us = (end_tick - tick) / (TICK_HZ / 1000000);
        if (left_us > SPIN_US) {
            interrupts_off();
            doze(left_us < REST_US ? (uint32_t)left_us - SPIN_US : (uint32_t)REST_US);
            interrupts_on();
        }
        tick = board_ticks(board);
    }
}

static void board_rest(void *context)
{
    const struct board *board = context;
    interrupts_off();
    if (board->ring_in == board->ring_out) {
        doze(REST_US);
    }
    interrupts_on();
}

static uint32_t board_stack_unused_b(void *context)
{
    (void)context;
    return nr_stack_unused_b();
}

/* ---- start ---- */

static void set_field(uint32_t address, uint32_t shift, uint32_t bits, uint32_t value)
{
    uint32_t mask = ((1U << bits) - 1U) << shift;
    *reg(address) = (*reg(address) & ~mask) | value << shift;
}

static void start_clocks(void)
{
    /* BOARD: a PLL, the flash's wait states before it, and the voltage range; then CORE_HZ,
       USART_HZ and TIMER_HZ in board.h. */
    *reg(GPIO_ENABLE) |= GPIO_ENABLE_BITS;
    *reg(USART_ENABLE) |= USART_ENABLE_BITS;
    *reg(TIMER_ENABLE) |= TIMER_ENABLE_BITS;
    (void)*reg(TIMER_ENABLE); /* a peripheral answers two cycles after its clock starts */
}

static void start_sync(void)
{
    sync_high(); /* before the pin becomes an output: no pulse at power-up */
    set_field(SYNC_PORT + GPIO_MODER, 2U * SYNC_PIN, 2, GPIO_OUTPUT);
}

static void start_usart_pin(uint32_t pin)
{
    set_field(USART_PORT + GPIO_AFRL + pin / 8U * 4U, pin % 8U * 4U, 4, USART_ALTERNATE);
    set_field(USART_PORT + GPIO_MODER, 2U * pin, 2, GPIO_ALTERNATE);
}

static void start_usart(struct board *board)
{
    /* or a wire that is not there sends noise */
    set_field(USART_PORT + GPIO_PUPDR, 2U * USART_RX_PIN, 2, GPIO_PULL_UP);
    start_usart_pin(USART_TX_PIN);
    start_usart_pin(USART_RX_PIN);
    (void)board_set_baud(board, BAUD_AT_START);
    *reg(NVIC_ISER + USART_IRQ / 32U * 4U) = 1U << (USART_IRQ % 32U);
}

static void start_timer(void)
{
    *reg(TIMER + TIM_PSC) = TIMER_HZ / TICK_HZ - 1U;
    *reg(TIMER + TIM_ARR) = 0xFFFFFFFFU;
    *reg(TIMER + TIM_EGR) = TIM_EGR_UG; /* takes over the prescaler */
    *reg(TIMER + TIM_CR1) = TIM_CR1_CEN;
}

static void fill_port(struct nr_port *port)
{
    port->context = &this_board;
    port->tick_hz = TICK_HZ;
    port->hold_min_us = HOLD_MIN_US;
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = BAUD_AT_START;
    port->device = BOARD_NAME;
    port->build = NR_BUILD NR_IMAGE_KERNELS;
    port->sync_pin = SYNC_NAME;
    port->read = board_read;
    port->write = board_write;
    port->drain = board_drain;
    port->ticks = board_ticks;
    port->mark = board_mark;
    port->wait = board_wait;
    port->rest = board_rest;
    port->set_baud = board_set_baud;
    port->stack_b = nr_stack_b();
    port->stack_unused_b = board_stack_unused_b;
    port->rx_lost_b = board_rx_lost_b;
    port->sync_level = board_sync_level;
}

static uint8_t slot_memory[SLOTS * NR_IMAGE_SLOT_B];
/* An output for each slot of a batch, or for each answer of a stream that waits. */
static uint8_t
    output_memory[(SLOTS > NR_STREAM_RECORDS ? SLOTS : NR_STREAM_RECORDS) * NR_IMAGE_OUTPUT_B];
static struct nr_port port;
static struct nr_workload workload;
static nr_image_workload state;
static struct nr_shim shim;

int main(void)
{
    struct nr_memory memory = {slot_memory, SLOTS, output_memory, sizeof output_memory};
    start_clocks();
    start_sync();
    start_timer();
    start_usart(&this_board);
    interrupts_on();
    fill_port(&port);
    NR_IMAGE_FILL_WORKLOAD(&workload, &state);
    nr_shim_init(&shim, &port, &workload, &memory);
    for (;;) {
        nr_shim_poll(&shim);
    }
}
