/* SPDX-License-Identifier: Apache-2.0 */
/* steer.c: what is wished from outside while it trains: a pause, a checkpoint, other stopping rules.
 *
 * Rank 0 is told, before the ranks exchange their news at the end of an iteration. By the news all ranks know of it at once, and
 * do the same. A pause is a loop: all ranks sleep, rank 0 asks again, and they exchange their news. */
#include <time.h>

#include "sddp/train/rules.h"
#include "sddp/train/trainer.h"

void cb_steer_ask(cb_trainer *trainer) {
    const cobre_sddp_train_options *options = &trainer->options;
    if (!options->steer || trainer->rank > 0)
        return;
    cobre_sddp_train_options rules = trainer->wished;
    cobre_sddp_steering steering = {.struct_size = sizeof steering, .pause = trainer->pause, .options = &rules};
    options->steer(options->arg, &steering);
    trainer->pause = steering.pause;
    trainer->save |= steering.checkpoint;
    cb_rules_default(&rules);
    cb_rules_copy(&trainer->wished, &rules);
}

/* Rules that rank 0 has, for all. */
cobre_status cb_steer_take(cb_trainer *trainer) {
    if (trainer->news.rules == 0)
        return COBRE_OK;
    cobre_sddp_train_options rules = trainer->wished; /* whose pointers mean nothing on other ranks */
    CB_TRY(cobre_broadcast(trainer->comm, &rules, sizeof rules, COBRE_U8, 0));
    cb_rules_copy(&trainer->options, &rules);
    trainer->policy->window = trainer->options.window;
    return COBRE_OK;
}

static bool is_out_of_time(const cb_trainer *trainer) {
    return trainer->options.seconds > 0 && trainer->news.seconds >= trainer->options.seconds;
}

cobre_status cb_steer_pause(cb_trainer *trainer) {
    const struct timespec nap = {.tv_nsec = 100000000};
    while (trainer->news.pause != 0 && trainer->news.asked == 0 && !is_out_of_time(trainer)) {
        nanosleep(&nap, NULL); /* a signal may end it: `stop` is asked then */
        cb_steer_ask(trainer);
        CB_TRY(cb_news_exchange(trainer, 0));
        CB_TRY(cb_steer_take(trainer));
        if (trainer->save)
            cb_checkpoint(trainer);
    }
    return COBRE_OK;
}
