# SPDX-License-Identifier: MIT
# Flags for everything in the tree. Warnings are always on; THRUM_WERROR makes them errors.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Wall> $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra>
                    $<$<COMPILE_LANGUAGE:C,CXX>:-Wpedantic>)
if(THRUM_WERROR)
    add_compile_options(-Werror)
endif()

# Tests look into structs of the library, so everybody is compiled with the same setting.
if(THRUM_CHECKS)
    add_compile_definitions(THRUM_CHECKS=1)
else()
    add_compile_definitions($<$<NOT:$<CONFIG:Debug>>:NDEBUG>)
endif()

if(THRUM_SANITIZE)
    if(NOT THRUM_SANITIZE MATCHES "^(thread|address|undefined|address,undefined)$")
        message(FATAL_ERROR "THRUM_SANITIZE is `${THRUM_SANITIZE}`; it can be empty, `thread`, `address`, `undefined` "
                            "or `address,undefined`.")
    endif()
    add_compile_options(-fsanitize=${THRUM_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${THRUM_SANITIZE})
    # gcc warns that ThreadSanitizer does not model fences. There are two (sys/barrier.h), both between atomic accesses that
    # it does see; what they order is checked by the Spin models and by stress.rendezvous.
    if(THRUM_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wno-tsan>)
    endif()
    if(THRUM_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=all)
    endif()
endif()

if(THRUM_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
