# SPDX-License-Identifier: MIT
# The machines that come with thrum: machines/NAME.machine, in the library as bytes of a C file that is made here.

file(GLOB machine_files CONFIGURE_DEPENDS machines/*.machine)
list(SORT machine_files)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${machine_files})

set(machines_source ${PROJECT_BINARY_DIR}/machines.c)
set(machine_texts "")
set(machine_rows "")
foreach(file IN LISTS machine_files)
    get_filename_component(name ${file} NAME_WE)
    string(MAKE_C_IDENTIFIER "text_${name}" identifier)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(0a,)" "\\1\n" bytes "${bytes}")
    string(APPEND machine_texts "static const unsigned char ${identifier}[] = {\n${bytes}0};\n")
    string(APPEND machine_rows "    {\"${name}\", (const char *)${identifier}},\n")
endforeach()
file(CONFIGURE OUTPUT ${machines_source} @ONLY CONTENT [=[
/* Made by cmake/Machines.cmake from machines/. */
#include "sim/machine_int.h"

@machine_texts@
const thrum__shipped thrum__shipped_machines[] = {
@machine_rows@    {0, 0},
};
]=])
list(APPEND thrum_sources ${machines_source})
install(FILES ${machine_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/thrum/machines)
