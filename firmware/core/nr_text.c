/* SPDX-License-Identifier: Apache-2.0 */
/* The classic commands: their words and numbers, taken apart and printed. */
#include "nr_text.h"

#include <string.h>

#include "nr_division.h"
#include "nr_frame.h"

enum { WORDS_MAX = 3, WARMUPS_DEFAULT = 10 };

struct word {
    const uint8_t *at;
    size_t length_b;
};

/* ---- parsing ---- */

/* Cuts a line at its spaces; returns the number of words, WORDS_MAX + 1 when there are more. */
static size_t split(const struct nr_text_rx *rx, struct word words[WORDS_MAX])
{
    size_t count = 0;
    bool inside = false;
    for (size_t i = 0; i < rx->length_b; i++) {
        if (rx->line[i] == ' ') {
            inside = false;
            continue;
        }
        if (!inside && count == WORDS_MAX) {
            return WORDS_MAX + 1;
        }
        if (!inside) {
            words[count].at = rx->line + i;
            words[count].length_b = 0;
            count++;
            inside = true;
        }
        words[count - 1].length_b++;
    }
    return count;
}

static bool is(const struct word *word, const char *text)
{
    return word->length_b == strlen(text) && memcmp(word->at, text, word->length_b) == 0;
}

static bool parse_number(const struct word *word, uint32_t *number)
{
    uint64_t value = 0;
    if (word->length_b == 0 || word->length_b > 10) {
        return false;
    }
    for (size_t i = 0; i < word->length_b; i++) {
        if (word->at[i] < '0' || word->at[i] > '9') {
            return false;
        }
        value = value * 10U + (uint64_t)(word->at[i] - '0');
    }
    *number = (uint32_t)value;
    return value <= UINT32_MAX;
}

static void bad(struct nr_command *command, const char *problem)
{
    command->kind = NR_COMMAND_BAD;
    command->problem = problem;
}

static void parse_db(const struct word *words, size_t count, struct nr_command *command)
{
    if (count == 1) {
        bad(command, "db needs hex digits, or load and a number of bytes");
    } else if (is(&words[1], "load")) {
        command->kind = NR_COMMAND_DB_LOAD;
        if (count != 3 || !parse_number(&words[2], &command->number[0])) {
            bad(command, "db load needs a number of bytes");
        }
    } else if (is(&words[1], "print")) {
        /* as the EEMBC shim has; taken for digits, it would cost an open load */
        bad(command, "there is no db print");
    } else if (count != 2) {
        bad(command, "too many words");
    } else {
        command->kind = NR_COMMAND_DB;
        command->hex = words[1].at;
        command->hex_b = words[1].length_b;
    }
}

static void parse_infer(const struct word *words, size_t count, struct nr_command *command)
{
    command->kind = NR_COMMAND_INFER;
    command->number[1] = WARMUPS_DEFAULT;
    if (count < 2 || !parse_number(&words[1], &command->number[0]) || command->number[0] == 0) {
        bad(command, "infer needs a number of inferences, 1 or more");
    } else if (count > 2 && !parse_number(&words[2], &command->number[1])) {
        bad(command, "the number of warm-up inferences is not a number");
    }
}

static void parse_frame(const struct word *words, size_t count, struct nr_command *command)
{
    command->kind = NR_COMMAND_FRAME;
    if (count != 2 || !parse_number(&words[1], &command->number[0])) {
        bad(command, "frame needs a version");
    }
}

static void parse_single(const struct word *words, size_t count, struct nr_command *command)
{
    static const struct {
        const char *text;
        enum nr_command_kind kind;
    } table[] = {
        {"name", NR_COMMAND_NAME},
        {"profile", NR_COMMAND_PROFILE},
        {"timestamp", NR_COMMAND_TIMESTAMP},
        {"timestamp-mode", NR_COMMAND_TIMESTAMP_MODE},
        {"results", NR_COMMAND_RESULTS},
        {"help", NR_COMMAND_HELP},
        {"start_uart_stream", NR_COMMAND_START_STREAM},
        {"extract_uart_stream", NR_COMMAND_EXTRACT},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (is(&words[0], table[i].text)) {
            command->kind = table[i].kind;
            if (count > 1) {
                bad(command, "too many words");
            }
            return;
        }
    }
    bad(command, "unknown command");
}

void nr_text_parse(const struct nr_text_rx *rx, struct nr_command *command)
{
    struct word words[WORDS_MAX];
    size_t count = split(rx, words);

    memset(command, 0, sizeof *command);
    if (rx->overflow) {
        bad(command, "a command has at most 80 characters");
    } else if (count == 0) {
        bad(command, "empty command");
    } else if (count > WORDS_MAX) {
        bad(command, "too many words");
    } else if (is(&words[0], "db")) {
        parse_db(words, count, command);
    } else if (is(&words[0], "infer")) {
        parse_infer(words, count, command);
    } else if (is(&words[0], "frame")) {
        parse_frame(words, count, command);
    } else {
        parse_single(words, count, command);
    }
}

int nr_text_hex_digit(uint8_t digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}

/* ---- printing ---- */

/* At least `least` digits, at most 20. */
static void put_digits(struct nr_text_tx *tx, uint64_t number, size_t least)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + (int)nr_divide(&number, 10));
    } while (number != 0 || count < least);
    while (count != 0) {
        nr_text_put_char(tx, digits[--count]);
    }
}

void nr_text_put_number(struct nr_text_tx *tx, uint64_t number) { put_digits(tx, number, 1); }

static int64_t number_at(const uint8_t *numbers, size_t index)
{
    uint32_t bits = nr_get_u32(numbers + 4U * index);
    return bits <= INT32_MAX ? (int64_t)bits : (int64_t)bits - ((int64_t)UINT32_MAX + 1);
}

/* The sum to scale by, or 0 where the numbers are to be printed as they are. */
static uint64_t scale_of(const uint8_t *numbers, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t number = number_at(numbers, i);
        if (number < 0) {
            return 0;
        }
        sum += (uint64_t)number;
    }
    return count > 1 ? sum : 0;
}

/* A number in thousandths of the sum, rounded down; `rest` is what that leaves. */
static uint32_t share_at(const uint8_t *numbers, size_t index, uint64_t sum, uint64_t *rest)
{
    uint64_t thousandths = (uint64_t)number_at(numbers, index) * 1000U;
    *rest = nr_divide(&thousandths, sum);
    return (uint32_t)thousandths;
}

/* Thousandths that are lost when every number is rounded down. */
static uint32_t missing_thousandths(const uint8_t *numbers, size_t count, uint64_t sum)
{
    uint32_t missing = 1000;
    uint64_t rest;
    for (size_t i = 0; i < count; i++) {
        missing -= share_at(numbers, i, sum, &rest);
    }
    return missing;
}

/* How many numbers have a better claim to a lost thousandth: a larger remainder, or an equal one
   and come first. */
static size_t better_claims(const uint8_t *numbers, size_t count, uint64_t sum, size_t index,
                            uint64_t own)
{
    uint64_t other;
    size_t better = 0;
    for (size_t i = 0; i < count; i++) {
        (void)share_at(numbers, i, sum, &other);
        better += (other > own || (other == own && i < index)) ? 1U : 0U;
    }
    return better;
}

/* Largest remainders, so that the order of the numbers survives the rounding. */
static uint32_t rounded_share(const uint8_t *numbers, size_t count, uint64_t sum, size_t index)
{
    uint64_t rest;
    uint32_t share = share_at(numbers, index, sum, &rest);
    return better_claims(numbers, count, sum, index, rest)
                   < missing_thousandths(numbers, count, sum)
               ? share + 1U
               : share;
}

static void put_thousandths(struct nr_text_tx *tx, uint64_t thousandths)
{
    uint64_t rest = nr_divide(&thousandths, 1000);
    put_digits(tx, thousandths, 1);
    nr_text_put_char(tx, '.');
    put_digits(tx, rest, 3);
}

static void put_plain(struct nr_text_tx *tx, int64_t number)
{
    if (number < 0) {
        nr_text_put_char(tx, '-');
    }
    put_thousandths(tx, (uint64_t)(number < 0 ? -number : number) * 1000U);
}

void nr_text_put_results(struct nr_text_tx *tx, const uint8_t *numbers, size_t count)
{
    uint64_t sum = scale_of(numbers, count);
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            nr_text_put_char(tx, ',');
        }
        if (sum == 0) {
            put_plain(tx, number_at(numbers, i));
        } else {
            put_thousandths(tx, rounded_share(numbers, count, sum, i));
        }
    }
}

void nr_text_put_bytes(struct nr_text_tx *tx, const int8_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            nr_text_put(tx, ", ");
        }
        if (numbers[i] < 0) {
            nr_text_put_char(tx, '-');
        }
        put_digits(tx, (uint64_t)(numbers[i] < 0 ? -(int64_t)numbers[i] : numbers[i]), 1);
    }
}
