// SPDX-License-Identifier: Apache-2.0
// A simulated JS220 below the maker's C library (usb_stub.h). STUB_FOLDER also has settings.txt:
// "TOPIC VALUE METADATA" lines, which the instrument's firmware tells (assumed).
// STUB_DROP: "TICK COUNT": so many ticks are lost from that one on, from the first. STUB_FIRST: the
// 64-bit count of the first tick, of which 32 bits are on the wire. STUB_MAP_S: when the first time
// map comes, after the connection.
//
// SYNC on GPI 0 is low for 1 ms every 100 ms; current and voltage are 1 MHz, 126 to a frame, a GPI
// 2 MHz, 4032 to a frame. Frames: js220_api.h of joulescope_driver.
#include "usb_stub.h"

enum { DISCONNECT = 2, FRAME_B = 512, TOPICS = 64, QUEUE = 256, PERIOD = 200000, LOW = 2000 };
enum { JSON = 2, U32 = 10, I32 = 14 };
enum { CURRENT = 16 + 5, VOLTAGE = 16 + 6, GPI_0 = 16 + 8 };

struct setting {
    char topic[32];
    uint32_t value;
    char metadata[420];
};
struct stream {
    int port, on, ticks;
    const char *topic;
    uint64_t next; // ticks since the connection
};

static struct setting settings[TOPICS];
static unsigned setting_count;
static struct stream streams[] = {
    {CURRENT, 0, 252, "s/i/ctrl", 0},
    {VOLTAGE, 0, 252, "s/v/ctrl", 0},
    {GPI_0, 0, 4032, "s/gpi/0/ctrl", 0},
};
static uint8_t queue[QUEUE][FRAME_B]; // frames that are no samples
static unsigned queued;
static uint16_t frame_id;
static double began_s, map_s;
static uint64_t first_tick;

static uint64_t option(const char *name) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static uint8_t *frame_of(uint8_t *at, int port, unsigned length) {
    uint32_t head = frame_id++ | length << 16 | (uint32_t)port << 25;
    memset(at, 0, FRAME_B);
    memcpy(at, &head, 4);
    return at + 4;
}

static void tell(const char *topic, char suffix, uint8_t type, const void *data, unsigned size) {
    uint8_t *at = frame_of(queue[queued++], 1, 36 + size);
    snprintf((char *)at, 32, suffix ? "%s%c" : "%s", topic, suffix);
    at[32] = type;
    at[33] = suffix == '?'; // JSDRV_UNION_FLAG_RETAIN: the host keeps it
    memcpy(at + 36, data, size);
}

static void tell_number(const char *topic, char suffix, uint8_t type, uint32_t value) {
    uint64_t wide = value;
    tell(topic, suffix, type, &wide, 8);
}

static void connect_host(void) {
    uint32_t versions[5] = {1u << 24, 0, 1u << 24 | 3u << 16, 1u << 24, 1u << 24 | 3u << 16 | 3};
    char path[512], line[600];
    snprintf(path, sizeof path, "%s/settings.txt", getenv("STUB_FOLDER"));
    FILE *file = fopen(path, "r");
    setting_count = 0;
    while (file && setting_count < TOPICS && fgets(line, sizeof line, file)) {
        struct setting *one = &settings[setting_count++];
        sscanf(line, "%31s %u %419[^\n]", one->topic, &one->value, one->metadata);
    }
    if (file)
        fclose(file);
    uint8_t *at = frame_of(queue[queued++], 0, 4 + sizeof versions);
    at[0] = 1; // JS220_PORT0_OP_CONNECT
    memcpy(at + 4, versions, sizeof versions);
    began_s = now_s();
    first_tick = option("STUB_FIRST");
    const char *wait = getenv("STUB_MAP_S");
    map_s = wait && *wait ? atof(wait) : 0.0;
}

static int control(const uint8_t *setup, uint8_t *data) {
    data[0] = 0;
    queued = 0;
    began_s = 0.0;
    for (unsigned k = 0; k < sizeof streams / sizeof *streams; k++)
        streams[k].on = 0;
    if (setup[1] != DISCONNECT)
        connect_host();
    return 1;
}

static uint64_t now_tick(void) { return (uint64_t)((now_s() - began_s) * 2e6); }

static void set(const char *topic, uint32_t value) {
    for (unsigned k = 0; k < setting_count; k++)
        if (!strcmp(settings[k].topic, topic))
            settings[k].value = value;
    for (unsigned k = 0; k < sizeof streams / sizeof *streams; k++) {
        struct stream *one = &streams[k];
        if (!strcmp(one->topic, topic) && one->on != (int)value) {
            one->on = (int)value;
            one->next = now_tick() / 4032 * 4032 + 4032;
        }
    }
    tell_number(topic, '#', I32, 0);
}

static void bulk_out(const uint8_t *data, int length) {
    const char *topic = (const char *)data + 4;
    uint32_t head, value;
    memcpy(&head, data, 4);
    memcpy(&value, data + 40, 4);
    if (length < 40 || head >> 25 != 1)
        return;
    if (!strcmp(topic, "c/!ping"))
        tell_number("c/!pong", 0, U32, value);
    else if (!strcmp(topic, "s/gpi/+/!req"))
        tell_number("s/gpi/+/!value", 0, U32, 1), tell_number(topic, '#', I32, 0);
    else if (strcmp(topic, "$") && strcmp(topic, "?"))
        set(topic, value);
    for (unsigned k = 0; k < setting_count; k++) {
        struct setting *one = &settings[k];
        if (!strcmp(topic, "$"))
            tell(one->topic, '$', JSON, one->metadata, (unsigned)strlen(one->metadata) + 1);
        if (!strcmp(topic, "?"))
            tell_number(one->topic, '?', U32, one->value);
    }
}

static void tell_time_map(void) {
    uint8_t *at = frame_of(queue[queued++], 0, 36);
    uint64_t map[4] = {0, 1ull << 55, first_tick, 2000000ull << 32};
    at[0] = 4; // JS220_PORT0_OP_TIMEMAP
    memcpy(at + 4, map, sizeof map);
    map_s = 1e9;
}

static void sample(struct stream *one, uint8_t *frame) {
    uint64_t id = first_tick + one->next;
    uint32_t wire = (uint32_t)id;
    float value = one->port == CURRENT ? 0.02f : 3.3f;
    uint8_t *at = frame_of(frame, one->port, 508);
    memcpy(at, &wire, 4);
    for (unsigned k = 0; k < 126 && one->port != GPI_0; k++)
        memcpy(at + 4 + 4 * k, &value, 4);
    for (unsigned k = 0; k < 4032 && one->port == GPI_0; k++)
        at[4 + k / 8] |= (uint8_t)(((one->next + k) % PERIOD >= LOW) << k % 8);
    one->next += (unsigned)one->ticks;
}

static int bulk_in(uint8_t *at, int room) {
    int size = 0;
    unsigned long first = 0, lost = 0;
    const char *drop = getenv("STUB_DROP");
    if (drop)
        sscanf(drop, "%lu %lu", &first, &lost);
    if (began_s > 0.0 && now_s() - began_s >= map_s && queued < QUEUE)
        tell_time_map();
    for (unsigned k = 0; k < queued && size < room; k++, size += FRAME_B)
        memcpy(at + size, queue[k], FRAME_B);
    memmove(queue, queue + size / FRAME_B, (queued -= (unsigned)size / FRAME_B) * sizeof *queue);
    for (int more = 1; more;) {
        more = 0;
        for (unsigned k = 0; k < sizeof streams / sizeof *streams && size < room; k++) {
            struct stream *one = &streams[k];
            if (!one->on || one->next + (unsigned)one->ticks > now_tick())
                continue;
            if (lost && one->next >= first && one->next < first + lost)
                one->next = first + lost;
            sample(one, at + size);
            size += FRAME_B;
            more = 1;
        }
    }
    return size;
}
