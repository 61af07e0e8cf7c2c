# SPDX-License-Identifier: Apache-2.0
set(shm_missing "")
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(shm_missing Linux)
endif()
optional_part(COBRE_SHM "the shm backend" "${shm_missing}" "a Linux system")
option(COBRE_SHM_PORTABLE "shm: timed sleeps instead of futex, shm_open instead of O_TMPFILE" OFF)

list(APPEND library_sources ${folder}/config.c) # its variables are known without it, too
if(COBRE_SHM)
    list(APPEND library_sources
        ${folder}/collectives.c
        ${folder}/join.c
        ${folder}/liveness.c
        ${folder}/mapping.c
        ${folder}/name.c
        ${folder}/put.c
        ${folder}/region.c
        ${folder}/wait.c)
    if(COBRE_SHM_PORTABLE)
        list(APPEND backend_definitions COBRE_SHM_PORTABLE=1)
    endif()
endif()
