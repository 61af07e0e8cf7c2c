# SPDX-License-Identifier: Apache-2.0
# Parts that a build can be without, because they need something that may not be here.
#
# The cache holds what was asked for: AUTO, ON or OFF. What is found is looked for each time, so that a package that is
# installed later brings its part when `make` runs again, and one that is removed takes it away. What is left out is in
# left-out.txt, which `make` shows.

find_package(PkgConfig QUIET)

# find_module(NAME MODULE PACKAGE): pkg-config's MODULE, as the target PkgConfig::NAME. Sets NAME_FOUND; NAME_missing, which is
# empty or what was not found; and NAME_package, the Debian packages that bring it.
macro(find_module name module package)
    unset(${name}_FOUND CACHE)
    set(${name}_FOUND OFF)
    set(${name}_missing ${module})
    set(${name}_package ${package})
    if(PkgConfig_FOUND)
        unset(${name}_FOUND)
        pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
    else()
        set(${name}_missing pkg-config)
        set(${name}_package "pkgconf ${package}")
    endif()
    if(${name}_FOUND)
        set(${name}_missing "")
    endif()
endmacro()

# forget_gone(VARIABLE FILE): what find_path or find_library found earlier, if the file is not there any more.
function(forget_gone variable file)
    if(DEFINED CACHE{${variable}} AND NOT EXISTS "${file}")
        unset(${variable} CACHE)
    endif()
endfunction()

# left_out(PART WHY REMEDY): a row of the table.
function(left_out part why remedy)
    set_property(GLOBAL APPEND PROPERTY cobre_left_out "${part}|${why}|${remedy}")
endfunction()

# optional_part(OPTION PART MISSING PACKAGES): turns the option into ON or OFF. MISSING: what was not found of what the part
# needs; PACKAGES: what brings it, empty if Debian 12 has no package, and then the table does not mention it. What a preset or a
# user has turned off is not missed.
function(optional_part option part missing packages)
    set(${option} AUTO CACHE STRING "${part}: ON, OFF, or AUTO, which is ON if what it needs is found")
    set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
    set(asked $CACHE{${option}})
    list(REMOVE_DUPLICATES missing)
    list(JOIN missing ", " missing)
    list(JOIN packages " " packages)
    if(asked STREQUAL "AUTO" AND missing STREQUAL "")
        set(asked ON)
    elseif(asked STREQUAL "AUTO")
        set(asked OFF)
        if(packages)
            left_out("${part}" "not found: ${missing}" "${packages}")
        endif()
    elseif(asked AND NOT missing STREQUAL "")
        if(NOT packages)
            set(packages "none; docs/install.md says how to get it")
        endif()
        message(FATAL_ERROR "${option} is ON, but this is not found: ${missing} (Debian package: ${packages})")
    endif()
    set(${option} ${asked} PARENT_SCOPE)
endfunction()

# without_plugin(NAME...): the files of plugins that are not built any more, which would still be found.
function(without_plugin)
    foreach(name ${ARGN})
        file(REMOVE ${PROJECT_BINARY_DIR}/lib${name}.so)
    endforeach()
endfunction()

# write_left_out(): the table, to left-out.txt and the log; an empty file if there is nothing to tell.
function(write_left_out)
    get_property(rows GLOBAL PROPERTY cobre_left_out)
    set(text "")
    set(part_width 0)
    set(why_width 0)
    foreach(row ${rows})
        string(REPLACE "|" ";" row "${row}")
        list(GET row 0 part)
        list(GET row 1 why)
        foreach(name part why)
            string(LENGTH "${${name}}" length)
            if(length GREATER ${name}_width)
                set(${name}_width ${length})
            endif()
        endforeach()
    endforeach()
    foreach(row ${rows})
        string(REPLACE "|" ";" row "${row}")
        set(line "  ")
        foreach(column part why)
            list(POP_FRONT row cell)
            string(LENGTH "${cell}" length)
            math(EXPR room "${${column}_width} + 2 - ${length}")
            string(REPEAT " " ${room} spaces)
            string(APPEND line "${cell}${spaces}")
        endforeach()
        string(APPEND text "${line}${row}\n")
    endforeach()
    if(text)
        set(text "Left out of this build (what, why, what brings it: Debian packages):\n${text}\
Install what you want to have and run `make` again; the rest of the build needs none of it.\n")
        message(STATUS "${text}")
    endif()
    file(WRITE ${PROJECT_BINARY_DIR}/left-out.txt "${text}")
endfunction()
