# SPDX-License-Identifier: MIT
# Some peers in bench/ are C++. Without a C++ compiler they are left out; CMAKE_CXX_COMPILER says whether there is one.

include(CheckLanguage)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
    find_program(clangxx clang++)
    if(clangxx)
        set(CMAKE_CXX_COMPILER ${clangxx})
    endif()
endif()
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    set(CMAKE_CXX_STANDARD 17)
    set(CMAKE_CXX_STANDARD_REQUIRED ON)
    set(CMAKE_CXX_EXTENSIONS OFF)
    enable_language(CXX)
endif()
