/* SPDX-License-Identifier: Apache-2.0 */
/* ESP32-C6, a RISC-V, from its 40 MHz crystal: UART0 is the line, unit 0 of SYSTIMER (16 MHz) the
   ticks. SYNC is a GPIO that falls by software and that the event task matrix raises when an alarm
   of SYSTIMER fires. Never run on silicon.
   Addresses and bits are those of espressif/esp-idf 6.2, components/soc/esp32c6/register/soc: bases
   from reg_base.h, registers from the file named at each block; the order of writes is that of its
   low-level functions (components/esp_hal_NAME/esp32c6, components/hal/esp32c6/etm_ll.h). */
#include "nr_board.h"
#include "nr_cortex_m.h"
#include "nr_ring.h"
#include "nr_wire.h"

/* pcr_reg.h: clocks and resets */
#define PCR 0x60096000U
#define PCR_UART0 NR_REGISTER(PCR + 0x000U)
#define PCR_UART0_CLOCK NR_REGISTER(PCR + 0x004U)
#define PCR_SYSTIMER NR_REGISTER(PCR + 0x054U)
#define PCR_SYSTIMER_CLOCK NR_REGISTER(PCR + 0x058U)
#define PCR_ETM NR_REGISTER(PCR + 0x098U)
#define PCR_SYSCLK NR_REGISTER(PCR + 0x110U)
#define PCR_CPU_FREQ NR_REGISTER(PCR + 0x118U)
#define PCR_AHB_FREQ NR_REGISTER(PCR + 0x11CU)
#define PCR_APB_FREQ NR_REGISTER(PCR + 0x120U)
#define FUNCTION_CLOCK_ON (1U << 22)
#define UART_FROM_CRYSTAL (3U << 20)
#define SYSCLK_SOURCE (3U << 16) /* 0: the crystal */
#define LOW_SPEED_DIVIDER 0xFFU  /* 0: by 1 */
#define APB_DIVIDERS 0xFFFFU     /* 0: by 1, and no slower while it rests */
enum { BUS_CLOCK_ON = 1, IN_RESET = 2 };

/* timer_group_reg.h, lp_wdt_reg.h: watchdogs, which the boot ROM starts for the flash */
#define TIMG0 0x60008000U
#define TIMG0_WATCHDOG NR_REGISTER(TIMG0 + 0x48U)
#define TIMG0_WATCHDOG_KEY NR_REGISTER(TIMG0 + 0x64U)
#define LP_WDT 0x600B1C00U
#define LP_WATCHDOG NR_REGISTER(LP_WDT + 0x00U)
#define LP_WATCHDOG_KEY NR_REGISTER(LP_WDT + 0x18U)
#define LP_SUPER_WATCHDOG NR_REGISTER(LP_WDT + 0x1CU)
#define LP_SUPER_WATCHDOG_KEY NR_REGISTER(LP_WDT + 0x20U)
#define WATCHDOG_KEY 0x50D83AA1U
#define TIMG0_TAKES_OVER (1U << 22)
#define LP_WATCHDOG_ON (1U << 31 | 1U << 12) /* and its mode at the boot from flash */
#define SUPER_FEEDS_ITSELF (1U << 18)

/* interrupt_matrix_reg.h: the processor's line of each source */
#define INTMTX 0x60010000U
#define LINE_OF_UART0 NR_REGISTER(INTMTX + 0xACU)
#define LINE_OF_ALARM_WAKE NR_REGISTER(INTMTX + 0xE8U) /* SYSTIMER_TARGET1 */

/* gpio_reg.h, io_mux_reg.h */
#define GPIO 0x60091000U
#define GPIO_SET NR_REGISTER(GPIO + 0x08U)
#define GPIO_CLEAR NR_REGISTER(GPIO + 0x0CU)
#define GPIO_DRIVE NR_REGISTER(GPIO + 0x24U)
#define GPIO_IN NR_REGISTER(GPIO + 0x3CU)
#define GPIO_SOURCE(pin) NR_REGISTER(GPIO + 0x554U + 4U * (pin))
#define PAD(pin) NR_REGISTER(0x60090000U + 0x04U + 4U * (pin))
/* From GPIO_OUT, driven as GPIO_ENABLE says. */
#define SOURCE_IS_GPIO (128U | 1U << 9)
/* Function 0 of the pads 16 and 17 is UART0, function 1 of each its GPIO; strength 2 of 3. */
#define PAD_OUT (2U << 10)
#define PAD_IN (1U << 9)
#define PAD_PULL_UP (1U << 8)
#define PAD_IS_GPIO (1U << 12)
#define SYNC_BIT (1U << NR_PIN_SYNC)

/* soc_etm_reg.h, gpio_ext_reg.h, with the numbers of soc_etm_source.h */
#define ETM 0x60013000U
#define ETM_ENABLE NR_REGISTER(ETM + 0x04U)
#define ETM_EVENT NR_REGISTER(ETM + 0x18U) /* of channel 0 */
#define ETM_TASK NR_REGISTER(ETM + 0x1CU)
#define ETM_GPIO(pin) NR_REGISTER(0x60091F00U + 0xA0U + (pin) / 4U * 4U)
#define ETM_GPIO_TASK_0(pin) (1U << (pin) % 4U * 8U) /* this pin obeys the tasks of channel 0 */
enum { EVENT_ALARM_SYNC = 50, TASK_SET = 1 };

/* systimer_reg.h: a sixteenth of a microsecond a count, from the crystal through 2.5 */
#define SYSTIMER 0x6000A000U
#define TIMER_CONTROL NR_REGISTER(SYSTIMER + 0x00U)
#define TIMER_LATCH NR_REGISTER(SYSTIMER + 0x04U)
#define TIMER_HIGH NR_REGISTER(SYSTIMER + 0x40U)
#define TIMER_LOW NR_REGISTER(SYSTIMER + 0x44U)
#define ALARM_HIGH(alarm) NR_REGISTER(SYSTIMER + 0x1CU + 8U * (alarm))
#define ALARM_LOW(alarm) NR_REGISTER(SYSTIMER + 0x20U + 8U * (alarm))
#define ALARM_MODE(alarm) NR_REGISTER(SYSTIMER + 0x34U + 4U * (alarm))
#define ALARM_TAKES_OVER(alarm) NR_REGISTER(SYSTIMER + 0x50U + 4U * (alarm))
#define TIMER_INTERRUPTS NR_REGISTER(SYSTIMER + 0x64U)
#define TIMER_CLEAR NR_REGISTER(SYSTIMER + 0x6CU)
#define TIMER_ON (1U << 31 | 1U << 30 | 1U << 1) /* registers, unit 0, events */
#define ALARM_ON(alarm) (1U << (24U - (alarm)))
#define LATCH_ASKED (1U << 30)
#define LATCH_DONE (1U << 29)
#define ALARM_SYNC 0U
#define ALARM_WAKE 1U
enum { ONCE_BY_UNIT_0 = 0, COUNTS_PER_US = 16 };

/* uart_reg.h */
#define UART0 0x60000000U
#define UART_FIFO NR_REGISTER(UART0 + 0x00U)
#define UART_PENDING NR_REGISTER(UART0 + 0x04U)
#define UART_INTERRUPTS NR_REGISTER(UART0 + 0x0CU)
#define UART_CLEAR NR_REGISTER(UART0 + 0x10U)
#define UART_DIVIDER NR_REGISTER(UART0 + 0x14U)
#define UART_STATUS NR_REGISTER(UART0 + 0x1CU)
#define UART_FORMAT NR_REGISTER(UART0 + 0x20U)
#define UART_THRESHOLDS NR_REGISTER(UART0 + 0x24U)
#define UART_TIMEOUT NR_REGISTER(UART0 + 0x64U)
#define UART_STATES NR_REGISTER(UART0 + 0x70U)
#define UART_TAKES_OVER NR_REGISTER(UART0 + 0x98U)
#define STATUS_RECEIVED 0xFFU
#define STATUS_TO_SEND(status) ((status) >> 16U & 0xFFU)
#define STATES_SENDING (15U << 4)
#define FORMAT_8N1 (1U << 20 | 1U << 4 | 3U << 2) /* and the clock of the FIFO */
#define TIMEOUT_TWO_BYTES (20U << 2 | 1U)         /* in bits */
#define LOST (1U << 4)
/* A byte that waits, or some of them. */
#define RECEIVED (1U << 0 | 1U << 8)
enum { FIFO_B = 128, ONE_BYTE = 1 };

/* A bit is a divider in 16ths of clocks long; up to 5 MBd (soc_caps.h). */
#define DIVIDER_OF(baud) ((NR_CPU_HZ * 16U + (baud) / 2U) / (baud))
#define DIVIDER_MIN 128U
#define DIVIDER_MAX 0xFFFFU
#define BAUD_MADE(divider) (NR_CPU_HZ * 16U / (divider))
#if DIVIDER_OF(NR_BAUD_AT_START) < DIVIDER_MIN || DIVIDER_OF(NR_BAUD_AT_START) > DIVIDER_MAX \
    || NR_BAUD_IS_OFF(BAUD_MADE(DIVIDER_OF(NR_BAUD_AT_START)), NR_BAUD_AT_START)
#error "NR_BAUD_AT_START: the UART cannot make this rate from NR_CPU_HZ within 2 percent"
#endif

/* ---- interrupts ---- */

void nr_on_uart(void)
{
    uint32_t pending = UART_PENDING;
    UART_CLEAR = RECEIVED | LOST; /* before the look: a byte that comes after it asks again */
    if ((pending & LOST) != 0) {
        nr_ring_lose();
    }
    while ((UART_STATUS & STATUS_RECEIVED) != 0) {
        nr_ring_put((uint8_t)UART_FIFO);
    }
}

/* Waking up is all it is for. */
void nr_on_wake(void) { TIMER_CLEAR = 1U << ALARM_WAKE; }

/* ---- start ---- */

static uint8_t sync_level(void *context)
{
    (void)context;
    return (GPIO_IN & SYNC_BIT) != 0;
}

void nr_board_describe(struct nr_port *port)
{
    port->tick_hz = 1000000;
    /* The alarm must come after the access that arms it, some ten accesses of slow peripherals
       after the fall, whose tick is rounded down. */
    port->hold_min_us = 4;
    port->flags = NR_CAP_BAUD | NR_CAP_SYNC_LINE | NR_CAP_MARK_NONBLOCKING;
    port->baud = NR_BAUD_AT_START;
    port->device = NR_DEVICE;
    port->sync_pin = NR_SYNC_NAME;
    port->sync_level = sync_level;
}

static void stop_watchdogs(void)
{
    TIMG0_WATCHDOG_KEY = WATCHDOG_KEY;
    TIMG0_WATCHDOG = TIMG0_TAKES_OVER;
    TIMG0_WATCHDOG_KEY = 0;
    LP_WATCHDOG_KEY = WATCHDOG_KEY;
    LP_WATCHDOG &= ~LP_WATCHDOG_ON;
    LP_WATCHDOG_KEY = 0;
    LP_SUPER_WATCHDOG_KEY = WATCHDOG_KEY;
    LP_SUPER_WATCHDOG |= SUPER_FEEDS_ITSELF;
    LP_SUPER_WATCHDOG_KEY = 0;
}

/* Processor and buses from the crystal, undivided, whatever the boot ROM left. */
static void start_clocks(void)
{
    PCR_AHB_FREQ &= ~LOW_SPEED_DIVIDER;
    PCR_CPU_FREQ &= ~LOW_SPEED_DIVIDER;
    PCR_SYSCLK &= ~SYSCLK_SOURCE;
    PCR_APB_FREQ &= ~APB_DIVIDERS;
    PCR_UART0 = BUS_CLOCK_ON;
    PCR_UART0_CLOCK = FUNCTION_CLOCK_ON | UART_FROM_CRYSTAL;
    PCR_SYSTIMER = BUS_CLOCK_ON;
    PCR_SYSTIMER_CLOCK = FUNCTION_CLOCK_ON;
    PCR_ETM = BUS_CLOCK_ON | IN_RESET;
    PCR_ETM = BUS_CLOCK_ON;
}

/* What is written is valid from the UART's next clock on. */
static void take_over_uart(void)
{
    UART_TAKES_OVER = 1U;
    while (UART_TAKES_OVER != 0) {
    }
}

static void set_divider(uint32_t divider)
{
    UART_DIVIDER = (divider & 15U) << 20U | divider >> 4U;
    take_over_uart();
}

static void start_uart(void)
{
    PAD(NR_PIN_TX) = PAD_OUT;
    PAD(NR_PIN_RX) = PAD_IN | PAD_PULL_UP;
    UART_FORMAT = FORMAT_8N1;
    UART_THRESHOLDS = ONE_BYTE;
    UART_TIMEOUT = TIMEOUT_TWO_BYTES;
    set_divider(DIVIDER_OF(NR_BAUD_AT_START));
    UART_CLEAR = RECEIVED | LOST;
    UART_INTERRUPTS = RECEIVED | LOST;
}

static void start_sync(void)
{
    GPIO_SET = SYNC_BIT;
    GPIO_SOURCE(NR_PIN_SYNC) = SOURCE_IS_GPIO;
    GPIO_DRIVE = SYNC_BIT;
    PAD(NR_PIN_SYNC) = PAD_IS_GPIO | PAD_OUT | PAD_IN;
    ETM_GPIO(NR_PIN_SYNC) = ETM_GPIO_TASK_0(NR_PIN_SYNC);
    ETM_EVENT = EVENT_ALARM_SYNC;
    ETM_TASK = TASK_SET;
    ETM_ENABLE = 1U; /* channel 0 */
}

void nr_board_init(void)
{
    stop_watchdogs();
    nr_board_uart_drain(); /* the boot ROM's last words */
    start_clocks();
    TIMER_CONTROL = TIMER_ON;
    ALARM_MODE(ALARM_SYNC) = ONCE_BY_UNIT_0;
    ALARM_MODE(ALARM_WAKE) = ONCE_BY_UNIT_0;
    TIMER_INTERRUPTS = 1U << ALARM_WAKE;
    start_sync();
    start_uart();
    LINE_OF_UART0 = NR_UART_INTERRUPT;
    LINE_OF_ALARM_WAKE = NR_WAKE_INTERRUPT;
    nr_interrupt_enable(NR_WAKE_INTERRUPT);
    nr_interrupt_enable(NR_UART_INTERRUPT);
}

/* ---- time and SYNC ---- */

/* The counter as it was when it was asked for: it is read in parts of a copy. */
static uint64_t counter(void)
{
    TIMER_LATCH = LATCH_ASKED;
    while ((TIMER_LATCH & LATCH_DONE) == 0) {
    }
    return (uint64_t)TIMER_HIGH << 32U | TIMER_LOW;
}

static void arm(uint32_t alarm, uint64_t count)
{
    TIMER_CONTROL &= ~ALARM_ON(alarm);
    TIMER_CLEAR = 1U << alarm;
    ALARM_HIGH(alarm) = (uint32_t)(count >> 32U);
    ALARM_LOW(alarm) = (uint32_t)count;
    ALARM_TAKES_OVER(alarm) = 1U;
    TIMER_CONTROL |= ALARM_ON(alarm);
}

uint32_t nr_board_counter_us(void) { return (uint32_t)(counter() / COUNTS_PER_US); }

uint32_t nr_board_pulse(uint32_t low_us)
{
    uint64_t tick;
    GPIO_CLEAR = SYNC_BIT;
    tick = counter() / COUNTS_PER_US;
    arm(ALARM_SYNC, (tick + low_us) * COUNTS_PER_US);
    return (uint32_t)tick;
}

void nr_board_wake_after(uint32_t delay_us)
{
    arm(ALARM_WAKE, counter() + (uint64_t)delay_us * COUNTS_PER_US);
}

void nr_board_wake_off(void)
{
    TIMER_CONTROL &= ~ALARM_ON(ALARM_WAKE);
    TIMER_CLEAR = 1U << ALARM_WAKE;
}

/* ---- the line ---- */

void nr_board_uart_put(uint8_t byte)
{
    while (STATUS_TO_SEND(UART_STATUS) >= FIFO_B - 1) {
    }
    UART_FIFO = byte;
}

void nr_board_uart_drain(void)
{
    while (STATUS_TO_SEND(UART_STATUS) != 0 || (UART_STATES & STATES_SENDING) != 0) {
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
