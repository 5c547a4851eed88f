/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of <string.h> that the core uses, for a compiler without a library. They are
   defined in memory.c. */
#ifndef NR_STRING_H
#define NR_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length_b);
void *memmove(void *to, const void *from, size_t length_b);
void *memset(void *to, int byte, size_t length_b);
int memcmp(const void *left, const void *right, size_t length_b);
size_t strlen(const char *text);

#endif
