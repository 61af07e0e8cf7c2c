# SPDX-License-Identifier: Apache-2.0
# Flags for all our own code, as an interface target: link with cobre-flags. Not installed.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# RelWithDebInfo is what we ship and test; asserts stay in. The tests need no more than line numbers, and the code is the same.
set(COBRE_DEBUG_INFO "-g" CACHE STRING "debugging information of RelWithDebInfo")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 ${COBRE_DEBUG_INFO}")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 ${COBRE_DEBUG_INFO}")

# Shared libraries and plugins stay loaded after dlclose: they have threads, and functions that run at exit and after a fork.
string(APPEND CMAKE_SHARED_LINKER_FLAGS " -Wl,-z,nodelete")
string(APPEND CMAKE_MODULE_LINKER_FLAGS " -Wl,-z,nodelete")

option(COBRE_WERROR "warnings are errors" ON)
set(COBRE_SANITIZE "" CACHE STRING "sanitizers, as after -fsanitize=; empty: none")

add_library(cobre-flags INTERFACE)
target_compile_options(cobre-flags INTERFACE
    # The same bits everywhere: no contraction into fused operations, no reordering.
    -ffp-contract=off -fno-fast-math
    -Wall -Wextra -Wconversion -Wshadow -Wundef -Wvla
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    $<$<BOOL:${COBRE_WERROR}>:-Werror>)
if(COBRE_SANITIZE)
    set(sanitize -fsanitize=${COBRE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(cobre-flags INTERFACE ${sanitize})
    target_link_options(cobre-flags INTERFACE ${sanitize})
endif()
