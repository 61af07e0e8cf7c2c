set(COBRE_LOCAL ON) # always there
list(APPEND library_sources ${folder}/local.c)
