# SPDX-License-Identifier: MIT
# The applications in apps/: verbs of the command. Those that need OpenBLAS and LAPACKE are a module, build/libthrum-dense.so,
# which the command loads when it is asked for one of them; its own functions are what the module finds in it.

# Their tasks (apps/*/tasks.c) are part of the command, since simulation needs no OpenBLAS.
file(GLOB app_sources CONFIGURE_DEPENDS apps/*.c apps/common/*.c apps/life/*.c apps/kmeans/*.c apps/*/tasks.c)
list(REMOVE_DUPLICATES app_sources)
target_sources(thrum_command PRIVATE ${app_sources})
target_include_directories(thrum_command PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/apps)
target_link_libraries(thrum_command PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(thrum_command PROPERTIES ENABLE_EXPORTS ON)

pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
pkg_check_modules(LAPACKE QUIET IMPORTED_TARGET lapacke)
if(NOT OPENBLAS_FOUND OR NOT LAPACKE_FOUND)
    message(NOTICE "`thrum cholesky` and `thrum qr` are not built: they need OpenBLAS and LAPACKE, which pkg-config does not "
                   "find (`make setup` installs them; on Debian they are the packages libopenblas-dev and liblapacke-dev).")
    return()
endif()

file(GLOB dense_sources CONFIGURE_DEPENDS apps/cholesky/*.c apps/qr/*.c)
list(FILTER dense_sources EXCLUDE REGEX "/tasks\\.c$")
add_library(thrum_dense MODULE ${dense_sources})
target_compile_definitions(thrum_dense PRIVATE _GNU_SOURCE=)
target_include_directories(thrum_dense PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/apps)
target_link_libraries(thrum_dense PRIVATE thrum_command thrum PkgConfig::OPENBLAS PkgConfig::LAPACKE m)
set_target_properties(thrum_dense PROPERTIES
    OUTPUT_NAME thrum-dense
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    INSTALL_RPATH $ORIGIN)
install(TARGETS thrum_dense LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
