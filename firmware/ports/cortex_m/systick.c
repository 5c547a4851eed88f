/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a rest by SysTick, for boards whose processor has one and does not stop it while it
   sleeps. */
#include "nr_board.h"
#include "nr_cortex_m.h"

#ifndef NR_WAKE_INTERRUPT

#define SYST_CSR NR_REGISTER(0xE000E010U)
#define SYST_RVR NR_REGISTER(0xE000E014U)
#define SYST_CVR NR_REGISTER(0xE000E018U)
#define ICSR NR_REGISTER(0xE000ED04U)

enum { ENABLE = 1, INTERRUPT = 2, OWN_CLOCK = 4 };
#define ICSR_UNPEND_SYSTICK (1U << 25)

/* Waking up is all it is for. */
void nr_on_wake(void) { SYST_CSR = 0; }

void nr_board_wake_after(uint32_t delay_us)
{
    SYST_RVR = delay_us * (NR_CPU_HZ / 1000000U);
    SYST_CVR = 0;
    SYST_CSR = ENABLE | INTERRUPT | OWN_CLOCK;
}

void nr_board_wake_off(void)
{
    SYST_CSR = 0;
    ICSR = ICSR_UNPEND_SYSTICK;
}

#else
typedef int nr_systick_is_not_used; /* ISO C wants something in a file */
#endif
