/* SPDX-License-Identifier: Apache-2.0 */
/* An energy monitor of an ATmega328P at 16 MHz, such as an Arduino Uno, and one INA219, INA226 or
   INA228: samples of the chip's registers and edges of SYNC in one clock.
   docs/reference/INA_MONITOR.md has the lines. */
#include <avr/interrupt.h>
#include <string.h>

#include "edge_clock.h"
#include "host_uart.h"
#include "nr_io_text.h"
#include "twi.h"

enum {
    LINE_B = 48,
    ARGUMENTS = 8,
    EDGE_B = 5, /* 2^40 steps of 0.5 us are 6 days */
    COUNT_B = 4,
    DATA_B = 3
};

/* The arguments of the command `s`, in their order. */
enum { ADDRESS, TRIGGER, TRIGGER_VALUE, SHUNT, BUS, SIZE_B, WAIT_STEPS, PERIOD_STEPS };

static char line[LINE_B];
static uint8_t line_b;
static uint8_t sum; /* of the line that is being sent */

static uint32_t plan[ARGUMENTS];
static bool running;
static uint64_t started; /* the time of sample 0 */
static uint32_t due;     /* the time of sample `count`, its lower 32 bits */
static uint32_t count;
static uint16_t missed;

/* ---- lines ---- */

static void put(char c)
{
    sum = (uint8_t)(sum + (uint8_t)c);
    host_uart_write((uint8_t)c);
}

static void put_digit(uint8_t digit) { put((char)(digit < 10 ? '0' + digit : 'A' + digit - 10)); }

/* Byte by byte: a shift of 64 bits takes as long as a line. */
static void put_hex(uint64_t value, uint8_t size_b)
{
    uint8_t bytes[sizeof value];
    memcpy(bytes, &value, sizeof bytes); /* the lowest first, as avr-gcc has them */
    while (size_b > 0) {
        size_b--;
        put_digit(bytes[size_b] >> 4);
        put_digit(bytes[size_b] & 0xFU);
    }
}

static void end_line(void)
{
    uint8_t total = sum;
    put('*');
    put_hex(total, 1);
    put('\n');
    sum = 0;
}

static void put_text(const char *text)
{
    for (char c = NR_IO_CHARACTER(text); c != '\0'; c = NR_IO_CHARACTER(text)) {
        put(c);
        text++;
    }
}

/* ---- samples and edges ---- */

static uint64_t whole(struct nr_io_stamp stamp) { return ((uint64_t)stamp.high << 16) | stamp.low; }

static uint32_t now(void) { return (uint32_t)whole(edge_clock_time()); }

static bool is_past(uint32_t time) { return (int32_t)(now() - time) >= 0; }

static void take_edges(void)
{
    struct nr_io_stamp stamp;
    while (edge_clock_take(&stamp)) {
        uint64_t at = whole(stamp);
        if (running && at >= started) {
            put('e');
            put_hex(at - started, EDGE_B);
            end_line();
        }
    }
    if (running && missed != edge_clock_missed()) {
        missed = edge_clock_missed();
        put('m');
        end_line();
    }
}

/* Starts the conversions, awaits them and reads them. The next sample is one that is not late: the
   count goes on with the clock. */
static void sample(void)
{
    uint8_t address = (uint8_t)plan[ADDRESS];
    uint8_t size_b = (uint8_t)plan[SIZE_B];
    uint32_t shunt = 0;
    uint32_t bus = 0;
    bool well = twi_write(address, (uint8_t)plan[TRIGGER], (uint16_t)plan[TRIGGER_VALUE]);
    uint32_t begun = now(); /* the last bit of the value starts the conversions */
    while (well && !is_past(begun + plan[WAIT_STEPS])) {
        take_edges();
    }
    well = well && twi_read(address, (uint8_t)plan[SHUNT], size_b, &shunt)
        && twi_read(address, (uint8_t)plan[BUS], size_b, &bus);
    put(well ? 'd' : 'i');
    put_hex(count, COUNT_B);
    if (well) {
        put_hex(shunt, DATA_B);
        put_hex(bus, DATA_B);
    }
    end_line();
    do {
        due += plan[PERIOD_STEPS];
        count++;
    } while (is_past(due));
}

static void start(void)
{
    struct nr_io_stamp stamp;
    while (edge_clock_take(&stamp)) {
        /* before sample 0 */
    }
    missed = edge_clock_missed();
    count = 0;
    started = whole(edge_clock_time());
    due = (uint32_t)started;
    running = true;
}

/* ---- commands ---- */

static int8_t digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return (int8_t)(c - '0');
    }
    return (int8_t)(c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1);
}

/* The numbers after the letter, each after a space; how many, or 0xFF. */
static uint8_t arguments(uint32_t *values)
{
    uint8_t found = 0;
    for (uint8_t i = 1; i < line_b; i++) {
        int8_t digit = digit_of(line[i]);
        if (line[i] == ' ' && found < ARGUMENTS) {
            values[found++] = 0;
        } else if (digit >= 0 && found > 0) {
            values[found - 1U] = (values[found - 1U] << 4) | (uint32_t)digit;
        } else {
            return 0xFF;
        }
    }
    return found;
}

static void obey(void)
{
    uint32_t values[ARGUMENTS] = {0};
    uint8_t given = arguments(values);
    char letter = line_b > 0 ? line[0] : '?';
    uint32_t value = 0;
    if (letter == 'v' && given == 0) {
        put_text(NR_IO_TEXT("vneurorig ina-monitor 1 " NR_BUILD));
    } else if (letter == 'x' && given == 0) {
        running = false;
        put('x');
        put_hex(count, COUNT_B);
    } else if (letter == 'w' && given == 3 && !running) {
        bool well = twi_write((uint8_t)values[0], (uint8_t)values[1], (uint16_t)values[2]);
        put('w');
        put(well ? '1' : '0');
    } else if (letter == 'r' && given == 3 && !running) {
        bool well = twi_read((uint8_t)values[0], (uint8_t)values[1], (uint8_t)values[2], &value);
        put('r');
        if (well) {
            put_hex(value, DATA_B);
        }
    } else if (letter == 's' && given == ARGUMENTS && !running && values[PERIOD_STEPS] > 0) {
        memcpy(plan, values, sizeof plan);
        put('s');
        start();
    } else {
        put('?');
    }
    end_line();
}

static void take_host(void)
{
    int byte = host_uart_read();
    if (byte < 0 || byte == '\r') {
        return;
    }
    if (byte == '\n') {
        obey();
        line_b = 0;
    } else if (line_b < LINE_B) {
        line[line_b++] = (char)byte;
    }
}

int main(void)
{
    host_uart_begin();
    edge_clock_begin();
    twi_begin();
    sei();
    for (;;) {
        take_host();
        take_edges();
        if (running && is_past(due)) {
            sample();
        }
    }
}
