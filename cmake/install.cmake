# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where. All paths in the installed files are relative to the files themselves, so that the
# tree can be moved, and staged with DESTDIR. The components are Debian packages (package.cmake), but for `unpackaged`.
include(CMakePackageConfigHelpers)

set(library_component COMPONENT libcobre0)
set(development_component COMPONENT libcobre-dev)
set(command_component COMPONENT cobre)

# install_plugins(TARGET...): each is a package of its own, with the licence of the library that it is linked with.
function(install_plugins)
    foreach(target ${ARGN})
        install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${target})
    endforeach()
endfunction()

# install_libraries(TARGET...)
function(install_libraries)
    install(TARGETS ${ARGN} EXPORT cobre-targets
        LIBRARY ${library_component} NAMELINK_COMPONENT libcobre-dev
        ARCHIVE ${development_component})
endfunction()

install_libraries(cobre-shared cobre-static)
if(TARGET cobre-cli)
    install(TARGETS cobre-cli RUNTIME ${command_component})
endif()
install_plugins(${mpi_plugins})
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT unpackaged)
install(FILES include/cobre/comm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cobre ${development_component})
foreach(section 1 7)
    file(GLOB pages CONFIGURE_DEPENDS man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} ${command_component})
endforeach()


# Pages of functions, made from the headers. In a tree of their own: MANPATH=BUILD/man man cobre_comm_open
forget_gone(man_python "${man_python}")
find_program(man_python python3)
if(man_python)
    set(headers ${PROJECT_SOURCE_DIR}/include/cobre/comm.h)
    if(COBRE_SDDP)
        list(APPEND headers ${PROJECT_SOURCE_DIR}/include/cobre/sddp.h)
    endif()
    add_custom_command(OUTPUT man/man3/cobre_comm.3 VERBATIM
        COMMAND ${man_python} -B ${PROJECT_SOURCE_DIR}/man/functions.py man/man3 ${headers}
        DEPENDS man/functions.py man/cobre.7 ${headers})
    add_custom_target(cobre-man ALL DEPENDS man/man3/cobre_comm.3)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} ${development_component})
else()
    left_out("man pages of functions" "not found: python3" python3)
endif()

install(FILES completion/cobre.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME cobre
    ${command_component})
install(FILES completion/_cobre DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions ${command_component})

set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}
    OUTPUT_VARIABLE pc_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}
    OUTPUT_VARIABLE pc_includedir)
list(JOIN backend_packages " " pc_packages)
set(static_packages ${pc_packages})
configure_file(cmake/cobre.pc.in cobre.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cobre.pc DESTINATION ${pkgconfig_dir} ${development_component})
# Beside each other, as here: they link to each other.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/cobre ${command_component} PATTERN site EXCLUDE)
if(COBRE_SDDP)
    install_libraries(cobre-sddp-shared cobre-sddp-static)
    string(APPEND static_packages " jansson zlib")
    install_plugins(${lp_plugins})
    install(FILES include/cobre/sddp.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cobre ${development_component})
    configure_file(cmake/cobre-sddp.pc.in cobre-sddp.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/cobre-sddp.pc DESTINATION ${pkgconfig_dir} ${development_component})
    install(DIRECTORY cases DESTINATION ${CMAKE_INSTALL_DATADIR}/cobre ${command_component} PATTERN "__pycache__" EXCLUDE)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cobre)
# Before 1.0 a minor version may break: accept only the same one.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cobre-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/cobre-config.cmake.in cobre-config.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cobre-config.cmake ${PROJECT_BINARY_DIR}/cobre-config-version.cmake
    DESTINATION ${package_dir} ${development_component})
install(EXPORT cobre-targets NAMESPACE cobre:: DESTINATION ${package_dir} ${development_component})

# The Python package is in Debian's only: elsewhere it is pip that installs it.
if(COBRE_PYTHON AND TARGET cobre-cli)
    set(python_dir lib/python3/dist-packages/cobre)
    file(GLOB modules CONFIGURE_DEPENDS python/cobre/*.py python/cobre/*.pyi python/cobre/py.typed)
    install(FILES ${modules} DESTINATION ${python_dir} COMPONENT python3-cobre EXCLUDE_FROM_ALL)
    install(TARGETS cobre-python LIBRARY DESTINATION ${python_dir} COMPONENT python3-cobre EXCLUDE_FROM_ALL)
endif()

include(cmake/package.cmake)
