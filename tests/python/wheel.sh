#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh SOURCE_DIR PYTHON [PLUGIN]: makes a source archive, builds the wheel from it with pip, twice, without network, and uses the
# wheel as a stranger would, in a new virtual environment. PLUGIN: the mpi plugin of MPICH, which a wheel loads but does not have.
set -euo pipefail

source_dir=$1 python=$2 plugin=${3-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH PYTHONHOME
export PYTHONDONTWRITEBYTECODE=1
export PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# quietly COMMAND...: its output is shown if it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }
}

# ---- Build: with pip's build isolation and without; the second finds everything compiled ----

cd "$work"
PYTHONPATH=$source_dir/python "$python" -c 'import build_backend as b; b.build_sdist(".")'
tar xf cobre-*.tar.gz
(cd cobre-*/ && quietly "$python" -m pip wheel --no-deps -w ../isolated .)
(cd cobre-*/ && quietly "$python" -m pip wheel --no-deps -w ../wheel --no-build-isolation .)
version=$(grep -oP '^#define COBRE_VERSION_\w+ \K\d+' "$source_dir/include/cobre/comm.h" | paste -sd.)
wheel=$(echo wheel/*)
[[ $wheel == wheel/cobre-$version-cp311-abi3-linux_*.whl ]] || fail "the wheel's name is $wheel"
cmp isolated/*.whl wheel/*.whl || fail "two builds of the same sources differ"

# ---- What is in it ----

"$python" -m zipfile -e "$wheel" content
cd content
info=cobre-$version.dist-info
for file in cobre/{__init__.py,__main__.py,_cobre.abi3.so,cobre,libcobre-lp-clp.so} "cobre-$version.data/scripts/cobre" $info/{METADATA,WHEEL,RECORD,licenses/LICENSE,licenses/NOTICE}; do
    [ -s "$file" ] || fail "$file is not in the wheel"
done
for file in "$source_dir"/python/licenses/*; do
    cmp "$file" "$info/licenses/python/licenses/${file##*/}" || fail "a licence is not in the wheel"
    grep -qx "License-File: python/licenses/${file##*/}" "$info/METADATA" || fail "METADATA does not name ${file##*/}"
done
for module in "$source_dir"/python/cobre/*.*; do
    cmp "$module" "cobre/${module##*/}" || fail "${module##*/} is not in the wheel"
done
"$python" - "$info/RECORD" <<'END' || fail "RECORD is wrong"
import base64, csv, glob, hashlib, os, sys
record = {name: (digest, size) for name, digest, size in csv.reader(open(sys.argv[1]))}
assert record.keys() == {name for name in glob.glob("**", recursive=True) if os.path.isfile(name)}, record.keys()
for name, (digest, size) in record.items():
    data = open(name, "rb").read()
    right = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="), str(len(data))
    assert (digest, size) == right or name == sys.argv[1] and (digest, size) == ("", ""), name
END
grep -qx "Version: $version" "$info/METADATA" || fail "METADATA has no version"
for file in cobre/{_cobre.abi3.so,cobre,libcobre-lp-clp.so}; do
    others=$(readelf -d "$file" | grep -oP '(NEEDED|RPATH|RUNPATH).*\[\K[^]]+' | grep -vE '^(libc|libm|libpthread|ld-linux.*)\.so\.[0-9]+$') &&
        fail "$file needs:" $others
    grep -qF -e "$source_dir" -e "$work" "$file" && fail "$file names the directory where it was built"
    grep -qF -e -NOTFOUND "$file" && fail "$file names a library that CMake did not find"
done
# exports FILE NAME: that alone.
exports() {
    [ "$(nm -D --defined-only "$1" | awk '{ print $3 }')" = "$2" ] || fail "$1 exports more than $2"
}
exports cobre/_cobre.abi3.so PyInit__cobre
exports cobre/libcobre-lp-clp.so cobre_lp_plugin
(cd .. && stat -c '%s bytes: %n' "$wheel") && stat -c '%s bytes: %n' cobre/{_cobre.abi3.so,cobre,libcobre-lp-clp.so}

# ---- In a new environment ----

cd "$work"
quietly "$python" -m venv --without-pip new
pip=("$python" -m pip --python "$work/new/bin/python")
find new | sort >before
quietly "${pip[@]}" install "$wheel"
export PATH=$work/new/bin:$PATH
cat >program.py <<END
import cobre, sys
assert cobre.__version__ == "$version" and "numpy" not in sys.modules
with cobre.Comm() as comm:
    print(f"{comm.allreduce(comm.rank + 0.5)} of {comm.size} by {comm.backend}\n", end="")
END
cat >launched.py <<END
import cobre
def work(comm, more):
    return f"{comm.allreduce(comm.rank + more)} of {comm.size} by {comm.backend}"
if __name__ == "__main__":
    print(cobre.launch(work, num_workers=2, args=(0.5,)))
END
# says TEXT COMMAND...: each of its lines is TEXT.
says() {
    local text=$1 said
    shift
    said=$("$@" 2>&1) || fail "$*: $said"
    [ "$(sort -u <<<"$said")" = "$text" ] || fail "$*: $said"
}
says '0.5 of 1 by local' python program.py
says '2.0 of 2 by shm' cobre run -n 2 python program.py
says '2.0 of 2 by tcp' python -m cobre run -n 2 --backend tcp python program.py
says '2.0 of 2 by shm' python launched.py
says "cobre $version" cobre --version
python -m cobre info | grep -q 'backends in this build: local, shm, tcp, mpi' || fail "python -m cobre info"
if [ -n "$plugin" ] && command -v mpirun.mpich >/dev/null; then
    says '2.0 of 2 by mpi' env COBRE_MPI_PLUGIN="$plugin" mpirun.mpich -n 2 python program.py
    says '2.0 of 2 by mpi' env LD_LIBRARY_PATH="${plugin%/*}" mpirun.mpich -n 2 python program.py # as if installed
fi

# The planner: by the command, by the path of its script, and from Python, with the solver that came with the wheel.
cat >plan.py <<END
import cobre
print(f'{cobre.train("river", num_workers=2, iterations=5).bound:.17g}')
END
quietly cobre init river
for command in cobre "new/bin/cobre" "python -m cobre"; do
    quietly $command train river --iterations 5 --quiet --out out --force
    tail -n 1 out/training.csv | cut -d, -f2
done >bounds
python plan.py >>bounds
[ "$(sort -u bounds | wc -l) $(wc -l <bounds)" = '1 4' ] || fail "the bounds are not one:" $(cat bounds)
cobre info | grep -qE "^  clp .*$work/new/lib/.*/cobre/libcobre-lp-clp.so" || fail "cobre info: $(cobre info)"

quietly "${pip[@]}" uninstall -y cobre
find new | sort | diff before - || fail "files above are left after pip uninstall"
echo "the wheel works"
