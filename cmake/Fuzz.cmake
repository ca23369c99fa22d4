# SPDX-License-Identifier: MIT
# Programs of tests/fuzz for libFuzzer: build/fuzz/NAME. They see the library from inside, and those that read what the command
# reads have its sources. All is compiled with the counters that libFuzzer reads, and with sanitizers; the compiler is clang.
# The target `fuzz` builds them and nothing else.

if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "THRUM_FUZZ needs clang, which has libFuzzer: -DCMAKE_C_COMPILER=clang.")
endif()
pkg_check_modules(JANSSON QUIET IMPORTED_TARGET jansson)
set(sources_of_dot tools/dot_read.c)
set(sources_of_trace tools/trace_read.c tools/common.c)
add_custom_target(fuzz)
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*.c)
foreach(source IN LISTS fuzz_sources)
    get_filename_component(name ${source} NAME_WE)
    if(DEFINED sources_of_${name} AND NOT JANSSON_FOUND)
        message(NOTICE "fuzz/${name} is not built: it needs jansson, which pkg-config does not find "
                       "(`make setup` installs it; on Debian it is the package libjansson-dev).")
        continue()
    endif()
    add_executable(fuzz_${name} ${source} ${sources_of_${name}})
    target_compile_definitions(fuzz_${name} PRIVATE _GNU_SOURCE=)
    target_include_directories(fuzz_${name} PRIVATE src tools)
    target_link_libraries(fuzz_${name} PRIVATE thrum_static $<TARGET_NAME_IF_EXISTS:PkgConfig::JANSSON> m)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(fuzz_${name} PROPERTIES
        OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    add_dependencies(fuzz fuzz_${name})
endforeach()
