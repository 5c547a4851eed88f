/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NR_LINE_RATE_H
#define NR_LINE_RATE_H

#include <stdint.h>

/* The rate a terminal is set to, in baud; 0 if unknown. On Linux any rate, on other systems those
   of termios. */
uint32_t nr_line_rate(int fd);

/* Sets it; a failure shows at the next nr_line_rate. */
void nr_line_rate_set(int fd, uint32_t baud);

#endif
