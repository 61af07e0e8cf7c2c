# SPDX-License-Identifier: Apache-2.0
"""functions.py FOLDER HEADER...: has every public function a page of section 3, with its prototype, a text and what it returns, and is it clean?"""

import pathlib
import re
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])

# What the comments say of some of them.
SAY = {
    "cobre_comm_open": "cobre_comm_open() returns COBRE_OK, or the status of an error; cobre_last_error(3) then says more. On failure *comm is NULL",
    "cobre_set_error": "and returns its status",
    "cobre_region_claim": "Returns NULL, with an error",
    "cobre_exact_round": "The sum, correctly rounded.",
    "cobre_last_error": "never NULL",
    "cobre_status_name": '"?" if unknown',
    "cobre_sddp_train": "COBRE_INVALID_CASE: a node has no bound",
    "cobre_sddp_add_column": "COBRE_SDDP_NONE after a mistake",
    "cobre_sddp_policy_name": "If an argument is wrong, cobre_sddp_policy_name(), cobre_sddp_policy_state_name() and cobre_sddp_policy_node_name() return NULL.",
    "cobre_sddp_policy_bound": "If an argument is wrong, cobre_sddp_policy_bound() returns NaN.",
}


def rendered(page):
    """The sections of a page as plain text, by title."""
    text = subprocess.run(["mandoc", "-T", "ascii", page], check=True, capture_output=True, text=True).stdout
    text = re.sub(".\b", "", text)
    parts = re.split(r"^([A-Z][A-Z ]+)$", text, flags=re.M)
    return {title: " ".join(part.split()) for title, part in zip(parts[1::2], parts[2::2])}


def main():
    real = sorted(page for page in folder.glob("*.3") if not page.read_text().startswith(".so "))
    sections = {page.name: rendered(page) for page in real}
    count = 0
    for header in sys.argv[2:]:
        source = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.S)
        for prototype in re.findall(r"^COBRE_API ([^;]*;)", source, re.M):
            prototype = " ".join(prototype.replace("COBRE_NORETURN ", "").split())
            name = re.search(r"(\w+)\(", prototype).group(1)
            text = (folder / f"{name}.3").read_text()
            alias = re.fullmatch(r"\.so man3/(\S+)\n", text)
            page = sections[alias.group(1) if alias else f"{name}.3"]
            # A page puts the name on a line of its own, so that a space follows the star of a pointer.
            if prototype.replace("* ", "*") not in page["SYNOPSIS"].replace("* ", "*"):
                sys.exit(f"{name}: the page has no {prototype}\n{page['SYNOPSIS']}")
            if name not in page["NAME"] or not re.search(r" - \S+", page["NAME"]) or len(page["DESCRIPTION"].split()) < 3:
                sys.exit(f"{name}: the page says nothing: {page}")
            said = page.get("RETURN VALUES", "")
            if SAY.get(name, "") not in said or (not said and not prototype.startswith("void ")):
                sys.exit(f"{name}: the page does not say what it returns: {said}")
            count += 1
    if count < 100:
        sys.exit(f"only {count} functions were found")
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *real], capture_output=True, text=True)
    if lint.returncode:
        sys.exit(lint.stdout)
    print(f"{count} functions on {len(real)} pages")


main()
