# SPDX-License-Identifier: Apache-2.0
"""What pip calls to build the package (PEP 517 and 660): CMake's preset `wheel` builds, this file packs.

A wheel has the modules of python/cobre and beside them the extension, the command and the plugin of the LP solver CLP, as far as
their libraries are here to be linked into them: they need no library but those of the system. A script starts the command. Names,
order and times in the archives are fixed, so that the same sources give the same bytes.
"""

import base64
import gzip
import hashlib
import io
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

if sys.version_info < (3, 11):
    sys.exit("cobre needs Python 3.11 or later")
import tomllib  # which comes with 3.11

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "wheel"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = ".".join(re.findall(r"^#define COBRE_VERSION_\w+ (\d+)$", (ROOT / "include/cobre/comm.h").read_text(), re.M)[:3])
NAME = f"{PROJECT['name']}-{VERSION}"
TAG = "cp311-abi3-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
EPOCH = 315532800  # 1980, the earliest time that a zip file can hold
# Runs __main__.py of the package, but without importing the package.
SCRIPT = b"""#!python
import os
import sys
from importlib.machinery import PathFinder

sys.path.append(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))  # of pip install --target
package = PathFinder.find_spec("cobre") or sys.exit("cobre: this Python has no package cobre; install it again")
__file__ = os.path.join(package.submodule_search_locations[0], "__main__.py")
with open(__file__) as file:
    exec(compile(file.read(), __file__, "exec"))
"""
NOT_SOURCE = re.compile(r"\..*|build|__pycache__|.*-out")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    modules = [path for path in (ROOT / "python/cobre").iterdir() if path.suffix in (".py", ".pyi", ".typed")]
    modules += run_cmake()
    return pack_wheel(wheel_directory, {f"cobre/{path.name}": path.read_bytes() for path in modules})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The modules stay where they are; the extension is that of build/wheel, until this is run again."""
    run_cmake()
    return pack_wheel(wheel_directory, {"cobre.pth": f"{BUILD}/python\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    name = f"{NAME}.tar.gz"
    with (
        open(pathlib.Path(sdist_directory, name), "wb") as file,
        gzip.GzipFile(name, "wb", fileobj=file, mtime=EPOCH) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        add_member(archive, "PKG-INFO", metadata(), 0o644)
        for path in source_files(ROOT):
            add_member(archive, path.relative_to(ROOT), path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
    return name


def run_cmake():
    """Returns what was built, without the modules in Python."""
    (BUILD / "CMakeCache.txt").unlink(missing_ok=True)  # packages may have come and gone; what is compiled stays
    try:
        subprocess.run(["cmake", "--preset", "wheel", f"-DPython3_EXECUTABLE={sys.executable}"], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", BUILD, "--target", "cobre-wheel"], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"cobre is built by CMake 3.25 or later and Ninja; packages.txt names all that is needed.\n{error}")
    return [pathlib.Path(line) for line in (BUILD / "wheel-files.txt").read_text().splitlines()]


def pack_wheel(directory, files):
    files[f"{NAME}.data/scripts/cobre"] = SCRIPT
    info = f"{NAME}.dist-info"
    for path in license_files():
        files[f"{info}/licenses/{path.relative_to(ROOT)}"] = path.read_bytes()
    files[f"{info}/METADATA"] = metadata()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: cobre ({VERSION})\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    )
    record = [f"{name},sha256={digest(data)},{len(data)}\n" for name, data in sorted(files.items())]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    wheel = f"{NAME}-{TAG}.whl"
    with zipfile.ZipFile(pathlib.Path(directory, wheel), "w") as archive:
        for name, data in sorted(files.items()):
            member = zipfile.ZipInfo(name)  # of 1980
            member.external_attr = (0o100755 if data.startswith((b"\x7fELF", b"#!")) else 0o100644) << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)
    return wheel


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def license_files():
    return [path for pattern in PROJECT["license-files"] for path in sorted(ROOT.glob(pattern))]


def metadata():
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {PROJECT['name']}",
        f"Version: {VERSION}",
        f"Summary: {PROJECT['description']}",
        f"License-Expression: {PROJECT['license']}",
        *(f"License-File: {path.relative_to(ROOT)}" for path in license_files()),
        *(f"Classifier: {text}" for text in PROJECT["classifiers"]),
        f"Requires-Python: {PROJECT['requires-python']}",
        "Description-Content-Type: text/markdown",
    ]
    return ("\n".join(lines) + "\n\n" + (ROOT / PROJECT["readme"]).read_text()).encode()


def source_files(directory):
    for path in sorted(directory.iterdir()):
        if NOT_SOURCE.fullmatch(path.name):
            continue
        if path.is_dir():
            yield from source_files(path)
        else:
            yield path


def add_member(archive, name, data, mode):
    member = tarfile.TarInfo(f"{NAME}/{name}")
    member.size, member.mode, member.mtime = len(data), mode, EPOCH
    archive.addfile(member, io.BytesIO(data))
