# SPDX-License-Identifier: Apache-2.0
# Finishes the folders that CPack has filled, one per package, before it packs them: what Debian wants in a package and `make install`
# does not do. CPACK_TEMPORARY_DIRECTORY/PACKAGE/usr/...

# The licences of a plugin as a whole are those of NOTICE.
file(READ ${CPACK_COBRE_SOURCE}/NOTICE notice)
string(REGEX REPLACE "\n" "\n " notice " ${notice}")
string(REGEX REPLACE "\n *\n" "\n .\n" notice "${notice}")
string(REGEX REPLACE "\n *$" "" notice "${notice}")

# license_of(PACKAGE): of what is in it, as in NOTICE.
function(license_of package)
    set(license Apache-2.0)
    file(STRINGS ${CPACK_COBRE_SOURCE}/NOTICE line REGEX "^  lib${package}\\.so ")
    if(line)
        string(REGEX REPLACE ".*  +" "" license "${line}")
        string(REPLACE " AND " " and " license "${license}")
    endif()
    set(license "${license}" PARENT_SCOPE)
endfunction()

foreach(package ${CPACK_COMPONENTS_ALL})
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${package})
    set(doc ${root}/usr/share/doc/${package})
    license_of(${package})
    string(TIMESTAMP year "%Y" UTC)
    file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cobre
Comment:
${notice}

Files: *
Copyright: ${year} the authors of cobre
License: ${license}
 On Debian systems the text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0, and that of the GNU General Public
 License, version 3, in /usr/share/common-licenses/GPL-3. Other licences are in
 the copyright files of the packages that this one depends on.
")
    string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
    file(WRITE ${doc}/changelog.Debian "cobre (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}: CHANGELOG.md of the sources says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
    # The loader finds libraries in /usr/lib without an rpath.
    file(GLOB_RECURSE binaries ${root}/usr/bin/* ${root}/usr/lib/*.so*)
    foreach(binary ${binaries})
        if(IS_SYMLINK ${binary})
            continue()
        endif()
        file(RPATH_REMOVE FILE ${binary})
        if(binary MATCHES "\\.so")
            file(CHMOD ${binary} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
        endif()
    endforeach()
    file(GLOB archives ${root}/usr/lib/*.a)
    foreach(archive ${archives})
        execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${archive} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    file(GLOB_RECURSE pages ${root}/usr/share/man/*)
    execute_process(COMMAND gzip -9n ${pages} ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(EXISTS ${CPACK_TEMPORARY_DIRECTORY}/cobre/usr/share/zsh) # where Debian's zsh looks
    file(RENAME ${CPACK_TEMPORARY_DIRECTORY}/cobre/usr/share/zsh/site-functions
        ${CPACK_TEMPORARY_DIRECTORY}/cobre/usr/share/zsh/vendor-completions)
endif()
if(EXISTS ${CPACK_TEMPORARY_DIRECTORY}/python3-cobre) # it looks for the command beside itself
    file(CREATE_LINK ../../../../bin/cobre
        ${CPACK_TEMPORARY_DIRECTORY}/python3-cobre/usr/lib/python3/dist-packages/cobre/cobre SYMBOLIC)
endif()
