/* SPDX-License-Identifier: Apache-2.0 */
/* Division bit by bit, against the processor's own. */
#include "check.h"
#include "nr_division.h"

__extension__ typedef unsigned __int128 wide;

static const uint64_t most = (uint64_t)1 << 63; /* divisor */

/* Numbers of every length, so that quotient and remainder have every length too. */
static uint64_t any_number(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (*state ^ *state >> 31) >> (*state >> 58);
}

static void check_division(uint64_t number, uint64_t divisor)
{
    uint64_t quotient = number;
    CHECK(nr_divide(&quotient, divisor) == number % divisor);
    CHECK(quotient == number / divisor);
}

static void quotient_and_remainder_are_those_of_the_processor(void)
{
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        uint64_t number = any_number(&state);
        uint64_t divisor = any_number(&state) & (most - 1U);
        check_division(number, divisor != 0 ? divisor : 1);
    }
}

static void its_limits_are_exact(void)
{
    static const uint64_t numbers[] = {
        0, 1, 2, 999999, 1000000, UINT32_MAX, UINT64_MAX - 1U, UINT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        check_division(numbers[i], 1);
        check_division(numbers[i], UINT32_MAX);
        check_division(numbers[i], most - 1U);
        check_division(numbers[i], most);
    }
}

static void a_scaled_number_is_rounded_down_once(void)
{
    uint64_t state = 2;
    for (int i = 0; i < 200000; i++) {
        uint64_t number = any_number(&state);
        uint32_t to = (uint32_t)any_number(&state);
        uint32_t from = (uint32_t)any_number(&state);
        wide exact;
        from = from != 0 ? from : 1;
        exact = (wide)number * to / from;
        if (exact <= UINT64_MAX) {
            CHECK(nr_scale(number, to, from) == (uint64_t)exact);
        }
    }
}

int main(void)
{
    RUN(quotient_and_remainder_are_those_of_the_processor);
    RUN(its_limits_are_exact);
    RUN(a_scaled_number_is_rounded_down_once);
    return report("division");
}
