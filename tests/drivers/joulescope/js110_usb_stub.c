// SPDX-License-Identifier: Apache-2.0
// A simulated JS110 below the maker's C library: preloaded, it answers for usbfs, sysfs and
// libudev, so that pyjoulescope_driver with its libusb runs as it is.
//
// JS110_FOLDER: where the device's sysfs files are (serial, speed, busnum, devnum,
// bConfigurationValue, descriptors) and calibration.bin. JS110_DROP: "FRAME COUNT": so many frames
// are lost before that one. JS110_STUCK: the current range that it does not get done with.
//
// SYNC on GPI 0 is low for 1 ms every 100 ms; samples are 2 MHz, 126 to a frame, and a frame comes
// no sooner than it was sampled. Requests and frames: js110_api.h and js110_usb.c of
// joulescope_driver.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <linux/usbdevice_fs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NODE "/dev/bus/usb/009/002"
#define SYSFS "/sys/bus/usb/devices/usb9"
#define ME ((void *)1)
enum { SETTINGS = 3, STATUS = 4, CALIBRATION = 8, EXTIO = 9, LOOPBACK = 2 };
enum { FRAME_B = 512, FRAME_SAMPLES = 126, PERIOD = 200000, LOW = 2000, PENDING = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int node = -1;
static uint8_t settings[16] = {1, 16, 1};
static uint8_t extio[24] = {1, 24, 3, [15] = 1};
static uint8_t loopback[16];
static uint64_t frame; // next one to be sent, in frames since streaming began
static double began_s;
static struct usbdevfs_urb *waiting[PENDING], *done[PENDING];
static unsigned waiting_count, done_count;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int vendor(const uint8_t *setup, uint8_t *data) {
    unsigned length = setup[6] | setup[7] << 8;
    unsigned index = setup[4] | setup[5] << 8;
    uint8_t status[128] = {1, 104, 2}; // settings_result 0: done; samples_this 0: no statistics
    const char *stuck = getenv("JS110_STUCK");
    if (stuck && *stuck && atoi(stuck) == settings[9])
        memset(status + 8, 0xff, 4); // settings_result -1: not yet
    int in = setup[0] & 0x80;
    if (setup[1] == CALIBRATION) {
        char path[512];
        snprintf(path, sizeof path, "%s/calibration.bin", getenv("JS110_FOLDER"));
        int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
        int got = (int)pread(file, data, length, index);
        close(file);
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

static void fill(struct usbdevfs_urb *urb) {
    unsigned long first = 0, count = 0;
    const char *drop = getenv("JS110_DROP");
    if (drop)
        sscanf(drop, "%lu %lu", &first, &count);
    uint8_t *at = urb->buffer;
    for (int left = urb->buffer_length / FRAME_B; left; left--, at += FRAME_B, frame++) {
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
    urb->actual_length = urb->buffer_length;
    urb->status = 0;
}

static void submit(struct usbdevfs_urb *urb) {
    uint8_t *buffer = urb->buffer;
    if (urb->type == USBDEVFS_URB_TYPE_CONTROL) {
        urb->actual_length = vendor(buffer, buffer + 8);
        urb->status = 0;
        done[done_count++] = urb;
    } else {
        waiting[waiting_count++] = urb;
    }
}

static int discard(struct usbdevfs_urb *urb) {
    for (unsigned k = 0; k < waiting_count; k++) {
        if (waiting[k] == urb) {
            memmove(waiting + k, waiting + k + 1, (--waiting_count - k) * sizeof *waiting);
            urb->status = -ENOENT;
            urb->actual_length = 0;
            done[done_count++] = urb;
            return 0;
        }
    }
    errno = EINVAL;
    return -1;
}

static int reap(struct usbdevfs_urb **urb) {
    if (!done_count && waiting_count && settings[12]) {
        double due = (double)(frame + (uint64_t)waiting[0]->buffer_length / FRAME_B);
        if (now_s() - began_s > due * FRAME_SAMPLES / 2e6) {
            struct usbdevfs_urb *first = waiting[0];
            memmove(waiting, waiting + 1, --waiting_count * sizeof *waiting);
            fill(first);
            done[done_count++] = first;
        }
    }
    if (!done_count) {
        errno = EAGAIN;
        return -1;
    }
    *urb = done[0];
    memmove(done, done + 1, --done_count * sizeof *done);
    return 0;
}

int ioctl(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (fd != node)
        return (int)syscall(SYS_ioctl, fd, request, argument);
    pthread_mutex_lock(&lock);
    int result = 0;
    if (request == USBDEVFS_GET_CAPABILITIES)
        *(uint32_t *)argument = USBDEVFS_CAP_NO_PACKET_SIZE_LIM;
    else if (request == USBDEVFS_SUBMITURB)
        submit(argument);
    else if (request == USBDEVFS_DISCARDURB)
        result = discard(argument);
    else if (request == USBDEVFS_REAPURBNDELAY)
        result = reap(argument);
    int error = errno;
    pthread_mutex_unlock(&lock);
    if (result && error == EAGAIN)
        usleep(500); // this descriptor is always ready
    errno = error;
    return result;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
    va_end(arguments);
    char moved[512];
    if (!strcmp(path, NODE))
        return node = eventfd(0, EFD_CLOEXEC);
    if (!strncmp(path, SYSFS "/", sizeof SYSFS)) {
        snprintf(moved, sizeof moved, "%s/%s", getenv("JS110_FOLDER"), path + sizeof SYSFS);
        path = moved;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int statfs(const char *path, struct statfs *about) {
    int result = (int)syscall(SYS_statfs, path, about);
    if (!strcmp(path, "/sys"))
        about->f_type = 0x62656572; // SYSFS_MAGIC, also where a container has none
    return strcmp(path, "/sys") ? result : 0;
}

void *udev_new(void) { return ME; }
void *udev_unref(void *it) { return it ? NULL : NULL; }
void *udev_monitor_new_from_netlink(void *it, const char *name) { return name ? ME : it; }
int udev_monitor_filter_add_match_subsystem_devtype(void *it, const char *a, const char *b) {
    return !it || (!a && b);
}
int udev_monitor_enable_receiving(void *it) { return !it; }
int udev_monitor_get_fd(void *it) { return it ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1; }
void *udev_monitor_receive_device(void *it) { return it ? NULL : NULL; }
void *udev_monitor_unref(void *it) { return it ? NULL : NULL; }
void *udev_enumerate_new(void *it) { return it; }
int udev_enumerate_add_match_subsystem(void *it, const char *name) { return !it || !name; }
int udev_enumerate_add_match_property(void *it, const char *a, const char *b) {
    return !it || (!a && b);
}
int udev_enumerate_scan_devices(void *it) { return !it; }
void *udev_enumerate_get_list_entry(void *it) { return it; }
void *udev_enumerate_unref(void *it) { return it ? NULL : NULL; }
const char *udev_list_entry_get_name(void *it) { return it ? SYSFS : NULL; }
void *udev_list_entry_get_next(void *it) { return it ? NULL : NULL; }
void *udev_device_new_from_syspath(void *it, const char *path) { return path ? it : NULL; }
const char *udev_device_get_devnode(void *it) { return it ? NODE : NULL; }
const char *udev_device_get_sysname(void *it) { return it ? "usb9" : NULL; }
const char *udev_device_get_action(void *it) { return it ? "add" : NULL; }
void *udev_device_unref(void *it) { return it ? NULL : NULL; }
