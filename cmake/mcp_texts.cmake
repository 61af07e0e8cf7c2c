# SPDX-License-Identifier: Apache-2.0
# mcp_texts.cmake: documents that `cobre mcp` hands out, as a C source.

set(mcp_texts "")
foreach(pair case_format:case-format.md case_schema:case.schema.json events_schema:events.schema.json)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/${file})
    file(READ docs/${file} text HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1', " text "${text}")
    string(APPEND mcp_texts "const char cb_mcp_${name}[] = {${text}0};\n")
endforeach()
set(mcp_source ${PROJECT_BINARY_DIR}/mcp_texts.c)
file(CONFIGURE OUTPUT ${mcp_source} CONTENT "#include \"cli/mcp/texts.h\"\n
${mcp_texts}")
