# SPDX-License-Identifier: Apache-2.0
"""selftest.py TREE BUILD_DIR: does run.py see what is wrong with a page?"""

import pathlib
import subprocess
import sys
import tempfile

RIGHT = [
    "```console\n$ echo a; echo b\nb\na\n```\n",  # ranks print in any order
    "```console\n$ echo took 0.5 s, pid 77\ntook 12 s, pid 4242\n```\n",
    "```console\n$ export WORD=kept\n$ echo $WORD\nk...t\n```\n",
    "```console fails\n$ false\n```\n",
    "<!-- run: echo seen >file -->\n\n```console\n$ cat file\nseen\n```\n",
    "```python\n# name.py\nprint(1)\n```\n\n```console\n$ python3 name.py\n1\n```\n",
    "```sh\nssh host true && sbatch script\n```\n",
    "```console slow\n$ no-such-command\n```\n",
]
WRONG = [
    "```console\n$ echo a\nb\n```\n",
    "```console\n$ echo a\n```\n",
    "```console\n$ false\n```\n",
    "```console fails\n$ true\n```\n",
    "<!-- run: false -->\n",
    "```\n$ echo a\n```\n",
    "```sh\nif then\n```\n",
    "```console slow\n$ if then\n```\n",
    "```python\nprint(\n```\n",
    "```json\n{1}\n```\n",
]


def main(tree, build):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        for text in RIGHT + WRONG:
            page.write_text(text)
            done = subprocess.run([sys.executable, f"{tree}/tests/docs/run.py", tree, build, page], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if (done.returncode == 0) != (text in RIGHT):
                sys.exit(f"exit code {done.returncode} for\n{text}\n{done.stdout}")


main(*sys.argv[1:])
