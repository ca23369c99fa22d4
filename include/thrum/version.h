/* SPDX-License-Identifier: MIT */
#ifndef THRUM_VERSION_H
#define THRUM_VERSION_H

/* The build reads the version from these three lines; the soname carries the major number. */
#define THRUM_VERSION_MAJOR 0
#define THRUM_VERSION_MINOR 1
#define THRUM_VERSION_PATCH 0

#if defined(__GNUC__)
#define THRUM_API __attribute__((visibility("default")))
#else
#define THRUM_API
#endif

#ifdef __cplusplus
#define THRUM_BEGIN_C extern "C" {
#define THRUM_END_C }
#else
#define THRUM_BEGIN_C
#define THRUM_END_C
#endif

THRUM_BEGIN_C

/* The version of the library that is loaded, as "0.1.0"; the macros above are those of the headers. */
THRUM_API const char *thrum_version(void);

THRUM_END_C

#endif
