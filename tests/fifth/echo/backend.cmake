# SPDX-License-Identifier: Apache-2.0
option(COBRE_ECHO "the echo backend: a process that hears itself" ON)
list(APPEND library_sources ${folder}/echo.c)
