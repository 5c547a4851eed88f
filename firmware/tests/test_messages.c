/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of tests/vectors/frames.json: what a device reads in a request, and what it writes
   into an answer. The host's side is tested by the same bytes. */
#include <string.h>

#include "check.h"
#include "fake_host.h"
#include "fake_port.h"
#include "frame_vectors.h"

enum { INPUT_B = 40, ANSWER_B = 16, POLL_US = 5000, MARKS = 3, TICK_B = 8, TAKEN_B = 43 };

static struct fake fake;
static struct host host;
static struct host_frame got;
static uint8_t seq;
static uint8_t payload[NR_MAX_PAYLOAD_B];
static uint8_t content[INPUT_B];

static void ask(uint8_t type, const uint8_t *bytes, size_t bytes_b, uint8_t answer)
{
    host_send(&host, type, seq++, bytes, bytes_b);
    fake_run_us(&fake, POLL_US);
    CHECK(host_take(&host, &got) && got.type == answer);
}

static void load(uint16_t slot)
{
    ask(NR_LOAD, payload, host_load(payload, slot, content, INPUT_B), NR_STATUS);
    ask(NR_DATA, payload, host_data(payload, 0, content, INPUT_B), NR_ACK);
    nr_put_u16(payload, slot);
    ask(NR_COMMIT, payload, 2, NR_STATUS);
}

static void start(void)
{
    uint8_t boot[FAKE_OUTPUT_B];
    fake_start(&fake);
    fake.tick_a_read = 1;
    fake.workload.output_bytes = ANSWER_B;
    host_init(&host, &fake);
    fake_send(&fake, "frame 1%", 8);
    fake_run_us(&fake, POLL_US);
    (void)fake_receive(&fake, boot, sizeof boot);
    seq = 0;
    ask(NR_HELLO, payload, host_hello(payload, 0x25U), NR_CAPS);
}

static uint64_t u64_at(const uint8_t *from)
{
    return nr_get_u32(from) | (uint64_t)nr_get_u32(from + 4) << 32;
}

/* Fields: slot, seed, timeout_us, target, guard_us, hold_us; then the thresholds, in the payload
   only. */
static void read_optimize(const struct message_vector *vector)
{
    static const int32_t costs[FAKE_COSTS] = {-1, -100};
    start();
    memcpy(fake.search_costs, costs, sizeof costs);
    fake.search_code = 1; /* an error is shorter than DONE */
    fake_only_searches(&fake);
    load(1);
    fake.edge_count = 0;
    ask(NR_OPTIMIZE, vector->payload, vector->payload_b, NR_ACK);
    CHECK(fake.shim.job.slot == vector->fields[0] && fake.shim.guard_us == vector->fields[4]
          && fake.shim.job.hold_us == vector->fields[5]);
    CHECK(fake.shim.job.repeat == vector->fields[1] && fake.shim.job.time_us == vector->fields[2]);
    CHECK((uint64_t)(int64_t)fake.shim.target == vector->fields[3]);
    CHECK(fake.shim.threshold_count == (vector->payload_b - 20) / 4);
    for (size_t i = 0; i < fake.shim.threshold_count; i++) {
        CHECK(fake.shim.thresholds[i] == (int32_t)nr_get_u32(vector->payload + 20 + 4 * i));
    }
}

/* Fields: windows, hop, window, sample_hz, hold_us. */
static void read_stream(const struct message_vector *vector)
{
    const struct nr_stream *stream = &fake.shim.stream;
    start();
    load(0);
    load(1);
    ask(NR_STREAM, vector->payload, vector->payload_b, NR_STATUS);
    CHECK(stream->windows == vector->fields[0] && stream->hop == vector->fields[1]
          && stream->window == vector->fields[2]);
    CHECK(stream->sample_hz == vector->fields[3] && fake.edges[0].hold_us == vector->fields[4]);
}

static void read_take(const struct message_vector *vector)
{
    start();
    fake.shim.stream.state = NR_STREAM_FINISHED;
    fake.shim.stream.done = 5;
    ask(NR_TAKE, vector->payload, vector->payload_b, NR_TAKEN);
    CHECK(fake.shim.stream.first == vector->fields[0]);
}

/* Fields: state, room, start_tick, end_tick, done, late, worst_window, worst_ticks, code, first,
   count; then the records. */
static void write_taken(const struct message_vector *vector)
{
    struct nr_stream *stream = &fake.shim.stream;
    const uint64_t *fields = vector->fields;
    const uint8_t *record = vector->payload + TAKEN_B;
    start();
    CHECK(fields[1] == NR_STREAM_RECORDS);
    stream->state = (enum nr_stream_state)fields[0];
    stream->start_tick = fields[2];
    stream->end_tick = fields[3];
    stream->done = (uint32_t)fields[4];
    stream->late = (uint32_t)fields[5];
    stream->worst_window = (uint32_t)fields[6];
    stream->worst_ticks = (uint32_t)fields[7];
    stream->code = (uint32_t)fields[8];
    stream->output_b = (uint32_t)((vector->payload_b - TAKEN_B) / fields[10] - MARKS * TICK_B);
    for (uint32_t window = (uint32_t)fields[9]; window < stream->done;
         window++, record += stream->output_b) {
        for (size_t i = 0; i < MARKS; i++, record += TICK_B) {
            stream->ticks[window % NR_STREAM_RECORDS][i] = u64_at(record);
        }
        memcpy(fake.output_memory + (size_t)(window % NR_STREAM_RECORDS) * ANSWER_B, record,
               stream->output_b);
    }
    nr_put_u32(payload, (uint32_t)fields[9]);
    ask(NR_TAKE, payload, 4, NR_TAKEN);
    CHECK(got.payload_b == vector->payload_b
          && memcmp(got.payload, vector->payload, got.payload_b) == 0);
}

static void read_knew(const struct message_vector *vector)
{
    start();
    fake.shim.known = (uint8_t)vector->fields[0];
    ask(NR_KNEW, vector->payload, vector->payload_b, NR_KNOWN);
    CHECK(got.payload[1] == vector->fields[0]);
}

/* Fields: total, first; then the ticks, in the payload only. */
static void write_known(const struct message_vector *vector)
{
    start();
    fake.shim.known = (uint8_t)vector->fields[0];
    for (size_t i = vector->fields[1]; i < vector->fields[0]; i++) {
        fake.shim.known_tick[i] = u64_at(vector->payload + 2 + 8 * (i - vector->fields[1]));
    }
    payload[0] = (uint8_t)vector->fields[1];
    ask(NR_KNEW, payload, 1, NR_KNOWN);
    CHECK(got.payload_b == vector->payload_b
          && memcmp(got.payload, vector->payload, got.payload_b) == 0);
}

static void messages_are_those_of_the_shared_vectors(void)
{
    for (size_t i = 0; i < sizeof message_vectors / sizeof message_vectors[0]; i++) {
        switch (message_vectors[i].type) {
        case NR_OPTIMIZE: read_optimize(&message_vectors[i]); break;
        case NR_KNEW: read_knew(&message_vectors[i]); break;
        case NR_KNOWN: write_known(&message_vectors[i]); break;
        case NR_STREAM: read_stream(&message_vectors[i]); break;
        case NR_TAKE: read_take(&message_vectors[i]); break;
        case NR_TAKEN: write_taken(&message_vectors[i]); break;
        default: CHECK(false);
        }
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = (uint8_t)(3 * i);
    }
    RUN(messages_are_those_of_the_shared_vectors);
    return report("messages");
}
