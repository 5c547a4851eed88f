/* SPDX-License-Identifier: Apache-2.0 */
/* Nordic nRF52840, a Cortex-M4, and the parts that the nRF51822, a Cortex-M0, shares with it, as
   `qemu-system-arm -M microbit` emulates that. The line is the UART of bytes, without DMA; TIMER0
   is the ticks, and raises SYNC through PPI and GPIOTE, without the processor.
   The emulator has one UART, so its edge wire is the semihosting console: a breakpoint instruction
   that the emulator answers. References: Nordic nRF52840 Product Specification, nRF51 Series
   Reference Manual v3.0; Arm IHI 0100 (semihosting). */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_ring.h"
#include "nr_wire.h"

#define CLOCK_HFCLKSTART NR_REGISTER(0x40000000U)
#define CLOCK_HFCLKSTARTED NR_REGISTER(0x40000100U)

#define UART_STARTRX NR_REGISTER(0x40002000U)
#define UART_STARTTX NR_REGISTER(0x40002008U)
#define UART_RXDRDY NR_REGISTER(0x40002108U)
#define UART_TXDRDY NR_REGISTER(0x4000211CU)
#define UART_INTENSET NR_REGISTER(0x40002304U)
#define UART_ERRORSRC NR_REGISTER(0x40002480U)
#define UART_ENABLE NR_REGISTER(0x40002500U)
#define UART_PSELTXD NR_REGISTER(0x4000250CU)
#define UART_PSELRXD NR_REGISTER(0x40002514U)
#define UART_RXD NR_REGISTER(0x40002518U)
#define UART_TXD NR_REGISTER(0x4000251CU)
#define UART_BAUDRATE NR_REGISTER(0x40002524U)
enum { UART_ENABLED = 4, UART_INTERRUPT_RXDRDY = 1 << 2, UART_ERROR_OVERRUN = 1 };

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
#define TIMER_CC2 NR_REGISTER(0x40008548U)
enum { BITMODE_32 = 3, PRESCALER_1MHZ = 4, TIMER_INTERRUPT_1 = 1 << 17 };

/* Pins are numbered 32 * port + pin. */
#define GPIO(pin, offset) NR_REGISTER(0x50000000U + (pin) / 32U * 0x300U + (offset))
#define GPIO_OUTSET(pin) GPIO(pin, 0x508U)
#define GPIO_IN(pin) GPIO(pin, 0x510U)
#define GPIO_CNF(pin) GPIO(pin, 0x700U + (pin) % 32U * 4U)
#define PIN_BIT(pin) (1U << (pin) % 32U)
enum { CNF_OUTPUT_READ = 1, CNF_OUTPUT = 3, CNF_INPUT_PULL_UP = 3 << 2 };

#define GPIOTE_SET0 NR_REGISTER(0x40006030U)
#define GPIOTE_CLR0 NR_REGISTER(0x40006060U)
#define GPIOTE_CONFIG0 NR_REGISTER(0x40006510U)
#define GPIOTE_TASK_HIGH(pin) (3U | (pin) << 8U | 1U << 16U | 1U << 20U)
#define PPI_CHENSET NR_REGISTER(0x4001F504U)
#define PPI_EVENT0 NR_REGISTER(0x4001F510U)
#define PPI_TASK0 NR_REGISTER(0x4001F514U)
enum { EVENT_COMPARE2 = 0x40008148, TASK_SET0 = 0x40006030 };

/* A bit is a whole number of clocks of 16 MHz, 2^32 / BAUDRATE rounded down, and BAUDRATE has no
   lower twelve bits; all 18 rates of Nordic's own table are so. */
#define UART_HZ 16000000U
#define RATE_STEP 0x1000U
#define CLOCKS_OF(baud) ((UART_HZ + (baud) / 2U) / (baud))
#define RATE_OF(baud) ((0xFFFFFFFFU / CLOCKS_OF(baud) + 1U) / RATE_STEP * RATE_STEP)
#define BAUD_MADE(rate) (UART_HZ / ((0xFFFFFFFFU - (rate) + 1U) / (rate) + 1U))
#define BAUD_MIN 1200U
#define BAUD_MAX 1000000U
#define IS_REFUSED(baud) \
    ((baud) < BAUD_MIN || (baud) > BAUD_MAX || NR_BAUD_IS_OFF(BAUD_MADE(RATE_OF(baud)), (baud)))
#if IS_REFUSED(NR_BAUD_AT_START)
#error "NR_BAUD_AT_START: the UART cannot make this rate within 2 percent, or it is above 1000000"
#endif

/* Static: the transmitter says only after a byte that it is free. */
static uint8_t transmitting;

#ifndef NR_EMULATED /* the emulator has no pins */
static uint8_t sync_level(void *context)
{
    (void)context;
    return (GPIO_IN(NR_PIN_SYNC) & PIN_BIT(NR_PIN_SYNC)) != 0;
}
#endif

void nr_board_describe(struct nr_port *port)
{
    port->tick_hz = 1000000;
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = NR_BAUD_AT_START;
    port->device = NR_DEVICE;
    port->sync_pin = NR_SYNC_NAME;
#ifdef NR_EMULATED
    port->hold_min_us = 1;
#else
    port->hold_min_us = 2; /* the match must come after the instruction that arms it */
    port->sync_level = sync_level;
#endif
}

/* ---- interrupts ---- */

/* The event is cleared before its byte is read: the next byte raises it again. */
void nr_on_uart(void)
{
    if ((UART_ERRORSRC & UART_ERROR_OVERRUN) != 0) {
        UART_ERRORSRC = UART_ERROR_OVERRUN; /* written, it clears */
        nr_ring_lose();
    }
    while (UART_RXDRDY != 0) {
        UART_RXDRDY = 0;
        nr_ring_put((uint8_t)UART_RXD);
    }
}

/* Waking up is all it is for. */
void nr_on_wake(void)
{
    TIMER_COMPARE1 = 0;
    (void)TIMER_COMPARE1; /* has arrived: else the interrupt comes again */
}

/* ---- start ---- */

static void start_pins(void)
{
#ifdef NR_LOW_PINS /* of each port, what else the board feeds */
    static const uint32_t low[2] = NR_LOW_PINS;
    for (uint32_t pin = 0; pin < 64U; pin++) {
        if ((low[pin / 32U] & PIN_BIT(pin)) != 0) {
            GPIO_CNF(pin) = CNF_OUTPUT; /* after reset its level is low */
        }
    }
#endif
    GPIO_OUTSET(NR_PIN_TX) = PIN_BIT(NR_PIN_TX);
    GPIO_CNF(NR_PIN_TX) = CNF_OUTPUT;
    GPIO_CNF(NR_PIN_RX) = CNF_INPUT_PULL_UP;
    UART_PSELTXD = NR_PIN_TX;
    UART_PSELRXD = NR_PIN_RX;
#ifndef NR_EMULATED
    GPIO_OUTSET(NR_PIN_SYNC) = PIN_BIT(NR_PIN_SYNC);
    GPIO_CNF(NR_PIN_SYNC) = CNF_OUTPUT_READ;
    GPIOTE_CONFIG0 = GPIOTE_TASK_HIGH(NR_PIN_SYNC);
    PPI_EVENT0 = EVENT_COMPARE2;
    PPI_TASK0 = TASK_SET0;
    PPI_CHENSET = 1;
#endif
}

void nr_board_init(void)
{
    CLOCK_HFCLKSTART = 1; /* the crystal: the oscillator of reset is off by percents */
    while (CLOCK_HFCLKSTARTED == 0) {
    }
    TIMER_BITMODE = BITMODE_32;
    TIMER_PRESCALER = PRESCALER_1MHZ;
    TIMER_CLEAR = 1;
    TIMER_START = 1;
    start_pins();
    UART_BAUDRATE = RATE_OF(NR_BAUD_AT_START);
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

#ifdef NR_EMULATED
/* The far end of the edge wire makes the pulse: it raises the line so much later, as the timer
   would. */
uint32_t nr_board_pulse(uint32_t low_us)
{
    (void)low_us;
    return nr_board_counter_us();
}
#else
uint32_t nr_board_pulse(uint32_t low_us)
{
    uint32_t tick;
    GPIOTE_CLR0 = 1;
    TIMER_CAPTURE0 = 1;
    tick = TIMER_CC0;
    TIMER_CC2 = tick + low_us;
    return tick;
}
#endif

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
    (void)TIMER_COMPARE1;
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
    UART_BAUDRATE = RATE_OF(baud);
    return 0;
}

#ifdef NR_EMULATED
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
#endif
