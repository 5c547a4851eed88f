/* SPDX-License-Identifier: Apache-2.0 */
#include "nr_io_manager.h"

#include <string.h>

#include "nr_io_text.h"

#ifndef NR_BUILD
#define NR_BUILD "unknown"
#endif

#define STEPS_OF_MS(ms) ((uint32_t)(ms) * 2000U)

enum {
    ESCAPE_MISSED = 0xFF,
    HEAD_FULL = 0xFF,
    /* as the DUT: what follows a silence of this length is the first byte after a delimiter */
    PARTIAL_MS = 100,
    BABBLE_MS = 1000,   /* a DUT that never falls quiet is not waited for any longer */
    ESCAPED_MS = 150,   /* a DUT that takes the escape has begun to answer by then */
    ANSWER_MS = 1500,   /* less than the 2 s of the rig and the 5 s of the EEMBC runner */
    QUIET_BYTES = 3
};
/* a window of 10 s and its warm-up, in silence, and room for slow devices */
#define INFER_MS 300000U

static const char escape_text[] = "name%";

/* ---- to the host ---- */

/* In steps of 0.5 us; wraps after 35 minutes, which no time-out here comes near. */
static uint32_t now(const struct nr_io_manager *io)
{
    struct nr_io_stamp time = io->port->time(io->port->context);
    return (time.high << 16) | time.low;
}

static void put_byte(const struct nr_io_manager *io, uint8_t byte)
{
    io->port->host_write(io->port->context, byte);
}

static void put(const struct nr_io_manager *io, const char *text)
{
    for (char c = NR_IO_CHARACTER(text); c != '\0'; c = NR_IO_CHARACTER(text)) {
        put_byte(io, (uint8_t)c);
        text++;
    }
}

static void put_number(const struct nr_io_manager *io, uint32_t number)
{
    uint8_t digits[10];
    uint8_t count = 0;
    do {
        digits[count++] = (uint8_t)('0' + number % 10U);
        number /= 10U;
    } while (number != 0);
    while (count > 0) {
        put_byte(io, digits[--count]);
    }
}

static void end_line(const struct nr_io_manager *io) { put(io, NR_IO_TEXT("\r\n")); }

static void say(const struct nr_io_manager *io, const char *line)
{
    put(io, line);
    end_line(io);
}

static void say_number(const struct nr_io_manager *io, const char *before, uint32_t number)
{
    put(io, before);
    put_number(io, number);
    end_line(io);
}

static void say_ready(const struct nr_io_manager *io) { say(io, NR_IO_TEXT("m-ready")); }

/* A line of the DUT that stopped half-way ends here, so that one of our own can follow. */
static void break_line(struct nr_io_manager *io)
{
    if (io->mid_line) {
        end_line(io);
        io->mid_line = false;
    }
}

static void set_mode(struct nr_io_manager *io, enum nr_io_mode mode)
{
    io->mode = mode;
    io->since = io->progress = now(io);
}

/* ---- stamps ---- */

static uint32_t stamp_us(const struct nr_io_stamp *stamp)
{
    return (stamp->high << 15) | (uint32_t)(stamp->low >> 1);
}

static void keep_stamp(struct nr_io_manager *io, const struct nr_io_stamp *stamp)
{
    io->stamps[io->stamp_next] = *stamp;
    io->stamp_next = (uint8_t)((io->stamp_next + 1U) % NR_IO_STAMPS);
    if (io->stamp_count < NR_IO_STAMPS) {
        io->stamp_count++;
    } else if (io->stamps_lost < UINT16_MAX) {
        io->stamps_lost++;
    }
}

static bool take_edges(struct nr_io_manager *io)
{
    struct nr_io_stamp stamp;
    bool report = io->reporting && io->mode != NR_IO_TRANSPARENT && io->mode != NR_IO_LEAVING;
    bool taken = false;
    if (report && io->mid_line && now(io) - io->dut_at < STEPS_OF_MS(PARTIAL_MS)) {
        return false; /* the DUT's line first */
    }
    while (io->port->edge(io->port->context, &stamp)) {
        keep_stamp(io, &stamp);
        taken = true;
        if (report) {
            break_line(io);
            say_number(io, NR_IO_TEXT("m-lap-us-"), stamp_us(&stamp));
        }
    }
    return taken;
}

static void say_stamps(struct nr_io_manager *io)
{
    uint8_t at = (uint8_t)((io->stamp_next + NR_IO_STAMPS - io->stamp_count) % NR_IO_STAMPS);
    struct nr_io_counts counts;
    io->port->counts(io->port->context, &counts);
    say_number(io, NR_IO_TEXT("m-stamps-missed-"), counts.edges_missed);
    say_number(io, NR_IO_TEXT("m-stamps-lost-"), io->stamps_lost);
    for (; io->stamp_count > 0; io->stamp_count--) {
        put(io, NR_IO_TEXT("m-stamp-us-"));
        put_number(io, stamp_us(&io->stamps[at]));
        say(io, (io->stamps[at].low & 1U) != 0 ? NR_IO_TEXT(".5") : NR_IO_TEXT(".0"));
        at = (uint8_t)((at + 1U) % NR_IO_STAMPS);
    }
    io->stamps_lost = 0;
}

/* ---- commands of the host ---- */

static void say_name(const struct nr_io_manager *io)
{
    say(io, NR_IO_TEXT("m-name-io-[neurorig io-manager]"));
    say_number(io, NR_IO_TEXT("m-dut-baud-"), io->port->dut_baud);
}

static void say_help(const struct nr_io_manager *io)
{
    say(io, NR_IO_TEXT("m-help-name"));
    say(io, NR_IO_TEXT("m-help-version"));
    say(io, NR_IO_TEXT("m-help-dut COMMAND"));
    say(io, NR_IO_TEXT("m-help-dut-line"));
    say(io, NR_IO_TEXT("m-help-timestamp"));
    say(io, NR_IO_TEXT("m-help-stamps"));
    say(io, NR_IO_TEXT("m-help-enable-timer"));
    say(io, NR_IO_TEXT("m-help-disable-timer"));
    say(io, NR_IO_TEXT("m-help-help"));
}

static void say_dut_line(const struct nr_io_manager *io)
{
    struct nr_io_counts counts;
    io->port->counts(io->port->context, &counts);
    say_number(io, NR_IO_TEXT("m-dut-level-"), io->port->dut_high(io->port->context) ? 1 : 0);
    say_number(io, NR_IO_TEXT("m-dut-broken-"), counts.dut_broken);
    say_number(io, NR_IO_TEXT("m-dut-lost-"), counts.dut_lost);
    say_number(io, NR_IO_TEXT("m-dut-unasked-"), io->unasked);
    say_number(io, NR_IO_TEXT("m-host-lost-"), counts.host_lost);
}

static void say_timestamp(const struct nr_io_manager *io)
{
    struct nr_io_stamp time = io->port->time(io->port->context);
    say_number(io, NR_IO_TEXT("m-lap-us-"), stamp_us(&time));
}

static uint8_t length_of(const char *text)
{
    uint8_t length = 0;
    while (NR_IO_CHARACTER(text + length) != '\0') {
        length++;
    }
    return length;
}

static bool begins(const uint8_t *bytes, uint8_t length_b, const char *text)
{
    uint8_t wanted_b = length_of(text);
    if (length_b < wanted_b) {
        return false;
    }
    for (uint8_t i = 0; i < wanted_b; i++) {
        if (bytes[i] != (uint8_t)NR_IO_CHARACTER(text + i)) {
            return false;
        }
    }
    return true;
}

static bool is_command(const struct nr_io_manager *io, const char *text)
{
    return io->command_b == length_of(text) && begins(io->command, io->command_b, text);
}

enum { DUT_WORD_B = 4 }; /* `dut ` */

/* A DUT that restarted since the last command, or while this one was held, says so in front of its
   answer. */
static void say_restart(struct nr_io_manager *io)
{
    if (io->restarted) {
        say(io, NR_IO_TEXT("[dut]: m-init-done"));
        io->restarted = false;
    }
}

/* The answer to come is announced at once, as other IO managers do; the DUT is asked when it is
   quiet. */
static void begin_passthrough(struct nr_io_manager *io)
{
    const uint8_t *words = io->command + DUT_WORD_B;
    uint8_t words_b = (uint8_t)(io->command_b - DUT_WORD_B);
    put(io, NR_IO_TEXT("m-dut-passthrough("));
    for (uint8_t i = 0; i < words_b; i++) {
        put_byte(io, words[i]);
    }
    say(io, NR_IO_TEXT(")"));
    say_ready(io);
    say_restart(io);
    io->frame_asked = begins(words, words_b, NR_IO_TEXT("frame "));
    io->slow = begins(words, words_b, NR_IO_TEXT("infer"));
    set_mode(io, NR_IO_HELD);
}

static void execute(struct nr_io_manager *io)
{
    break_line(io);
    set_mode(io, NR_IO_COMMAND); /* the host gave up its earlier request */
    if (io->overflow) {
        say(io, NR_IO_TEXT("e-[a command is too long]"));
    } else if (io->command_b > DUT_WORD_B
               && begins(io->command, io->command_b, NR_IO_TEXT("dut "))) {
        begin_passthrough(io);
        return; /* which needs the words later */
    } else if (is_command(io, NR_IO_TEXT("name"))) {
        say_name(io);
    } else if (is_command(io, NR_IO_TEXT("version"))) {
        say(io, NR_IO_TEXT("m-version-[" NR_BUILD "]"));
    } else if (is_command(io, NR_IO_TEXT("dut-line"))) {
        say_dut_line(io);
    } else if (is_command(io, NR_IO_TEXT("timestamp"))) {
        say_timestamp(io);
    } else if (is_command(io, NR_IO_TEXT("stamps"))) {
        say_stamps(io);
    } else if (is_command(io, NR_IO_TEXT("enable-timer"))) {
        io->reporting = true;
    } else if (is_command(io, NR_IO_TEXT("disable-timer"))) {
        io->reporting = false;
    } else if (is_command(io, NR_IO_TEXT("help"))) {
        say_help(io);
    } else {
        say(io, NR_IO_TEXT("e-[unknown command, try help]"));
    }
    say_ready(io);
}

static void forget_command(struct nr_io_manager *io)
{
    io->command_b = 0;
    io->overflow = false;
}

static void on_command_byte(struct nr_io_manager *io, uint8_t byte)
{
    if (byte == '%') {
        execute(io);
        if (io->mode != NR_IO_HELD) {
            forget_command(io);
        }
    } else if (byte == 0) {
        forget_command(io); /* the end of a frame is no part of a command */
    } else if (io->command_b == 0 && (byte == '\r' || byte == '\n')) {
        return;
    } else if (io->command_b < NR_IO_COMMAND_B) {
        io->command[io->command_b++] = byte;
    } else {
        io->overflow = true;
    }
}

/* ---- frames ---- */

/* The same rule as the DUT's: `name%` right after a delimiter or a silence is no frame. */
static bool is_escape(struct nr_io_manager *io, uint8_t byte)
{
    if (now(io) - io->host_at >= STEPS_OF_MS(PARTIAL_MS)) {
        io->escape_b = 0;
    }
    if (byte == 0) {
        io->escape_b = 0;
    } else if (io->escape_b < sizeof escape_text - 1U
               && byte == (uint8_t)escape_text[io->escape_b]) {
        io->escape_b++;
    } else {
        io->escape_b = ESCAPE_MISSED;
    }
    return io->escape_b == sizeof escape_text - 1U;
}

static void on_transparent_byte(struct nr_io_manager *io, uint8_t byte)
{
    bool escape = is_escape(io, byte);
    io->port->dut_write(io->port->context, byte);
    if (escape) {
        set_mode(io, NR_IO_LEAVING);
        io->head_b = 0;
    }
}

static void end_leaving(struct nr_io_manager *io)
{
    set_mode(io, NR_IO_COMMAND);
    forget_command(io);
    end_line(io); /* after any part of a frame that the host has received */
    say_name(io);
    say_ready(io);
}

/* ---- from the DUT ---- */

static bool head_begins(const struct nr_io_manager *io, const char *text)
{
    return begins(io->head, io->head_b < NR_IO_HEAD_B ? io->head_b : (uint8_t)NR_IO_HEAD_B, text);
}

static bool head_is(const struct nr_io_manager *io, const char *text)
{
    uint8_t length_b = io->head_b;
    if (length_b > 0 && length_b <= NR_IO_HEAD_B && io->head[length_b - 1U] == '\r') {
        length_b--;
    }
    return length_b == length_of(text) && head_begins(io, text);
}

static void on_dut_line_end(struct nr_io_manager *io)
{
    io->progress = now(io);
    if (io->mode == NR_IO_ASKED) {
        bool ready = head_is(io, NR_IO_TEXT("m-ready"));
        io->framed |= io->frame_asked && head_begins(io, NR_IO_TEXT("m-frame-["));
        if (ready) {
            io->escape_b = 0;
            set_mode(io, io->framed ? NR_IO_TRANSPARENT : NR_IO_COMMAND);
        }
    } else if (head_is(io, NR_IO_TEXT("m-init-done"))) {
        io->restarted = true;
    } else if (io->mode == NR_IO_LEAVING && head_is(io, NR_IO_TEXT("m-ready"))) {
        end_leaving(io);
    }
}

static void forward(struct nr_io_manager *io, uint8_t byte)
{
    if (!io->mid_line) {
        put(io, NR_IO_TEXT("[dut]: "));
    }
    put_byte(io, byte);
    io->mid_line = byte != '\n';
}

static void on_dut_byte(struct nr_io_manager *io, uint8_t byte)
{
    io->dut_at = now(io);
    if (io->mode == NR_IO_TRANSPARENT) {
        put_byte(io, byte);
        return;
    }
    if (io->mode == NR_IO_ASKED) {
        forward(io, byte);
    } else if (io->unasked < UINT16_MAX) {
        io->unasked++;
    }
    if (byte == '\n') {
        on_dut_line_end(io);
        io->head_b = 0;
    } else {
        if (io->head_b < NR_IO_HEAD_B) {
            io->head[io->head_b] = byte;
        }
        io->head_b = (uint8_t)(io->head_b < HEAD_FULL ? io->head_b + 1U : HEAD_FULL);
    }
}

/* ---- time ---- */

/* Waits for the end of earlier answers of the DUT, so that they are not taken for later ones. */
static void watch_held(struct nr_io_manager *io)
{
    uint32_t quiet = (uint32_t)QUIET_BYTES * 10U * (2000000U / io->port->dut_baud);
    bool clear = io->port->dut_idle(io->port->context) && now(io) - io->dut_at >= quiet;
    if (io->port->dut_room(io->port->context) < io->command_b
        || !(clear || now(io) - io->since >= STEPS_OF_MS(BABBLE_MS))) {
        return;
    }
    say_restart(io);
    for (uint8_t i = DUT_WORD_B; i < io->command_b; i++) {
        io->port->dut_write(io->port->context, io->command[i]);
    }
    io->port->dut_write(io->port->context, '%');
    forget_command(io);
    io->framed = false;
    io->head_b = 0;
    set_mode(io, NR_IO_ASKED);
}

static void watch_asked(struct nr_io_manager *io)
{
    if (!io->port->dut_idle(io->port->context)) {
        io->progress = now(io);
    }
    if (now(io) - io->progress < (io->slow ? STEPS_OF_MS(INFER_MS) : STEPS_OF_MS(ANSWER_MS))) {
        return;
    }
    break_line(io);
    if (io->port->dut_high(io->port->context)) {
        say(io, NR_IO_TEXT("e-[no answer of the DUT, its line is high]"));
    } else {
        say(io, NR_IO_TEXT("e-[no answer of the DUT, its line is low]"));
    }
    say_ready(io);
    set_mode(io, NR_IO_COMMAND);
}

static void watch_leaving(struct nr_io_manager *io)
{
    if (!io->port->dut_idle(io->port->context)) {
        io->progress = now(io);
    }
    if (now(io) - io->progress >= STEPS_OF_MS(ESCAPED_MS)
        || now(io) - io->since >= STEPS_OF_MS(BABBLE_MS)) {
        end_leaving(io);
    }
}

static bool takes_host_byte(const struct nr_io_manager *io)
{
    switch (io->mode) {
    case NR_IO_HELD:
    case NR_IO_LEAVING: return false;
    case NR_IO_TRANSPARENT: return io->port->dut_room(io->port->context) > 0;
    case NR_IO_COMMAND:
    case NR_IO_ASKED: break;
    }
    return true;
}

static bool take_host_byte(struct nr_io_manager *io)
{
    int byte = takes_host_byte(io) ? io->port->host_read(io->port->context) : -1;
    if (byte < 0) {
        return false;
    }
    if (io->mode == NR_IO_TRANSPARENT) {
        on_transparent_byte(io, (uint8_t)byte);
    } else {
        on_command_byte(io, (uint8_t)byte);
    }
    io->host_at = now(io);
    return true;
}

static bool take_dut_byte(struct nr_io_manager *io)
{
    int byte = io->port->dut_read(io->port->context);
    if (byte >= 0) {
        on_dut_byte(io, (uint8_t)byte);
    }
    return byte >= 0;
}

/* ---- the whole ---- */

void nr_io_manager_init(struct nr_io_manager *io, const struct nr_io_port *port)
{
    memset(io, 0, sizeof *io);
    io->port = port;
    io->reporting = true;
    set_mode(io, NR_IO_COMMAND);
    say(io, NR_IO_TEXT("m-io-init-done"));
    say_ready(io);
}

bool nr_io_manager_poll(struct nr_io_manager *io)
{
    bool edges = take_edges(io);
    bool dut = take_dut_byte(io);
    bool host = take_host_byte(io);
    switch (io->mode) {
    case NR_IO_HELD: watch_held(io); return true;
    case NR_IO_ASKED: watch_asked(io); break;
    case NR_IO_LEAVING: watch_leaving(io); break;
    case NR_IO_COMMAND:
    case NR_IO_TRANSPARENT: break;
    }
    return edges || dut || host;
}
