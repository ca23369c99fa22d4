# SPDX-License-Identifier: MIT
# What `make install` copies: headers, libraries, thrum.pc and the CMake package.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thrum)
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# thrum.pc finds its prefix from where it lies, so an installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --libs hwloc # unlike HWLOC_LDFLAGS without the system's own folders
                OUTPUT_VARIABLE pc_hwloc OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(cmake/thrum.pc.in ${PROJECT_BINARY_DIR}/thrum.pc @ONLY)
configure_package_config_file(cmake/thrumConfig.cmake.in ${PROJECT_BINARY_DIR}/thrumConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/thrumConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(DIRECTORY include/thrum DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS thrum EXPORT thrumTargets)
install(TARGETS thrum_static EXPORT thrumStaticTargets)
install(EXPORT thrumTargets NAMESPACE thrum:: DESTINATION ${package_dir})
# The static library needs hwloc at its user's link: its own file, so that users of the shared one do not need it.
install(EXPORT thrumStaticTargets NAMESPACE thrum:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/thrumConfig.cmake ${PROJECT_BINARY_DIR}/thrumConfigVersion.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/thrum.pc DESTINATION ${pc_dir})
