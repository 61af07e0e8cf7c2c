#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SOURCE_DIR: what does a new kind of hydrothermal elements cost? A copy of the tree gets one: its file and one line.
# Then its table must be read, checked and changed, and its generation must be in the optimum.
. "$(dirname "$0")/../kit/copied_tree.sh"
case=$work/case
line='    X(RENEWABLE, renewable) \'

# wrong FILE OLD NEW TEXT: with this mistake in the case `cobre validate` says TEXT
wrong() {
    local file=$case/$1 text=$4
    cp "$file" "$work/good"
    sed -i "s/$2/$3/" "$file"
    cmp -s "$file" "$work/good" && fail "$1 has no '$2'"
    says "$text" "$build/cobre" validate "$case"
    cp "$work/good" "$file"
}

mkdir "$tree" "$case"
cp -r "$source_dir"/{CMakeLists.txt,cmake,docs,examples,include,man,src} "$tree"
cp "$source_dir/tests/element/renewables.c" "$tree/src/sddp/read/hydro/elements"
sed -i "/^    X(THERMAL, thermal)/a\\${line//\\/\\\\}" "$tree/src/sddp/read/hydro/hydro.h"
[ "$(diff -r "$source_dir/src" "$tree/src" | grep -c '^[<>O]')" = 2 ] || fail "it is not one file and one line"

cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCOBRE_CLP=OFF -DCOBRE_HIGHS=OFF -DCOBRE_MPI=OFF -DCOBRE_SHM=OFF \
    -DCOBRE_TCP=OFF -DCOBRE_PYTHON=OFF -DBUILD_TESTING=OFF >"$work/log" 2>&1 && cmake --build "$build" -j2 --target cobre-cli cobre-lp-glpk >"$work/log" 2>&1 || { cat "$work/log" && fail "it is not built"; }

# Two stages of an hour: 30 MW at 10 and 70 at 50, then 60 at 10 and 40 at 50.
echo '{"stages": 2, "duration": 1, "units": "energy", "subsystems": ["main"]}' >"$case/case.json"
printf '%s\n' main 100 >"$case/load.csv"
printf '%s\n' thermal,subsystem,cost coal,main,50 >"$case/thermals.csv"
printf '%s\n' renewable,subsystem,max,cost wind,main,30,10 >"$case/renewables.csv"
printf '%s\n' stage,table,name,column,value 2,renewables,wind,max,60 >"$case/changes.csv"
says '0 hydros, 1 thermal, 1 renewable, 0 exchanges' "$build/cobre" validate "$case"
says "bound     6400.00000 (lower)" "$build/cobre" train "$case" --iterations 1 --out "$work/out"
says '2 trajectories' "$build/cobre" simulate "$case" --policy "$work/out/policy.cobre" --trajectories 2
says 'variables,renewable_generation,subsystem,main,MW,2,2,,2,60,' cat "$work/out/statistics.csv"
says 'costs,cost,component,renewable_generation,$,,,,2,900,' cat "$work/out/statistics.csv"

wrong renewables.csv main,30 main,-30 'renewables.csv:2: column max: -30 is below 0 -- give the most generation in MW, from 0 on'
wrong renewables.csv wind,main wind,man 'renewables.csv:2: column subsystem: unknown subsystem "man"; closest name: main'
wrong renewables.csv 30,10 '30,10\nwind,main,1,1' 'renewables.csv:3: column renewable: "wind" is there twice'
wrong renewables.csv max,cost max,price 'renewables.csv:1: column price: unknown column "price"; known here: renewable, subsystem, min, max, cost'
wrong changes.csv wind,max wind,cost 'changes.csv:2: column column: "cost" of renewables cannot change -- use one of: min, max'
wrong changes.csv wind,max,60 sun,max,60 'changes.csv:2: column name: unknown renewable "sun"; known are: wind -- correct the name, or add it to renewables.csv'
wrong changes.csv max,60 min,60 'changes.csv:2: renewable wind: min 60 is above max 30'
rm "$case/changes.csv"
wrong renewables.csv max,cost 'min,max,cost/; s/main,30/main,110,120' 'renewables.csv: stage 1, subsystem main: its renewables generate at least 110 MW'
mv "$case/renewables.csv" "$case/renewable.csv"
says 'renewable.csv: unknown table; closest name: renewables.csv' "$build/cobre" validate "$case"
