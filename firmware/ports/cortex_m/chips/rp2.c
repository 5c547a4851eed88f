/* SPDX-License-Identifier: Apache-2.0 */
/* RP2040, a Cortex-M0+, and RP2350 (NR_RP2350) as a Cortex-M33 or as a Hazard3, which is RISC-V:
   UART0 is the line, TIMER the ticks.
   SYNC is a pin of SIO that an interrupt of the timer raises. References: RP2040 and RP2350
   datasheets, raspberrypi/pico-sdk hardware_regs; Arm DDI0183 (PL011). */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_ring.h"
#include "nr_wire.h"

#ifdef NR_RP2350
#define RESETS 0x40020000U
#define CLOCKS 0x40010000U
#define XOSC 0x40048000U
#define IO_BANK0 0x40028000U
#define PADS 0x40038000U
#define UART0 0x40070000U
#define TIMER 0x400B0000U
#define TIMER_INTR NR_REGISTER(TIMER + 0x3CU)
#define TIMER_INTE NR_REGISTER(TIMER + 0x40U)
#define SIO_OUT_SET NR_REGISTER(0xD0000018U)
#define SIO_OUT_CLR NR_REGISTER(0xD0000020U)
#define SIO_OE_SET NR_REGISTER(0xD0000038U)
enum { RESET_BITS = 1 << 6 | 1 << 9 | 1 << 23 | 1 << 26 };
#else
#define RESETS 0x4000C000U
#define CLOCKS 0x40008000U
#define XOSC 0x40024000U
#define IO_BANK0 0x40014000U
#define PADS 0x4001C000U
#define UART0 0x40034000U
#define TIMER 0x40054000U
#define TIMER_INTR NR_REGISTER(TIMER + 0x34U)
#define TIMER_INTE NR_REGISTER(TIMER + 0x38U)
#define SIO_OUT_SET NR_REGISTER(0xD0000014U)
#define SIO_OUT_CLR NR_REGISTER(0xD0000018U)
#define SIO_OE_SET NR_REGISTER(0xD0000024U)
/* IO_BANK0, PADS_BANK0, TIMER, UART0 */
enum { RESET_BITS = 1 << 5 | 1 << 8 | 1 << 21 | 1 << 22 };
#endif

#define RESETS_CLEAR NR_REGISTER(RESETS + 0x3000U) /* an alias that clears what is written */
#define RESETS_DONE NR_REGISTER(RESETS + 0x08U)
#define XOSC_CTRL NR_REGISTER(XOSC + 0x00U)
#define XOSC_STATUS NR_REGISTER(XOSC + 0x04U)
#define XOSC_STARTUP NR_REGISTER(XOSC + 0x0CU)
#define CLK_REF_CTRL NR_REGISTER(CLOCKS + 0x30U)
#define CLK_REF_SELECTED NR_REGISTER(CLOCKS + 0x38U)
#define CLK_SYS_CTRL NR_REGISTER(CLOCKS + 0x3CU)
#define CLK_PERI_CTRL NR_REGISTER(CLOCKS + 0x48U)
#define XOSC_ENABLE_12MHZ 0xFABAA0U
#define XOSC_STABLE (1U << 31)
enum { XOSC_STARTUP_1MS = 47, CLK_REF_XOSC = 2, CLK_SYS_REF = 0, CLK_PERI_ENABLE_SYS = 1 << 11 };

#define IO_FUNCTION(pin) NR_REGISTER(IO_BANK0 + 8U * (pin) + 4U)
#define PAD(pin) NR_REGISTER(PADS + 4U * (pin) + 4U)
enum { FUNCTION_UART = 2, FUNCTION_SIO = 5 };
/* Input on, 4 mA, Schmitt trigger; after reset there is a pull-down as well, and the RP2350
   isolates its pads. */
enum { PAD_PLAIN = 0x52, PAD_PULL_UP = 0x5A };
#define SIO_IN NR_REGISTER(0xD0000004U)
#define SYNC_BIT (1U << NR_PIN_SYNC)

#define TIMER_ALARM(number) NR_REGISTER(TIMER + 0x10U + 4U * (number))
#define TIMER_ARMED NR_REGISTER(TIMER + 0x20U)
#define TIMER_NOW NR_REGISTER(TIMER + 0x28U)
enum { ALARM_WAKE = 0, ALARM_SYNC = 1, BIT_WAKE = 1, BIT_SYNC = 2 };

#define UART_DATA NR_REGISTER(UART0 + 0x00U)
#define UART_FLAGS NR_REGISTER(UART0 + 0x18U)
#define UART_WHOLE NR_REGISTER(UART0 + 0x24U)
#define UART_FRACTION NR_REGISTER(UART0 + 0x28U)
#define UART_LINE NR_REGISTER(UART0 + 0x2CU)
#define UART_CONTROL NR_REGISTER(UART0 + 0x30U)
#define UART_MASK NR_REGISTER(UART0 + 0x38U)
#define UART_CLEAR NR_REGISTER(UART0 + 0x44U)
enum {
    FLAG_BUSY = 1 << 3,
    FLAG_RX_EMPTY = 1 << 4,
    FLAG_TX_FULL = 1 << 5,
    DATA_LOST = 1 << 11,
    LINE_8_BITS_FIFO = 0x70,
    CONTROL_ON = 0x301,
    /* a few bytes in the FIFO, or a byte that waits */
    INTERRUPT_RX = 1 << 4 | 1 << 6
};

/* A bit is 16 clocks long, times a divider in 64ths. */
#define DIVIDER_OF(baud) ((NR_CPU_HZ * 4U + (baud) / 2U) / (baud))
#define DIVIDER_MIN 64U
#define DIVIDER_MAX 0x3FFFC0U
#define BAUD_MADE(divider) (NR_CPU_HZ * 4U / (divider))
#if DIVIDER_OF(NR_BAUD_AT_START) < DIVIDER_MIN \
    || NR_BAUD_IS_OFF(BAUD_MADE(DIVIDER_OF(NR_BAUD_AT_START)), NR_BAUD_AT_START)
#error "NR_BAUD_AT_START: the UART cannot make this rate from NR_CPU_HZ within 2 percent"
#endif

/* ---- from power-up to the image in RAM ---- */

#if defined(__riscv)
/* The boot ROM finds the block that names the chip and its RISC-V, with entry and stack. */
__asm__(".section .boot, \"ax\"\n"
        "    .word 0xFFFFDED3, 0x11010142, 0x00000344, nr_load, nr_stack_top, 0x000004FF, 0\n"
        "    .word 0xAB123579\n"
        "    .previous\n");
#elif defined(NR_RP2350)
/* The boot ROM takes stack and entry from here, once it has found the block that names the chip. */
__asm__(".section .boot, \"ax\"\n"
        "    .word nr_stack_top, nr_load + 1\n"
        "    .word 0xFFFFDED3, 0x10210142, 0x000001FF, 0, 0xAB123579\n"
        "    .previous\n");
#else
/* The boot ROM runs these 256 bytes if the last four are their CRC-32 (MPEG-2): they make the flash
   readable by its command 03h, which every chip has, at a quarter of the clock, 32 bits at a time
   (RP2040 datasheet, SSI), and go on to the copying. */
__asm__(".section .boot, \"ax\"\n"
        "    .syntax unified\n"
        "nr_boot:\n"
        "    ldr r3, =0x18000000\n" /* SSI */
        "    movs r0, #0\n"
        "    str r0, [r3, #0x08]\n" /* SSIENR */
        "    movs r1, #4\n"
        "    str r1, [r3, #0x14]\n" /* BAUDR */
        "    ldr r1, =0x001F0300\n" /* 32 bits, EEPROM read */
        "    str r1, [r3, #0x00]\n" /* CTRLR0 */
        "    str r0, [r3, #0x04]\n" /* CTRLR1 */
        "    ldr r1, =0x03000218\n" /* 03h, 8 bits of command, 24 of address */
        "    ldr r2, =0x180000F4\n"
        "    str r1, [r2]\n" /* SPI_CTRLR0 */
        "    movs r1, #1\n"
        "    str r1, [r3, #0x08]\n"
        "    ldr r0, =0x10000101\n" /* nr_load */
        "    bx r0\n"
        "    .ltorg\n"
        "    .org nr_boot + 252\n"
        "    .word 0xB9ACD027\n"
        "    .previous\n");
#endif

#if defined(__riscv)
__asm__(".section .boot, \"ax\"\n"
        "nr_load:\n"
        "    la a0, nr_code_image\n"
        "    la a1, nr_code_start\n"
        "    la a2, nr_code_end\n"
        "1:  lw a3, 0(a0)\n"
        "    sw a3, 0(a1)\n"
        "    addi a0, a0, 4\n"
        "    addi a1, a1, 4\n"
        "    bltu a1, a2, 1b\n"
        "    fence.i\n" /* what was stored is fetched from here on */
        "    la a0, nr_on_reset\n"
        "    jr a0\n"
        "    .previous\n");
#else
__asm__(".section .boot, \"ax\"\n"
        "    .syntax unified\n"
        "    .thumb_func\n"
        "nr_load:\n"
        "    ldr r0, =nr_code_image\n"
        "    ldr r1, =nr_code_start\n"
        "    mov r4, r1\n"
        "    ldr r2, =nr_code_end\n"
        "1:  ldmia r0!, {r3}\n"
        "    stmia r1!, {r3}\n"
        "    cmp r1, r2\n"
        "    blo 1b\n"
        "    ldr r0, =0xE000ED08\n" /* VTOR */
        "    str r4, [r0]\n"
        "    ldmia r4!, {r0, r1}\n"
        "    msr msp, r0\n"
        "    bx r1\n"
        "    .ltorg\n"
        "    .previous\n");
#endif

/* ---- interrupts ---- */

void nr_on_uart(void)
{
    UART_CLEAR = INTERRUPT_RX; /* before the look: a byte that comes after it asks again */
    while ((UART_FLAGS & FLAG_RX_EMPTY) == 0) {
        uint32_t data = UART_DATA;
        if ((data & DATA_LOST) != 0) {
            nr_ring_lose();
        }
        nr_ring_put((uint8_t)data);
    }
}

void nr_on_sync(void)
{
    SIO_OUT_SET = SYNC_BIT;
    TIMER_INTR = BIT_SYNC;
}

/* Waking up is all it is for. */
void nr_on_wake(void) { TIMER_INTR = BIT_WAKE; }

/* ---- start ---- */

static uint8_t sync_level(void *context)
{
    (void)context;
    return (SIO_IN & SYNC_BIT) != 0;
}

void nr_board_describe(struct nr_port *port)
{
    port->tick_hz = 1000000;
    port->hold_min_us = 2; /* the alarm must come after the instruction that arms it */
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = NR_BAUD_AT_START;
    port->device = NR_DEVICE;
    port->sync_pin = NR_SYNC_NAME;
    port->sync_level = sync_level;
}

static void set_divider(uint32_t divider)
{
    UART_WHOLE = divider >> 6U;
    UART_FRACTION = divider & 0x3FU;
    UART_LINE = LINE_8_BITS_FIFO; /* takes both over */
}

static void start_clocks(void)
{
    XOSC_STARTUP = XOSC_STARTUP_1MS;
    XOSC_CTRL = XOSC_ENABLE_12MHZ;
    while ((XOSC_STATUS & XOSC_STABLE) == 0) {
    }
    CLK_REF_CTRL = CLK_REF_XOSC;
    while ((CLK_REF_SELECTED & 1U << CLK_REF_XOSC) == 0) {
    }
    CLK_SYS_CTRL = CLK_SYS_REF;
    CLK_PERI_CTRL = CLK_PERI_ENABLE_SYS;
    /* Without this the timer stands still: a tick is 12 clocks. */
#ifdef NR_RP2350
    NR_REGISTER(0x4010801CU) = NR_CPU_HZ / 1000000U;
    NR_REGISTER(0x40108018U) = 1U; /* TICKS, TIMER0 */
#else
    NR_REGISTER(0x4005802CU) = 1U << 9U | NR_CPU_HZ / 1000000U; /* WATCHDOG */
#endif
}

void nr_board_init(void)
{
    start_clocks();
    RESETS_CLEAR = RESET_BITS;
    while ((RESETS_DONE & RESET_BITS) != RESET_BITS) {
    }
    SIO_OUT_SET = SYNC_BIT;
    SIO_OE_SET = SYNC_BIT;
    PAD(NR_PIN_SYNC) = PAD_PLAIN;
    IO_FUNCTION(NR_PIN_SYNC) = FUNCTION_SIO;
    PAD(NR_PIN_TX) = PAD_PLAIN;
    PAD(NR_PIN_RX) = PAD_PULL_UP;
    IO_FUNCTION(NR_PIN_TX) = FUNCTION_UART;
    IO_FUNCTION(NR_PIN_RX) = FUNCTION_UART;
    set_divider(DIVIDER_OF(NR_BAUD_AT_START));
    UART_MASK = INTERRUPT_RX;
    UART_CONTROL = CONTROL_ON;
    TIMER_INTE = BIT_WAKE | BIT_SYNC;
    nr_interrupt_enable(NR_WAKE_INTERRUPT);
    nr_interrupt_enable(NR_SYNC_INTERRUPT);
    nr_interrupt_enable(NR_UART_INTERRUPT);
}

/* ---- time and SYNC ---- */

uint32_t nr_board_counter_us(void) { return TIMER_NOW; }

uint32_t nr_board_pulse(uint32_t low_us)
{
    uint32_t tick;
    SIO_OUT_CLR = SYNC_BIT;
    tick = TIMER_NOW;
    TIMER_ALARM(ALARM_SYNC) = tick + low_us;
    return tick;
}

void nr_board_wake_after(uint32_t delay_us)
{
    /* an alarm of the present would come in the next round */
    TIMER_ALARM(ALARM_WAKE) = TIMER_NOW + delay_us + 1U;
}

void nr_board_wake_off(void)
{
    TIMER_ARMED = BIT_WAKE; /* written, it disarms */
    TIMER_INTR = BIT_WAKE;
    nr_interrupt_unpend(NR_WAKE_INTERRUPT);
}

/* ---- the line ---- */

void nr_board_uart_put(uint8_t byte)
{
    while ((UART_FLAGS & FLAG_TX_FULL) != 0) {
    }
    UART_DATA = byte;
}

void nr_board_uart_drain(void)
{
    while ((UART_FLAGS & FLAG_BUSY) != 0) {
    }
}

int nr_board_uart_set_baud(uint32_t baud)
{
    uint32_t divider = baud == 0 ? 0 : DIVIDER_OF(baud);
    if (divider < DIVIDER_MIN || divider > DIVIDER_MAX
        || NR_BAUD_IS_OFF(BAUD_MADE(divider), baud)) {
        return -1;
    }
    set_divider(divider);
    return 0;
}
