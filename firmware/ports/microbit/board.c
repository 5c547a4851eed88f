/* SPDX-License-Identifier: Apache-2.0 */
/* nRF51822, a Cortex-M0, as `qemu-system-arm -M microbit` emulates it. It has one UART, so the edge
   wire is the semihosting console: a breakpoint instruction that the emulator answers. A real
   processor without a debugger would stop there: this port is for the emulator only. Reference:
   Nordic nRF51 Series Reference Manual v3.0; Arm IHI 0100 (semihosting). */
#ifndef NR_EMULATED
#error "this port has no SYNC pin: it is for the emulator only"
#endif

#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_ring.h"
#include "nr_wire.h"

#define UART_STARTRX NR_REGISTER(0x40002000U)
#define UART_STARTTX NR_REGISTER(0x40002008U)
#define UART_RXDRDY NR_REGISTER(0x40002108U)
#define UART_TXDRDY NR_REGISTER(0x4000211CU)
#define UART_INTENSET NR_REGISTER(0x40002304U)
#define UART_ENABLE NR_REGISTER(0x40002500U)
#define UART_PSELTXD NR_REGISTER(0x4000250CU)
#define UART_PSELRXD NR_REGISTER(0x40002514U)
#define UART_RXD NR_REGISTER(0x40002518U)
#define UART_TXD NR_REGISTER(0x4000251CU)
#define UART_BAUDRATE NR_REGISTER(0x40002524U)
enum { UART_ENABLED = 4, UART_INTERRUPT_RXDRDY = 1 << 2, PIN_TX = 24, PIN_RX = 25 };

#define TIMER_START NR_REGISTER(0x40008000U)
#define TIMER_CLEAR NR_REGISTER(0x4000800CU)
#define TIMER_CAPTURE0 NR_REGISTER(0x40008040U)
#define TIMER_COMPARE1 NR_REGISTER(0x40008144U)
#define TIMER_INTENSET NR_REGISTER(0x40008304U)
#define TIMER_INTENCLR NR_REGISTER(0x40008308U)
#define TIMER_BITMODE NR_REGISTER(0x40008508U)
#define TIMER_PRESCALER NR_REGISTER(0x40008510U)
#define TIMER_CC0 NR_REGISTER(0x40008540U)
#define TIMER_CC1 NR_REGISTER(0x40008544U)
enum { BITMODE_32 = 3, PRESCALER_1MHZ = 4, TIMER_INTERRUPT_1 = 1 << 17 };

/* The register counts the clock's 2^32nd parts and ignores the lowest twelve bits: a step is 15 Bd,
   coarse at low rates; up to 1 MBd is stated. */
#define UART_HZ 16000000ULL
#define RATE_STEP 0x1000U
#define RATE_OF(baud) \
    (((((baud) * 1ULL) << 32U) / UART_HZ + RATE_STEP / 2U) / RATE_STEP * RATE_STEP)
#define BAUD_MADE(baud) ((RATE_OF(baud) * UART_HZ) >> 32U)
#define BAUD_MAX 1000000U
#define IS_REFUSED(baud) ((baud) > BAUD_MAX || NR_BAUD_IS_OFF(BAUD_MADE(baud), (baud)))
#if IS_REFUSED(NR_BAUD_AT_START)
#error "NR_BAUD_AT_START: the UART cannot make this rate within 2 percent, or it is above 1000000"
#endif

/* Static: the transmitter says only after a byte that it is free. */
static uint8_t transmitting;

void nr_board_describe(struct nr_port *port)
{
    port->tick_hz = 1000000;
    port->hold_min_us = 1;
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = NR_BAUD_AT_START;
    port->device = "microbit";
    port->sync_pin = "edge wire";
}

/* ---- interrupts ---- */

/* The event is cleared before its byte is read: the next byte raises it again. */
void nr_on_uart(void)
{
    while (UART_RXDRDY != 0) {
        UART_RXDRDY = 0;
        nr_ring_put((uint8_t)UART_RXD);
    }
}

/* Waking up is all it is for. */
void nr_on_wake(void) { TIMER_COMPARE1 = 0; }

/* ---- start ---- */

void nr_board_init(void)
{
    TIMER_BITMODE = BITMODE_32;
    TIMER_PRESCALER = PRESCALER_1MHZ;
    TIMER_CLEAR = 1;
    TIMER_START = 1;
    UART_PSELTXD = PIN_TX;
    UART_PSELRXD = PIN_RX;
    UART_BAUDRATE = (uint32_t)RATE_OF(NR_BAUD_AT_START);
    UART_ENABLE = UART_ENABLED;
    UART_INTENSET = UART_INTERRUPT_RXDRDY;
    UART_STARTTX = 1;
    UART_STARTRX = 1;
    (void)UART_RXD; /* the emulator looks for bytes from here on */
    nr_interrupt_enable(NR_UART_INTERRUPT);
    nr_interrupt_enable(NR_WAKE_INTERRUPT);
}

/* ---- time and SYNC ---- */

uint32_t nr_board_counter_us(void)
{
    TIMER_CAPTURE0 = 1;
    return TIMER_CC0;
}

/* The far end of the edge wire makes the pulse: it raises the line so much later, as a timer
   would. */
uint32_t nr_board_pulse(uint32_t low_us)
{
    (void)low_us;
    return nr_board_counter_us();
}

void nr_board_wake_after(uint32_t delay_us)
{
    TIMER_COMPARE1 = 0;
    /* a compare with the present would wait for the next round */
    TIMER_CC1 = nr_board_counter_us() + delay_us + 1U;
    TIMER_INTENSET = TIMER_INTERRUPT_1;
}

void nr_board_wake_off(void)
{
    TIMER_INTENCLR = TIMER_INTERRUPT_1;
    TIMER_COMPARE1 = 0;
    nr_interrupt_unpend(NR_WAKE_INTERRUPT);
}

/* ---- the line ---- */

static void wait_for_transmitter(void)
{
    while (transmitting && UART_TXDRDY == 0) {
    }
    transmitting = 0;
}

void nr_board_uart_put(uint8_t byte)
{
    wait_for_transmitter();
    UART_TXDRDY = 0;
    UART_TXD = byte;
    transmitting = 1;
}

void nr_board_uart_drain(void) { wait_for_transmitter(); }

int nr_board_uart_set_baud(uint32_t baud)
{
    if (baud == 0 || IS_REFUSED(baud)) {
        return -1;
    }
    UART_BAUDRATE = (uint32_t)RATE_OF(baud);
    return 0;
}

void nr_board_wire_write(const char *text, size_t length_b)
{
    /* ended by a zero, as SYS_WRITE0 wants it; on the wire no line is longer */
    static char line[40];
    size_t kept_b = 0;
    while (kept_b < length_b && kept_b < sizeof line - 1U) {
        line[kept_b] = text[kept_b];
        kept_b++;
    }
    line[kept_b] = '\0';
    {
        register uint32_t operation __asm__("r0") = 4; /* SYS_WRITE0 */
        register const char *argument __asm__("r1") = line;
        __asm__ volatile("bkpt 0xAB" : "+r"(operation) : "r"(argument) : "memory");
    }
}
