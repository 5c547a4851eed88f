/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of <string.h> that the core uses and that a compiler may call: there is no library.
   */
#include <string.h>

#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length_b)
{
    uint8_t *put = to;
    const uint8_t *take = from;
    while (length_b-- != 0) {
        *put++ = *take++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t length_b)
{
    uint8_t *put = to;
    const uint8_t *take = from;
    if (put < take) {
        while (length_b-- != 0) {
            *put++ = *take++;
        }
    } else {
        while (length_b-- != 0) {
            put[length_b] = take[length_b];
        }
    }
    return to;
}

void *memset(void *to, int byte, size_t length_b)
{
    uint8_t *put = to;
    while (length_b-- != 0) {
        *put++ = (uint8_t)byte;
    }
    return to;
}

int memcmp(const void *left, const void *right, size_t length_b)
{
    const uint8_t *a = left;
    const uint8_t *b = right;
    for (; length_b != 0; length_b--, a++, b++) {
        if (*a != *b) {
            return *a < *b ? -1 : 1;
        }
    }
    return 0;
}

size_t strlen(const char *text)
{
    size_t length_b = 0;
    while (text[length_b] != '\0') {
        length_b++;
    }
    return length_b;
}
