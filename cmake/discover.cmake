# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=... [-DARGUMENT=...] [-DRANKS=...] [-DOPTIONS=...] [-DTIMED=OFF] [-DONLY=...] -DPREFIX=... -DTIMEOUT=...
#     -DOUTPUT=... -P discover.cmake
# Asks PROGRAM --list [ARGUMENT] for its cases and writes one test for each, for ctest to read. A line is the name and what
# is to be known of the case: "timed", it promises something about time (TIMED=OFF leaves it out); "busy", it computes
# (the others mostly wait, see tests/CMakeLists.txt for what that means); "slow", it is for `make soak`. ONLY leaves out
# every case that has not this mark.
# A name that ends in .r3 is a case with 3 ranks, which the program takes as two arguments. RANKS=3|8: only these.
execute_process(COMMAND ${PROGRAM} --list ${ARGUMENT} OUTPUT_VARIABLE list OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" list "${list}")
set(tests "")
foreach(line ${list})
    string(REGEX MATCH "^[^ ]+" name ${line})
    string(REGEX REPLACE "\\.r([0-9]+)$" " \\1" case ${name})
    if((line MATCHES " timed" AND DEFINED TIMED AND NOT TIMED) OR
        (RANKS AND NOT name MATCHES "\\.r(${RANKS})$"))
        continue()
    endif()
    if(ONLY AND NOT line MATCHES " ${ONLY}")
        continue()
    endif()
    set(properties "TIMEOUT ${TIMEOUT} SKIP_RETURN_CODE 77")
    if(line MATCHES " busy")
        string(APPEND properties " PROCESSORS 3")
    endif()
    if(line MATCHES " slow")
        string(APPEND properties " LABELS slow")
    endif()
    string(APPEND tests "add_test([=[${PREFIX}${name}]=] [=[${PROGRAM}]=] ${case} ${ARGUMENT} ${OPTIONS})\n"
        "set_tests_properties([=[${PREFIX}${name}]=] PROPERTIES ${properties})\n")
endforeach()
file(WRITE ${OUTPUT} "${tests}")
