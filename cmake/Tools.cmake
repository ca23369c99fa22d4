# SPDX-License-Identifier: MIT
# The command `thrum`: build/thrum, runs from where it is built.

file(GLOB tool_sources CONFIGURE_DEPENDS tools/*.c)
pkg_check_modules(JANSSON QUIET IMPORTED_TARGET jansson)
if(NOT JANSSON_FOUND)
    message(NOTICE "The command `thrum` is not built: it needs jansson, which pkg-config does not find "
                   "(`make setup` installs it; on Debian it is the package libjansson-dev).")
elseif(tool_sources)
    add_executable(thrum_command ${tool_sources})
    target_compile_definitions(thrum_command PRIVATE _GNU_SOURCE=)
    target_link_libraries(thrum_command PRIVATE thrum PkgConfig::JANSSON Threads::Threads m)
    file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(thrum_command PROPERTIES
        OUTPUT_NAME thrum
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
        INSTALL_RPATH $ORIGIN/${bin_to_lib})
    install(TARGETS thrum_command)
    include(cmake/Apps.cmake)
endif()
