# SPDX-License-Identifier: Apache-2.0
if(PkgConfig_FOUND)
    pkg_check_modules(libsodium QUIET IMPORTED_TARGET libsodium)
endif()
option(COBRE_TCP "the tcp backend: processes on several hosts; needs libsodium" ${libsodium_FOUND})

list(APPEND library_sources ${folder}/config.c) # its variables are known without it, too
if(COBRE_TCP)
    if(NOT libsodium_FOUND)
        message(FATAL_ERROR "COBRE_TCP needs libsodium (Debian: libsodium-dev) and pkg-config")
    endif()
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
