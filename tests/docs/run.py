# SPDX-License-Identifier: Apache-2.0
"""run.py TREE BUILD_DIR PAGE...: runs the code of documents, and compares what it prints with what they say.

What happens to a block of code is said by the words after its fence:

    console         each line after "$ " is run, in one bash per page, and the lines that follow are its output
    console fails   the same, and the last command of the block must fail
    console slow    the same, but only with COBRE_TEST_LONG=1 (make soak); otherwise as sh
    sh              is parsed: ssh, sbatch, docker, apt
    python, c       a first line "# NAME.py" or "/* NAME.c */" makes it a file; otherwise Python is parsed
    json            is parsed
    others, none    nothing; but a block without a word must have no line that begins with "$ "

In output "..." is any text, times and process ids count as equal, and lines of ranks may come in any order. Commands in HTML comments
"<!-- run: ... -->" are run and not seen. In tables the code of a last column headed "cobre" is run in Python on two ranks, and that of a first
column "mpi4py" where mpi4py is installed."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TREE, BUILD = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
LONG = os.environ.get("COBRE_TEST_LONG") == "1"
MARK = "end of command"

PROLOGUE = """
import numpy
x, y, counts, count, thing, items, function = numpy.ones(3), numpy.ones(3), None, 10, {"a": 1}, range(5), str
"""
COBRE = "import cobre\ncomm = cobre.Comm()\n" + PROLOGUE + "counts = [3] * comm.size\n"
MPI4PY = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n" + PROLOGUE + "counts, z = [3], numpy.ones(3)\n"
NOT_RUN = ("cobre.launch", "cobre run -n 4 python3 script.py")  # as code of a table; the console runs them

# What differs from run to run: (pattern, what it becomes).
MASKS = [(r"\bpid \d+", "pid N"), (r"\d+ +(?=\d+:\d\d:\d\d$)", "LP/s "), (r"\b\d+(\.\d+)? (s|ms|us)\b", "T s"), (r"\b\d+:\d\d:\d\d\b", "T s"), (r" +", " "), (r" $", "")]


class Shell:
    """One bash, so that variables and jobs of a command are there for the next one."""

    def __init__(self):
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        print("$", command, flush=True)
        self.process.stdin.write(f"{command}\nprintf '\\n%s %d\\n' '{MARK}' $?\n")
        self.process.stdin.flush()
        output = ""
        for line in self.process.stdout:
            if line.startswith(MARK):
                return int(line.split()[-1]), output.removesuffix("\n")
            output += line
        sys.exit(f"the shell ended in: {command}\n{output}")


def masked(text):
    for pattern, word in MASKS:
        text = re.sub(pattern, word, text, flags=re.M)
    return text


def agrees(said, output):
    said, output = masked(said).rstrip(), masked(output).rstrip()
    pattern = ".*".join(map(re.escape, said.split("...")))
    return re.fullmatch(pattern, output, re.S) or sorted(said.splitlines()) == sorted(output.splitlines())


def commands(block):
    return re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.M)


def check_console(shell, block, fails):
    found = commands(block)
    for i, (command, said) in enumerate(found):
        code, output = shell.run(command)
        should_fail = fails and i == len(found) - 1
        if (code != 0) != should_fail or not agrees(said, output):
            sys.exit(f"exit code {code}\n{output}\nThe document says:\n{said}")


def check_syntax(script):
    done = subprocess.run(["bash", "-n"], input=script, text=True, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{script}\n{done.stderr}")


def write_file(block, name):
    file = re.match(name, block)
    if file:
        pathlib.Path(file[1]).write_text(block)
    return file


def check_block(shell, words, block):
    kind, how = (words.split() + ["", ""])[:2]
    if kind == "console" and how == "slow" and not LONG:
        check_syntax("\n".join(command for command, _said in commands(block)))
    elif kind == "console":
        check_console(shell, block, how == "fails")
    elif kind == "sh":
        check_syntax(block)
    elif kind == "python":
        write_file(block, r"# (\w+\.py)\n") or compile(block, "block", "exec")
    elif kind == "c":
        write_file(block, r"/\* (\w+\.c) \*/\n")
    elif kind == "json":
        json.loads(block)
    elif kind == "" and re.search(r"^\$ ", block, re.M):
        sys.exit(f"this block has commands: call it console, or sh\n{block}")


def run_python(launcher, program):
    done = subprocess.run([*launcher, "python3", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def run_rows(rows, prologue, launcher):
    """The rows together, and those that end the program each alone."""
    lines = [code for cell in rows for code in re.findall(r"`([^`]+)`", cell) if code not in NOT_RUN]
    ending = [line for line in lines if "abort(" in line or "Abort(" in line]
    program = prologue + "\n".join(line for line in lines if line not in ending) + "\n"
    code, output = run_python(launcher, program)
    if code:
        sys.exit(f"{program}\nexit code {code}\n{output}")
    for line in ending:
        code, output = run_python(launcher, prologue + line)
        if code == 0 or "Error:" in output:
            sys.exit(f"{line}: exit code {code}\n{output}")
    return len(lines)


def check_table(text):
    head, _line, *rows = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in text.splitlines()]
    if head[-1].strip("| ") != "cobre":
        return
    assert run_rows([row[-1] for row in rows], COBRE, ["cobre", "run", "-n", "2"]) >= len(rows)
    if "mpi4py" in head[0] and run_python([], "import mpi4py")[0] == 0:
        run_rows([row[0] for row in rows], MPI4PY, [])


def check(page):
    shell, text = Shell(), page.read_text()
    parts = re.findall(r"^( *)```([^\n]*)\n(.*?)^ *```$|^<!-- run: (.*?) -->$|((?:^\|[^\n]*\n)+)", text, re.M | re.S)
    for indent, words, block, hidden, table in parts:
        if table:
            check_table(table)
        elif hidden:
            code, output = shell.run(hidden)
            if code:
                sys.exit(f"exit code {code}\n{output}")
        else:
            check_block(shell, words, re.sub(f"^{indent}", "", block, flags=re.M))
    shell.process.communicate()
    print(f"{page.name}: {len(parts)} blocks and tables")


def set_up():
    """The folder is a clone as far as the documents use it; cobre is found as if it were installed."""
    os.mkdir("bin")
    os.symlink(sys.executable, "bin/python3")
    for name in ("cases", "examples", "man"):
        os.symlink(TREE / name, name)
    os.environ.update(
        PATH=f"{os.getcwd()}/bin:{BUILD}:{BUILD}/examples:{os.environ['PATH']}", PYTHONPATH=f"{BUILD}/python", PYTHONDONTWRITEBYTECODE="1",
        C_INCLUDE_PATH=str(TREE / "include"), LIBRARY_PATH=str(BUILD), LD_LIBRARY_PATH=str(BUILD), TERM="dumb", COLUMNS="80", LC_ALL="C.UTF-8")


def main():
    pages = [pathlib.Path(name).resolve() for name in sys.argv[3:]]
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            set_up()
            check(page)
            os.chdir("/")


main()
