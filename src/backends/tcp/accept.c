/* SPDX-License-Identifier: Apache-2.0 */
/* accept.c: accepts connections, and finds out which of them belong to the job.
 *
 * A connection is a stranger until it has said hello and proved that it knows the token. Many can be on their way at
 * once; none is waited for, none is read beyond the bytes of a hello and a proof, and each has a few seconds. On a Unix
 * socket another user's process is not even a stranger: it is dropped at once.
 *
 * An address may have 64 strangers here, and one more for each rank of the job. For a further one its oldest is
 * dropped. But if the oldest has just come, the new one is dropped instead: so a rank in a flood from its own host gets
 * its turn, and then the time for a handshake. When there is no place or no descriptor left, the oldest stranger of the
 * address with most of them is dropped. So a flood drops its own connections: a port scan, a browser or a thousand
 * silent connections do not stop the job from forming. A rank that is dropped connects again. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

enum { OF_AN_ADDRESS = 64, IN_ALL = 1024, AT_ONCE = 64, SLICE_MS = 50 };
#define ANY_SOURCE SIZE_MAX
#define HANDSHAKE_SECONDS 5.0
#define TURN_SECONDS 0.025 /* before one of the same address may push it out */

/* Where strangers come from: an address; IPv4 as mapped to IPv6, and all zero: a Unix socket. */
struct source {
    unsigned char address[16];
    size_t count; /* of its strangers; 0: a free place */
};

struct stranger {
    int fd;
    size_t source;
    uint64_t number; /* the oldest has the lowest */
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
    struct stranger *strangers; /* in any order */
    size_t count, most;
    struct source *sources; /* as many places as strangers, and one more */
    uint64_t came;
    struct pollfd *polls;  /* strangers, listeners, the alarm */
    struct stranger guest; /* the one that waits for an answer */
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
    keeper->most = IN_ALL + size;
    keeper->strangers = calloc(keeper->most, sizeof *keeper->strangers);
    keeper->sources = calloc(keeper->most + 1, sizeof *keeper->sources);
    keeper->polls = calloc(keeper->most + CB_MAX_LISTENERS + 1, sizeof *keeper->polls);
    if (keeper->strangers && keeper->sources && keeper->polls)
        return keeper;
    cb_keeper_close(keeper);
    return NULL;
}

const char *cb_keeper_notes(const struct cb_door_keeper *keeper) {
    return keeper ? keeper->notes : "";
}

/* It stays open. The last one takes its place. */
static void forget(struct cb_door_keeper *keeper, struct stranger *stranger) {
    keeper->sources[stranger->source].count--;
    *stranger = keeper->strangers[--keeper->count];
}

static void dismiss(struct cb_door_keeper *keeper, struct stranger *stranger) {
    close(stranger->fd);
    forget(keeper, stranger);
}

void cb_keeper_close(struct cb_door_keeper *keeper) {
    while (keeper->count)
        dismiss(keeper, keeper->strangers);
    free(keeper->strangers);
    free(keeper->sources);
    free(keeper->polls);
    free(keeper);
}

static bool send_reply(int fd, const cb_reply *reply) {
    unsigned char bytes[CB_REPLY_BYTES];
    cb_pack_reply(reply, bytes);
    return send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof bytes;
}

/* Says why, notes it for our own error, and closes. What the other still sends is read away first: closing over unread
 * bytes would destroy the refusal on its way. */
static void refuse(struct cb_door_keeper *keeper, const struct stranger *stranger, unsigned reason) {
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
    close(stranger->fd);
}

static void read_source(const struct sockaddr_storage *from, unsigned char address[16]) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    memset(address, 0, 16);
    if (from->ss_family == AF_INET6)
        memcpy(address, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
    if (from->ss_family == AF_INET) {
        memcpy(address, mapped, sizeof mapped);
        memcpy(address + sizeof mapped, &((const struct sockaddr_in *)from)->sin_addr, 4);
    }
}

/* The place of that address: its own, or a free one that becomes its own. */
static size_t find_source(struct cb_door_keeper *keeper, const struct sockaddr_storage *from) {
    unsigned char address[16];
    size_t empty = keeper->most;
    read_source(from, address);
    for (size_t i = 0; i <= keeper->most; i++) {
        if (keeper->sources[i].count == 0)
            empty = i < empty ? i : empty;
        else if (memcmp(keeper->sources[i].address, address, sizeof address) == 0)
            return i;
    }
    memcpy(keeper->sources[empty].address, address, sizeof address);
    return empty;
}

/* Of two that might go: of the fuller address, and the older one. */
static bool goes_before(const struct cb_door_keeper *keeper, const struct stranger *one, const struct stranger *other) {
    size_t crowd = keeper->sources[one->source].count, others = keeper->sources[other->source].count;
    return crowd != others ? crowd > others : one->number < other->number;
}

/* The next to go, of that source or of ANY_SOURCE; NULL if nobody is here. */
static struct stranger *first_to_go(const struct cb_door_keeper *keeper, size_t source) {
    struct stranger *first = NULL;
    for (size_t i = 0; i < keeper->count; i++) {
        struct stranger *stranger = &keeper->strangers[i];
        if ((source == ANY_SOURCE || stranger->source == source) && (!first || goes_before(keeper, stranger, first)))
            first = stranger;
    }
    return first;
}

/* Makes room for one more of that address; false if the newcomer has to go instead. */
static bool make_room(struct cb_door_keeper *keeper, size_t source) {
    struct stranger *oldest = NULL;
    if (keeper->sources[source].count >= OF_AN_ADDRESS + keeper->size) {
        oldest = first_to_go(keeper, source);
        if (cb_now() - oldest->since < TURN_SECONDS)
            return false;
    } else if (keeper->count == keeper->most) {
        oldest = first_to_go(keeper, ANY_SOURCE);
    }
    if (oldest)
        dismiss(keeper, oldest);
    return true;
}

static void take_in(struct cb_door_keeper *keeper, int fd, const struct sockaddr_storage *from) {
    size_t source = find_source(keeper, from);
    if (!make_room(keeper, source)) {
        close(fd);
        return;
    }
    keeper->strangers[keeper->count++] =
        (struct stranger){.fd = fd, .source = source, .number = keeper->came++, .since = cb_now()};
    keeper->sources[source].count++;
}

/* It may be what keeps the others away. */
static void note_shortage(struct cb_door_keeper *keeper) {
    if (!keeper->notes[0])
        snprintf(keeper->notes, sizeof keeper->notes, "; rank 0 had too few descriptors for all who came (ulimit -n)");
}

/* Takes in who waits outside, a number of them: the others want to be heard, too. False when there is no descriptor for
 * anyone. */
static bool admit(struct cb_door_keeper *keeper, int listener) {
    for (size_t i = 0; i < AT_ONCE; i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof from;
        int fd = accept4(listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0 && from.ss_family == AF_UNIX && !cb_net_is_ours(fd)) {
            close(fd);
        } else if (fd >= 0) {
            take_in(keeper, fd, &from);
        } else {
            if (errno != EMFILE && errno != ENFILE)
                return true;
            if (keeper->count == 0)
                return false;
            note_shortage(keeper);
            struct stranger *first = first_to_go(keeper, ANY_SOURCE);
            const struct source *source = &keeper->sources[first->source];
            if (sodium_is_zero(source->address, sizeof source->address)) /* ours, by Unix socket: let them finish */
                return true;
            dismiss(keeper, first);
        }
    }
    return true;
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

/* False when it has to go. */
static bool challenge(struct stranger *stranger) {
    cb_reply reply = {.type = CB_CHALLENGE, .version = CB_WIRE_VERSION};
    randombytes_buf(stranger->nonce, CB_NONCE);
    memcpy(reply.secret, stranger->nonce, CB_NONCE);
    stranger->challenged = true;
    stranger->got = 0;
    return send_reply(stranger->fd, &reply);
}

static bool check_proof(const struct cb_door_keeper *keeper, const struct stranger *stranger) {
    unsigned char proof[CB_PROOF];
    cb_make_proof(keeper->token, "connects", stranger->bytes, stranger->nonce, proof);
    return sodium_memcmp(proof, stranger->proof, CB_PROOF) == 0;
}

/* What becomes of a stranger. */
enum { STAYS, GOES, IS_REFUSED, IS_GUEST };

/* Something else says hello differently: no need to wait for all of it, and no answer. */
static int read_hello(struct stranger *stranger, unsigned *refusal) {
    int result = read_more(stranger, stranger->bytes, CB_HELLO_BYTES);
    if (result < 0 || (stranger->got && !cb_may_be_ours(stranger->bytes, stranger->got)))
        return GOES;
    if (result == 0)
        return STAYS;
    int reason = cb_parse_hello(stranger->bytes, &stranger->hello);
    if (reason == CB_NOT_REFUSED)
        return challenge(stranger) ? STAYS : GOES;
    *refusal = (unsigned)reason;
    return reason < 0 ? GOES : IS_REFUSED;
}

static int read_proof(const struct cb_door_keeper *keeper, struct stranger *stranger, unsigned *refusal) {
    int result = read_more(stranger, stranger->proof, CB_PROOF);
    if (result <= 0)
        return result < 0 ? GOES : STAYS;
    *refusal = CB_REFUSED_TOKEN;
    return check_proof(keeper, stranger) ? IS_GUEST : IS_REFUSED;
}

/* Takes what a stranger has sent; true when it has become the guest. */
static bool listen_to(struct cb_door_keeper *keeper, struct stranger *stranger) {
    unsigned refusal = CB_NOT_REFUSED;
    int fate = stranger->challenged ? read_proof(keeper, stranger, &refusal) : read_hello(stranger, &refusal);
    if (fate == STAYS)
        return false;
    keeper->guest = *stranger;
    forget(keeper, stranger);
    if (fate == GOES)
        close(keeper->guest.fd);
    if (fate == IS_REFUSED)
        refuse(keeper, &keeper->guest, refusal);
    return fate == IS_GUEST;
}

/* Waits until somebody says something, comes, or the alarm is raised; keeper->polls then tells. */
static void look_at_the_door(struct cb_door_keeper *keeper, int alarm) {
    const struct cb_listeners *listeners = keeper->listeners;
    double now = cb_now();
    for (size_t i = keeper->count; i-- > 0;)
        if (now - keeper->strangers[i].since > HANDSHAKE_SECONDS)
            dismiss(keeper, &keeper->strangers[i]);
    size_t count = keeper->count + listeners->count + 1;
    struct pollfd *polls = keeper->polls;
    for (size_t i = 0; i < keeper->count; i++)
        *polls++ = (struct pollfd){.fd = keeper->strangers[i].fd, .events = POLLIN};
    for (size_t i = 0; i < listeners->count; i++)
        *polls++ = (struct pollfd){.fd = listeners->fds[i], .events = POLLIN};
    *polls = (struct pollfd){.fd = alarm, .events = POLLIN};
    if (poll(keeper->polls, (nfds_t)count, SLICE_MS) < 0)
        for (size_t i = 0; i < count; i++)
            keeper->polls[i].revents = 0;
}

/* Hears everyone who has said something; true when one of them has become the guest. From the last to the first: who takes
 * the place of one that goes has been heard. */
static bool hear(struct cb_door_keeper *keeper, struct cb_guest *guest) {
    for (size_t i = keeper->count; i-- > 0;) {
        if (!keeper->polls[i].revents || !listen_to(keeper, &keeper->strangers[i]))
            continue;
        cb_net_for_data(keeper->guest.fd);
        *guest = (struct cb_guest){.fd = keeper->guest.fd, .hello = keeper->guest.hello};
        return true;
    }
    return false;
}

bool cb_keeper_next(struct cb_door_keeper *keeper, const struct cb_patience *patience, struct cb_guest *guest) {
    struct cb_patience no_wait = *patience;
    no_wait.until = 0;
    do {
        look_at_the_door(keeper, patience->alarm);
        const struct pollfd *listeners = keeper->polls + keeper->count;
        if (hear(keeper, guest))
            return true;
        for (size_t i = 0; i < keeper->listeners->count; i++)
            if (listeners[i].revents && !admit(keeper, listeners[i].fd)) {
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
    close(guest->fd);
    guest->fd = -1;
    return false;
}
