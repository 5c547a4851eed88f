/* SPDX-License-Identifier: Apache-2.0 */
/* ESP32-C6-DevKitC-1, running from its 40 MHz crystal; the radio stays off. */
#ifndef NR_BOARD_NUMBERS_H
#define NR_BOARD_NUMBERS_H

#define NR_ESP_PLIC
#define NR_DEVICE "esp32c6"
#define NR_SYNC_NAME "GPIO18"
/* Lines of the processor that chips/esp32c6.c leads interrupts to. */
#define NR_WAKE_INTERRUPT 8U
#define NR_UART_INTERRUPT 9U
#define NR_CPU_HZ 40000000U
#define NR_SLOTS 2

/* UART0, at pads of its own (soc/esp32c6/include/soc/uart_pins.h), and SYNC, by number of GPIO. */
#define NR_PIN_TX 16U
#define NR_PIN_RX 17U
#define NR_PIN_SYNC 18U

#endif
