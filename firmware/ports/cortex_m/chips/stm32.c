/* SPDX-License-Identifier: Apache-2.0 */
/* STM32 with a 32-bit TIM2, in both generations of the USART, on registers alone: what differs from
   part to part is in boards/NAME/nr_board_numbers.h. TIM2 is the ticks. SYNC is its channel 1,
   which ends a pulse by itself, or any other pin, which its interrupt raises (NR_SYNC_INTERRUPT).
   References: ST's reference manuals, RM0090 (F4), RM0432 (L4+), RM0444 (G0), RM0455 (H7A3). */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_ring.h"
#include "nr_wire.h"

#define GPIO_MODER 0x00U
#define GPIO_PUPDR 0x0CU
#define GPIO_IDR 0x10U
#define GPIO_BSRR 0x18U
#define GPIO_AFR 0x20U
enum { MODE_OUTPUT = 1, MODE_ALTERNATE = 2, PULL_UP = 1 };

#define TIM2_CR1 NR_REGISTER(0x40000000U)
#define TIM2_DIER NR_REGISTER(0x4000000CU)
#define TIM2_SR NR_REGISTER(0x40000010U)
#define TIM2_EGR NR_REGISTER(0x40000014U)
#define TIM2_CCMR1 NR_REGISTER(0x40000018U)
#define TIM2_CCER NR_REGISTER(0x40000020U)
#define TIM2_CNT NR_REGISTER(0x40000024U)
#define TIM2_PSC NR_REGISTER(0x40000028U)
#define TIM2_ARR NR_REGISTER(0x4000002CU)
#define TIM2_CCR1 NR_REGISTER(0x40000034U)
enum {
    CR1_CEN = 1,
    DIER_CC1IE = 1 << 1,
    EGR_UG = 1,
    CCER_CC1E = 1,
    OC1_HIGH_ON_MATCH = 1 << 4,
    OC1_FORCE_LOW = 4 << 4,
    OC1_FORCE_HIGH = 5 << 4
};

#if NR_UART_HAS_DR /* F1, F2, F4, L1 */
#define USART_STATUS(usart) NR_REGISTER((usart) + 0x00U)
#define USART_RECEIVE(usart) NR_REGISTER((usart) + 0x04U)
#define USART_TRANSMIT(usart) NR_REGISTER((usart) + 0x04U)
#define USART_BRR(usart) NR_REGISTER((usart) + 0x08U)
#define USART_CR1(usart) NR_REGISTER((usart) + 0x0CU)
enum { CR1_UE = 1 << 13 };
#else /* F0, F3, F7, G0, G4, H5, H7, L0, L4, L5, U0, U5, WB, WL; LPUART */
#define USART_CR1(usart) NR_REGISTER((usart) + 0x00U)
#define USART_BRR(usart) NR_REGISTER((usart) + 0x0CU)
#define USART_STATUS(usart) NR_REGISTER((usart) + 0x1CU)
#define USART_ICR(usart) NR_REGISTER((usart) + 0x20U)
#define USART_RECEIVE(usart) NR_REGISTER((usart) + 0x24U)
#define USART_TRANSMIT(usart) NR_REGISTER((usart) + 0x28U)
enum { CR1_UE = 1 << 0 };
#endif
enum { CR1_RE = 1 << 2, CR1_TE = 1 << 3, CR1_RXNEIE = 1 << 5 };
enum { ERRORS = 0x0F, ORE = 1 << 3, RXNE = 1 << 5, TC = 1 << 6, TXE = 1 << 7 };

/* An LPUART counts its clock in 256ths, in 64 bits: 256ULL in the place of 1U. */
#ifndef NR_UART_SCALE
#define NR_UART_SCALE 1U
#define BRR_MIN 16U
#define BRR_MAX 0xFFFFU
#else
#define BRR_MIN 0x300U
#define BRR_MAX 0xFFFFFU
#endif
#define BRR_OF(baud) ((NR_UART_SCALE * NR_UART_HZ + (baud) / 2U) / (baud))
#define BAUD_MADE(divider) (NR_UART_SCALE * NR_UART_HZ / (divider))
#define BRR_AT_START BRR_OF(NR_BAUD_AT_START)
#if BRR_AT_START < BRR_MIN || BRR_AT_START > BRR_MAX \
    || NR_BAUD_IS_OFF(BAUD_MADE(BRR_AT_START), NR_BAUD_AT_START)
#error "NR_BAUD_AT_START: the USART cannot make this rate from NR_UART_HZ within 2 percent"
#endif
#if NR_TIM_HZ % 1000000 != 0
#error "NR_TIM_HZ: TIM2 cannot count microseconds"
#endif

#ifndef NR_EMULATED /* the emulator has no pins */
static uint8_t sync_level(void *context)
{
    (void)context;
    return (uint8_t)(NR_REGISTER(NR_SYNC_PORT + GPIO_IDR) >> NR_PIN_SYNC & 1U);
}
#endif

void nr_board_describe(struct nr_port *port)
{
    port->tick_hz = 1000000;
    port->hold_min_us = 2; /* the match must come after the instruction that arms it */
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = NR_BAUD_AT_START;
    port->device = NR_DEVICE;
    port->sync_pin = NR_SYNC_NAME;
#ifndef NR_EMULATED
    port->sync_level = sync_level;
#endif
}

/* ---- interrupts ---- */

void nr_on_uart(void)
{
    uint32_t status = USART_STATUS(NR_UART);
    while ((status & (RXNE | ORE)) != 0) {
        /* older USART: reading both registers takes all errors back */
        uint8_t byte = (uint8_t)USART_RECEIVE(NR_UART);
#if !NR_UART_HAS_DR
        USART_ICR(NR_UART) = status & ERRORS;
#endif
        if ((status & ORE) != 0) {
            nr_ring_lose();
        }
        if ((status & RXNE) != 0) {
            nr_ring_put(byte);
        }
        status = USART_STATUS(NR_UART);
    }
}

#ifdef NR_SYNC_INTERRUPT
/* The lower half of BSRR sets, the upper half clears: a store that nothing can come between. */
void nr_on_sync(void)
{
    NR_REGISTER(NR_SYNC_PORT + GPIO_BSRR) = 1U << NR_PIN_SYNC;
    TIM2_DIER = 0;
    TIM2_SR = 0;
}
#endif

/* ---- start ---- */

static void set_field(uint32_t address, uint32_t shift, uint32_t bits, uint32_t value)
{
    uint32_t mask = ((1U << bits) - 1U) << shift;
    NR_REGISTER(address) = (NR_REGISTER(address) & ~mask) | value << shift;
}

static void start_alternate(uint32_t port, uint32_t pin, uint32_t function)
{
    set_field(port + GPIO_AFR + pin / 8U * 4U, pin % 8U * 4U, 4, function);
    set_field(port + GPIO_MODER, 2U * pin, 2, MODE_ALTERNATE);
}

static void start_clocks(void)
{
    static const struct {
        uint32_t address;
        uint32_t bits;
    } gates[] = {NR_GATES};
    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        NR_REGISTER(gates[i].address) |= gates[i].bits;
        (void)NR_REGISTER(gates[i].address); /* a clock runs two cycles after it was switched on */
    }
}

static void start_timer(void)
{
    TIM2_PSC = NR_TIM_HZ / 1000000U - 1U;
    TIM2_ARR = 0xFFFFFFFFU;
    TIM2_CCMR1 = OC1_FORCE_HIGH;
    TIM2_CCER = CCER_CC1E;
    TIM2_EGR = EGR_UG; /* takes the prescaler over */
    TIM2_CR1 = CR1_CEN;
}

/* SYNC is high before it is driven: no pulse at power-up. */
static void start_sync(void)
{
#ifdef NR_SYNC_INTERRUPT
    NR_REGISTER(NR_SYNC_PORT + GPIO_BSRR) = 1U << NR_PIN_SYNC;
    set_field(NR_SYNC_PORT + GPIO_MODER, 2U * NR_PIN_SYNC, 2, MODE_OUTPUT);
    nr_interrupt_enable(NR_SYNC_INTERRUPT);
#else
    start_alternate(NR_SYNC_PORT, NR_PIN_SYNC, NR_SYNC_FUNCTION);
#endif
}

/* The divider takes no change while a newer USART is on. */
static void start_uart(uint32_t divider)
{
    USART_CR1(NR_UART) = 0;
    USART_BRR(NR_UART) = divider;
    USART_CR1(NR_UART) = CR1_UE | CR1_TE | CR1_RE | CR1_RXNEIE;
}

void nr_board_init(void)
{
    start_clocks();
    start_timer();
    start_sync();
    set_field(NR_UART_PORT + GPIO_PUPDR, 2U * NR_PIN_RX, 2, PULL_UP);
    start_alternate(NR_UART_PORT, NR_PIN_TX, NR_UART_FUNCTION);
    start_alternate(NR_UART_PORT, NR_PIN_RX, NR_UART_FUNCTION);
#ifdef NR_EMULATED
    USART_CR1(NR_WIRE) = CR1_UE | CR1_TE;
#endif
    start_uart((uint32_t)BRR_AT_START);
    (void)USART_RECEIVE(NR_UART); /* the emulator looks for bytes from here on */
    nr_interrupt_enable(NR_UART_INTERRUPT);
}

/* ---- time and SYNC ---- */

uint32_t nr_board_counter_us(void) { return TIM2_CNT; }

uint32_t nr_board_pulse(uint32_t low_us)
{
    uint32_t tick;
#ifdef NR_SYNC_INTERRUPT
    NR_REGISTER(NR_SYNC_PORT + GPIO_BSRR) = 1U << (NR_PIN_SYNC + 16U);
    /* the pin and the timer are on different buses */
    __asm__ volatile("dsb" ::: "memory");
    tick = TIM2_CNT;
    TIM2_CCR1 = tick + low_us;
    TIM2_SR = 0;
    TIM2_DIER = DIER_CC1IE;
#else
    TIM2_CCMR1 = OC1_FORCE_LOW;
    tick = TIM2_CNT;
    TIM2_CCR1 = tick + low_us;
    TIM2_CCMR1 = OC1_HIGH_ON_MATCH;
#endif
    return tick;
}

/* ---- the line ---- */

static void put(uint32_t usart, uint8_t byte)
{
    while ((USART_STATUS(usart) & TXE) == 0) {
    }
    USART_TRANSMIT(usart) = byte;
}

void nr_board_uart_put(uint8_t byte) { put(NR_UART, byte); }

void nr_board_uart_drain(void)
{
    while ((USART_STATUS(NR_UART) & TC) == 0) {
    }
}

int nr_board_uart_set_baud(uint32_t baud)
{
    uint32_t divider;
    if (baud == 0 || BRR_OF(baud) < BRR_MIN || BRR_OF(baud) > BRR_MAX) {
        return -1;
    }
    divider = (uint32_t)BRR_OF(baud);
    if (NR_BAUD_IS_OFF(BAUD_MADE(divider), baud)) {
        return -1;
    }
    start_uart(divider);
    return 0;
}

#ifdef NR_EMULATED
void nr_board_wire_write(const char *text, size_t length_b)
{
    while (length_b-- != 0) {
        put(NR_WIRE, (uint8_t)*text++);
    }
}
#endif
