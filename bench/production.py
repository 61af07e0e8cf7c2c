#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a case of the size that planners of a country have: 150 hydros in cascades, 100 thermals, 5 subsystems, 3 load blocks,
60 stages, 20 openings, and inflows by a periodic autoregressive model. All of it is drawn, and the same whenever it is.

    production.py FOLDER [--stages N] [--openings N]
"""

import argparse
import json
import math
import os
import random

HYDROS, THERMALS, STAGES, OPENINGS, SEASONS = 150, 100, 60, 20, 12
SHARES = {"SE": 0.45, "S": 0.2, "NE": 0.2, "N": 0.1, "W": 0.05}  # of the load
LINES = (("SE", "S", 8000), ("SE", "NE", 4000), ("SE", "W", 3000), ("NE", "N", 5000), ("N", "W", 2000))
BLOCKS = {"peak": (0.12, 1.15), "middle": (0.55, 1.02), "low": (0.33, 0.85)}  # of the time, and of the mean load
RIVERS = (18, 16, 15, 13, 12, 11, 10, 9, 8, 7, 6, 5, 5, 4, 4, 3, 2, 2)  # plants of each
LOAD = 60000  # MW, the mean of all subsystems


def wet(season):
    """Rain of a season, 1 in the mean: most of it falls around the first one."""
    return 1 + 0.5 * math.cos(2 * math.pi * (season - 1.5) / SEASONS)


def draw_plants(draw):
    """From source to mouth. Each has more water than the one above; the upper half of a river has the reservoirs."""
    plants = []
    for river, count in enumerate(RIVERS):
        subsystem = draw.choices(list(SHARES), SHARES.values())[0]
        flow = 0
        for place in range(count):
            inflow = draw.lognormvariate(3.6, 0.7) * (3 if place == 0 else 1)  # m3/s of its own, in the mean
            flow += inflow
            storage = flow * 2.6 * draw.uniform(1, 9) if place <= count // 2 else 0  # hm3: months of water
            plants.append({
                "hydro": f"R{river:02}P{place:02}", "subsystem": subsystem, "inflow": inflow, "river": river,
                "productivity": round(draw.uniform(0.2, 0.9), 4), "storage_min": round(0.15 * storage, 2),
                "storage_max": round(storage, 2), "storage_initial": round(draw.uniform(0.4, 0.8) * storage, 2),
                "turbine_max": round(flow * draw.uniform(1.2, 1.9), 1), "spill_cost": 0.01,
                "outflow_min": round(0.2 * flow, 1) if place % 4 == 1 else "",
                "outflow_penalty": 5000 if place % 4 == 1 else "",
                "downstream": f"R{river:02}P{place + 1:02}" if place + 1 < count else ""})
    return plants


def draw_thermals(draw, capacity):
    """A few large and cheap ones, many small and dear ones; half of the mean load together."""
    sizes = [draw.lognormvariate(0, 0.8) for _ in range(THERMALS)]
    rows = []
    for number, size in enumerate(sizes):
        most = round(capacity * size / sum(sizes), 1)
        least = round(draw.uniform(0.2, 0.5) * most, 1) if draw.random() < 0.25 else 0
        subsystem = draw.choices(list(SHARES), SHARES.values())[0]
        rows.append((f"T{number:03}", subsystem, least, most, round(draw.lognormvariate(5.2, 0.6), 2)))
    return rows


def par_rows(draw, plant):
    """A plant in each season. Every third one looks two stages back."""
    first = round(draw.uniform(0.35, 0.65), 4)
    second = round(draw.uniform(0.05, 0.15), 4) if plant["inflow"] % 1 < 1 / 3 else ""
    noise = round(math.sqrt(1 - (first + (second or 0)) ** 2), 4)
    for season in range(1, SEASONS + 1):
        mean = plant["inflow"] * wet(season)
        yield plant["hydro"], season, round(mean, 3), round(0.4 * mean, 3), noise, first, second


def write_case(folder, stages=STAGES, openings=OPENINGS):
    draw = random.Random(1)
    plants = draw_plants(draw)
    names = [plant["hydro"] for plant in plants]
    assert len(plants) == HYDROS

    def table(name, rows):
        with open(os.path.join(folder, name), "w") as file:
            file.writelines(",".join(map(str, row)) + "\n" for row in rows)

    def correlation(one, other):
        return 1 if one is other else 0.6 if one["river"] == other["river"] else 0.1

    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "case.json"), "w") as file:
        json.dump({"name": f"Production size: {HYDROS} hydros, {stages} stages", "units": "water", "stages": stages,
                   "seasons": SEASONS, "annual_rate": 0.1, "cost_scale": 1e-6, "subsystems": list(SHARES),
                   "inflow": {"source": "par", "openings": openings, "seed": 1}}, file, indent=4)
    columns = [key for key in plants[0] if key not in ("inflow", "river")]
    table("hydros.csv", [columns, *([plant[key] for key in columns] for plant in plants)])
    table("thermals.csv", [("thermal", "subsystem", "min", "max", "cost"), *draw_thermals(draw, LOAD / 2)])
    table("exchanges.csv", [("from", "to", "max", "cost", "loss"),
                            *((*ends, most, 0.01, 0.02) for one, other, most in LINES
                              for ends in ((one, other), (other, one)))])
    table("deficits.csv", [("tier", "depth", "cost"), (1, 0.05, 1500), (2, 0.05, 3200), (3, 0.1, 6500), (4, 0.8, 8000)])
    table("blocks.csv", [("block", "share"), *((block, share) for block, (share, _) in BLOCKS.items())])
    table("load.csv", [("season", "block", *SHARES),
                       *((season, block, *(round(LOAD * share * level * (1 + 0.06 * math.cos(season / 2)), 1)
                                           for share in SHARES.values()))
                         for season in range(1, SEASONS + 1) for block, (_, level) in BLOCKS.items())])
    rows = [row for plant in plants for row in par_rows(draw, plant)]
    table("par.csv", [("hydro", "season", "mean", "scale", "noise", "phi1", "phi2"), *rows])
    past = {name: [mean for hydro, season, mean, *_ in rows if hydro == name and season == SEASONS + 1 - lag][0]
            for lag in (1,) for name in names}
    table("past_inflows.csv", [("lag", *names), (1, *(round(0.8 * past[name], 2) for name in names)),
                               (2, *(round(0.7 * past[name], 2) for name in names))])
    table("correlation.csv", [("hydro", *names),
                              *((one["hydro"], *(correlation(one, other) for other in plants)) for one in plants)])


def main():
    parser = argparse.ArgumentParser(description="a case of production size")
    parser.add_argument("folder")
    parser.add_argument("--stages", type=int, default=STAGES)
    parser.add_argument("--openings", type=int, default=OPENINGS)
    options = parser.parse_args()
    write_case(options.folder, options.stages, options.openings)


if __name__ == "__main__":
    main()
