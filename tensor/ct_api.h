/**
 * @file
 * @brief Marks of every public declaration: what a shared library exports, and C linkage under C++.
 */
#ifndef CT_API_H
#define CT_API_H

#include <stddef.h> // gives the header something to declare when it is compiled alone

#if defined(__GNUC__)
#define CT_API __attribute__((visibility("default")))
#else
#define CT_API
#endif

#ifdef __cplusplus
#define CT_BEGIN_DECLS extern "C" {
#define CT_END_DECLS   }
#else
#define CT_BEGIN_DECLS
#define CT_END_DECLS
#endif

#endif
