# SPDX-License-Identifier: Apache-2.0
# CLP for the wheel: linked into its plugin, which then needs the system's libraries only. Where CLP's static libraries are
# missing or cannot be linked, the plugin needs CLP's shared library where it is used. Changes clp_libraries, and
# sets clp_is_static.

set(clp_archives libClp.a libCoinUtils.a liblapack.a libblas.a libbz2.a libz.a)
set(clp_is_static ON)
set(clp_files "")
foreach(archive ${clp_archives})
    find_library(clp_${archive} ${archive} PATH_SUFFIXES lapack blas) # Debian: the reference's, whatever else is installed
    list(APPEND clp_files ${clp_${archive}})
    if(NOT clp_${archive})
        set(clp_is_static OFF)
    endif()
endforeach()
set(clp_parts ${PROJECT_SOURCE_DIR}/src/sddp/lp/clp_static.c ${PROJECT_SOURCE_DIR}/src/static_streams.c)
if(clp_is_static)
    enable_language(CXX)
    try_compile(clp_is_static
        SOURCE_FROM_CONTENT clp_link.cpp "extern \"C\" void *Clp_newModel(void); void *f() { return Clp_newModel(); }"
        SOURCES ${clp_parts}
        COMPILE_DEFINITIONS -fPIC -D_GNU_SOURCE
        LINK_OPTIONS -shared -Wl,--no-undefined -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/sddp/lp/plugin.map
        LINK_LIBRARIES ${clp_files} m ${CMAKE_DL_LIBS})
endif()
if(clp_is_static)
    set(clp_libraries ${clp_archives})
else()
    set(CMAKE_FIND_LIBRARY_SUFFIXES .so)
    foreach(library ${clp_libraries})
        find_library(lp_clp_${library} ${library}) # lp_solver finds it found
    endforeach()
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
    if(lp_clp_Clp)
        message(STATUS "The LP solver clp is not linked statically: where it is used, it needs the library libClp.so.1 (Debian: "
            "coinor-libclp1)")
    endif()
endif()
