# SPDX-License-Identifier: Apache-2.0
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(have_shm ON)
else()
    set(have_shm OFF)
endif()
option(COBRE_SHM "the shm backend: N processes on one node" ${have_shm})
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
