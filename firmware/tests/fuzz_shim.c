/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: a device fed with anything. Each input byte goes to the device; a byte 0xFE
   also takes a frame description from the bytes behind it, so that the fuzzer gets past the CRC;
   0xFD lets 101 ms pass, 0xFC makes outputs short, 0xFB shorter by one, 0xFA has the workload fail
   or work again, and 0xF9 has it refuse inputs and starts or not. The bits of the first byte are
   those of `enum option`: what the workload can do is drawn too. The sanitizers look for memory
   errors; what is demanded here: nothing is sent in a window, nothing runs but an input as it was
   accepted, DONE tells the iterations there were, no window of a stream runs before it was played,
   and a workload with a state runs in streams alone, each window once after its start. */
#include <stdlib.h>
#include <string.h>

#include "fake_port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INFERS_MAX = 300, SHORT_OUTPUT_B = 16, FAILED = 7, A_READ_US = 50 };

enum option {
    STARTS_IN_FRAMES = 1, /* else in the text layer */
    SEARCHES = 2,
    HAS_STATE = 4,
    SEARCHES_AND_INFERS = 8,
    TIMES_ONE_PHASE = 16,
    HAS_NO_FEATURES = 32,
    ANSWERS_AS_LONG = 64, /* as its input */
    HAS_NO_ROOM = 128     /* for the outputs of a batch */
};

static struct fake fake;
static uint8_t drained[FAKE_OUTPUT_B];
static uint32_t accepted_crc[FAKE_SLOTS];
static bool counting;      /* between the marks of an inference of the workload */
static uint32_t infers_ok; /* since then */
static uint32_t since_start; /* windows of a workload with a state, in frames */
static bool waits[FAKE_SLOTS]; /* input: accepted, and in no window of a stream since */

static void need(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* ---- the device's port and workload, with an eye on what is promised ---- */

static int (*fake_load)(void *state, const uint8_t *data, uint32_t length_b);
static int (*fake_begin)(void *state);
static int (*fake_preprocess)(void *state, const uint8_t *data, uint32_t length_b);
static int (*fake_infer)(void *state);
static int (*fake_optimize)(void *state, const struct nr_search *search);
static uint64_t (*fake_mark)(void *context, uint8_t phase, uint16_t hold_us);

static size_t slot_of(const uint8_t *data)
{
    size_t slot = (size_t)(data - fake.shim.memory.slots) / FAKE_SLOT_B;
    need(data >= fake.shim.memory.slots && slot < FAKE_SLOTS
         && data == fake.shim.memory.slots + slot * FAKE_SLOT_B);
    return slot;
}

static int load(void *state, const uint8_t *data, uint32_t length_b)
{
    size_t slot = slot_of(data);
    need(length_b <= FAKE_SLOT_B);
    accepted_crc[slot] = nr_crc32(0, data, length_b);
    need(fake.shim.layer == NR_LAYER_TEXT || accepted_crc[slot] == fake.shim.upload_crc);
    waits[slot] = fake.load_code == 0;
    return fake_load(state, data, length_b);
}

static int begin(void *state)
{
    since_start = 0;
    for (int i = 0; i < FAKE_SLOTS; i++) {
        waits[i] = fake.shim.slot_loaded[i]; /* what was played may be played again */
    }
    return fake_begin(state);
}

static int preprocess(void *state, const uint8_t *data, uint32_t length_b)
{
    if (fake.workload.start != NULL && fake.shim.layer == NR_LAYER_FRAMED) {
        need(fake.shim.stream.state == NR_STREAM_PLAYING
             && fake.shim.stream.done == since_start);
        since_start++;
    }
    need(fake.workload.start == NULL || waits[slot_of(data)]);
    waits[slot_of(data)] = false;
    need(nr_crc32(0, data, length_b) == accepted_crc[slot_of(data)]);
    return fake_preprocess(state, data, length_b);
}

static int infer(void *state)
{
    int code = fake_infer(state);
    need(fake.workload.start == NULL || fake.shim.layer == NR_LAYER_TEXT
         || fake.shim.stream.state == NR_STREAM_PLAYING);
    infers_ok += code == 0;
    return code;
}

static int optimize(void *state, const struct nr_search *search)
{
    need(fake.workload.start == NULL && search->threshold_count <= NR_THRESHOLDS_MAX
         && search->end_tick > fake.tick - FAKE_MOVE_US);
    for (uint8_t i = 1; i < search->threshold_count; i++) {
        need(search->thresholds[i] < search->thresholds[i - 1]);
    }
    return fake_optimize(state, search);
}

/* A stream's windows are counted in order, lie in their slots, and none begins before its last
   sample. */
static void check_stream(uint8_t phase)
{
    const struct nr_stream *stream = &fake.shim.stream;
    if (stream->state != NR_STREAM_PLAYING) {
        return;
    }
    need(stream->done <= stream->loaded && stream->loaded <= stream->windows
         && stream->loaded - stream->done <= FAKE_SLOTS);
    need(stream->first <= stream->done && stream->done - stream->first <= NR_STREAM_RECORDS);
    need(stream->slot == stream->done % FAKE_SLOTS);
    need(stream->loaded == stream->windows || stream->loading_slot == stream->loaded % FAKE_SLOTS);
    if (phase == NR_PHASE_PREPROCESS) {
        uint64_t samples = (uint64_t)stream->done * stream->hop + stream->window;
        need(fake.tick - stream->start_tick >= samples * fake.port.tick_hz / stream->sample_hz);
    }
}

static uint64_t mark(void *context, uint8_t phase, uint16_t hold_us)
{
    check_stream(phase);
    if ((phase == NR_PHASE_INFER || phase == NR_PHASE_BATCH)
        && fake.shim.workload == &fake.workload) {
        counting = true;
        infers_ok = 0;
    } else if (phase == NR_PHASE_END && counting) {
        counting = false;
        need(fake.shim.iterations == infers_ok);
    }
    need(hold_us >= fake.port.hold_min_us);
    return fake_mark(context, phase, hold_us);
}

/* ---- a device of some options ---- */

static void give_state(void)
{
    fake_is_stateful(&fake);
    fake_begin = fake.workload.start;
    fake.workload.start = begin;
}

static void give_search(void)
{
    for (int i = 0; i < FAKE_COSTS; i++) {
        fake.search_costs[i] = -3 * i;
    }
    fake_only_searches(&fake);
    fake_optimize = fake.workload.optimize;
    fake.workload.optimize = optimize;
}

static void watch(void)
{
    fake_load = fake.workload.load;
    fake_preprocess = fake.workload.preprocess;
    fake_infer = fake.workload.infer;
    fake_mark = fake.port.mark;
    fake.workload.load = load;
    fake.workload.preprocess = preprocess;
    fake.workload.infer = infer;
    fake.port.mark = mark;
}

static void start(uint8_t *slots, uint8_t *output, uint8_t options)
{
    fake_start(&fake);
    if ((options & HAS_STATE) != 0) {
        give_state();
    }
    fake.infers_max = INFERS_MAX; /* `infer 4000000000` is no finding */
    /* time must pass for a device that looks at its timer instead of waiting */
    fake.tick_a_read = A_READ_US;
    fake.shim.memory.slots = slots;
    fake.shim.memory.output = output;
    watch();
    if ((options & SEARCHES) != 0) {
        give_search();
    }
    if ((options & SEARCHES_AND_INFERS) != 0) {
        fake.workload.infer = infer;
    }
    if ((options & TIMES_ONE_PHASE) != 0) {
        fake.workload.phases = 1;
    }
    if ((options & HAS_NO_FEATURES) != 0) {
        fake.workload.features = NULL;
    }
    if ((options & HAS_NO_ROOM) != 0) {
        fake.shim.memory.output_b = FAKE_OUTPUT_BYTES;
    }
    fake.output_as_input = (options & ANSWERS_AS_LONG) != 0;
    since_start = 0;
    memset(accepted_crc, 0, sizeof accepted_crc);
    memset(waits, 0, sizeof waits);
    counting = false;
}

/* ---- the input ---- */

/* Windows as long as the request says would take for ever. */
static void tame(uint8_t type, uint8_t *payload, size_t payload_b)
{
    if (type == NR_RUN && payload_b == 12) {
        payload[3] = payload[4] = payload[5] = 0; /* repeat */
        payload[8] = payload[9] = 0;              /* guard_us */
    }
    if (type == NR_BATCH && payload_b >= 12) {
        payload[1] = payload[2] = payload[3] = 0; /* repeat */
        payload[6] = payload[7] = 0;              /* guard_us */
    }
    if (type == NR_OPTIMIZE && payload_b >= 20) {
        payload[8] = payload[9] = 0;   /* timeout_us */
        payload[16] = payload[17] = 0; /* guard_us */
    }
    if (type == NR_STREAM && payload_b == 18) {
        payload[1] = payload[2] = payload[3] = 0; /* windows, */
        payload[5] = payload[6] = payload[7] = 0; /* hop */
        payload[9] = payload[10] = payload[11] = 0; /* and window */
    }
    if (type == NR_SELFTEST && payload_b == 4) {
        payload[1] = payload[3] = 0; /* reads and repeat */
    }
    if ((type == NR_IDLE || type == NR_SYNC) && payload_b >= 10) {
        payload[payload_b - 3] = payload[payload_b - 4] = 0;
    }
}

static size_t send_frame(const uint8_t *data, size_t size)
{
    uint8_t bytes[600];
    uint8_t payload[NR_MAX_PAYLOAD_B + 4];
    struct nr_frame_tx tx;
    size_t payload_b;
    if (size < 3) {
        return 0;
    }
    payload_b = data[2];
    if (payload_b > size - 3) {
        payload_b = size - 3;
    }
    memcpy(payload, data + 3, payload_b);
    tame(data[0], payload, payload_b);
    fake.sync_left = data[0] == NR_SYNC && payload_b != 0 ? payload[0] : 0;
    nr_frame_tx_init(&tx, bytes, sizeof bytes, NULL, NULL);
    nr_frame_tx_begin(&tx, data[0], (uint8_t)(fake.shim.expected + data[1])); /* mostly in order */
    nr_frame_tx_put(&tx, payload, payload_b);
    nr_frame_tx_end(&tx);
    fake_send(&fake, bytes, tx.used_b);
    return 3 + payload_b;
}

static void step(void)
{
    for (int i = 0; i < 4; i++) {
        nr_shim_poll(&fake.shim);
    }
    if (fake.output_used > FAKE_OUTPUT_B / 2) {
        (void)fake_receive(&fake, drained, sizeof drained);
    }
    need(fake.undrained_at_mark == 0);
    need(fake.shim.output_b <= FAKE_SLOTS * FAKE_OUTPUT_BYTES
         && fake.shim.answer_b <= NR_MAX_PAYLOAD_B && fake.shim.marks <= NR_MARKS_MAX);
    need(fake.shim.workload == &fake.workload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0;
    /* of their own, so that the sanitizer sees their ends */
    uint8_t *slots = malloc((size_t)FAKE_SLOTS * FAKE_SLOT_B);
    uint8_t options = size != 0 ? data[0] : STARTS_IN_FRAMES;
    size_t output_b = (options & HAS_NO_ROOM) != 0 ? FAKE_OUTPUT_BYTES
                                                   : (size_t)FAKE_SLOTS * FAKE_OUTPUT_BYTES;
    uint8_t *output = malloc(output_b);
    need(slots != NULL && output != NULL);
    start(slots, output, options);
    if ((options & STARTS_IN_FRAMES) != 0) {
        fake_send(&fake, "frame 1%", 8);
    }
    step();
    while (at < size) {
        uint8_t byte = data[at++];
        if (byte == 0xFE) {
            at += send_frame(data + at, size - at);
        } else if (byte == 0xFD) {
            fake.tick += 101000;
        } else if (byte == 0xFC) {
            /* answers so short that the device knows STREAM */
            fake.workload.output_bytes = SHORT_OUTPUT_B;
            fake.output_length_b = SHORT_OUTPUT_B;
        } else if (byte == 0xFB) {
            fake.output_length_b -= fake.output_length_b != 0;
        } else if (byte == 0xFA) {
            fake.infer_code ^= FAILED;
            fake.preprocess_code ^= FAILED;
            fake.search_code ^= FAILED;
        } else if (byte == 0xF9) {
            fake.load_code ^= FAILED;
            fake.start_code ^= FAILED;
        } else {
            fake_send(&fake, &byte, 1);
        }
        step();
    }
    free(slots);
    free(output);
    return 0;
}
