/* SPDX-License-Identifier: Apache-2.0
 * The part of a vendor's VISA library that the binding needs for an instrument at a raw socket,
 * after VPP-4.3. As in theirs, and not in pyvisa-py, a read ends at every termination character,
 * also at one inside a block of numbers. VISA_STUB_OPEN: the status that opening returns. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int32_t Status;
typedef uint32_t Session;
enum { MANAGER = 1, FIRST = 16, MOST = 16, TCPIP = 6 };
#define ERROR(low) ((Status)(0xBFFF0000u | (low)))
enum {
    NOT_FOUND = 0x11,
    TIMEOUT = 0x15,
    NO_ATTRIBUTE = 0x1D,
    BAD_NAME = 0x12,
    CONNECTION_LOST = 0xA6,
    BAD_OBJECT = 0x0E
};
enum { TERM_CHAR_READ = 0x3FFF0005, MAX_COUNT_READ = 0x3FFF0006 };
enum {
    TERMCHAR = 0x3FFF0018,
    TIMEOUT_VALUE = 0x3FFF001A,
    TERMCHAR_EN = 0x3FFF0038,
    SEND_END_EN = 0x3FFF0016
};

static struct {
    int socket, used;
    uint32_t timeout_ms;
    uint8_t end;
    uint16_t ends, send_end;
} sessions[MOST];

static int at(Session session) {
    int place = (int)session - FIRST;
    return place >= 0 && place < MOST && sessions[place].used ? place : -1;
}

static int address(const char *name, char *host, int *port) {
    if (strncmp(name, "TCPIP", 5)) return 0;
    name += 5 + strspn(name + 5, "0123456789");
    return sscanf(name, "::%63[^:]::%d::SOCKET", host, port) == 2;
}

Status viOpenDefaultRM(Session *manager) {
    *manager = MANAGER;
    return 0;
}

Status viParseRsrcEx(Session manager, const char *name, uint16_t *kind, uint16_t *board,
                     char *class, char *full, char *alias)
{
    char host[64];
    int port;
    (void)manager;
    if (!address(name, host, &port)) return ERROR(BAD_NAME);
    *kind = TCPIP;
    *board = 0;
    strcpy(class, "SOCKET");
    strcpy(full, name);
    *alias = 0;
    return 0;
}

Status viOpen(Session manager, const char *name, uint32_t mode, uint32_t timeout, Session *session)
{
    char host[64];
    int port, place = 0;
    struct sockaddr_in to = {.sin_family = AF_INET};
    (void)manager, (void)mode, (void)timeout;
    if (getenv("VISA_STUB_OPEN")) return (Status)strtoul(getenv("VISA_STUB_OPEN"), NULL, 0);
    if (!address(name, host, &port)) return ERROR(BAD_NAME);
    while (place < MOST && sessions[place].used) place++;
    to.sin_port = htons((uint16_t)port);
    if (place == MOST || !inet_pton(AF_INET, host, &to.sin_addr)) return ERROR(NOT_FOUND);
    sessions[place].socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(sessions[place].socket, (struct sockaddr *)&to, sizeof to)) {
        close(sessions[place].socket);
        return ERROR(NOT_FOUND);
    }
    sessions[place].used = 1;
    sessions[place].timeout_ms = 2000;
    sessions[place].end = '\n';
    sessions[place].ends = 0;
    sessions[place].send_end = 1;
    *session = (Session)(FIRST + place);
    return 0;
}

Status viClose(Session session) {
    if (session == MANAGER) return 0;
    if (at(session) < 0) return ERROR(BAD_OBJECT);
    close(sessions[at(session)].socket);
    sessions[at(session)].used = 0;
    return 0;
}

Status viSetAttribute(Session session, uint32_t name, uint64_t value) {
    int place = at(session);
    if (place < 0) return ERROR(BAD_OBJECT);
    switch (name) {
    case TIMEOUT_VALUE: sessions[place].timeout_ms = (uint32_t)value; return 0;
    case TERMCHAR: sessions[place].end = (uint8_t)value; return 0;
    case TERMCHAR_EN: sessions[place].ends = (uint16_t)value; return 0;
    case SEND_END_EN: sessions[place].send_end = (uint16_t)value; return 0;
    default: return ERROR(NO_ATTRIBUTE);
    }
}

Status viGetAttribute(Session session, uint32_t name, void *value) {
    int place = at(session);
    if (place < 0) return ERROR(BAD_OBJECT);
    switch (name) {
    case TIMEOUT_VALUE: *(uint32_t *)value = sessions[place].timeout_ms; return 0;
    case TERMCHAR: *(uint8_t *)value = sessions[place].end; return 0;
    case TERMCHAR_EN: *(uint16_t *)value = sessions[place].ends; return 0;
    case SEND_END_EN: *(uint16_t *)value = sessions[place].send_end; return 0;
    default: return ERROR(NO_ATTRIBUTE);
    }
}

Status viWrite(Session session, const uint8_t *from, uint32_t count, uint32_t *done) {
    int place = at(session);
    if (place < 0) return ERROR(BAD_OBJECT);
    for (*done = 0; *done < count;) {
        ssize_t sent = send(sessions[place].socket, from + *done, count - *done, MSG_NOSIGNAL);
        if (sent <= 0) return ERROR(CONNECTION_LOST);
        *done += (uint32_t)sent;
    }
    return 0;
}

Status viRead(Session session, uint8_t *into, uint32_t count, uint32_t *done) {
    int place = at(session);
    if (place < 0) return ERROR(BAD_OBJECT);
    for (*done = 0; *done < count;) {
        struct pollfd there = {.fd = sessions[place].socket, .events = POLLIN};
        if (poll(&there, 1, (int)sessions[place].timeout_ms) == 0) return ERROR(TIMEOUT);
        ssize_t seen = recv(there.fd, into + *done, count - *done, MSG_PEEK);
        if (seen <= 0) return ERROR(CONNECTION_LOST);
        uint8_t *end =
            sessions[place].ends ? memchr(into + *done, sessions[place].end, (size_t)seen) : NULL;
        seen =
            recv(there.fd, into + *done, end ? (size_t)(end - into) - *done + 1 : (size_t)seen, 0);
        if (seen <= 0) return ERROR(CONNECTION_LOST);
        *done += (uint32_t)seen;
        if (end) return TERM_CHAR_READ;
    }
    return MAX_COUNT_READ;
}

Status viStatusDesc(Session session, Status status, char *text) {
    (void)session;
    sprintf(text, "stub: %08x", (unsigned int)status);
    return 0;
}

Status viDisableEvent(Session session, uint32_t kind, uint16_t how)
{
    return (void)kind, (void)how, at(session) < 0 ? ERROR(BAD_OBJECT) : 0;
}

Status viDiscardEvents(Session session, uint32_t kind, uint16_t how)
{
    return viDisableEvent(session, kind, how);
}
