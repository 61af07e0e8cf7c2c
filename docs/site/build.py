# SPDX-License-Identifier: Apache-2.0
"""build.py OUT: makes the documentation site. build.py --check: looks for dead links and lost pages, and needs no tool.

The site is a copy of the tree's documents at their own paths, so that a link means the same in the repository and here:
docs/tcp.md becomes docs/tcp.html, man/cobre.7 becomes man/cobre.7.html, include/cobre/comm.h becomes a page of its comments
and declarations, and other files that are linked are copied. The pages are those that docs/index.md lists, in its order: its
headings are the parts of the navigation. Search is a list of all sections in one script, so that it works from a folder
without a server."""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
INDEX = "docs/index.md"
BACKEND = ["What it is", "Start", "Collectives", "Regions", "Errors", "Build", "Variables", "Limits"]  # what each page has, in this order
MAN = r"(?<![\w/])(cobre(?:-\w+)?)\((\d)\)"


# Markdown, as far as links need it.

def without_code(text):
    text = re.sub(r"^( *)```.*?^ *```$", "", text, flags=re.M | re.S)
    text = re.sub(r"^(?: {4,}\S.*\n)+", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", "``", text)


def links(text):
    return re.findall(r"\]\(([^)\s]+)\)", without_code(text))


def slug(heading, seen):
    """The anchor that GitHub gives to a heading."""
    name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    seen[name] = seen.get(name, -1) + 1
    return f"{name}-{seen[name]}" if seen[name] else name


def anchors(text):
    seen = {}
    text = re.sub(r"^( *)```.*?^ *```$", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading), seen) for heading in headings}


def target(page, link):
    """The path in the tree and the anchor that a link of a page names."""
    path, _, anchor = link.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    return path, anchor


def is_remote(link):
    return re.match(r"[a-z]+:", link)


def navigation():
    """[(part, [(path, title), ...]), ...]: the lists of docs/index.md below its heading "All pages"."""
    text = (TREE / INDEX).read_text().split("\n## All pages\n")[1]
    parts = re.split(r"^### (.*)\n", text, flags=re.M)[1:]
    return [(name, [(target(INDEX, link)[0], title.replace("`", "")) for title, link in re.findall(r"^- \[([^\]]*)\]\(([^)]*)\)", body, re.M)])
            for name, body in zip(parts[::2], parts[1::2])]


def listed():
    return [INDEX] + [path for _name, pages in navigation() for path, _title in pages]


# The check.

def documents():
    """Every document that people may read in the tree."""
    found = [path for pattern in ("*.md", "docs/**/*.md", "bench/*.md", "cases/**/*.md", "man/*.[1-8]", "include/cobre/*.h") for path in TREE.glob(pattern)]
    return sorted(str(path.relative_to(TREE)) for path in found if "start" not in path.parts)


def dead_links(page):
    text = (TREE / page).read_text()
    for link in filter(lambda link: not is_remote(link), links(text)):
        path, anchor = target(page, link)
        if not (TREE / path).exists():
            yield f"{page}: {link}: there is no such file"
        elif anchor and path.endswith(".md") and anchor not in anchors((TREE / path).read_text()):
            yield f"{page}: {link}: {path} has no such heading"
    for name, section in re.findall(MAN, text) + [(name, "1") for name in re.findall(r"`man (cobre-\w+)`", text)]:
        if not (TREE / f"man/{name}.{section}").exists():
            yield f"{page}: {name}({section}): there is no such man page"


def backend_pages():
    """(page, the headings that it lacks or has elsewhere)"""
    for page in sorted((TREE / "docs/backends").glob("*.md")):
        found = [heading for heading in re.findall(r"^## (.*)$", page.read_text(), re.M) if heading in BACKEND]
        if found != BACKEND:
            yield f"{page.relative_to(TREE)}: its headings must be {', '.join(BACKEND)}"


def check():
    pages = documents()
    errors = [error for page in pages if page.endswith(".md") for error in dead_links(page)]
    errors += backend_pages()
    errors += [f"{INDEX} does not list {page}" for page in pages if page not in listed()]
    errors += [f"{INDEX} lists {page} twice" for page in set(listed()) if listed().count(page) > 1]
    for error in errors:
        print(error)
    print(f"{len(pages)} pages, {sum(len(links((TREE / page).read_text())) for page in pages)} links, {len(errors)} errors")
    return 1 if errors else 0


# The pages.

def run(*command, text=""):
    try:
        return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not there; packages.txt names the packages of the site")


def from_markdown(text):
    return run("cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", text=text)


def from_man(page):
    return run("mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", str(TREE / page))


def chunks(header):
    """(comment, code) of a header, which has empty lines between its chunks; without guards and includes, and without the
    definitions of the macros at the end."""
    text = re.sub(r"#if[^\n]*__cplusplus\n[^#]*#endif\n", "\n", header)
    text = re.sub(r"^#(ifndef|define) COBRE_\w+_H\n|^#include .*\n|^#endif\n\Z", "", text, flags=re.M)
    text = re.sub(r"/\*(?:(?!\*/).)*\*/", lambda comment: comment[0].replace("\n\n", "\n *\n"), text, flags=re.S)
    for chunk in re.split(r"\n{2,}", text):
        chunk = chunk.strip("\n").removeprefix("/* SPDX-License-Identifier: Apache-2.0 */\n")
        found = re.match(r"/\*((?:(?!\*/).)*)\*/\n?(.*)", chunk, re.S) if chunk.startswith("/*") else None
        comment, code = found.groups() if found else ("", chunk)
        yield re.sub(r"^ \* ?", "", comment.strip(), flags=re.M), code


def comment_markdown(comment):
    """Prose of a comment: what is indented is code, or a list."""
    lines = [line if line.startswith("    ") else re.sub(r"([*<_])", r"\\\1", line) for line in comment.split("\n")]
    return "\n".join(re.sub(r"^  ?([ -])", r"\1", line) if not line.startswith("    ") else line for line in lines)


def names_in(code):
    """The functions that a chunk declares, or the type that it defines."""
    return re.findall(r"^COBRE_API [^;(]*?(\w+)\(", code, re.M) or re.findall(r"^\} (\w+);$", code, re.M)


def from_header(page):
    """The chunks of a header, up to the macros at its end: a heading, prose, code."""
    parts = [f"# {'/'.join(page.split('/')[1:])}\n"]
    for comment, code in chunks((TREE / page).read_text()):
        names = names_in(code)
        if names:
            parts.append(f"### {names[0]}\n" + "".join(f'<a id="{name}"></a>' for name in names[1:]) + "\n")
        parts.append(comment_markdown(comment) + "\n")
        if comment and code.startswith("#if"):
            break
        if code and not code.startswith("#if"):
            parts.append("```c\n" + re.sub(r" *\\$|COBRE_API ", "", code, flags=re.M) + "\n```\n")
    return from_markdown("\n".join(parts))


def body(page):
    if page.endswith(".md"):
        return from_markdown((TREE / page).read_text())
    return from_header(page) if page.endswith(".h") else from_man(page)


def with_anchors(text):
    seen = {}
    def heading(match):
        name = slug(html.unescape(re.sub(r"<[^>]*>", "", match[2])), seen)
        return f'<h{match[1]} id="{name}">{match[2]}<a class="anchor" href="#{name}">#</a></h{match[1]}>'
    return re.sub(r"<h([1-6])>(.*?)</h\1>", heading, text, flags=re.S)


def here(path, page):
    """The way from a page to another file of the site."""
    return os.path.relpath(path, os.path.dirname(page) or ".")


def on_site(path):
    return path[:-3] + ".html" if path.endswith(".md") else path + ".html" if path.startswith(("man/", "include/")) else path


def with_links(page, text, assets):
    def link(match):
        if is_remote(match[2]) or match[2].startswith("#"):
            return match[0]
        if page.startswith("man/"):
            return match[0] if (TREE / "man" / match[2].removesuffix(".html")).exists() else ""  # ssh(1): not ours
        path, anchor = target(page, html.unescape(match[2]))
        if path not in listed():
            assets.add(path)
        return f'{match[1]}="{here(on_site(path), page)}{"#" + anchor if anchor else ""}"'
    def manual(match, name=1, section=2):
        path = f"man/{match[name]}.{(match[section] or '1').strip()}"
        return f'<a href="{here(on_site(path), page)}">{match[0]}</a>' if (TREE / path).exists() else match[0]
    text = re.sub(r'(href|src)="([^"]*)"', link, text)
    if not page.startswith("man/"):
        text = re.sub(r"<code>man (\d )?(cobre[\w-]*)</code>", lambda match: manual(match, 2, 1), text)
        text = re.sub(MAN + r"(?![^<]*</(?:a|code)>)", manual, text)
    return text


def sections(page, text, title):
    """(address, heading, text) of each section, for the search."""
    parts = re.split(r'<h[1-6][^>]*\bid="([^"]*)"[^>]*>(.*?)</h[1-6]>', text, flags=re.S)
    for anchor, heading, content in [("", title, parts[0])] + list(zip(parts[1::3], parts[2::3], parts[3::3])):
        plain = lambda part: re.sub(r"\s+", " ", html.unescape(re.sub(r'<a class="anchor".*?</a>|<[^>]*>', " ", part, flags=re.S))).strip()
        if plain(content):
            yield [on_site(page) + ("#" + anchor if anchor else ""), title, plain(heading), plain(content)]


def menu(page):
    parts = []
    for name, pages in navigation():
        items = "".join(f'<li><a href="{here(on_site(path), page)}"{" aria-current=page" if path == page else ""}>{html.escape(title)}</a></li>' for path, title in pages)
        parts.append(f"<h2>{name}</h2><ul>{items}</ul>")
    return "".join(parts)


def dead_on_site(out):
    """Links of the finished pages that lead nowhere."""
    ids = {page: set(re.findall(r'\bid="([^"]*)"', page.read_text())) for page in out.rglob("*.html")}
    for page in ids:
        for link in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
            path, _, anchor = html.unescape(link).partition("#")
            goal = (page.parent / path).resolve() if path else page
            if not is_remote(link) and (not goal.exists() or (anchor and anchor not in ids.get(goal, ()))):
                yield f"{page}: {link}"


def write(out, path, text):
    file = out / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def build(out):
    out = out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    template, found, assets = (HERE / "page.html").read_text(), [], set()
    titles = {INDEX: "cobre in one minute"} | dict(page for _name, pages in navigation() for page in pages)
    for page, title in titles.items():
        text = with_links(page, with_anchors(body(page)), assets)
        found += sections(page, text, title)
        fields = {"TITLE": html.escape(title), "ROOT": here(".", page), "HOME": here(on_site(INDEX), page), "MENU": menu(page), "BODY": text}
        write(out, on_site(page), re.sub(r"\{([A-Z]+)\}", lambda field: fields.get(field[1], field[0]), template))
    for asset in sorted(assets):
        source = TREE / asset
        (out / asset).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, out / asset, dirs_exist_ok=True)
        else:
            shutil.copy(source, out / asset)
    for name in ("style.css", "search.js"):
        shutil.copy(HERE / name, out / name)
    write(out, "index.js", "const SECTIONS = " + json.dumps(found, ensure_ascii=False, separators=(",", ":")) + ";\n")
    write(out, "index.html", f'<!doctype html><meta charset="utf-8"><title>cobre</title><meta http-equiv="refresh" content="0; url={on_site(INDEX)}">\n')
    dead = list(dead_on_site(out))
    print("\n".join([*dead, f"{os.path.relpath(out)}/index.html"]))
    return 1 if dead else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(check())
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: build.py --check | FOLDER")
    sys.exit(build(pathlib.Path(sys.argv[1])))
