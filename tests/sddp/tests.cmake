# The trainer: parts, reference cases with each solver, the same bits on any number of ranks, resume. Included by
# tests/CMakeLists.txt.
set(sddp_solvers "")
foreach(solver glpk clp)
    string(TOUPPER ${solver} option)
    if(COBRE_${option})
        list(APPEND sddp_solvers ${solver})
    endif()
endforeach()

# A solver that fails now and then, as a plugin that only the tests find, in two versions. tests/cli/test_solvers.sh has it.
if(COBRE_GLPK)
    add_lp_plugin(shaky sddp/shaky.c ${lp_glpk_libraries} m)
    add_lp_plugin(shaky2 sddp/shaky.c ${lp_glpk_libraries} m)
    target_compile_definitions(cobre-lp-shaky PRIVATE SHAKY_VERSION="1.0")
    target_compile_definitions(cobre-lp-shaky2 PRIVATE SHAKY_VERSION="2.0")
    set_target_properties(cobre-lp-shaky PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/lp)
    set_target_properties(cobre-lp-shaky2 PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/lp/newer OUTPUT_NAME
        cobre-lp-shaky)
endif()

function(look_inside_sddp name)
    target_compile_definitions(${name} PRIVATE COBRE_SOURCE="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name} PRIVATE cobre-sddp-static)
endfunction()

# add_sddp_program(NAME SOURCE...): may look inside the trainer.
function(add_sddp_program name)
    add_program(${name} ${ARGN})
    look_inside_sddp(${name})
endfunction()

add_parts(hydro_parts sddp/hydro_kit.c)
add_parts(cases_parts sddp/cases.c)
add_parts(extensive_parts sddp/extensive.c)
foreach(parts hydro_parts cases_parts extensive_parts)
    look_inside_sddp(${parts})
endforeach()

set(hydro_kit $<TARGET_OBJECTS:hydro_parts> $<TARGET_OBJECTS:check_parts>)

# Cases: tables, the programs they become, mistakes, and values that are known
foreach(test csv case errors)
    add_sddp_program(hydro_${test} sddp/test_hydro_${test}.c ${hydro_kit})
    add_case(hydro_${test} hydro_${test})
endforeach()
add_sddp_program(sof sddp/test_sof.c ${hydro_kit})
add_case(sof sof)
set(sddp_cases $<TARGET_OBJECTS:cases_parts> ${hydro_kit})
add_sddp_program(sddp_parts sddp/test_parts.c ${sddp_cases})
add_case(sddp_parts sddp_parts)

add_sddp_program(sddp_api sddp/test_api.c kit/error_json.c ${hydro_kit})
add_case(sddp_api sddp_api)
add_case(sddp_api_ranks $<TARGET_FILE:cobre-cli> run -n 2 -- $<TARGET_FILE:sddp_api> failure_of_rank_1)

add_sddp_program(sddp_options sddp/test_options.c kit/check.c)
add_case(sddp_options sddp_options)

add_sddp_program(sddp_reference sddp/reference.c $<TARGET_OBJECTS:extensive_parts> ${sddp_cases})
set(reference_tests ${CMAKE_CURRENT_BINARY_DIR}/sddp_reference.cmake)
set(only "")
if(COBRE_SANITIZE) # where CLP takes ten times as long
    set(only quick)
endif()
add_custom_command(TARGET sddp_reference POST_BUILD VERBATIM COMMAND ${CMAKE_COMMAND}
    -DPROGRAM=$<TARGET_FILE:sddp_reference> -DONLY=${only} -DPREFIX=${COBRE_TEST_PREFIX}sddp_ -DTIMEOUT=600
    -DOUTPUT=${reference_tests} -P ${PROJECT_SOURCE_DIR}/cmake/discover.cmake)
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${reference_tests})

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
set(starve_slow shm) # so that `make test` does each backend once: tcp here, shm with the sanitizer
if(COBRE_SANITIZE)
    set(starve_slow tcp)
endif()
foreach(backend shm tcp)
    string(TOUPPER ${backend} option)
    if(COBRE_${option})
        add_case(sddp_starve.${backend} sddp/starve.sh ${cobre} ${driver} ${backend} ${PROJECT_SOURCE_DIR}/cases/gas.sof.json)
        case_properties(sddp_starve.${backend} TIMEOUT 1200)
        if(backend STREQUAL starve_slow)
            case_properties(sddp_starve.${backend} LABELS slow)
        endif()
    endif()
endforeach()

# Cuts and openings are in memory once a host.
if(COBRE_SHM AND NOT COBRE_SANITIZE)
    add_program(sddp_memory sddp/memory.c)
    target_link_libraries(sddp_memory PRIVATE cobre-sddp-static)
    add_case(sddp_memory sddp/memory.py ${cobre} $<TARGET_FILE:sddp_memory>)
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
set(runs "mccardle_farm passes=5 iterations=30" "reservoir_infinite passes=6 iterations=20" "cvar_1d_50 passes=8 iterations=20"
    "reservoir_20 passes=8 iterations=20 rule=7" "multistock passes=7 iterations=12 multi=1"
    "cvar_1d_10 passes=5 iterations=10 multi=1")
if(COBRE_SANITIZE)
    list(FILTER runs INCLUDE REGEX farm)
endif()
foreach(solver ${sddp_solvers})
    foreach(run ${runs})
        separate_arguments(run)
        list(GET run 0 case)
        set(name sddp_determinism_${case}.${solver})
        add_case(${name} sddp/determinism.sh ${cobre} ${driver} ${jobs} ${run} solver=${solver})
        if(case STREQUAL "multistock" OR (COBRE_SANITIZE AND solver STREQUAL "clp")) # which takes long for what it shows
            case_properties(${name} LABELS slow)
        endif()
        foreach(mpi openmpi mpich)
            if(TARGET cobre-mpi-${mpi})
                add_case(${name}.${mpi} sddp/determinism.sh ${cobre} ${driver} ${jobs_${mpi}} ${run} solver=${solver})
                case_properties(${name}.${mpi} PROCESSORS 8)
                if(NOT case MATCHES "^(mccardle_farm|cvar_1d_10)$") # those show single cuts and multi-cuts
                    case_properties(${name}.${mpi} LABELS slow)
                endif()
            endif()
        endforeach()
    endforeach()
endforeach()
