/* SPDX-License-Identifier: Apache-2.0 */
/* STM32F405, a Cortex-M4: as `qemu-system-arm -M netduinoplus2` emulates it (NR_EMULATED), and in
   silicon, where it was not run yet. USART1 is the line: PA9 Tx, PA10 Rx. SYNC is PA5, channel 1 of
   TIM2, the timer of the ticks: it ends a pulse by itself. The edge wire of the emulator is USART2.
   Reference: ST RM0090. */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_ring.h"
#include "nr_wire.h"

#define RCC_AHB1ENR NR_REGISTER(0x40023830U)
#define RCC_APB1ENR NR_REGISTER(0x40023840U)
#define RCC_APB2ENR NR_REGISTER(0x40023844U)

#define GPIOA_MODER NR_REGISTER(0x40020000U)
#define GPIOA_PUPDR NR_REGISTER(0x4002000CU)
#define GPIOA_IDR NR_REGISTER(0x40020010U)
#define GPIOA_AFRL NR_REGISTER(0x40020020U)
#define GPIOA_AFRH NR_REGISTER(0x40020024U)
enum {
    PIN_SYNC = 5,
    PIN_TX = 9,
    PIN_RX = 10,
    AF_TIM2 = 1,
    AF_USART1 = 7,
    MODE_ALTERNATE = 2,
    PULL_UP = 1
};

#define TIM2_CR1 NR_REGISTER(0x40000000U)
#define TIM2_EGR NR_REGISTER(0x40000014U)
#define TIM2_CCMR1 NR_REGISTER(0x40000018U)
#define TIM2_CCER NR_REGISTER(0x40000020U)
#define TIM2_CNT NR_REGISTER(0x40000024U)
#define TIM2_PSC NR_REGISTER(0x40000028U)
#define TIM2_ARR NR_REGISTER(0x4000002CU)
#define TIM2_CCR1 NR_REGISTER(0x40000034U)
enum {
    CR1_CEN = 1,
    EGR_UG = 1,
    CCER_CC1E = 1,
    OC1_HIGH_ON_MATCH = 1 << 4,
    OC1_FORCE_LOW = 4 << 4,
    OC1_FORCE_HIGH = 5 << 4
};

#define USART_LINE 0x40011000U
#define USART_WIRE 0x40004400U
#define USART_SR(usart) NR_REGISTER((usart) + 0x00U)
#define USART_DR(usart) NR_REGISTER((usart) + 0x04U)
#define USART_BRR(usart) NR_REGISTER((usart) + 0x08U)
#define USART_CR1(usart) NR_REGISTER((usart) + 0x0CU)
enum { SR_ORE = 1 << 3, SR_RXNE = 1 << 5, SR_TC = 1 << 6, SR_TXE = 1 << 7 };
enum { CR1_RE = 1 << 2, CR1_TE = 1 << 3, CR1_RXNEIE = 1 << 5, CR1_UE = 1 << 13 };

enum { BRR_MIN = 16 };
#define BRR_AT_START ((NR_UART_HZ + NR_BAUD_AT_START / 2U) / NR_BAUD_AT_START)
#if BRR_AT_START < 16 || NR_BAUD_IS_OFF(NR_UART_HZ / BRR_AT_START, NR_BAUD_AT_START)
#error "NR_BAUD_AT_START: the USART cannot make this rate from NR_UART_HZ within 2 percent"
#endif

#ifndef NR_EMULATED /* the emulator has no pins */
static uint8_t sync_level(void *context)
{
    (void)context;
    return (uint8_t)(GPIOA_IDR >> PIN_SYNC & 1U);
}
#endif

void nr_board_describe(struct nr_port *port)
{
    port->tick_hz = 1000000;
    port->hold_min_us = 2; /* the match must come after the instruction that arms it */
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = NR_BAUD_AT_START;
#ifdef NR_EMULATED
    port->device = "stm32f405 (netduinoplus2)";
    port->sync_pin = "edge wire";
#else
    port->device = "stm32f405";
    port->sync_pin = "PA5";
    port->sync_level = sync_level;
#endif
}

/* ---- interrupt ---- */

void nr_on_uart(void)
{
    uint32_t status = USART_SR(USART_LINE);
    /* reading both registers takes an overrun back, too */
    while ((status & (SR_RXNE | SR_ORE)) != 0) {
        uint8_t byte = (uint8_t)USART_DR(USART_LINE);
        if ((status & SR_ORE) != 0) {
            nr_ring_lose();
        }
        if ((status & SR_RXNE) != 0) {
            nr_ring_put(byte);
        }
        status = USART_SR(USART_LINE);
    }
}

/* ---- start ---- */

static void start_timer(void)
{
    TIM2_PSC = NR_TIM_HZ / 1000000U - 1U;
    TIM2_ARR = 0xFFFFFFFFU;
    TIM2_CCMR1 = OC1_FORCE_HIGH;
    TIM2_CCER = CCER_CC1E;
    TIM2_EGR = EGR_UG; /* takes the prescaler over */
    TIM2_CR1 = CR1_CEN;
}

/* SYNC last, when the timer already drives it high. */
static void start_pins(void)
{
    GPIOA_PUPDR |= (uint32_t)PULL_UP << (2 * PIN_RX);
    GPIOA_AFRL |= (uint32_t)AF_TIM2 << (4 * PIN_SYNC);
    GPIOA_AFRH |=
        (uint32_t)AF_USART1 << (4 * (PIN_TX - 8)) | (uint32_t)AF_USART1 << (4 * (PIN_RX - 8));
    GPIOA_MODER |=
        (uint32_t)MODE_ALTERNATE << (2 * PIN_TX) | (uint32_t)MODE_ALTERNATE << (2 * PIN_RX);
    GPIOA_MODER |= (uint32_t)MODE_ALTERNATE << (2 * PIN_SYNC);
}

void nr_board_init(void)
{
    RCC_AHB1ENR |= 1U;       /* GPIOA */
    RCC_APB1ENR |= 1U;       /* TIM2 */
    RCC_APB2ENR |= 1U << 4U; /* USART1 */
    (void)RCC_APB2ENR;       /* a clock runs two cycles after it was switched on */
    start_timer();
    start_pins();
#ifdef NR_EMULATED
    USART_CR1(USART_WIRE) = CR1_UE | CR1_TE;
#endif
    USART_BRR(USART_LINE) = BRR_AT_START;
    USART_CR1(USART_LINE) = CR1_UE | CR1_TE | CR1_RE | CR1_RXNEIE;
    (void)USART_DR(USART_LINE); /* the emulator looks for bytes from here on */
    nr_interrupt_enable(NR_UART_INTERRUPT);
}

/* ---- time and SYNC ---- */

uint32_t nr_board_counter_us(void) { return TIM2_CNT; }

uint32_t nr_board_pulse(uint32_t low_us)
{
    uint32_t tick;
    TIM2_CCMR1 = OC1_FORCE_LOW;
    tick = TIM2_CNT;
    TIM2_CCR1 = tick + low_us;
    TIM2_CCMR1 = OC1_HIGH_ON_MATCH;
    return tick;
}

/* ---- the line ---- */

static void put(uint32_t usart, uint8_t byte)
{
    while ((USART_SR(usart) & SR_TXE) == 0) {
    }
    USART_DR(usart) = byte;
}

void nr_board_uart_put(uint8_t byte) { put(USART_LINE, byte); }

void nr_board_uart_drain(void)
{
    while ((USART_SR(USART_LINE) & SR_TC) == 0) {
    }
}

int nr_board_uart_set_baud(uint32_t baud)
{
    uint32_t divider = baud == 0 ? 0 : (NR_UART_HZ + baud / 2U) / baud;
    uint32_t made = divider == 0 ? 0 : NR_UART_HZ / divider;
    if (divider < BRR_MIN || divider > 0xFFFFU || NR_BAUD_IS_OFF(made, baud)) {
        return -1;
    }
    USART_BRR(USART_LINE) = divider;
    return 0;
}

#ifdef NR_EMULATED
void nr_board_wire_write(const char *text, size_t length_b)
{
    while (length_b-- != 0) {
        put(USART_WIRE, (uint8_t)*text++);
    }
}
#endif
