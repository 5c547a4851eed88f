/* SPDX-License-Identifier: Apache-2.0 */
/* Constant text. By default avr-gcc copies it to RAM, which has 2 KiB; this keeps it in flash. */
#ifndef NR_IO_TEXT_H
#define NR_IO_TEXT_H

#ifdef __AVR__
#include <avr/pgmspace.h>
#define NR_IO_TEXT(text) PSTR(text)
#define NR_IO_CHARACTER(at) ((char)pgm_read_byte(at))
#else
#define NR_IO_TEXT(text) (text)
#define NR_IO_CHARACTER(at) (*(at))
#endif

#endif
