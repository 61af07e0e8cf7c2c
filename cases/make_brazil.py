#!/usr/bin/env python3
"""Makes the Brazilian cases from the tables of msppy.

    cases/make_brazil.py DATA       writes brazil3, brazil60 and brazil_ar beside itself

DATA is the folder doc/source/examples/hydro_thermal/data of https://github.com/lingquant/msppy, made here with commit
bdb10ef7a674a673d7838c3efc7ec58c33e431aa. BSD-3-Clause, Copyright 2019 Lingquan Ding (LICENSE.msppy). The data are those of
Shapiro, Tekaya, da Costa and Soares (EJOR 224, 2013, 375-391).

brazil3    3 stages, as published with msppy: optimum 782309.1877977113
brazil60   60 stages, as published with SDDP.jl (papers/biobjective_sddp): no discount, no cost of spill and exchange, a
           deficit cost by subsystem, and the equally weighted objective
               0.5 * 0.01 / 60 * deficit cost + 0.5 * 0.1 / 60 * thermal cost,
           which is `cost_scale` 0.05 / 60 with deficit costs divided by 10; --weight W is another weight of deficits
brazil_ar  brazil3 over 120 stages, with msppy's autoregressive model of the inflows instead of their history

The tables: hydro.csv has the largest storage and generation and the initial storage, demand.csv 12 months of four
subsystems, deficit.csv four tiers, exchange.csv and exchange_cost.csv 5 x 5 lines, thermal_0 to _3 the plants, hist_0 to _3
the energy inflows of each month (with ';'), gamma, exp_mu and sigma_0 to _11 the fitted model.

Traps. The published runs began with an older initial inflow than the one in hydro.csv today; SDDP.jl has a digit less in
its fourth value. SDDP.jl pairs the inflow of month m with the load of month m + 1: the load is moved here, so that
season 1 is January of the history in all cases. 1983 is NA in three of the four histories, so it is left out of all:
82 years remain, 1931 to 2013 (msppy drops it the same way).
"""
import argparse
import csv
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
AREAS = ["SE", "S", "NE", "N"]
NODES = AREAS + ["IMP"]
FIRST_INFLOW = [39717.564, 6632.5141, 15897.183, 2525.2938]
FIRST_INFLOW_SDDP_JL = FIRST_INFLOW[:3] + [2525.938]


def read(name, delimiter=","):
    with open(os.path.join(OPTIONS.data, name), encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def write(folder, name, header, rows):
    with open(os.path.join(folder, name), "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header] + rows)


def write_json(folder, value):
    with open(os.path.join(folder, "case.json"), "w") as file:
        json.dump(value, file, indent=4)
        file.write("\n")


def hydros(folder, first_inflow, spill_cost):
    rows = {row[0]: row[1:] for row in read("hydro.csv")[1:]}
    write(folder, "hydros.csv",
          ["hydro", "subsystem", "storage_max", "storage_initial", "turbine_max", "spill_cost", "first_inflow"],
          [[area, area, *rows[f"StoredEnergy_{i}"], rows[f"hydro_{i}"][0], spill_cost, first_inflow[i]]
           for i, area in enumerate(AREAS)])


def thermals(folder):
    write(folder, "thermals.csv", ["thermal", "subsystem", "min", "max", "cost"],
          [[f"{area}-{int(row[0]) + 1:02}", area, *row[1:]]
           for i, area in enumerate(AREAS) for row in read(f"thermal_{i}.csv")[1:]])


def exchanges(folder, with_cost):
    limits, costs = read("exchange.csv"), read("exchange_cost.csv")
    write(folder, "exchanges.csv", ["from", "to", "max", "cost"],
          [[NODES[i], NODES[j], limits[i + 1][j + 1], costs[i + 1][j + 1] if with_cost else 0]
           for i in range(5) for j in range(5) if float(limits[i + 1][j + 1]) > 0])


def load(folder, shift):
    rows = read("demand.csv")[1:]
    write(folder, "load.csv", ["season", *AREAS], [[s + 1, *rows[(s + shift) % 12][1:]] for s in range(12)])


def history(folder):
    tables = [{row[0]: row[1:] for row in read(f"hist_{i}.csv", ";")[1:]} for i in range(4)]
    write(folder, "history.csv", ["year", "season", *AREAS],
          [[year, month + 1, *(table[str(year)][month] for table in tables)]
           for year in range(1931, 2014) if year != 1983 for month in range(12)])


def deficits_by_tier(folder):
    write(folder, "deficits.csv", ["tier", "depth", "cost"],
          [[int(row[0]) + 1, row[2], row[1]] for row in read("deficit.csv")[1:]])


def deficits_by_subsystem(folder, factor):
    tiers = read("deficit.csv")[1:]
    write(folder, "deficits.csv", ["subsystem", "tier", "depth", "cost"],
          [[area, int(row[0]) + 1, row[2], f"{float(tiers[i][1]) * factor:.12g}"]
           for i, area in enumerate(AREAS) for row in tiers])


def case(name, stages, **more):
    return {"name": name, "units": "energy", "time_unit": "month", "stages": stages, "seasons": 12, **more,
            "subsystems": AREAS, "transshipment": ["IMP"]}


def make_msppy(name, title, stages, inflow):
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    write_json(folder, {**case(title, stages, discount=0.9906), "inflow": inflow})
    hydros(folder, FIRST_INFLOW, 0.001)
    thermals(folder)
    exchanges(folder, True)
    load(folder, 0)
    deficits_by_tier(folder)
    return folder


def make_60(weight):
    folder = os.path.join(HERE, "brazil60")
    os.makedirs(folder, exist_ok=True)
    scale = (1 - weight) * 0.1 / 60
    write_json(folder, {**case("Brazil, 60 stages, weighted objective", 60, first_season=12, cost_scale=scale),
                        "inflow": {"source": "history"}})
    hydros(folder, FIRST_INFLOW_SDDP_JL, 0)
    thermals(folder)
    exchanges(folder, False)
    load(folder, 1)
    history(folder)
    deficits_by_subsystem(folder, 0.1 * weight / (1 - weight))


def autoregressive(folder):
    """eps * (mu + gamma * mu / mu_before * (a_before - mu_before)): the lognormal model, scaled by its means."""
    means, gamma = read("exp_mu.csv")[1:], read("gamma.csv")[1:]
    model, correlation = [], []
    for month in range(12):
        covariance = [[float(x) for x in row[1:]] for row in read(f"sigma_{month}.csv")[1:]]
        deviation = [covariance[i][i] ** 0.5 for i in range(4)]
        for i, area in enumerate(AREAS):
            model.append([area, month + 1, means[month][i + 1], gamma[month][i + 1], repr(deviation[i])])
            correlation.append([month + 1, area] + [1 if i == j else repr(covariance[i][j] / deviation[i] / deviation[j])
                                                    for j in range(4)])
    write(folder, "par.csv", ["hydro", "season", "mean", "phi1", "noise"], model)
    write(folder, "correlation.csv", ["season", "hydro", *AREAS], correlation)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="the folder with msppy's tables")
    parser.add_argument("--weight", type=float, default=0.5, help="of deficits in brazil60, below 1 (0.5)")
    return parser.parse_args()


def main():
    history(make_msppy("brazil3", "Brazil, 3 stages", 3, {"source": "history"}))
    make_60(OPTIONS.weight)
    autoregressive(make_msppy("brazil_ar", "Brazil, 120 stages, autoregressive inflows", 120,
                              {"source": "par", "noise": "lognormal", "openings": 100, "seed": 888}))


if __name__ == "__main__":
    OPTIONS = parse()
    main()
