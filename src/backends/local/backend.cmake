# SPDX-License-Identifier: Apache-2.0
set(COBRE_LOCAL ON) # always there
list(APPEND library_sources ${folder}/local.c)
