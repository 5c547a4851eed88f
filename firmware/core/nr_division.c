/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_division.h"

uint64_t nr_divide(uint64_t *number, uint64_t divisor)
{
    uint64_t quotient = *number;
    uint64_t rest = 0;
    for (int i = 0; i < 64; i++) {
        rest = rest << 1 | quotient >> 63;
        quotient <<= 1;
        if (rest >= divisor) {
            rest -= divisor;
            quotient++;
        }
    }
    *number = quotient;
    return rest;
}

uint64_t nr_scale(uint64_t number, uint32_t to, uint32_t from)
{
    uint64_t rest = nr_divide(&number, from) * to;
    (void)nr_divide(&rest, from);
    return number * to + rest;
}
