#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""screen_svg.py <SCREEN >PICTURE: a screen of a terminal, as `tmux capture-pane -p -e` prints it, becomes an SVG."""
import html
import re
import sys

WIDTH, HEIGHT, MARGIN = 8, 17, 8
PAPER, INK = "#16181d", "#d4d7dd"
BASIC = ["#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d4d7dd", "#7f848e", "#ff7b86", "#b5e890",
         "#ffd68a", "#7cc4ff", "#dd93f0", "#73d5e0", "#ffffff"]


def colour(number):
    if number < 16:
        return BASIC[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    parts = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


class Style:
    def __init__(self):
        self.ink, self.paper, self.bold, self.dim, self.reverse = None, None, False, False, False

    def take(self, codes):
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.__init__()
            elif code in (38, 48) and codes[:1] == [5]:
                setattr(self, "ink" if code == 38 else "paper", colour(codes[1]))
                del codes[:2]
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.ink = colour(code - 30 if code < 90 else code - 82)
            elif code == 39:
                self.ink = None
            elif code in (1, 2, 7, 22, 27):
                self.bold = code == 1 if code in (1, 22) else self.bold
                self.dim = code == 2 if code in (2, 22) else self.dim
                self.reverse = code == 7 if code in (7, 27) else self.reverse

    def look(self):
        ink, paper = self.ink or INK, self.paper or PAPER
        return (paper, ink, self.bold, self.dim) if self.reverse else (ink, paper, self.bold, self.dim)


def cells(lines):
    """(line, column, text, look) of each run of letters that look alike; the style goes on over the ends of lines."""
    style = Style()
    for y, line in enumerate(lines):
        x = 0
        for codes, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)", line):
            if text:
                yield y, x, text, style.look()
                x += len(text)
            else:
                style.take(codes)


def draw(y, x, text, look):
    ink, paper, bold, dim = look
    left, top, width = MARGIN + x * WIDTH, MARGIN + y * HEIGHT, len(text) * WIDTH
    if paper != PAPER:
        print(f'<rect x="{left}" y="{top}" width="{width}" height="{HEIGHT}" fill="{paper}"/>')
    extra = (' font-weight="bold"' if bold else "") + (' opacity="0.65"' if dim else "")
    for part in re.finditer(r"[^ ]+(?: [^ ]+)*", text):  # viewers do not keep several blanks
        words, at = part.group(), left + part.start() * WIDTH
        print(f'<text x="{at}" y="{top + 13}" textLength="{len(words) * WIDTH}" lengthAdjust="spacingAndGlyphs" fill="{ink}"{extra}>'
              f"{html.escape(words)}</text>")


lines = re.sub(r"[\x0e\x0f]", "", sys.stdin.read()).rstrip("\n").split("\n")
columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
width, height = 2 * MARGIN + max(columns, 80) * WIDTH, 2 * MARGIN + len(lines) * HEIGHT
print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
      'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13">')
print(f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>')
for cell in cells(lines):
    draw(*cell)
print("</svg>")
