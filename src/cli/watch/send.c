/* SPDX-License-Identifier: Apache-2.0 */
/* send.c: one command to a training, from a shell. */
#include "cli/watch/watch.h"

#include "sddp/run/steering.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cb_watch_send(const char *folder, const char *words) {
    enum { PATIENCE_MS = 60000 };
    char text[CB_STEERING_LINE];
    int fd = cb_steering_send(folder, words, text);
    if (fd < 0) {
        fprintf(stderr, "cobre watch: %s\n", text);
        return 1;
    }
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    bool heard = poll(&polled, 1, PATIENCE_MS) > 0, answered = heard && cb_steering_answer(fd, text);
    close(fd);
    if (answered)
        printf("%s\n", text);
    else
        fprintf(stderr, "cobre watch: %s: %s\n", folder,
                heard ? "the training has ended without an answer"
                      : "no answer in 60 s: the training is busy or stuck");
    return answered && strncmp(text, "ok", 2) == 0 ? 0 : 1;
}
