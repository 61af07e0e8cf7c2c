/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c: calls, and the first failure of a communicator, in words; the same words on every backend. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "comm/backend.h"

const char *cb_operation_name(unsigned operation) {
    switch (operation) {
#define OPERATION_NAME(CODE, name)                                                                                     \
    case CB_##CODE: return #name;
        CB_CALL_MAP(OPERATION_NAME, OPERATION_NAME)
#undef OPERATION_NAME
    default: return "?";
    }
}

void cb_describe(const cb_fingerprint *print, char *text, size_t len) {
    const char *name = cb_operation_name(print->operation);
    const char *type = cobre_type_name((cobre_type)print->type);
    uint64_t count = print->count;
    switch (print->operation) {
    case CB_BROADCAST:
        snprintf(text, len, "%s(%s, count %" PRIu64 ", root %" PRIu32 ")", name, type, count, print->root);
        break;
    case CB_ALLREDUCE:
        snprintf(text, len, "%s(%s, %s, count %" PRIu64 ")", name, cb_op_name((cobre_op)print->op), type, count);
        break;
    case CB_ALLGATHERV:
        snprintf(text, len, "%s(%s, %" PRIu64 " elements in all, counts #%08" PRIx32 ")", name, type, count,
                 (uint32_t)print->detail);
        break;
    case CB_ALLGATHERV_REGION:
        snprintf(text, len, "%s(%s, %" PRIu64 " elements in all, region, counts and displs #%08" PRIx32 ")", name, type,
                 count, (uint32_t)print->detail);
        break;
    case CB_REGION_CREATE:
        snprintf(text, len, "%s(%s, count %" PRIu64 ", flags %u)", name, type, count, print->flags);
        break;
    case CB_REGION_FENCE:
    case CB_REGION_SEAL: snprintf(text, len, "%s(region %" PRIu64 ")", name, print->detail); break;
    default: snprintf(text, len, "%s()", name);
    }
}

void cb_find_mismatch(cb_failure *failure, size_t size, const cb_fingerprint *(*call_of)(const void *comm, size_t rank),
                      const void *comm) {
    const cb_fingerprint *zero = call_of(comm, 0), *one = call_of(comm, 1);
    size_t unlike = 1;
    bool zero_alone = size > 2;
    while (unlike + 1 < size && memcmp(zero, call_of(comm, unlike), sizeof *zero) == 0)
        unlike++;
    for (size_t r = 2; r < size; r++)
        zero_alone &= memcmp(one, call_of(comm, r), sizeof *one) == 0;
    failure->cause = COBRE_CAUSE_MISMATCH;
    failure->culprit = zero_alone ? 0 : (uint32_t)unlike;
    failure->rank_a = 0;
    failure->rank_b = (uint32_t)unlike;
    failure->call_a = *zero;
    failure->call_b = *call_of(comm, unlike);
}

static const char *advice_for_transport(int error) {
    switch (error) {
    case ETIMEDOUT:
        return "see that both hosts are up, and that no cable, route or firewall keeps them apart, in either "
               "direction; "
               "start the job again";
    case EBADF:
        return "leave descriptors open that the program did not open itself: close_range and closefrom close them, too";
    default: return "look at the system's message, and start the job again";
    }
}

static const char *advice_for(const cb_failure *failure) {
    switch (failure->cause) {
    case COBRE_CAUSE_PEER_DIED:
        return "look at that rank's output and exit status (`cobre run` prints them; a SIGKILL is often the "
               "out-of-memory killer); free the communicator and start the job again";
    case COBRE_CAUSE_PEER_LEFT: return "make all ranks call the same collectives before any of them frees or exits";
    case COBRE_CAUSE_MISMATCH: return "make all ranks call the same operation with the same type, count, op and root";
    case COBRE_CAUSE_STALLED:
        return "raise or unset the stall limit (COBRE_STALL_SECS), or see why that rank takes so long";
    case COBRE_CAUSE_INTERRUPTED: return "the program's interrupted hook asked for this; start the job again";
    case COBRE_CAUSE_ABORTED: return "that rank's program ended the job on purpose; its text says why";
    default: return advice_for_transport(failure->code);
    }
}

static void describe_mismatch(const cb_failure *failure, char *text, size_t len) {
    const cb_fingerprint *a = &failure->call_a, *b = &failure->call_b;
    char one[128], two[128];
    cb_describe(a, one, sizeof one);
    cb_describe(b, two, sizeof two);
    bool only_split_differs = a->operation == CB_ALLGATHERV && b->operation == CB_ALLGATHERV && a->type == b->type &&
                              a->count == b->count && a->detail != b->detail;
    snprintf(text, len, "the ranks made different calls: rank %" PRIu32 " %s, rank %" PRIu32 " %s%s", failure->rank_a,
             one, failure->rank_b, two, only_split_differs ? " (the same total, but another split)" : "");
}

static void describe(const cb_failure *failure, char *text, size_t len) {
    char who[64];
    if (failure->culprit == UINT32_MAX)
        snprintf(who, sizeof who, "a rank");
    else
        snprintf(who, sizeof who, "rank %" PRIu32 " (pid %" PRId64 ")", failure->culprit, failure->pid);
    switch (failure->cause) {
    case COBRE_CAUSE_PEER_DIED: snprintf(text, len, "%s died", who); break;
    case COBRE_CAUSE_PEER_LEFT: snprintf(text, len, "%s left: it freed the communicator or exited", who); break;
    case COBRE_CAUSE_MISMATCH: describe_mismatch(failure, text, len); break;
    case COBRE_CAUSE_STALLED: snprintf(text, len, "%s did not enter before the stall limit", who); break;
    case COBRE_CAUSE_INTERRUPTED: snprintf(text, len, "the call was interrupted on %s", who); break;
    case COBRE_CAUSE_ABORTED:
        snprintf(text, len, "%s aborted with code %" PRId32 ": %s", who, failure->code, failure->text);
        break;
    default: snprintf(text, len, "%s: %s", who, failure->text);
    }
}

cobre_status cb_report_failure(cobre_comm *comm, cb_operation operation, uint64_t sequence, const cb_failure *failure) {
    const char *name = cb_operation_name(operation);
    bool transport = failure->cause == COBRE_CAUSE_TRANSPORT;
    struct cb_details details = {
        .cause = failure->cause,
        .operation = name,
        .sequence = sequence,
        .culprit = failure->culprit == UINT32_MAX ? COBRE_NO_RANK : failure->culprit,
        .culprit_pid = failure->pid,
        .os_error = transport ? failure->code : 0,
        .mpi_error = failure->mpi_code,
        .suggestion = advice_for(failure),
    };
    if (comm->broken[0])
        return cb_error(comm, comm->backend, COBRE_COLLECTIVE_FAILED, &details,
                        "%s #%" PRIu64 ": the communicator is broken since %s", name, sequence, comm->broken);
    char text[sizeof comm->broken - 64];
    describe(failure, text, sizeof text);
    snprintf(comm->broken, sizeof comm->broken, "%s #%" PRIu64 ": %s", name, sequence, text);
    return cb_error(comm, comm->backend, COBRE_COLLECTIVE_FAILED, &details, "%s", comm->broken);
}
