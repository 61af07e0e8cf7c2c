/* SPDX-License-Identifier: Apache-2.0 */
/* peer_gloo.cc: Gloo's collectives over its TCP transport. Rank and size come in BENCH_RANK and BENCH_SIZE; the ranks
 * find each other through the files of the directory BENCH_STORE. */
#include "cli/bench/peer.h"

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

namespace {

std::shared_ptr<gloo::rendezvous::Context> context;

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "bench: Gloo: %s\n", what);
    std::exit(1);
}

/* Gloo reports failures as exceptions, which must not reach C. */
template <typename Call> void must(Call call) {
    try {
        call();
    } catch (const std::exception &error) {
        fail(error.what());
    }
}

const char *variable(const char *name) {
    const char *value = std::getenv(name);
    if (!value)
        fail(name);
    return value;
}

void open_peer(struct peer *peer) {
    peer->rank = std::strtoul(variable("BENCH_RANK"), nullptr, 10);
    peer->size = std::strtoul(variable("BENCH_SIZE"), nullptr, 10);
    must([&] {
        context =
            std::make_shared<gloo::rendezvous::Context>(static_cast<int>(peer->rank), static_cast<int>(peer->size));
        context->setTimeout(std::chrono::minutes(5));
        gloo::rendezvous::FileStore store(variable("BENCH_STORE"));
        auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
        context->connectFullMesh(store, device);
    });
}

void close_peer(struct peer *) {
    context.reset();
}

void barrier(struct peer *) {
    must([&] {
        gloo::BarrierOptions options(context);
        gloo::barrier(options);
    });
}

void reduce(const double *send, double *recv, size_t count, gloo::AllreduceOptions::Func function) {
    must([&] {
        gloo::AllreduceOptions options(context);
        if (send)
            options.setInput(const_cast<double *>(send), count);
        options.setOutput(recv, count);
        options.setReduceFunction(function);
        gloo::allreduce(options);
    });
}

void allreduce(struct peer *, const double *send, double *recv, size_t count) {
    void (*sum)(void *, const void *, const void *, size_t) = gloo::sum<double>;
    reduce(send, recv, count, sum);
}

void maximum(struct peer *, double *values, size_t count) {
    void (*max)(void *, const void *, const void *, size_t) = gloo::max<double>;
    reduce(nullptr, values, count, max);
}

void broadcast(struct peer *, double *buffer, size_t count, size_t root) {
    must([&] {
        gloo::BroadcastOptions options(context);
        options.setOutput(buffer, count);
        options.setRoot(static_cast<int>(root));
        gloo::broadcast(options);
    });
}

/* Gloo lays the parts out one after the other, as the measuring loop does. */
void allgatherv(struct peer *peer, const double *send, double *recv, const size_t *counts, const size_t *) {
    must([&] {
        gloo::AllgathervOptions options(context);
        options.setInput(const_cast<double *>(send), counts[peer->rank]);
        options.setOutput(recv, std::vector<size_t>(counts, counts + peer->size));
        gloo::allgatherv(options);
    });
}

} // namespace

struct peer peer_gloo = {"tcp",     0,         0,          nullptr, open_peer, close_peer, barrier,
                         allreduce, broadcast, allgatherv, maximum, nullptr,   nullptr,    nullptr};
