/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: the parser of the text layer's commands, and the printers of its results. The
   input is what a host sends; the same bytes, four at a time, are the numbers of an output, and
   one at a time those of a window of a stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nr_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUTPUTS_MAX = 64 };

struct print {
    char text[OUTPUTS_MAX * 24];
    size_t used_b;
};

static void need(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void append(void *context, const uint8_t *bytes, size_t length_b)
{
    struct print *print = context;
    need(length_b < sizeof print->text - print->used_b);
    memcpy(print->text + print->used_b, bytes, length_b);
    print->used_b += length_b;
}

/* Whatever was parsed lies inside the line, and a refusal says why. */
static void check_command(const struct nr_text_rx *rx)
{
    struct nr_command command;
    nr_text_parse(rx, &command);
    switch (command.kind) {
    case NR_COMMAND_BAD:
        need(command.problem != NULL && strlen(command.problem) > 4
             && strlen(command.problem) < 80);
        break;
    case NR_COMMAND_INFER: need(command.number[0] != 0); break;
    case NR_COMMAND_DB:
        need(command.hex_b != 0 && command.hex >= rx->line
             && command.hex + command.hex_b <= rx->line + rx->length_b);
        break;
    default: break;
    }
    need(!rx->overflow || command.kind == NR_COMMAND_BAD);
}

static int32_t number_at(const uint8_t *numbers, size_t index)
{
    const uint8_t *at = numbers + 4 * index;
    return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16
                     | (uint32_t)at[3] << 24);
}

static bool are_shares(const uint8_t *numbers, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (number_at(numbers, i) < 0) {
            return false;
        }
        sum += number_at(numbers, i);
    }
    return count >= 2 && sum > 0;
}

/* Shares come to 1.000 exactly; anything else is printed as it is. */
static void check_results(const uint8_t *numbers, size_t count)
{
    static struct print print;
    struct nr_text_tx tx;
    char *at = print.text;
    double thousandths = 0;
    print.used_b = 0;
    nr_text_tx_init(&tx, append, &print);
    nr_text_put_results(&tx, numbers, count);
    nr_text_flush(&tx);
    print.text[print.used_b] = '\0';
    for (size_t i = 0; i < count; i++) {
        double value = strtod(at, &at);
        need(*at++ == (i + 1 == count ? '\0' : ','));
        thousandths += value * 1000.0;
        need(are_shares(numbers, count)
                 ? value >= 0.0 && value <= 1.0
                 : value >= number_at(numbers, i) && value <= number_at(numbers, i));
    }
    need(!are_shares(numbers, count) || (thousandths > 999.9 && thousandths < 1000.1));
}

static void check_bytes(const int8_t *numbers, size_t count)
{
    static struct print print;
    struct nr_text_tx tx;
    const char *at = print.text;
    print.used_b = 0;
    nr_text_tx_init(&tx, append, &print);
    nr_text_put_bytes(&tx, numbers, count);
    nr_text_flush(&tx);
    print.text[print.used_b] = '\0';
    for (size_t i = 0; i < count; i++) {
        char due[8];
        int due_b = snprintf(due, sizeof due, i == 0 ? "%d" : ", %d", numbers[i]);
        need(due_b > 0 && strncmp(at, due, (size_t)due_b) == 0);
        at += due_b;
    }
    need(*at == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nr_text_rx rx;
    size_t count = size / 4 < OUTPUTS_MAX ? size / 4 : OUTPUTS_MAX;
    nr_text_rx_init(&rx);
    for (size_t i = 0; i < size; i++) {
        if (nr_text_rx_byte(&rx, data[i])) {
            check_command(&rx);
            nr_text_rx_init(&rx);
        }
        need(rx.length_b <= sizeof rx.line);
    }
    if (count != 0) {
        check_results(data, count);
    }
    check_bytes((const int8_t *)data, size < OUTPUTS_MAX ? size : OUTPUTS_MAX);
    return 0;
}
