/* SPDX-License-Identifier: Apache-2.0 */
/* A whole conversation, from `name%` to the output, with one fault at every position of either
   direction. Demanded each time: no crash, no byte in a window, never a wrong output, no request
   executed twice, and success in the end. */
#include <string.h>

#include "check.h"
#include "fake_host.h"
#include "fake_port.h"

enum {
    TIMEOUT_US = 20000,
    GUARD_US = 45000, /* longer than the host's time-out, as the protocol asks */
    TRIES = 6,
    RESTARTS = 5,
    CONTENT_B = 150,
    CHUNK_B = 30,
    DATA_FRAMES = CONTENT_B / CHUNK_B,
    OUTPUT_B = 300,
    OUTPUT_AT_B = 12 + 3 * 9, /* in DONE */
    ITERATIONS = 2
};

enum fault_kind { LOST, DOUBLED, LOW_BIT, HIGH_BIT, ZEROED, NOISE_BEFORE, DEAF, FAULT_KINDS };

enum direction { TO_DEVICE, TO_HOST, NO_FAULT };

struct fault {
    enum direction direction;
    enum fault_kind kind;
    size_t at;     /* position in the stream of that direction */
    size_t passed[2];
    bool deaf;     /* the link is dead until the host starts anew */
};

struct line {
    struct fake fake;
    struct fault fault;
    struct nr_frame_rx rx;
    uint8_t rx_buffer[NR_MAX_PAYLOAD_B + NR_FRAME_OVERHEAD_B];
    uint8_t received[FAKE_OUTPUT_B];
    size_t received_used;
    size_t received_next;
    uint8_t seq;
    int runs; /* RUN requests that may have been executed */
};

static struct line line;
static uint8_t content[CONTENT_B];

/* ---- the faulty line ---- */

/* Passes one byte on; returns how many it became. */
static size_t pass(struct fault *fault, enum direction direction, uint8_t byte, uint8_t out[2])
{
    bool hit = fault->direction == direction && fault->passed[direction]++ == fault->at;
    out[0] = byte;
    out[1] = byte;
    if (fault->direction == direction && fault->deaf) {
        return 0;
    }
    if (!hit) {
        return 1;
    }
    switch (fault->kind) {
    case LOST: return 0;
    case DOUBLED: return 2;
    case LOW_BIT: out[0] ^= 1U; return 1;
    case HIGH_BIT: out[0] ^= 0x80U; return 1;
    case ZEROED: out[0] = 0; return 1;
    case NOISE_BEFORE: out[0] = 0x55; return 2;
    default: fault->deaf = true; return 0;
    }
}

static void send(const uint8_t *bytes, size_t length_b)
{
    for (size_t i = 0; i < length_b; i++) {
        uint8_t out[2];
        fake_send(&line.fake, out, pass(&line.fault, TO_DEVICE, bytes[i], out));
    }
}

static void listen(uint64_t duration_us)
{
    uint8_t bytes[FAKE_OUTPUT_B];
    size_t count;
    fake_run_us(&line.fake, duration_us);
    count = fake_receive(&line.fake, bytes, sizeof bytes);
    for (size_t i = 0; i < count; i++) {
        uint8_t out[2];
        size_t become = pass(&line.fault, TO_HOST, bytes[i], out);
        CHECK(line.received_used + become <= FAKE_OUTPUT_B);
        memcpy(line.received + line.received_used, out, become);
        line.received_used += become;
    }
}

static void forget_received(void)
{
    line.received_used = 0;
    line.received_next = 0;
}

/* ---- the host ---- */

static bool received_text(const char *text)
{
    size_t length_b = strlen(text);
    for (size_t i = 0; i + length_b <= line.received_used; i++) {
        if (memcmp(line.received + i, text, length_b) == 0) {
            return true;
        }
    }
    return false;
}

static bool ask_text(const char *command, const char *answer, uint64_t patience_us)
{
    forget_received();
    send((const uint8_t *)command, strlen(command));
    listen(patience_us);
    return received_text(answer) && received_text("m-ready\r\n");
}

static bool find_device(void)
{
    for (int i = 0; i < TRIES; i++) {
        if (ask_text("name%", "m-name-dut-[fake]\r\n", 300000)
            && ask_text("frame 1%", "m-frame-[1]\r\n", 300000)) {
            return true;
        }
    }
    return false;
}

static bool take_frame(struct host_frame *frame)
{
    while (line.received_next < line.received_used) {
        if (nr_frame_rx_byte(&line.rx, line.received[line.received_next++])) {
            frame->type = nr_frame_type(&line.rx);
            frame->seq = nr_frame_seq(&line.rx);
            frame->payload_b = nr_frame_payload_b(&line.rx);
            memcpy(frame->payload, nr_frame_payload(&line.rx), frame->payload_b);
            return true;
        }
    }
    forget_received();
    return false;
}

/* Looks for an answer of `type` to `seq` among what was received. */
static bool take_answer(uint8_t type, uint8_t seq, struct host_frame *frame)
{
    while (take_frame(frame)) {
        if (frame->type == type && frame->seq == seq) {
            return true;
        }
        CHECK(frame->type == NR_ACK || frame->type == NR_ERROR || frame->type == NR_CAPS
              || frame->type == NR_STATUS || frame->type == NR_DONE || frame->type == NR_CHUNK);
    }
    return false;
}

/* Repeats a request until `type` answers it. */
static bool request(uint8_t request_type, const uint8_t *payload, size_t payload_b, uint8_t type,
                    struct host_frame *frame)
{
    uint8_t bytes[600];
    uint8_t seq = line.seq++;
    size_t length_b = host_encode(bytes, sizeof bytes, request_type, seq, payload, payload_b);
    for (int i = 0; i < TRIES; i++) {
        send(bytes, length_b);
        listen(TIMEOUT_US);
        if (take_answer(type, seq, frame)) {
            return true;
        }
        if (i == TRIES / 2) {
            listen(110000); /* a torn frame may have swallowed all so far */
        }
    }
    return false;
}

static void send_data(uint8_t first, int index)
{
    uint8_t payload[4 + CHUNK_B];
    uint8_t bytes[100];
    size_t payload_b = host_data(payload, (uint32_t)(index * CHUNK_B), content, CHUNK_B);
    send(bytes,
         host_encode(bytes, sizeof bytes, NR_DATA, (uint8_t)(first + index), payload, payload_b));
}

/* All at once, then again what the last ACK shows missing. */
static bool send_content(void)
{
    uint8_t first = line.seq;
    struct host_frame frame;
    uint8_t done = 0;
    uint32_t there = 0;
    line.seq = (uint8_t)(first + DATA_FRAMES);
    for (int i = 0; i < TRIES && done < DATA_FRAMES; i++) {
        for (int index = done; index < DATA_FRAMES; index++) {
            if (index == done || (there >> (index - done - 1) & 1U) == 0) {
                send_data(first, index);
            }
        }
        listen(TIMEOUT_US);
        while (take_frame(&frame)) {
            if (frame.type == NR_ACK && frame.payload_b == 4 && (uint8_t)(frame.seq - first) >= done
                && (uint8_t)(frame.seq - first) <= DATA_FRAMES) {
                done = (uint8_t)(frame.seq - first);
                there = nr_get_u32(frame.payload);
            }
        }
    }
    return done == DATA_FRAMES;
}

static bool upload(void)
{
    uint8_t payload[16];
    struct host_frame frame;
    if (!request(NR_LOAD, payload, host_load(payload, 1, content, CONTENT_B), NR_STATUS, &frame)
        || !send_content()) {
        return false;
    }
    nr_put_u16(payload, 1);
    return request(NR_COMMIT, payload, 2, NR_STATUS, &frame);
}

static void check_output(const uint8_t *output, size_t offset_b, size_t length_b)
{
    for (size_t i = 0; i < length_b; i++) {
        CHECK(output[i] == (uint8_t)(content[(offset_b + i) % CONTENT_B] + 1U));
    }
}

/* RUN: its ACK, within the guard; then DONE, asked for again where it got lost. */
static bool run(size_t *output_b)
{
    uint8_t payload[16];
    uint8_t bytes[100];
    struct host_frame frame;
    uint8_t seq = line.seq;
    size_t payload_b = host_run(payload, 1, ITERATIONS, GUARD_US, 0);
    size_t length_b = host_encode(bytes, sizeof bytes, NR_RUN, seq, payload, payload_b);
    bool answered;
    line.runs++;
    line.seq++;
    answered = false;
    for (int i = 0; i < TRIES && !answered; i++) {
        send(bytes, length_b);
        listen(TIMEOUT_US);
        answered = take_answer(NR_DONE, seq, &frame);
        if (!answered) {
            listen(GUARD_US + 2 * TIMEOUT_US);
            answered = take_answer(NR_DONE, seq, &frame);
        }
    }
    if (!answered) {
        return false;
    }
    CHECK(nr_get_u16(frame.payload + 2) == 3 && nr_get_u32(frame.payload + 4) == OUTPUT_B);
    CHECK(nr_get_u32(frame.payload + 8) == ITERATIONS);
    *output_b = frame.payload_b - OUTPUT_AT_B;
    check_output(frame.payload + OUTPUT_AT_B, 0, *output_b);
    return true;
}

static bool fetch_rest(size_t output_b)
{
    uint8_t payload[4];
    struct host_frame frame;
    while (output_b < OUTPUT_B) {
        nr_put_u32(payload, (uint32_t)output_b);
        if (!request(NR_RESULT, payload, 4, NR_CHUNK, &frame)) {
            return false;
        }
        CHECK(nr_get_u32(frame.payload) == output_b && frame.payload_b > 4);
        check_output(frame.payload + 4, output_b, frame.payload_b - 4);
        output_b += frame.payload_b - 4;
    }
    CHECK(output_b == OUTPUT_B);
    return true;
}

static bool converse(uint32_t nonce)
{
    uint8_t payload[16];
    struct host_frame frame;
    size_t output_b = 0;
    line.fault.deaf = false;
    forget_received();
    nr_frame_rx_init(&line.rx, line.rx_buffer, sizeof line.rx_buffer);
    line.seq = 250; /* wraps on the way */
    return find_device() && request(NR_HELLO, payload, host_hello(payload, nonce), NR_CAPS, &frame)
           && upload() && run(&output_b) && fetch_rest(output_b)
           && request(NR_TEXT, payload, 0, NR_STATUS, &frame);
}

/* One device, one fault; returns how many attempts it took. */
static int converse_until_it_works(const struct fault *fault)
{
    fake_start(&line.fake);
    line.fake.output_length_b = OUTPUT_B;
    line.fault = *fault;
    line.runs = 0;
    for (int attempt = 1; attempt <= RESTARTS; attempt++) {
        bool worked = converse((uint32_t)attempt);
        CHECK(line.fake.writes_in_window == 0 && line.fake.undrained_at_mark == 0);
        CHECK(line.fake.infers <= 2 * line.runs && line.fake.preprocesses <= 2 * line.runs);
        if (worked) {
            CHECK(line.fake.infers % 2 == 0);
            return attempt;
        }
    }
    (void)fprintf(stderr, "no success: direction %d kind %d position %zu\n", fault->direction,
                  fault->kind, fault->at);
    abort();
}

static void a_clean_line_needs_one_attempt(void)
{
    const struct fault none = {NO_FAULT, LOST, 0, {0, 0}, false};
    CHECK(converse_until_it_works(&none) == 1);
    CHECK(line.runs == 1 && line.fake.infers == 2);
}

static void try_every_position(enum direction direction)
{
    int conversations = 0;
    int restarts = 0;
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        size_t at = 0;
        struct fault fault = {direction, (enum fault_kind)kind, 0, {0, 0}, false};
        do {
            fault.at = at;
            restarts += converse_until_it_works(&fault) - 1;
            conversations++;
        } while (at++ < line.fault.passed[direction]);
    }
    (void)printf("  %s: %d conversations with a fault, %d restarts\n",
                 direction == TO_DEVICE ? "to the device" : "to the host", conversations, restarts);
}

static void any_fault_on_the_way_to_the_device(void) { try_every_position(TO_DEVICE); }

static void any_fault_on_the_way_to_the_host(void) { try_every_position(TO_HOST); }

int main(void)
{
    for (size_t i = 0; i < CONTENT_B; i++) {
        content[i] = (uint8_t)(i * 5 + 200);
    }
    RUN(a_clean_line_needs_one_attempt);
    RUN(any_fault_on_the_way_to_the_device);
    RUN(any_fault_on_the_way_to_the_host);
    return report("faults");
}
