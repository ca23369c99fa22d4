# SPDX-License-Identifier: MIT
# libthrum-simgrid.so: the SimGrid engines of the simulators, a module that libthrum loads when it is asked for.

include(cmake/Cxx.cmake)
pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid>=3.32)
if(NOT SIMGRID_FOUND OR NOT CMAKE_CXX_COMPILER)
    message(NOTICE "The SimGrid engines of the simulators are not built: they need SimGrid 3.32 and a C++ compiler "
                   "(`make setup` installs them; on Debian they are the packages libsimgrid-dev and g++).")
    return()
endif()

file(GLOB simgrid_sources CONFIGURE_DEPENDS src/sim/simgrid/*.c src/sim/simgrid/*.cpp)
add_library(thrum_simgrid MODULE ${simgrid_sources})
target_include_directories(thrum_simgrid PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(thrum_simgrid PRIVATE PkgConfig::SIMGRID)
# Exceptions of SimGrid's pass through functions in C. Sanitizers do not follow its switches from stack to stack, so the module
# is built without. That is no harm: what it calls of libthrum for loops returns before the next switch, and the simulator of
# tasks is all that runs on its stack.
target_compile_options(thrum_simgrid PRIVATE -fexceptions)
if(THRUM_SANITIZE)
    target_compile_options(thrum_simgrid PRIVATE -fno-sanitize=all)
    target_link_options(thrum_simgrid PRIVATE -fno-sanitize=all)
endif()
set_target_properties(thrum_simgrid PROPERTIES
    OUTPUT_NAME thrum-simgrid
    LINKER_LANGUAGE CXX
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
install(TARGETS thrum_simgrid LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
