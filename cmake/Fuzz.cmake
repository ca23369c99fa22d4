# SPDX-License-Identifier: MIT
# Programs of tests/fuzz for libFuzzer: build/fuzz/NAME. They see the public headers only. The library is compiled with the
# counters that libFuzzer reads, and with sanitizers; the compiler is clang.

if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "THRUM_FUZZ needs clang, which has libFuzzer: -DCMAKE_C_COMPILER=clang.")
endif()
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*.c)
foreach(source IN LISTS fuzz_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(fuzz_${name} ${source})
    target_compile_definitions(fuzz_${name} PRIVATE _GNU_SOURCE=)
    target_link_libraries(fuzz_${name} PRIVATE thrum_static m)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(fuzz_${name} PROPERTIES
        OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
endforeach()
