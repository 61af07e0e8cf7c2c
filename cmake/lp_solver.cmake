# SPDX-License-Identifier: Apache-2.0
# LP solvers are plugins, which libcobre-sddp finds at run time: it links none of them.

include(CheckLanguage)

# add_lp_plugin(NAME SOURCE LIBRARY...): libcobre-lp-NAME.so, which exports one symbol and needs the solver alone.
function(add_lp_plugin name source)
    set(map ${PROJECT_SOURCE_DIR}/src/sddp/lp/plugin.map)
    add_library(cobre-lp-${name} MODULE ${source})
    target_include_directories(cobre-lp-${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(cobre-lp-${name} PRIVATE _GNU_SOURCE)
    target_link_libraries(cobre-lp-${name} PRIVATE cobre-flags ${ARGN})
    target_link_options(cobre-lp-${name} PRIVATE -Wl,--version-script=${map})
    set_target_properties(cobre-lp-${name} PROPERTIES
        CXX_STANDARD 17
        CXX_VISIBILITY_PRESET hidden
        INSTALL_RPATH_USE_LINK_PATH ON # of a solver that is not where the system's loader looks
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
        LINK_DEPENDS ${map})
endfunction()

# lp_solver(NAME PACKAGE SOURCE HEADER LIBRARY...): builds the plugin if the solver's header and libraries are here. The header
# may be in a folder of the solver's name. Sets the option COBRE_NAME, lp_NAME_libraries, and appends to lp_plugins, and to
# lp_known, from which `cobre info` knows it. A macro, because a language is enabled.
macro(lp_solver name package source header)
    forget_gone(lp_${name}_include "${lp_${name}_include}/${header}")
    find_path(lp_${name}_include ${header} PATH_SUFFIXES ${name})
    set(lp_${name}_libraries "")
    set(lp_${name}_missing "")
    if(NOT lp_${name}_include)
        list(APPEND lp_${name}_missing ${header})
    endif()
    foreach(library ${ARGN})
        forget_gone(lp_${name}_${library} "${lp_${name}_${library}}")
        find_library(lp_${name}_${library} ${library})
        list(APPEND lp_${name}_libraries ${lp_${name}_${library}})
        if(NOT lp_${name}_${library})
            list(APPEND lp_${name}_missing lib${library})
        endif()
    endforeach()
    set(lp_packages ${package})
    if("${source}" MATCHES "\\.cpp$" AND NOT lp_${name}_missing)
        if(NOT CMAKE_CXX_COMPILER)
            unset(CMAKE_CXX_COMPILER CACHE)
        endif()
        check_language(CXX)
        if(NOT CMAKE_CXX_COMPILER)
            list(APPEND lp_${name}_missing "a C++ compiler")
            list(APPEND lp_packages g++)
        endif()
    endif()
    string(TOUPPER ${name} lp_option)
    optional_part(COBRE_${lp_option} "the LP solver ${name}" "${lp_${name}_missing}" "${lp_packages}")
    if(COBRE_${lp_option})
        if("${source}" MATCHES "\\.cpp$")
            enable_language(CXX)
        endif()
        add_lp_plugin(${name} ${source} ${lp_${name}_libraries})
        target_include_directories(cobre-lp-${name} SYSTEM PRIVATE ${lp_${name}_include})
        list(APPEND lp_plugins cobre-lp-${name})
        string(APPEND lp_known "X(\"${name}\", NULL) ")
    else()
        string(APPEND lp_known "X(\"${name}\", \"${package}\") ")
        without_plugin(cobre-lp-${name})
    endif()
endmacro()
