# cmake -DPROGRAM=... [-DARGUMENT=...] [-DSERIAL=OFF] [-DBESIDE_OTHERS=ON] -DPREFIX=... -DTIMEOUT=... -DOUTPUT=... -P discover.cmake
# Asks PROGRAM --list [ARGUMENT] for its cases, "name" or "name serial" a line, and writes one test for each, for ctest to
# read. SERIAL=OFF leaves the serial ones out; BESIDE_OTHERS=ON lets them run beside others, where the promise has room.
execute_process(COMMAND ${PROGRAM} --list ${ARGUMENT} OUTPUT_VARIABLE list OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" list "${list}")
set(tests "")
foreach(line ${list})
    string(REGEX MATCH "^[^ ]+" case ${line})
    set(properties "TIMEOUT ${TIMEOUT} SKIP_RETURN_CODE 77")
    if(line MATCHES " serial$" AND DEFINED SERIAL AND NOT SERIAL)
        continue()
    endif()
    if(line MATCHES " serial$" AND NOT BESIDE_OTHERS)
        string(APPEND properties " RUN_SERIAL ON")
    endif()
    string(APPEND tests "add_test([=[${PREFIX}${case}]=] [=[${PROGRAM}]=] ${case} ${ARGUMENT})\n"
        "set_tests_properties([=[${PREFIX}${case}]=] PROPERTIES ${properties})\n")
endforeach()
file(WRITE ${OUTPUT} "${tests}")
