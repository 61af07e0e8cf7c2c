/* SPDX-License-Identifier: Apache-2.0 */
/* accept.c: the door: connections that come in, and which of them belong to the job.
 *
 * A connection is a stranger until it has said hello and proved that it knows the token. Many can be on their way at
 * once; none is waited for, none is read beyond the bytes of a hello and a proof, each has a few seconds, and when too
 * many stand at the door the one that came first has to go: a port scan, a browser or a thousand half-open connections
 * do not stop the job from forming. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

enum { AT_THE_DOOR = 128, SLICE_MS = 50 };
#define HANDSHAKE_SECONDS 5.0
#define SLOW_SECONDS 1.0 /* when others wait outside */
#define SILENT_SECONDS 0.1

struct stranger {
    int fd; /* -1: free place */
    double since;
    bool challenged;
    size_t got;
    unsigned char bytes[CB_HELLO_BYTES];
    unsigned char proof[CB_PROOF];
    unsigned char nonce[CB_NONCE];
    cb_hello hello;
};

struct cb_door_keeper {
    const struct cb_listeners *listeners;
    const char *token;
    size_t size;
    const unsigned char *job;
    struct stranger strangers[AT_THE_DOOR];
    struct stranger guest; /* the one that waits for an answer */
    bool full;             /* somebody waits outside for whom there is no room yet */
    size_t turn;           /* which listener is looked at first: a crowd at one must not keep the others waiting */
    char notes[256];
    bool notes_of_ours; /* about one that knew the token */
};

struct cb_door_keeper *cb_keeper_open(const struct cb_listeners *listeners, const char *token, size_t size,
                                      const unsigned char job[CB_JOB_ID]) {
    struct cb_door_keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        return NULL;
    keeper->listeners = listeners;
    keeper->token = token;
    keeper->size = size;
    keeper->job = job;
    for (size_t i = 0; i < AT_THE_DOOR; i++)
        keeper->strangers[i].fd = -1;
    return keeper;
}

const char *cb_keeper_notes(const struct cb_door_keeper *keeper) {
    return keeper ? keeper->notes : "";
}

static void dismiss(struct stranger *stranger) {
    if (stranger->fd >= 0)
        close(stranger->fd);
    stranger->fd = -1;
}

void cb_keeper_close(struct cb_door_keeper *keeper) {
    for (size_t i = 0; i < AT_THE_DOOR; i++)
        dismiss(&keeper->strangers[i]);
    free(keeper);
}

static bool send_reply(int fd, const cb_reply *reply) {
    unsigned char bytes[CB_REPLY_BYTES];
    cb_pack_reply(reply, bytes);
    return send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof bytes;
}

/* Says why, notes it for our own error, and closes. What the other still sends is read away first: closing over unread
 * bytes would destroy the refusal on its way. */
static void refuse(struct cb_door_keeper *keeper, struct stranger *stranger, unsigned reason) {
    char host[64], rest[512];
    bool knew_token = reason >= CB_REFUSED_SIZE;
    cb_net_peer_text(stranger->fd, host, sizeof host);
    if (knew_token || !keeper->notes_of_ours) /* strangers do not hide what went wrong with one of ours */
        snprintf(keeper->notes, sizeof keeper->notes, "; a connection from %s (rank %u of %u) was refused: %s", host,
                 stranger->hello.rank, stranger->hello.size, cb_refusal_text(reason));
    keeper->notes_of_ours |= knew_token;
    send_reply(stranger->fd, &(cb_reply){.type = CB_REFUSAL,
                                         .reason = (uint8_t)reason,
                                         .version = CB_WIRE_VERSION,
                                         .number = knew_token ? (uint32_t)keeper->size : 0});
    shutdown(stranger->fd, SHUT_WR);
    ssize_t ignored = recv(stranger->fd, rest, sizeof rest, MSG_DONTWAIT);
    (void)ignored;
    dismiss(stranger);
}

/* Who may be sent away for a newcomer: the first of those that have stood here for a while without a word, or for long
 * without a proof. One of ours speaks at once. */
static struct stranger *who_must_go(struct cb_door_keeper *keeper) {
    struct stranger *longest = NULL;
    for (size_t i = 0; i < AT_THE_DOOR; i++) {
        struct stranger *stranger = &keeper->strangers[i];
        bool silent = stranger->got == 0 && !stranger->challenged;
        if (stranger->fd < 0 || cb_now() - stranger->since < (silent ? SILENT_SECONDS : SLOW_SECONDS))
            continue;
        if (!longest || stranger->since < longest->since)
            longest = stranger;
    }
    return longest;
}

static struct stranger *free_place(struct cb_door_keeper *keeper) {
    for (size_t i = 0; i < AT_THE_DOOR; i++)
        if (keeper->strangers[i].fd < 0)
            return &keeper->strangers[i];
    struct stranger *place = who_must_go(keeper);
    if (place)
        dismiss(place);
    return place;
}

static bool nobody_here(const struct cb_door_keeper *keeper) {
    for (size_t i = 0; i < AT_THE_DOOR; i++)
        if (keeper->strangers[i].fd >= 0)
            return false;
    return true;
}

/* Takes in who waits outside, as far as there is room; the rest stays there for now. False when there is no descriptor
 * for anyone. */
static bool admit(struct cb_door_keeper *keeper, int listener) {
    for (;;) {
        struct stranger *place = free_place(keeper);
        keeper->full = !place;
        if (!place)
            return true;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            *place = (struct stranger){.fd = fd, .since = cb_now()};
            cb_net_for_data(fd);
            continue;
        }
        if (errno != EMFILE && errno != ENFILE)
            return true;
        if (nobody_here(keeper))
            return false;
        struct stranger *going = who_must_go(keeper);
        keeper->full = !going;
        if (!going)
            return true;
        dismiss(going);
    }
}

/* Bytes towards `want`: 1: all there, 0: not yet, -1: gone. */
static int read_more(struct stranger *stranger, unsigned char *bytes, size_t want) {
    ssize_t got = recv(stranger->fd, bytes + stranger->got, want - stranger->got, MSG_DONTWAIT);
    if (got > 0)
        stranger->got += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        return -1;
    return stranger->got == want;
}

static void challenge(struct cb_door_keeper *keeper, struct stranger *stranger) {
    int refusal = cb_parse_hello(stranger->bytes, &stranger->hello);
    if (refusal < 0) { /* not one of ours: no answer */
        dismiss(stranger);
        return;
    }
    if (refusal) {
        refuse(keeper, stranger, (unsigned)refusal);
        return;
    }
    cb_reply reply = {.type = CB_CHALLENGE, .version = CB_WIRE_VERSION};
    randombytes_buf(stranger->nonce, CB_NONCE);
    memcpy(reply.secret, stranger->nonce, CB_NONCE);
    if (!send_reply(stranger->fd, &reply))
        dismiss(stranger);
    stranger->challenged = true;
    stranger->got = 0;
}

/* True when it has proved itself. */
static bool check_proof(struct cb_door_keeper *keeper, struct stranger *stranger) {
    unsigned char proof[CB_PROOF];
    cb_make_proof(keeper->token, "connects", stranger->bytes, stranger->nonce, proof);
    if (sodium_memcmp(proof, stranger->proof, CB_PROOF) == 0)
        return true;
    refuse(keeper, stranger, CB_REFUSED_TOKEN);
    return false;
}

/* Takes what a stranger has sent; true when it has become a guest. */
static bool listen_to(struct cb_door_keeper *keeper, struct stranger *stranger) {
    if (!stranger->challenged) {
        int result = read_more(stranger, stranger->bytes, CB_HELLO_BYTES);
        /* Something else says hello differently: no need to wait for all of it. */
        if (result < 0 || (result == 0 && stranger->got && !cb_may_be_ours(stranger->bytes, stranger->got)))
            dismiss(stranger);
        else if (result > 0)
            challenge(keeper, stranger);
        return false;
    }
    int result = read_more(stranger, stranger->proof, CB_PROOF);
    if (result < 0)
        dismiss(stranger);
    return result > 0 && check_proof(keeper, stranger);
}

/* What poll is asked about: strangers, then listeners, unless there was no room for who waits there. */
struct look {
    struct pollfd polls[AT_THE_DOOR + CB_MAX_LISTENERS];
    struct stranger *strangers[AT_THE_DOOR];
    size_t stranger_count, count;
};

static void look_at_the_door(struct cb_door_keeper *keeper, struct look *look) {
    look->count = 0;
    for (size_t i = 0; i < AT_THE_DOOR; i++) {
        struct stranger *stranger = &keeper->strangers[i];
        if (stranger->fd >= 0 && cb_now() - stranger->since > HANDSHAKE_SECONDS)
            dismiss(stranger);
        if (stranger->fd < 0)
            continue;
        look->strangers[look->count] = stranger;
        look->polls[look->count++] = (struct pollfd){.fd = stranger->fd, .events = POLLIN};
    }
    look->stranger_count = look->count;
    keeper->turn++;
    const struct cb_listeners *listeners = keeper->listeners;
    for (size_t i = 0; i < listeners->count && !keeper->full; i++)
        look->polls[look->count++] =
            (struct pollfd){.fd = listeners->fds[(i + keeper->turn) % listeners->count], .events = POLLIN};
    keeper->full = false;
    if (poll(look->polls, (nfds_t)look->count, SLICE_MS) < 0)
        memset(look->polls, 0, sizeof look->polls);
}

/* Hears everyone who has said something; true when one of them has become a guest. */
static bool hear(struct cb_door_keeper *keeper, const struct look *look, struct cb_guest *guest) {
    for (size_t i = 0; i < look->stranger_count; i++) {
        struct stranger *stranger = look->strangers[i];
        if (!look->polls[i].revents || !listen_to(keeper, stranger))
            continue;
        keeper->guest = *stranger;
        stranger->fd = -1;
        *guest = (struct cb_guest){.fd = keeper->guest.fd, .hello = keeper->guest.hello};
        return true;
    }
    return false;
}

bool cb_keeper_next(struct cb_door_keeper *keeper, const struct cb_patience *patience, struct cb_guest *guest) {
    struct look look;
    struct cb_patience no_wait = *patience;
    no_wait.until = 0;
    do {
        look_at_the_door(keeper, &look);
        if (hear(keeper, &look, guest))
            return true;
        for (size_t i = look.stranger_count; i < look.count; i++)
            if (look.polls[i].revents && !admit(keeper, look.polls[i].fd)) {
                errno = EMFILE;
                return false;
            }
        cb_net_await(-1, 0, &no_wait); /* asks the hook and the alarm */
    } while (errno == ETIMEDOUT && cb_now() < patience->until);
    return false;
}

bool cb_keeper_answer(struct cb_door_keeper *keeper, struct cb_guest *guest, unsigned refusal) {
    cb_reply reply = {.type = CB_WELCOME, .version = CB_WIRE_VERSION, .number = (uint32_t)keeper->size};
    if (refusal) {
        refuse(keeper, &keeper->guest, refusal);
        guest->fd = -1;
        return false;
    }
    cb_make_proof(keeper->token, "accepts", keeper->guest.bytes, keeper->guest.nonce, reply.secret);
    memcpy(reply.job, keeper->job, CB_JOB_ID);
    if (send_reply(guest->fd, &reply))
        return true;
    dismiss(&keeper->guest);
    guest->fd = -1;
    return false;
}
