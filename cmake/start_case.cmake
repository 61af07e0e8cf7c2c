# SPDX-License-Identifier: Apache-2.0
# start_case.cmake: the files of cases/start, as the C source that `cobre init` writes them from.

file(GLOB start_files RELATIVE ${PROJECT_SOURCE_DIR}/cases/start CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cases/start/*)
set(start_texts "")
set(start_list "")
foreach(file ${start_files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cases/start/${file})
    file(READ cases/start/${file} text HEX)
    string(REGEX REPLACE "(..)" "0x\\1, " text "${text}")
    string(MAKE_C_IDENTIFIER ${file} name)
    string(APPEND start_texts "static const char ${name}[] = {${text}0};\n")
    string(APPEND start_list "    {\"${file}\", ${name}},\n")
endforeach()
set(start_source ${PROJECT_BINARY_DIR}/start_case.c)
file(CONFIGURE OUTPUT ${start_source} CONTENT "#include \"cli/plan/start_case.h\"\n
${start_texts}
const struct cb_start_file cb_start_files[] = {\n${start_list}    {0},\n};\n")
