/* SPDX-License-Identifier: Apache-2.0 */
/* The text layer's words and numbers: docs/reference/PROTOCOL.md, section 1. Parses and prints; the
   commands are executed in nr_text_classic.c. */
#ifndef NR_TEXT_H
#define NR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nr_wire.h"

struct nr_text_rx {
    uint8_t line[NR_TEXT_COMMAND_MAX];
    uint8_t length_b;
    bool overflow; /* longer than a command may be: the rest is ignored up to its `%` */
};

void nr_text_rx_init(struct nr_text_rx *rx);

/* Takes one byte; true at the `%`. Then parse, and init for the next command. */
bool nr_text_rx_byte(struct nr_text_rx *rx, uint8_t byte);

enum nr_command_kind {
    NR_COMMAND_BAD, /* `problem` says why */
    NR_COMMAND_NAME,
    NR_COMMAND_PROFILE,
    NR_COMMAND_TIMESTAMP,
    NR_COMMAND_TIMESTAMP_MODE,
    NR_COMMAND_DB_LOAD, /* number[0] */
    NR_COMMAND_DB,      /* hex */
    NR_COMMAND_INFER,   /* number[0], and number[1] = 10 when left out */
    NR_COMMAND_RESULTS,
    NR_COMMAND_HELP,
    NR_COMMAND_FRAME, /* number[0] */
    NR_COMMAND_START_STREAM,
    NR_COMMAND_EXTRACT
};

struct nr_command {
    enum nr_command_kind kind;
    uint32_t number[2];
    const uint8_t *hex; /* inside the nr_text_rx that was parsed */
    size_t hex_b;
    const char *problem;
};

void nr_text_parse(const struct nr_text_rx *rx, struct nr_command *command);

/* The value of a hexadecimal digit, or -1. */
int nr_text_hex_digit(uint8_t digit);

/* Collects an answer in a small buffer of its own and writes it piecewise. */
struct nr_text_tx {
    uint8_t buffer[64];
    size_t used_b;
    void (*write)(void *context, const uint8_t *bytes, size_t length_b);
    void *context;
};

void nr_text_tx_init(struct nr_text_tx *tx,
                     void (*write)(void *context, const uint8_t *bytes, size_t length_b),
                     void *context);
void nr_text_put(struct nr_text_tx *tx, const char *text);
void nr_text_put_char(struct nr_text_tx *tx, char character);
void nr_text_put_number(struct nr_text_tx *tx, uint64_t number);

/* `a,b,...` of `count` signed 32-bit little-endian numbers, three decimals each. Two or more that
   are all non-negative, one of them positive, are scaled to the sum 1.000 exactly, and a larger one
   is never printed smaller than a smaller one; others are printed as they are. */
void nr_text_put_results(struct nr_text_tx *tx, const uint8_t *numbers, size_t count);

/* `a, b, ...` of signed bytes. */
void nr_text_put_bytes(struct nr_text_tx *tx, const int8_t *numbers, size_t count);
void nr_text_flush(struct nr_text_tx *tx);

#endif
