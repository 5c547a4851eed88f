/* SPDX-License-Identifier: Apache-2.0 */
/* Arm MPS2 with AN385, a Cortex-M3, as `qemu-system-arm -M mps2-an385` emulates it. UART 0 is the
   line, UART 1 the edge wire. References: Arm DAI0385 (memory map, FPGAIO), Arm DDI0479 (the APB
   UART of the Cortex-M System Design Kit). */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_ring.h"
#include "nr_wire.h"

#define UART_LINE 0x40004000U
#define UART_WIRE 0x40005000U
#define UART_DATA(uart) NR_REGISTER((uart) + 0x00U)
#define UART_STATE(uart) NR_REGISTER((uart) + 0x04U)
#define UART_CTRL(uart) NR_REGISTER((uart) + 0x08U)
#define UART_INTSTATUS(uart) NR_REGISTER((uart) + 0x0CU)
#define UART_BAUDDIV(uart) NR_REGISTER((uart) + 0x10U)
enum {
    STATE_TX_FULL = 1,
    STATE_RX_FULL = 2,
    STATE_RX_LOST = 8,
    CTRL_TX = 1,
    CTRL_RX = 2,
    CTRL_RX_INTERRUPT = 8,
    INTSTATUS_RX = 2,
    BAUDDIV_MIN = 16
};

#define FPGAIO_COUNTER NR_REGISTER(0x40028018U)
#define FPGAIO_PRESCALE NR_REGISTER(0x4002801CU)

enum { BITS_PER_BYTE = 10 };
#define DIVIDER_AT_START ((NR_CPU_HZ + NR_BAUD_AT_START / 2U) / NR_BAUD_AT_START)
#if DIVIDER_AT_START < 16 || NR_BAUD_IS_OFF(NR_CPU_HZ / DIVIDER_AT_START, NR_BAUD_AT_START)
#error "NR_BAUD_AT_START: the UART cannot make this rate from its clock within 2 percent"
#endif

/* Interrupts and drain have no context. */
static uint32_t byte_us = 1 + BITS_PER_BYTE * 1000000U / NR_BAUD_AT_START;

void nr_board_describe(struct nr_port *port)
{
    port->tick_hz = 1000000;
    port->hold_min_us = 1;
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = NR_BAUD_AT_START;
    port->device = NR_DEVICE;
    port->sync_pin = NR_SYNC_NAME;
}

/* ---- interrupt ---- */

/* Acknowledged first: a byte that comes between the last look and an acknowledgement after it would
   never be heard of again. */
void nr_on_uart(void)
{
    UART_INTSTATUS(UART_LINE) = INTSTATUS_RX;
    if ((UART_STATE(UART_LINE) & STATE_RX_LOST) != 0) {
        UART_STATE(UART_LINE) = STATE_RX_LOST; /* takes the overrun back */
        nr_ring_lose();
    }
    while ((UART_STATE(UART_LINE) & STATE_RX_FULL) != 0) {
        nr_ring_put((uint8_t)UART_DATA(UART_LINE));
    }
}

/* ---- start ---- */

void nr_board_init(void)
{
    FPGAIO_PRESCALE = NR_CPU_HZ / 1000000U - 1U;
    UART_BAUDDIV(UART_WIRE) = BAUDDIV_MIN;
    UART_CTRL(UART_WIRE) = CTRL_TX;
    UART_BAUDDIV(UART_LINE) = DIVIDER_AT_START;
    UART_CTRL(UART_LINE) = CTRL_TX | CTRL_RX | CTRL_RX_INTERRUPT;
    (void)UART_DATA(UART_LINE); /* the emulator looks for bytes from here on */
    nr_interrupt_enable(NR_UART_INTERRUPT);
}

/* ---- time and SYNC ---- */

uint32_t nr_board_counter_us(void) { return FPGAIO_COUNTER; }

/* The far end of the edge wire makes the pulse: it raises the line so much later, as a timer
   would. */
uint32_t nr_board_pulse(uint32_t low_us)
{
    (void)low_us;
    return FPGAIO_COUNTER;
}

/* ---- the line ---- */

static void put(uint32_t uart, uint8_t byte)
{
    while ((UART_STATE(uart) & STATE_TX_FULL) != 0) {
    }
    UART_DATA(uart) = byte;
}

void nr_board_uart_put(uint8_t byte) { put(UART_LINE, byte); }

/* This UART does not say when its shift register is empty: a byte's time after the holding register
   it is. */
void nr_board_uart_drain(void)
{
    uint32_t from_us;
    while ((UART_STATE(UART_LINE) & STATE_TX_FULL) != 0) {
    }
    from_us = FPGAIO_COUNTER;
    while (FPGAIO_COUNTER - from_us <= byte_us) {
    }
}

int nr_board_uart_set_baud(uint32_t baud)
{
    uint32_t divider = baud == 0 ? 0 : (NR_CPU_HZ + baud / 2U) / baud;
    uint32_t made = divider == 0 ? 0 : NR_CPU_HZ / divider;
    if (divider < BAUDDIV_MIN || divider > 0xFFFFFU || NR_BAUD_IS_OFF(made, baud)) {
        return -1;
    }
    UART_BAUDDIV(UART_LINE) = divider;
    byte_us = 1U + BITS_PER_BYTE * 1000000U / baud;
    return 0;
}

void nr_board_wire_write(const char *text, size_t length_b)
{
    while (length_b-- != 0) {
        put(UART_WIRE, (uint8_t)*text++);
    }
}
