// SPDX-License-Identifier: Apache-2.0
// usbfs, sysfs and libudev of one simulated device, preloaded: pyjoulescope_driver with its libusb
// runs as it is on what a file that includes this one says. STUB_FOLDER: where the device's sysfs
// files are (serial, speed, busnum, devnum, bConfigurationValue, descriptors).
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
enum { PENDING = 64 };

// What the device does: each returns how many bytes it has put there; none of a bulk transfer means
// that there are none yet.
static int control(const uint8_t *setup, uint8_t *data);
static void bulk_out(const uint8_t *data, int length);
static int bulk_in(uint8_t *data, int room);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int node = -1;
static struct usbdevfs_urb *waiting[PENDING], *done[PENDING];
static unsigned waiting_count, done_count;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void submit(struct usbdevfs_urb *urb) {
    uint8_t *buffer = urb->buffer;
    urb->status = 0;
    if (urb->type == USBDEVFS_URB_TYPE_CONTROL) {
        urb->actual_length = control(buffer, buffer + 8);
    } else if (urb->endpoint & 0x80) {
        waiting[waiting_count++] = urb;
        return;
    } else {
        bulk_out(buffer, urb->buffer_length);
        urb->actual_length = urb->buffer_length;
    }
    done[done_count++] = urb;
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
    if (!done_count && waiting_count) {
        struct usbdevfs_urb *first = waiting[0];
        first->actual_length = bulk_in(first->buffer, first->buffer_length);
        if (first->actual_length) {
            first->status = 0;
            memmove(waiting, waiting + 1, --waiting_count * sizeof *waiting);
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
        snprintf(moved, sizeof moved, "%s/%s", getenv("STUB_FOLDER"), path + sizeof SYSFS);
        path = moved;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int close(int fd) {
    pthread_mutex_lock(&lock);
    if (fd == node) { // the system ends what is under way, and its memory is freed
        node = -1;
        waiting_count = done_count = 0;
    }
    pthread_mutex_unlock(&lock);
    return (int)syscall(SYS_close, fd);
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
