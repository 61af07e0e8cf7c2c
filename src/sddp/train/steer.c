/* SPDX-License-Identifier: Apache-2.0 */
/* steer.c: requests from outside during a training: a pause, a checkpoint, other stopping rules.
 *
 * Rank 0 gets them before the ranks exchange their news at the end of an iteration. By the news all ranks learn of them
 * at once, and do the same. A pause is a loop: all ranks sleep, rank 0 looks for requests, and the ranks exchange their
 * news. */
#include <time.h>

#include "sddp/train/rules.h"
#include "sddp/train/trainer.h"

/* What a training would refuse at its start. */
static bool are_refused(const cb_trainer *trainer, const cobre_sddp_train_options *rules) {
    bool statistical = cb_rules_statistical(rules) && cb_options_averse(trainer->problem, rules);
    return statistical || !(rules->seconds >= 0 && rules->stall_tolerance >= 0) || rules->simulate_passes > UINT32_MAX;
}

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
    if (!are_refused(trainer, &rules))
        cb_rules_copy(&trainer->wished, &rules);
}

/* Rules that rank 0 has, for all. */
cobre_status cb_steer_take(cb_trainer *trainer) {
    unsigned char packed[CB_RULES_BYTES];
    if (trainer->news.rules == 0)
        return COBRE_OK;
    double begin = cb_clock();
    cb_rules_pack(&trainer->wished, packed);
    CB_TRY(cobre_broadcast(trainer->comm, packed, sizeof packed, COBRE_U8, 0));
    cb_tally_operation(trainer, COBRE_SDDP_OPERATION_BROADCAST, 1, sizeof packed, begin);
    cb_rules_unpack(&trainer->options, packed);
    return COBRE_OK;
}

/* Until something has changed that the rules depend on, or it goes on. */
cobre_status cb_steer_pause(cb_trainer *trainer) {
    const struct timespec nap = {.tv_nsec = 100000000};
    const cb_tally before = trainer->tally;
    double begin = cb_clock();
    do {
        nanosleep(&nap, NULL); /* a signal may end it: `stop` is asked then */
        cb_steer_ask(trainer);
        CB_TRY(cb_news_exchange(trainer, 0));
        CB_TRY(cb_steer_take(trainer));
        if (trainer->save)
            cb_checkpoint(trainer);
    } while (trainer->news.pause != 0 && trainer->news.asked == 0 && trainer->news.rules == 0 &&
             !cb_rules_late(trainer));
    cb_tally_leave_out(trainer, &before, cb_clock() - begin);
    return COBRE_OK;
}
