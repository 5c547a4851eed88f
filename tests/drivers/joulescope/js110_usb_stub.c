// SPDX-License-Identifier: Apache-2.0
// A simulated JS110 below the maker's C library (usb_stub.h). STUB_FOLDER also has calibration.bin.
// STUB_DROP: "FRAME COUNT": so many frames are lost before that one. STUB_STUCK: the current range
// that it does not get done with.
//
// SYNC on GPI 0 is low for 1 ms every 100 ms; samples are 2 MHz, 126 to a frame, and a frame comes
// no sooner than it was sampled. Requests and frames: js110_api.h and js110_usb.c of
// joulescope_driver.
#include "usb_stub.h"

enum { SETTINGS = 3, STATUS = 4, CALIBRATION = 8, EXTIO = 9, LOOPBACK = 2 };
enum { FRAME_B = 512, FRAME_SAMPLES = 126, PERIOD = 200000, LOW = 2000 };

static uint8_t settings[16] = {1, 16, 1};
static uint8_t extio[24] = {1, 24, 3, [15] = 1};
static uint8_t loopback[16];
static uint64_t frame; // next one to be sent, in frames since streaming began
static double began_s;

static int control(const uint8_t *setup, uint8_t *data) {
    unsigned length = setup[6] | setup[7] << 8;
    unsigned index = setup[4] | setup[5] << 8;
    uint8_t status[128] = {1, 104, 2}; // settings_result 0: done; samples_this 0: no statistics
    const char *stuck = getenv("STUB_STUCK");
    if (stuck && *stuck && atoi(stuck) == settings[9])
        memset(status + 8, 0xff, 4); // settings_result -1: not yet
    int in = setup[0] & 0x80;
    if (setup[1] == CALIBRATION) {
        char path[512];
        snprintf(path, sizeof path, "%s/calibration.bin", getenv("STUB_FOLDER"));
        int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
        int got = (int)pread(file, data, length, index);
        syscall(SYS_close, file); // close takes the lock
        return got;
    }
    uint8_t *kept = setup[1] == SETTINGS   ? settings
                    : setup[1] == EXTIO    ? extio
                    : setup[1] == LOOPBACK ? loopback
                                           : status;
    unsigned size = kept == settings || kept == loopback ? 16 : kept == extio ? 24 : 104;
    length = length < size ? length : size;
    if (in) {
        memcpy(data, kept, length);
    } else if (kept != status) {
        int streamed = settings[12];
        memcpy(kept, data, length);
        extio[15] = 1; // GPI 0 is high; what is written there is ignored
        if (settings[12] && !streamed) {
            began_s = now_s();
            frame = 0;
        }
    }
    return (int)length;
}

static void bulk_out(const uint8_t *data, int length) {
    (void)data, (void)length;
}

static int bulk_in(uint8_t *at, int room) {
    unsigned long first = 0, count = 0;
    const char *drop = getenv("STUB_DROP");
    double due = (double)(frame + (uint64_t)room / FRAME_B);
    if (!settings[12] || now_s() - began_s <= due * FRAME_SAMPLES / 2e6)
        return 0;
    if (drop)
        sscanf(drop, "%lu %lu", &first, &count);
    for (int left = room / FRAME_B; left; left--, at += FRAME_B, frame++) {
        if (count && frame == first)
            frame += count;
        memset(at, 0, 8);
        at[0] = 1;
        at[3] = FRAME_B >> 8;
        at[4] = (uint8_t)frame;
        at[5] = (uint8_t)(frame >> 8);
        for (unsigned k = 0; k < FRAME_SAMPLES; k++) {
            uint32_t high = (frame * FRAME_SAMPLES + k) % PERIOD >= LOW;
            // 14 bits each of current (the lowest is GPI 0) and voltage; range 0 is 10 A.
            uint32_t sample = (2000 | high) << 2 | 3300u << 18;
            memcpy(at + 8 + 4 * k, &sample, 4);
        }
    }
    return room;
}
