# SPDX-License-Identifier: Apache-2.0
# An image with the command cobre, the planner, its LP solvers, the plugin for Open MPI, and the Python package:
#
#   docker build -t cobre .
#   docker run --rm --shm-size=1g -v "$PWD:/work" cobre train /usr/share/cobre/cases/toy -n 2 --out out
#
# --shm-size: Docker gives 64 MiB of /dev/shm, and ranks of one machine share memory there (`cobre info` says how much there is).

FROM debian:12-slim AS build
# The packages of packages.txt for building; a test compares the lists.
RUN apt-get update && apt-get install -y --no-install-recommends \
        build-essential \
        cmake \
        coinor-libclp-dev \
        file \
        libglpk-dev \
        libjansson-dev \
        libmpich-dev \
        libncurses-dev \
        libnetcdf-dev \
        libopenmpi-dev \
        librandom123-dev \
        librsvg2-dev \
        libsodium-dev \
        ninja-build \
        pkgconf \
        python3-dev \
        zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /cobre
WORKDIR /cobre
RUN make deb PACKAGES=no

# The packages bring what they need, and no compiler.
FROM debian:12-slim
COPY --from=build /cobre/build/release/deb/*.deb /tmp/deb/
RUN apt-get update && apt-get install -y --no-install-recommends \
        /tmp/deb/libcobre0_*.deb \
        /tmp/deb/cobre_*.deb \
        /tmp/deb/cobre-lp-clp_*.deb \
        /tmp/deb/cobre-lp-glpk_*.deb \
        /tmp/deb/cobre-mpi-openmpi_*.deb \
        /tmp/deb/python3-cobre_*.deb \
        python3-numpy \
    && rm -rf /tmp/deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["cobre"]
CMD ["info"]
