# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where. All paths in the installed files are relative to the files themselves, so that the
# tree can be moved, and staged with DESTDIR.
include(CMakePackageConfigHelpers)

install(TARGETS cobre-shared cobre-static EXPORT cobre-targets)
if(TARGET cobre-cli)
    install(TARGETS cobre-cli)
endif()
if(mpi_plugins)
    install(TARGETS ${mpi_plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES include/cobre/comm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cobre)
foreach(section 1 7)
    file(GLOB pages CONFIGURE_DEPENDS man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}
    OUTPUT_VARIABLE pc_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}
    OUTPUT_VARIABLE pc_includedir)
list(JOIN backend_packages " " pc_packages)
configure_file(cmake/cobre.pc.in cobre.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cobre.pc DESTINATION ${pkgconfig_dir})
install(FILES docs/mpi.md docs/slurm.md DESTINATION ${CMAKE_INSTALL_DATADIR}/cobre/docs)
if(COBRE_SDDP)
    install(TARGETS cobre-sddp-shared EXPORT cobre-targets)
    if(lp_plugins)
        install(TARGETS ${lp_plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endif()
    install(FILES include/cobre/sddp.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cobre)
    configure_file(cmake/cobre-sddp.pc.in cobre-sddp.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/cobre-sddp.pc DESTINATION ${pkgconfig_dir})
    # Beside each other, as here: they link to each other.
    install(DIRECTORY cases DESTINATION ${CMAKE_INSTALL_DATADIR}/cobre PATTERN "__pycache__" EXCLUDE)
    install(FILES docs/case-format.md docs/case.schema.json docs/events.md docs/events.schema.json docs/mcp.md docs/results.md docs/tutorial.md docs/watch.md
        docs/watch-1-convergence.svg docs/watch-2-iteration.svg docs/watch-3-cuts.svg docs/watch-4-resources.svg
        docs/watch-5-communication.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/cobre/docs)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cobre)
# Before 1.0 a minor version may break: accept only the same one.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cobre-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/cobre-config.cmake.in cobre-config.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cobre-config.cmake ${PROJECT_BINARY_DIR}/cobre-config-version.cmake DESTINATION ${package_dir})
install(EXPORT cobre-targets NAMESPACE cobre:: DESTINATION ${package_dir})
