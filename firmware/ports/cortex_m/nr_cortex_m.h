/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of every Cortex-M, and of the RISC-V of the RP2350 and the ESP32-C6: interrupts, the
   start, and the parts of the port that boards share. */
#ifndef NR_CORTEX_M_H
#define NR_CORTEX_M_H

#include <stdint.h>

#include "nr_board_numbers.h"
#include "nr_port.h"

#define NR_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* Interrupts and sleep of the core. nr_wait_for_interrupt sleeps until an interrupt is pending,
   also where interrupts are off: then its handler runs as soon as they are on again. */
#if defined(NR_ESP_PLIC)
#include "cores/esp_plic.h"
#elif defined(__riscv)
#include "cores/hazard3.h"
#else
#include "cores/armv.h"
#endif

/* The handlers a board supplies; systick.c has the second one for boards that wake by SysTick. The
   third raises SYNC where no timer can: some cycles late, and part of what is measured. */
void nr_on_uart(void);
void nr_on_wake(void);
void nr_on_sync(void);
#ifdef NR_SYNC_INTERRUPT
#define NR_RISE_LATE_US 10U /* behind the interrupt of a byte, at 12 MHz */
#else
#define NR_RISE_LATE_US 0U
#endif

/* cores/: interrupts lead to the handlers from here on. */
void nr_core_start(void);

/* start.c: where the processor begins, where it ends after a fault, and the paint on its stack. */
void nr_on_reset(void);
void nr_on_fault(void);
uint32_t nr_stack_size_b(void);
uint32_t nr_stack_unused_b(void);

int main(void);

/* port.c */
void nr_cortex_m_port(struct nr_port *port, const char *build);

#endif
