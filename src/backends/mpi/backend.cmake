# SPDX-License-Identifier: Apache-2.0
# libcobre finds its plugin at run time; a plugin is built for each MPI that is here.
# With COBRE_MPI=ON and neither, as for a wheel, plugins that are built elsewhere can be used.
find_module(openmpi ompi-c libopenmpi-dev)
find_module(mpich mpich libmpich-dev)
set(mpi_missing "")
if(NOT openmpi_FOUND AND NOT mpich_FOUND AND "$CACHE{COBRE_MPI}" MATCHES "^(AUTO)?$")
    set(mpi_missing "Open MPI, MPICH")
    set(mpi_packages "libopenmpi-dev or libmpich-dev")
    if(NOT PkgConfig_FOUND)
        set(mpi_missing pkg-config)
        string(PREPEND mpi_packages "pkgconf ")
    endif()
endif()
optional_part(COBRE_MPI "the mpi backend" "${mpi_missing}" "${mpi_packages}")

list(APPEND library_sources ${folder}/config.c) # its variables are known without it, too
if(COBRE_MPI)
    list(APPEND library_sources ${folder}/load.c)
    foreach(mpi openmpi mpich)
        if(NOT ${mpi}_FOUND)
            left_out("the plugin for ${mpi}" "not found: ${${mpi}_missing}" "${${mpi}_package}")
            without_plugin(cobre-mpi-${mpi})
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
else()
    without_plugin(cobre-mpi-openmpi cobre-mpi-mpich)
endif()
