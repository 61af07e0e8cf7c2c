# SPDX-License-Identifier: Apache-2.0
# libcobre finds its plugin at run time; a plugin is built for each MPI that is here.
if(PkgConfig_FOUND)
    pkg_check_modules(openmpi QUIET IMPORTED_TARGET ompi-c)
    pkg_check_modules(mpich QUIET IMPORTED_TARGET mpich)
endif()
set(have_mpi OFF)
if(openmpi_FOUND OR mpich_FOUND)
    set(have_mpi ON)
endif()
option(COBRE_MPI "the mpi backend: the ranks of Open MPI and MPICH; a plugin for each that is found" ${have_mpi})

list(APPEND library_sources ${folder}/config.c) # its variables are known without it, too
if(COBRE_MPI)
    list(APPEND library_sources ${folder}/load.c)
    foreach(mpi openmpi mpich)
        if(NOT ${mpi}_FOUND)
            continue()
        endif()
        add_library(cobre-mpi-${mpi} MODULE
            ${folder}/calls.c
            ${folder}/collectives.c
            ${folder}/plugin.c
            ${folder}/region.c
            $<TARGET_OBJECTS:cobre-core>)
        target_include_directories(cobre-mpi-${mpi} PRIVATE include src)
        target_compile_definitions(cobre-mpi-${mpi} PRIVATE _GNU_SOURCE)
        target_link_libraries(cobre-mpi-${mpi} PRIVATE cobre-flags PkgConfig::${mpi} Threads::Threads)
        target_link_options(cobre-mpi-${mpi} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/${folder}/plugin.map)
        set_target_properties(cobre-mpi-${mpi} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/plugin.map)
        list(APPEND mpi_plugins cobre-mpi-${mpi})
    endforeach()
    # In the build tree programs are in several folders; the loader finds the plugins by this.
    set(CMAKE_BUILD_RPATH ${PROJECT_BINARY_DIR})
endif()
