# SPDX-License-Identifier: Apache-2.0
"""SVG plots by gnuplot: time over size, one line a contender, both axes logarithmic; one file a setting."""

import os
import shutil
import subprocess

from report import median

OPERATIONS = ("allreduce", "allgatherv", "broadcast")


def points(results, setting, operation, name):
    works = [work for work in results.works(setting) if work.operation == operation and not work.cold]
    found = [(work.size, results.samples(setting, work, name)) for work in works]
    return [(size, 1e6 * median(samples)) for size, samples in found if samples]


def panel(results, setting, operation):
    """The lines of gnuplot for one operation; regions are drawn with allgatherv."""
    lines = []
    for name in [*results.names(setting), "floor"]:
        lines.append((name, points(results, setting, operation, name)))
    if operation == "allgatherv":
        lines.append(("cobre, into a region", points(results, setting, "allgatherv_region", "cobre")))
    lines = [(name, data) for name, data in lines if len(data) > 1]
    blocks, draws = [], []
    for number, (name, data) in enumerate(lines):
        blocks.append(f"$line{number} << END\n" + "".join(f"{size} {time}\n" for size, time in data) + "END\n")
        width = 3 if name.startswith("cobre") else 1.5
        style = "dashtype 2 linecolor 'gray40'" if name == "floor" else f"linetype {number + 1}"
        draws.append(f"$line{number} with linespoints linewidth {width} pointsize 0.6 {style} title '{name}'")
    if not draws:
        return ""
    return "".join(blocks) + f"set title '{operation}'\nplot " + ", ".join(draws) + "\n"


def script(results, setting, path):
    panels = [text for text in (panel(results, setting, operation) for operation in OPERATIONS) if text]
    title = f"{setting.transport}, {setting.ranks} ranks: time of a call, slowest rank, warm buffers"
    return (
        f"set terminal svg size {420 * len(panels)},400 font 'sans,12' background 'white'\n"
        f"set output '{path}'\nset logscale xy\nset grid\nset key left top\n"
        "set xlabel 'bytes of the result'\nset ylabel 'microseconds'\nset format '10^{%L}'\n"
        f"set multiplot layout 1,{len(panels)} title '{title}'\n" + "".join(panels) + "unset multiplot\n"
    )


def write(results, settings, directory):
    if not shutil.which("gnuplot"):
        print("No plots: gnuplot is not installed (Debian: gnuplot-nox)")
        return
    os.makedirs(directory, exist_ok=True)
    for setting in settings:
        if setting.over_mpi() or not results.names(setting):
            continue
        text = script(results, setting, os.path.join(directory, f"{setting}.svg"))
        subprocess.run(["gnuplot"], input=text, text=True, check=True)
