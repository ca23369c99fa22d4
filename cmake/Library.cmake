# SPDX-License-Identifier: MIT
# libthrum, shared and static, from objects that are compiled once.

add_library(thrum_objects OBJECT ${thrum_sources})
target_include_directories(thrum_objects PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
# Empty, so that a file which defines it too does not redefine it.
target_compile_definitions(thrum_objects PRIVATE _GNU_SOURCE=)
# initial-exec: the library is linked or preloaded, and its thread-local variables cost one load.
target_compile_options(thrum_objects PRIVATE -ftls-model=initial-exec -fno-semantic-interposition)
# The loop over tasks takes a few nanoseconds a turn, and up to an eighth more where its jumps happen to lie badly: so where they
# lie does not depend on the code around it (docs/benchmarking.md).
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/exec/run.c PROPERTIES COMPILE_OPTIONS
        "-falign-functions=64;-falign-loops=32;-falign-jumps=32")
endif()
target_link_libraries(thrum_objects PRIVATE PkgConfig::HWLOC Threads::Threads m)
set_target_properties(thrum_objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)

add_library(thrum SHARED $<TARGET_OBJECTS:thrum_objects>)
add_library(thrum_static STATIC $<TARGET_OBJECTS:thrum_objects>)
add_library(thrum::thrum ALIAS thrum)
add_library(thrum::thrum_static ALIAS thrum_static)

foreach(library thrum thrum_static)
    target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PRIVATE PkgConfig::HWLOC Threads::Threads m ${CMAKE_DL_LIBS})
    set_target_properties(${library} PROPERTIES
        OUTPUT_NAME thrum
        LINKER_LANGUAGE C
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endforeach()
set_target_properties(thrum PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT THRUM_SANITIZE) # a sanitizer's functions are found in the program
    target_link_options(thrum PRIVATE -Wl,--no-undefined)
endif()
