# SPDX-License-Identifier: Apache-2.0
"""pictures.py: draws the pictures of docs/how-it-works.md, into docs/pictures. They are readable on light and dark pages."""

import html
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "pictures"
STYLE = """
text { font: 14px system-ui, "DejaVu Sans", sans-serif; fill: #1f2421; }
.small { font-size: 12px; fill: #5c655f; }
.bold { font-weight: 700; }
.mono { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 13px; }
.box { fill: #ffffff; stroke: #68736c; stroke-width: 1.2; }
.r0 { fill: #d5e7f5; } .r1 { fill: #fbe3c4; } .r2 { fill: #d8ecd2; } .r3 { fill: #ecdcf0; }
.wait { stroke-dasharray: 4 3; }
.arrow { stroke: #3d6f9e; stroke-width: 1.8; fill: none; marker-end: url(#head); }
.back { stroke: #b0562b; stroke-width: 1.8; fill: none; marker-end: url(#headback); }
.life { stroke: #a7b0aa; stroke-width: 1.2; stroke-dasharray: 3 4; }
#head path { fill: #3d6f9e; } #headback path { fill: #b0562b; }
@media (prefers-color-scheme: dark) {
  text { fill: #e3e9e6; } .small { fill: #a9b4ae; }
  .box { fill: #20282b; stroke: #8d9993; }
  .r0 { fill: #1d3e57; } .r1 { fill: #5a3f17; } .r2 { fill: #274a22; } .r3 { fill: #46304c; }
  .arrow { stroke: #7fbcf0; } .back { stroke: #f0a078; } .life { stroke: #59645e; }
  #head path { fill: #7fbcf0; } #headback path { fill: #f0a078; }
}
"""
HEADS = "".join(f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z"/></marker>'
                for name in ("head", "headback"))


class Picture:
    def __init__(self, name, title, width, height):
        self.name, self.parts = name, []
        self.head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
                     f'aria-label="{html.escape(title)}"><title>{html.escape(title)}</title><style>{STYLE}</style><defs>{HEADS}</defs>\n')

    def text(self, x, y, words, kind="", anchor="middle"):
        self.parts.append(f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>')

    def box(self, x, y, width, height, words="", kind="", label="", round=4):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{round}" class="box {kind}"/>')
        self.text(x + width / 2, y + height / 2 + 5, words, label)

    def path(self, way, kind="arrow"):
        self.parts.append(f'<path d="{way}" class="{kind}"/>')

    def arrow(self, x1, y1, x2, y2, kind="arrow"):
        self.path(f"M{x1} {y1}L{x2} {y2}", kind)

    def save(self):
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{self.name}.svg").write_text(self.head + "\n".join(self.parts) + "\n</svg>\n")


def slots():
    p = Picture("slots", "Three ranks, two slots each. Ranks 0 and 1 have published round 13; rank 2 still computes", 760, 330)
    state = ["published 13, waits", "published 13, waits", "still computes"]
    for rank, odd in enumerate((13, 13, 11)):
        x = 20 + 250 * rank
        p.text(x + 105, 24, f"rank {rank}", "bold")
        p.text(x + 105, 42, state[rank], "small")
        for i, (name, number) in enumerate((("even", 12), ("odd", odd))):
            p.box(x + 105 * i, 56, 100, 62, "", f"r{rank}" + (" wait" if number == 11 else ""))
            p.text(x + 105 * i + 50, 77, f"round {number}", "bold")
            p.text(x + 105 * i + 50, 96, "call, payload", "small")
            p.text(x + 105 * i + 50, 134, f"{name} rounds", "small")
    p.text(380, 166, "one unnamed file, mapped by all ranks; each rank writes its own two slots only", "small")
    for i, (head, one, two) in enumerate((("1 publish", "write call and payload,", "then store the number 13"),
                                          ("2 wait", "until the odd slot of", "every rank shows 13"),
                                          ("3 read", "compare the calls, fold the", "payloads in rank order"))):
        x = 20 + 250 * i
        p.box(x, 196, 205, 74)
        p.text(x + 102, 218, head, "bold")
        p.text(x + 102, 238, one, "small")
        p.text(x + 102, 256, two, "small")
        if i < 2:
            p.arrow(x + 207, 233, x + 248, 233)
    p.text(380, 302, "Round 14 uses the even slots. Nobody overwrites a payload that is still read: a slot is used again", "small")
    p.text(380, 319, "two rounds later, and by then every rank has shown that it finished reading.", "small")
    p.save()


def sequence(name, title, actors, messages, height):
    """Actors at columns; messages (from, to, words, kind) or (at, words) from above to below."""
    p = Picture(name, title, 760, height)
    at = [120 + 260 * i for i in range(len(actors))]
    for x, words in zip(at, actors):
        p.box(x - 95, 10, 190, 34, words, "", "bold")
        p.path(f"M{x} 44L{x} {height - 12}", "life")
    y = 74
    for message in messages:
        if len(message) == 2:
            p.box(at[message[0]] - 112, y - 16, 224, 28, message[1], f"r{message[0]}", "small")
        else:
            start, end, words, kind = message
            p.text((at[start] + at[end]) / 2, y - 6, words, "small")
            p.arrow(at[start], y + 2, at[end], y + 2, kind)
        y += 38
    p.save()


def joins():
    sequence("join-shm", "How ranks join over shared memory", ["rank 0", "/dev/shm", "the other ranks"], [
        (0, "reserves, fills, locks a file"),
        (0, 1, "gives it the name", "arrow"),
        (2, 1, "open the name, check owner and layout", "arrow"),
        (2, 1, "map it, claim their rank: joined", "arrow"),
        (0, "sees that all have joined"),
        (0, 1, "removes the name, raises \"ready\"", "arrow"),
        (1, 2, "ready", "back"),
        (1, "no entry is left: the job runs")], 380)
    sequence("join-tcp", "How ranks join over sockets", ["rank 0", "rank r", "rank r + 1"], [
        (1, 0, "hello: rank, ranks, a random number", "arrow"),
        (0, 1, "challenge: a random number", "back"),
        (1, 0, "proof: HMAC with the token as key", "arrow"),
        (0, 1, "welcome: rank 0's own proof, the job's id", "back"),
        (0, "has everyone: the table is complete"),
        (0, 1, "table: where your neighbour listens", "back"),
        (1, 2, "the same handshake: a link of the ring", "arrow"),
        (0, "first allreduce: all links are up")], 380)


def ring():
    p = Picture("ring", "A large allreduce and a large allgatherv on four ranks", 760, 330)
    p.text(185, 22, "allreduce: a chain, folded in rank order", "bold")
    for rank in range(4):
        p.box(20 + 95 * rank, 66, 62, 40, f"rank {rank}", f"r{rank}")
        if rank < 3:
            p.arrow(84 + 95 * rank, 78, 113 + 95 * rank, 78)
            p.arrow(113 + 95 * rank, 96, 84 + 95 * rank, 96, "back")
    p.text(185, 54, "folds go up: x0, x0 + x1, x0 + x1 + x2, ...", "small")
    p.text(185, 128, "the result comes back down, at the same time", "small")
    p.text(185, 172, "B bytes each way over each link,", "small")
    p.text(185, 190, "whatever the number of ranks;", "small")
    p.text(185, 208, "the order of the operands is fixed.", "small")
    p.text(570, 22, "allgatherv: round the ring", "bold")
    places = [(540, 56), (660, 136), (540, 216), (420, 136)]
    for rank, (x, y) in enumerate(places):
        p.box(x - 36, y - 20, 72, 40, f"rank {rank}", f"r{rank}")
    p.path("M578 62Q636 72 652 114")
    p.path("M652 158Q636 206 578 214")
    p.path("M502 214Q444 204 428 158")
    p.path("M428 114Q444 70 502 60")
    p.text(540, 130, "each rank sends its own", "small")
    p.text(540, 147, "part, then what it gets", "small")
    p.text(380, 280, "Small operations (up to 32 KiB) take a star instead: one message to rank 0, one back.", "small")
    p.text(380, 298, "Two ranks talk to each other directly.", "small")
    p.save()


def iteration():
    p = Picture("iteration", "One iteration of SDDP on two ranks with four trajectories", 760, 420)
    p.text(20, 24, "1 forward", "bold", "start")
    p.text(125, 24, "each rank walks its trajectories through the stages, one LP per step; no communication", "small", "start")
    for m in range(4):
        y = 40 + 34 * m
        p.text(150, y + 18, f"rank {m // 2}, trajectory {m + 1}", "small", "end")
        for t in range(4):
            p.box(170 + 145 * t, y, 96, 26, f"stage {t + 1}", f"r{m // 2}", "small")
            if t < 3:
                p.arrow(268 + 145 * t, y + 13, 313 + 145 * t, y + 13)
    p.text(20, 206, "2 backward", "bold", "start")
    p.text(125, 206, "from the last stage to the first: all outcomes at the visited states give cuts", "small", "start")
    for r in range(2):
        y = 222 + 34 * r
        p.text(150, y + 18, f"rank {r}", "small", "end")
        for t in range(4):
            p.box(170 + 145 * t, y, 96, 26, f"cuts for {t}" if t else "waits" if r else "bound", f"r{r}" + (" wait" if t == 0 and r else ""), "small")
            if t:
                p.arrow(170 + 145 * t, y + 13, 125 + 145 * t + 2, y + 13, "back")
    for t in range(1, 4):
        p.box(170 + 145 * t, 296, 96, 26, "gather", "", "small")
        p.arrow(218 + 145 * t, 284, 218 + 145 * t, 294)
    p.text(150, 314, "into the pool of cuts", "small", "end")
    p.text(20, 356, "3 agree", "bold", "start")
    p.text(125, 356, "one exchange: exact sums of the costs, the bound, where each LP starts next; the rules decide", "small", "start")
    p.text(125, 380, "So all ranks know the same, and the policy is the same to the bit on any number of ranks.", "small", "start")
    p.save()


if __name__ == "__main__":
    slots()
    joins()
    ring()
    iteration()
