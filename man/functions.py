# SPDX-License-Identifier: Apache-2.0
"""functions.py OUTPUT HEADER...: man pages of section 3, made from the comments of the public headers.

Functions that are declared together, in lines without an empty one between them, share a page: the comment above them is its
text. Where there is none, that of the types or of the section above holds, but not that of other functions. What is written behind a declaration, or above it alone, becomes
a paragraph of its own. RETURN VALUES has what the type of a function says, and the sentences of its comment about it. A macro that takes the type from the pointers (cobre_allreduce_t) is on the page of its function. The comment at the top of a header becomes a page, too: cobre_comm(3), cobre_sddp(3).
"""

import pathlib
import re
import sys

TOKEN = re.compile(r"/\*.*?\*/|#(?:\\\n|[^\n])*|\n[ \t]*\n|COBRE_API[^;]*;|typedef[^;{]*(?:\{.*?\}[^;{}]*)?;|\s+|.", re.S)

BRACKETS = r"\s*\([^()]*\)"

# Sentences of a comment about what comes back: of any function, and of one that returns no status.
ABOUT_FAILURES = r"^Returns |^Each returns |and returns |[Oo]n failure|COBRE_({statuses})\b"
ABOUT_VALUES = r"for NULL|never NULL|get NULL|^NULL |^False |unknown|not known|NaN|_NONE"

# What sddp.h says in its first comment: what is returned for a wrong argument.
RULE = "Functions that return a value instead of a status return 0, false, NULL or NaN for it."


class Group:
    """Functions of one page: (prototype, its own notes)."""

    def __init__(self, comments):
        self.comments = comments
        self.functions = []


def read(path):
    """The groups of a header, its first comment, and the definitions of its types by name."""
    groups, types, top = [], {}, None
    section, above, group, behind = [], [], None, False  # comments: of the section, above a function
    for token in TOKEN.findall(path.read_text()):
        if token.startswith("/*"):
            text = comment_text(token)
            if top is None and "SPDX" not in text:
                top = text
            elif behind:
                group.functions[-1][1].append(text)
            else:
                above.append(text)
        elif token.startswith("COBRE_API"):
            if group is None:
                group = Group(above or section)
                groups.append(group)
                above = []
            group.functions.append((" ".join(re.sub(r"COBRE_(API|NORETURN)", "", token).split()), above))
            above, behind = [], True
        elif token.startswith("typedef"):
            types[re.search(r"(\w+)\s*;$", token).group(1)] = token
            section, above = above or section, []
        elif token.isspace():
            behind = behind and "\n" not in token
            if token.count("\n") > 1:
                group, section, above = None, above or section, []
    return groups, top, types


def comment_text(token):
    lines = [re.sub(r"^ ?\* ?", "", line.rstrip()) for line in token[2:-2].strip().split("\n")]
    return "\n".join(lines)


def name_of(prototype):
    return re.search(r"(\w+)\(", prototype).group(1)


def escape(text):
    text = text.replace("\\", "\\e")
    return re.sub(r"`([^`]*)`", r"\\(oq\1\\(cq", text)


def body(text):
    """Running text, lists of points, and code, which is indented by four."""
    lines, mode = [], None
    for line in text.split("\n"):
        kind = "code" if line.startswith("    ") and mode != "list" else "list" if re.match(r"  [- ]", line) else None
        if kind != mode:
            lines += {"code": [".Ed"], "list": [".El"]}.get(mode, [])
            lines += {"code": [".Bd -literal"], "list": [".Bl -bullet"]}.get(kind, [])
            mode = kind
        point = kind == "list" and line.startswith("  - ")
        if point:
            lines.append(".It")
        plain = line[4:] if kind else line
        if plain.strip() or kind == "code":
            lines.append(guard(escape(plain)))
        elif lines and lines[-1] != ".Pp":
            lines.append(".Pp")
    lines += {"code": [".Ed"], "list": [".El"]}.get(mode, [])
    while lines and lines[-1] == ".Pp":
        lines.pop()
    return [line for i, line in enumerate(lines) if line != ".Pp" or not lines[i + 1].startswith((".Bl", ".Bd"))]


def guard(line):
    """What begins with a dot or a quote would be a request."""
    line = line.rstrip()
    return "\\&" + line if line[:1] in (".", "'") else line


def split_sentences(lines):
    """New sentence, new line, as mandoc wants it; code stays as it is."""
    code = False
    for line in lines:
        code = line.startswith(".Bd") or (code and line != ".Ed")
        yield from [line] if code or line[:1] == "." else re.split(r"(?<=[^ .]\.) +(?=\S)", line)


def summary(text):
    """The first sentence, or its beginning, without what is in brackets and without a full stop."""
    plain = " ".join(text.split())
    while re.search(BRACKETS, plain):
        plain = re.sub(BRACKETS, "", plain)
    first = re.split(r"(?<=[.:])\s", plain)[0]
    if len(first) > 80:
        first = re.split(r"(?<=.{20})[,;] ", first)[0]
    first = first.rstrip(".:;")
    return first[:1].lower() + first[1:] if first[1:2].islower() else first


def arguments(prototype):
    inner, depth, parts = prototype[prototype.index("(") + 1 : prototype.rindex(")")], 0, [""]
    for letter in inner:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def synopsis(prototype):
    name = name_of(prototype)
    return [f'.Ft "{kind_of(prototype)}"', f".Fo {name}", *(f'.Fa "{argument}"' for argument in arguments(prototype)), ".Fc"]


def kind_of(prototype):
    return prototype[: prototype.index(name_of(prototype) + "(")].strip()


def sentences(text, pattern):
    """Those of running text that have the pattern."""
    running = " ".join(line for line in text.split("\n") if not line.startswith("  "))
    return [sentence for sentence in re.split(r"(?<=[.?])\s+", running) if re.search(pattern, sentence)]


def subject(names, verb):
    """One function returns, two return."""
    listed = [f".Fn {name} ,".removesuffix(" ," if i >= len(names) - 2 else "") for i, name in enumerate(names)]
    return [*listed[:-1], *["and"] * (len(names) > 1), listed[-1], verb + "s" * (len(names) == 1)]


def return_values(group, statuses, rule):
    kinds = {name_of(prototype): kind_of(prototype) for prototype, _ in group.functions}
    failing = [name for name, kind in kinds.items() if kind == "cobre_status"]
    valued = [name for name, kind in kinds.items() if kind not in ("cobre_status", "void")]
    if not failing and not valued:
        return []
    pattern = ABOUT_FAILURES.format(statuses=statuses) + ("|" + ABOUT_VALUES if valued else "")
    text = "\n\n".join(group.comments)
    own = sentences(text, pattern)
    notes = {name_of(prototype): sentences("\n".join(notes), pattern) for prototype, notes in group.functions}
    parts = []
    if failing and "returns its status" not in text:
        parts.append([*subject(failing, "return"), ".Dv COBRE_OK ,", "or the status of an error;", ".Xr cobre_last_error 3", "then says more."])
    if own or not failing and not rule:
        parts.append(body("\n".join(own or sentences(text, "")[:1])))
    parts += [[f".Fn {name} :", *body("\n".join(note))] for name, note in notes.items() if note]
    nothing = {}
    for prototype, _ in group.functions:
        name = name_of(prototype)
        if rule and name in valued and "(void)" not in prototype and not re.search(r"_NONE|unknown", " ".join(own + notes[name])):
            word = "NULL" if kinds[name].endswith("*") else {"bool": "false", "double": "NaN"}.get(kinds[name], "0")
            nothing.setdefault(word, []).append(name)
    parts += [["If an argument is wrong,", *subject(names, "return"), word + "."] for word, names in nothing.items()]
    return [".Sh RETURN VALUES", *[line for part in parts for line in [".Pp", *part]][1:]]


def page(header, title, names, description, lines, date):
    return [
        f".\\\" Made from {header} by man/functions.py",
        f".Dd {date}",
        f".Dt {title.upper()} 3",
        ".Os cobre",
        ".Sh NAME",
        *(f".Nm {name} ," for name in names[:-1]),
        f".Nm {names[-1]}",
        f".Nd {escape(description)}",
        *lines,
    ]


def types_of(group, types):
    """The definitions of the types that the prototypes name, in order; not those that macros make."""
    words = [word for prototype, _ in group.functions for word in re.findall(r"\w+", prototype)]
    return [types[word] for word in dict.fromkeys(words) if "{" in types.get(word, "") and "#" not in types[word]]


def typed_macros(text):
    """The macros of a header that stand for a function, {name: call}, and the comment about them, which names all of them."""
    macros = {name: call for call, name in re.findall(r"^#define ((cobre_\w+_t)\([^)]*\))", text, re.M)}
    comments = [comment_text(comment) for comment in re.findall(r"/\*.*?\*/", text, re.S) if all(name + "(" in comment for name in macros)]
    return macros, comments[0]


def group_page(header, intro, group, types, date, macros, about_macros, statuses, rule):
    names = [name_of(prototype) for prototype, _ in group.functions]
    calls = [macros[name + "_t"] for name in names if name + "_t" in macros]
    text = "\n\n".join(group.comments)
    lines = [".Sh SYNOPSIS", f".In cobre/{header}"]
    for prototype, _ in group.functions:
        lines += synopsis(prototype)
    for call in calls:
        lines += synopsis("cobre_status " + call)
    lines += [".Sh DESCRIPTION", *body(text)]
    for prototype, notes in group.functions:
        if notes:
            lines += [".Pp", f".Fn {name_of(prototype)} :", *body("\n\n".join(notes))]
    if calls:
        lines += [".Pp", *body(about_macros)]
    lines += return_values(group, statuses, rule)
    definitions = types_of(group, types)
    if definitions:
        lines += [".Sh TYPES", ".Bd -literal"]
        lines += [guard(escape(line)) for definition in definitions for line in [*definition.split("\n"), ""]][:-1]
        lines += [".Ed"]
    lines += [".Sh SEE ALSO", f".Xr {intro} 3"]
    notes = [note for _, own in group.functions for note in own]
    if not text and not notes:
        sys.exit(f"{header}: there is no comment about {names[0]}")
    names += [name_of(call) for call in calls]
    return page(header, names[0], names, summary(text or notes[0]), lines, date), names


def write(folder, name, lines):
    (folder / f"{name}.3").write_text("\n".join(split_sentences(lines)) + "\n")


def main(output, *headers):
    output = pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("*.3"):
        old.unlink()
    date = re.search(r"^\.Dd (.*)", (pathlib.Path(__file__).parent / "cobre.7").read_text(), re.M).group(1)
    read_headers = [(pathlib.Path(header).name, *read(pathlib.Path(header))) for header in headers]
    types = {name: text for *_, own in read_headers for name, text in own.items()}
    statuses = "|".join(re.findall(r'X\((\w+), "', pathlib.Path(headers[0]).read_text()))
    for path, (header, groups, top, _) in zip(headers, read_headers):
        rule = RULE in " ".join(top.split())
        macros = typed_macros(pathlib.Path(path).read_text())
        intro = "cobre_" + header.removesuffix(".h")
        functions = []
        for group in groups:
            lines, names = group_page(header, intro, group, types, date, *macros, statuses, rule)
            write(output, names[0], lines)
            for name in names[1:]:
                (output / f"{name}.3").write_text(f".so man3/{names[0]}.3\n")
            functions += names
        first, _, rest = top.partition("\n")
        lines = [".Sh SYNOPSIS", f".In cobre/{header}", ".Sh DESCRIPTION", *body(rest.strip("\n"))]
        lines += [".Sh SEE ALSO", *(f".Xr {name} 3 ," for name in sorted(functions)), ".Xr cobre 7"]
        write(output, intro, page(header, intro, [intro], summary(first.split(": ", 1)[1]), lines, date))


if __name__ == "__main__":
    main(*sys.argv[1:])
