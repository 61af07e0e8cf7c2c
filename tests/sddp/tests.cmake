# The trainer: parts, reference cases with each solver, the same bits on any number of ranks, resume. Included by
# tests/CMakeLists.txt.
set(sddp_solvers "")
foreach(solver glpk clp)
    string(TOUPPER ${solver} option)
    if(COBRE_${option})
        list(APPEND sddp_solvers ${solver})
    endif()
endforeach()

function(look_inside_sddp name)
    target_include_directories(${name} PRIVATE sddp)
    target_compile_definitions(${name} PRIVATE COBRE_SOURCE="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name} PRIVATE cobre-sddp-static)
endfunction()

# add_sddp_program(NAME SOURCE...): may look inside the trainer.
function(add_sddp_program name)
    add_program(${name} ${ARGN})
    look_inside_sddp(${name})
endfunction()

add_parts(hydro_parts sddp/hydro_kit.c)
add_parts(cases_parts sddp/cases.c sddp/cases_brazil.c)
add_parts(extensive_parts sddp/extensive.c)
foreach(parts hydro_parts cases_parts extensive_parts)
    look_inside_sddp(${parts})
endforeach()

# Cases: tables, the programs they become, mistakes, and values that are known
foreach(test csv case errors bounds)
    add_sddp_program(hydro_${test} sddp/test_hydro_${test}.c $<TARGET_OBJECTS:hydro_parts>)
    target_link_libraries(hydro_${test} PRIVATE cmocka)
    add_case(hydro_${test} hydro_${test})
endforeach()
add_sddp_program(sof sddp/test_sof.c $<TARGET_OBJECTS:hydro_parts>)
target_link_libraries(sof PRIVATE cmocka PkgConfig::jansson)
add_case(sof sof)
add_case(hydro_bounds_slow hydro_bounds slow)
case_properties(hydro_bounds_slow TIMEOUT 300 LABELS slow)
if(COBRE_SANITIZE)
    case_properties(hydro_bounds LABELS slow)
endif()

set(sddp_cases $<TARGET_OBJECTS:cases_parts>)
add_sddp_program(sddp_parts sddp/test_parts.c ${sddp_cases})
target_link_libraries(sddp_parts PRIVATE cmocka)
add_case(sddp_parts sddp_parts)

add_sddp_program(sddp_options sddp/test_options.c kit/check.c)
add_case(sddp_options sddp_options)

add_sddp_program(sddp_reference sddp/reference.c $<TARGET_OBJECTS:extensive_parts> ${sddp_cases})
set(small fast_hydro_thermal fast_production_management fast_quickstart mccardle_farm reservoir_1 reservoir_2
    reservoir_4 cvar_1d_10 cvar_1d_50 cvar_1d_90 cvar_1d_neutral all_noise)
set(large reservoir_20 reservoir_infinite stock multistock)
set(slow brazil_T3 brazil_60 brazil_60_0 brazil_60_125 brazil_60_25 brazil_60_375 brazil_60_625 brazil_60_75 brazil_60_875)
set(runs "mccardle_farm passes=5 iterations=30" "reservoir_infinite passes=6 iterations=20" "cvar_1d_50 passes=8 iterations=20"
    "reservoir_20 passes=8 iterations=20 rule=7" "multistock passes=7 iterations=12 multi=1"
    "cvar_1d_10 passes=5 iterations=10 multi=1")
if(COBRE_SANITIZE) # where CLP takes ten times as long: the quick ones, which go everywhere
    list(FILTER small EXCLUDE REGEX cvar)
    list(FILTER runs INCLUDE REGEX farm)
    set(large "")
    set(slow "")
endif()
foreach(case ${small})
    add_case(sddp_extensive_${case} sddp_reference ${case} extensive)
endforeach()
foreach(solver ${sddp_solvers})
    foreach(case ${small} ${large})
        add_case(sddp_reference_${case}.${solver} sddp_reference ${case} ${solver})
        add_case(sddp_reference_${case}.${solver}.multi sddp_reference ${case} ${solver} multi)
    endforeach()
    foreach(case ${slow})
        add_case(sddp_reference_${case}.${solver} sddp_reference ${case} ${solver})
        case_properties(sddp_reference_${case}.${solver} LABELS slow TIMEOUT 600)
    endforeach()
endforeach()

add_sddp_program(sddp_random sddp/random.c $<TARGET_OBJECTS:extensive_parts>)
set(problems 30)
if(COBRE_SANITIZE)
    set(problems 8)
endif()
add_case(sddp_random sddp_random ${problems})
add_case(sddp_random_slow sddp_random 1000)
case_properties(sddp_random_slow LABELS slow TIMEOUT 3000)

add_sddp_program(sddp_driver sddp/driver.c sddp/starve.c $<TARGET_OBJECTS:nap_parts> ${sddp_cases})
target_link_options(sddp_driver PRIVATE ${runner_exports} -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
set(cobre $<TARGET_FILE:cobre-cli>)
set(driver $<TARGET_FILE:sddp_driver>)
add_case(sddp_resume sddp/resume.sh ${cobre} ${driver})
foreach(backend shm tcp)
    string(TOUPPER ${backend} option)
    if(COBRE_${option})
        add_case(sddp_starve.${backend} sddp/starve.sh ${cobre} ${driver} ${backend} ${PROJECT_SOURCE_DIR}/cases/gas.sof.json)
    endif()
endforeach()

# Cuts and openings are in memory once a host.
if(COBRE_SHM AND NOT COBRE_SANITIZE)
    add_program(sddp_memory ${PROJECT_SOURCE_DIR}/bench/memory.c)
    target_link_libraries(sddp_memory PRIVATE cobre-sddp-static)
    add_case(sddp_memory ${PROJECT_SOURCE_DIR}/bench/memory.py ${cobre} $<TARGET_FILE:sddp_memory>)
endif()

# The determinism matrix: all by one script. Jobs of an MPI are cases of their own, because ranks that wait poll.
set(jobs "local 1")
if(COBRE_SHM)
    string(APPEND jobs ",shm 2,shm 4,shm 3")
endif()
if(COBRE_TCP)
    string(APPEND jobs ",tcp 2,tcp 4")
endif()
set(jobs_openmpi "openmpi 2,openmpi 2")
set(jobs_mpich "mpich 4,mpich 2")
foreach(solver ${sddp_solvers})
    foreach(run ${runs})
        separate_arguments(run)
        list(GET run 0 case)
        set(name sddp_determinism_${case}.${solver})
        add_case(${name} sddp/determinism.sh ${cobre} ${driver} ${jobs} ${run} solver=${solver})
        foreach(mpi openmpi mpich)
            if(TARGET cobre-mpi-${mpi})
                add_case(${name}.${mpi} sddp/determinism.sh ${cobre} ${driver} ${jobs_${mpi}} ${run} solver=${solver})
                case_properties(${name}.${mpi} PROCESSORS 8)
            endif()
        endforeach()
    endforeach()
endforeach()

# What takes long for what it shows beside the others
foreach(name sddp_reference_multistock.clp.multi sddp_reference_multistock.glpk.multi sddp_determinism_multistock.clp
        sddp_determinism_multistock.glpk sddp_determinism_multistock.glpk.openmpi
        sddp_determinism_multistock.glpk.mpich sddp_determinism_multistock.clp.openmpi sddp_determinism_multistock.clp.mpich
        sddp_determinism_cvar_1d_50.clp.openmpi sddp_determinism_cvar_1d_50.clp.mpich
        sddp_determinism_reservoir_20.clp.openmpi sddp_determinism_reservoir_20.clp.mpich
        sddp_determinism_reservoir_infinite.clp.openmpi sddp_determinism_reservoir_infinite.clp.mpich)
    if(TEST ${COBRE_TEST_PREFIX}${name})
        case_properties(${name} LABELS slow)
    endif()
endforeach()
