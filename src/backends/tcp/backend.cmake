# SPDX-License-Identifier: Apache-2.0
find_module(libsodium libsodium libsodium-dev)
optional_part(COBRE_TCP "the tcp backend" "${libsodium_missing}" "${libsodium_package}")

list(APPEND library_sources ${folder}/config.c) # its variables are known without it, too
if(COBRE_TCP)
    list(APPEND library_sources
        ${folder}/accept.c
        ${folder}/control.c
        ${folder}/coordinator.c
        ${folder}/exchange.c
        ${folder}/flow.c
        ${folder}/link.c
        ${folder}/net.c
        ${folder}/pair.c
        ${folder}/ring.c
        ${folder}/star.c
        ${folder}/tcp.c
        ${folder}/watch.c
        ${folder}/wire.c
        ${folder}/worker.c)
    list(APPEND backend_libraries PkgConfig::libsodium)
    list(APPEND backend_packages libsodium)
endif()
