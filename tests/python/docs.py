# SPDX-License-Identifier: Apache-2.0
"""docs.py BUILD_DIR DOCUMENT...: runs the code of the documents, in their order.

A block of `python` that begins with a comment `# NAME.py` becomes that file. In a block of `console` each line after `$ ` is run, and the
lines that follow are its output; `...` stands for any text. In tables the code of the last column, headed `cobre`, is run
on two ranks, and that of a first column `mpi4py` where mpi4py is installed."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()

PROLOGUE = """
import numpy
x, y, counts, count, thing, items, function = numpy.ones(3), numpy.ones(3), None, 10, {"a": 1}, range(5), str
"""
COBRE = "import cobre\ncomm = cobre.Comm()\n" + PROLOGUE + "counts = [3] * comm.size\n"
MPI4PY = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n" + PROLOGUE + "counts, z = [3], numpy.ones(3)\n"
NOT_RUN = ("cobre.launch", "cobre run -n 4 python3 script.py")  # as code of a table; the console runs them


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **more)
    return done.returncode, done.stdout


def check_console(block):
    for command, said in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
        code, output = run(["sh", "-c", command])
        pattern = ".*".join(map(re.escape, said.split("...")))
        if code or not re.fullmatch(pattern, output, re.S):
            sys.exit(f"$ {command}\nexit code {code}\n{output}\nThe document says:\n{said}")


def run_rows(rows, prologue, launcher):
    """The rows together, and those that end the program each alone."""
    lines = [code for cell in rows for code in re.findall(r"`([^`]+)`", cell) if code not in NOT_RUN]
    ending = [line for line in lines if "abort(" in line or "Abort(" in line]
    program = prologue + "\n".join(line for line in lines if line not in ending) + "\n"
    code, output = run([*launcher, "python3", "-c", program])
    if code:
        sys.exit(f"{program}\nexit code {code}\n{output}")
    for line in ending:
        code, output = run([*launcher, "python3", "-c", prologue + line])
        if code == 0 or "Error:" in output:
            sys.exit(f"{line}: exit code {code}\n{output}")
    return len(lines)


def check_table(text):
    head, _line, *rows = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in text.splitlines()]
    if head[-1].strip("| ") != "cobre":
        return
    assert run_rows([row[-1] for row in rows], COBRE, ["cobre", "run", "-n", "2"]) >= len(rows)
    if "mpi4py" in head[0] and run(["python3", "-c", "import mpi4py"])[0] == 0:
        run_rows([row[0] for row in rows], MPI4PY, [])


def check(document):
    parts = re.findall(r"^```(python|console)\n(.*?)^```$|((?:^\|[^\n]*\n)+)", document, re.M | re.S)
    for kind, block, table in parts:
        if kind == "python":
            pathlib.Path(re.match(r"# (\w+\.py)\n", block)[1]).write_text(block)
        elif kind == "console":
            check_console(block)
        else:
            check_table(table)
    print(len(parts), "blocks and tables")


def main():
    documents = [pathlib.Path(name).read_text() for name in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.mkdir("bin")
        os.symlink(sys.executable, "bin/python3")
        os.symlink(BUILD / "cobre", "bin/cobre")
        os.environ.update(PATH=f"{directory}/bin:{os.environ['PATH']}", PYTHONPATH=f"{BUILD}/python", PYTHONDONTWRITEBYTECODE="1")
        for document in documents:
            check(document)


main()
