/* SPDX-License-Identifier: Apache-2.0 */
/* A file of its own, as Linux' termios2, which knows every rate, cannot be included together with
   <termios.h>. */
#include "line_rate.h"

#ifdef __linux__

#include <asm/ioctls.h>
#include <asm/termbits.h>

/* <sys/ioctl.h> would bring in a second struct termios */
int ioctl(int fd, unsigned long request, ...);

uint32_t nr_line_rate(int fd)
{
    struct termios2 line;
    return ioctl(fd, TCGETS2, &line) == 0 ? line.c_ospeed : 0;
}

void nr_line_rate_set(int fd, uint32_t baud)
{
    struct termios2 line;
    if (ioctl(fd, TCGETS2, &line) == 0) {
        line.c_cflag = (line.c_cflag & ~(unsigned)CBAUD) | BOTHER;
        line.c_ispeed = baud;
        line.c_ospeed = baud;
        (void)ioctl(fd, TCSETS2, &line);
    }
}

#else

#include <termios.h>

uint32_t nr_line_rate(int fd)
{
    struct termios line;
    return tcgetattr(fd, &line) == 0 ? (uint32_t)cfgetospeed(&line) : 0;
}

void nr_line_rate_set(int fd, uint32_t baud)
{
    struct termios line;
    if (tcgetattr(fd, &line) == 0 && cfsetispeed(&line, baud) == 0
        && cfsetospeed(&line, baud) == 0) {
        (void)tcsetattr(fd, TCSANOW, &line);
    }
}

#endif
