/* SPDX-License-Identifier: Apache-2.0 */
/* NUCLEO-L4R5ZI (MB1312), STM32L4R5 (RM0432), as it leaves reset: MSI at 4 MHz. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_DEVICE "nucleo-l4r5zi"
#define NR_SYNC_NAME "PA5"
#define NR_INTERRUPTS 95
#define NR_SLOTS 2

#ifndef NR_CPU_HZ
#define NR_CPU_HZ 4000000U
#endif
#ifndef NR_TIM_HZ
#define NR_TIM_HZ NR_CPU_HZ
#endif
#ifndef NR_UART_HZ
#define NR_UART_HZ NR_CPU_HZ
#endif

/* RCC: GPIOA and G; TIM2 and PWR; LPUART1. Then PWR_CR2, IOSV: pins PG2 to PG15, the UART's among
   them, are dead without. */
#define NR_GATES \
    {0x4002104CU, 1U | 1U << 6U}, {0x40021058U, 1U | 1U << 28U}, {0x4002105CU, 1U}, \
        {0x40007004U, 1U << 9U}

/* LPUART1, which the ST-LINK has: PG7 Tx, PG8 Rx. */
#define NR_UART 0x40008000U
#define NR_UART_INTERRUPT 70
#define NR_UART_HAS_DR 0
#define NR_UART_SCALE 256ULL
#define NR_UART_PORT 0x48001800U
#define NR_UART_FUNCTION 8U
#define NR_PIN_TX 7U
#define NR_PIN_RX 8U

/* PA5, D13 of the Arduino connector, channel 1 of TIM2. D7, which other benchmarks take, is PF13:
   GPIOF's clock (bit 5), NR_SYNC_PORT 0x48001400U, NR_PIN_SYNC 13U, NR_SYNC_INTERRUPT 28. */
#define NR_SYNC_PORT 0x48000000U
#define NR_SYNC_FUNCTION 1U
#define NR_PIN_SYNC 5U

#endif
