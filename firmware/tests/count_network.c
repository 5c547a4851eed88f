/* SPDX-License-Identifier: Apache-2.0 */
/* A bare program for QEMU's mps2-an386 that counts instructions of the firmware's network: of one
   layer, LAYER, in each step of an input, and of a whole step. Under -icount shift=0 an instruction
   takes 1 ns; SysTick counts at 25 MHz, so that the ticks of 40 calls are the instructions of
   one. */
#define NR_NETWORK_TABLES
#include "nr_network_model.h"
#include "nr_network_inputs.h"
#include "nr_network_parts.h"

enum { CALLS = 40, TICKS_MAX = 0xFFFFFF, WRITE = 4, EXIT = 0x18, EXITED = 0x20026 };

#define SYSTICK_CONTROL (*(volatile uint32_t *)0xE000E010U)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xE000E014U)
#define SYSTICK_NOW (*(volatile uint32_t *)0xE000E018U)

static int16_t values[NR_NETWORK_VALUES];
static int32_t states[NR_NETWORK_STATES];
static uint8_t answer[8 * NR_NETWORK_ANSWERS];

static void call_host(uint32_t operation, uint32_t argument)
{
    register uint32_t first __asm__("r0") = operation;
    register uint32_t second __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xAB" : "+r"(first) : "r"(second) : "memory");
}

static void print(uint32_t number)
{
    char text[12];
    int at = 11;

    text[at--] = 0;
    text[at--] = '\n';
    do {
        text[at--] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    call_host(WRITE, (uint32_t)(uintptr_t)&text[at + 1]);
}

static uint32_t since(uint32_t start)
{
    return (start - SYSTICK_NOW) & TICKS_MAX;
}

static void on_reset(void)
{
    struct nr_network network = {&nr_network_model, values, states};
    const struct nr_network_node *layer = &nr_network_nodes[LAYER_NODE];
    uint32_t in_layer = 0, in_steps = 0, sum = 0, start, length_b, n;
    int step, call;

    SYSTICK_RELOAD = TICKS_MAX;
    SYSTICK_NOW = 0;
    SYSTICK_CONTROL = 5;
    nr_network_reset(&network);
    for (step = 0; step < STEPS; step++) {
        nr_network_step(&network, &inputs[step * NR_NETWORK_CHANNELS * NR_NETWORK_INPUT_B]);
        start = SYSTICK_NOW;
        for (call = 0; call < CALLS; call++) {
            LAYER(&network, layer);
        }
        in_layer += since(start);
    }
    for (call = 0; call < CALLS; call++) {
        nr_network_reset(&network);
        start = SYSTICK_NOW;
        for (step = 0; step < STEPS; step++) {
            nr_network_step(&network, &inputs[step * NR_NETWORK_CHANNELS * NR_NETWORK_INPUT_B]);
        }
        in_steps += since(start);
    }
    length_b = nr_network_answer(&network, answer);
    for (n = 0; n < length_b; n++) {
        sum = sum * 31 + answer[n];
    }
    print(in_layer);
    print(in_steps);
    print(sum);
    call_host(EXIT, EXITED);
}

/* The stack, then where to begin. */
const uint32_t stack __attribute__((section(".vectors"), used)) = 0x20400000U;
void (*const reset)(void) __attribute__((section(".vectors.reset"), used)) = on_reset;
