# SPDX-License-Identifier: Apache-2.0
# `make deb`: Debian packages, one per component of install.cmake. package_stage.cmake finishes their folders.
#
#   libcobre0       the shared libraries
#   libcobre-dev    headers, static libraries, pkg-config files, CMake package, man pages of functions
#   cobre           the command with the planner, man pages, cases, documents
#   cobre-lp-*      the plugin of an LP solver
#   cobre-mpi-*     the plugin of an MPI
#   python3-cobre   the Python package

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL libcobre0 libcobre-dev)
if(TARGET cobre-cli)
    list(APPEND CPACK_COMPONENTS_ALL cobre)
endif()
if(COBRE_PYTHON AND TARGET cobre-cli)
    list(APPEND CPACK_COMPONENTS_ALL python3-cobre)
endif()
list(APPEND CPACK_COMPONENTS_ALL ${mpi_plugins} ${lp_plugins})

set(CPACK_PACKAGE_NAME cobre)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The authors of cobre <cobre@localhost>" CACHE STRING "maintainer of the Debian packages")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/deb)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # for libcobre0; plugins have no soname
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_stage.cmake)
set(CPACK_COBRE_SOURCE ${PROJECT_SOURCE_DIR})

# debian_package(NAME SECTION "short description" "long description" [DEPENDS ...] [RECOMMENDS ...] [SUGGESTS ...])
function(debian_package name section summary text)
    cmake_parse_arguments(package "" "" "DEPENDS;RECOMMENDS;SUGGESTS;PROVIDES" ${ARGN})
    string(TOUPPER ${name} key)
    set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_PACKAGE_SHLIBDEPS ON PARENT_SCOPE)
    foreach(field DEPENDS RECOMMENDS SUGGESTS PROVIDES)
        list(JOIN package_${field} ", " value)
        set(CPACK_DEBIAN_${key}_PACKAGE_${field} "${value}" PARENT_SCOPE)
    endforeach()
endfunction()

set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
list(TRANSFORM backend_packages APPEND -dev OUTPUT_VARIABLE development_packages)
debian_package(libcobre0 libs "collective communication and node-shared memory"
    "libcobre: allreduce, allgatherv, broadcast, barrier and shared regions,
for one process, N processes of a machine, several hosts, and the ranks of an
MPI. libcobre-sddp: stochastic dual dynamic programming on it."
    SUGGESTS cobre-mpi-openmpi cobre-mpi-mpich)
debian_package(libcobre-dev libdevel "collective communication and node-shared memory: development files"
    "Headers, static libraries, pkg-config files, CMake package and man pages of
libcobre and libcobre-sddp."
    DEPENDS "libcobre0 ${same}" ${development_packages} libjansson-dev zlib1g-dev)
set(CPACK_DEBIAN_LIBCOBRE-DEV_PACKAGE_SHLIBDEPS OFF)
debian_package(cobre science "launcher of ranks and planner by stochastic dual dynamic programming"
    "The command cobre: it starts the ranks of a program, trains policies for
multistage stochastic linear programs, simulates them and reports about them.
Training needs a package cobre-lp-*."
    RECOMMENDS "cobre-lp-clp | cobre-lp-solver" SUGGESTS cobre-lp-glpk libnetcdf19 librsvg2-2)
debian_package(python3-cobre python "collective communication and planning with Python"
    "Communicators and regions whose buffers are NumPy arrays, and the planner."
    DEPENDS "python3 (>= 3.11)" "cobre ${same}" SUGGESTS python3-numpy python3-pandas)
foreach(plugin ${lp_plugins})
    string(REPLACE "cobre-lp-" "" solver ${plugin})
    debian_package(${plugin} science "LP solver ${solver} for the planner of cobre"
        "A plugin that the command cobre and libcobre-sddp load at run time." PROVIDES cobre-lp-solver)
endforeach()
foreach(plugin ${mpi_plugins})
    string(REPLACE "cobre-mpi-" "" mpi ${plugin})
    debian_package(${plugin} libs "cobre on the ranks of ${mpi}" "A plugin that libcobre loads at run time.")
endforeach()
include(CPack)
