/* SPDX-License-Identifier: MIT
 *
 * The policies that come with the library, in the order in which `thrum info` lists them.
 */
#ifndef THRUM_SCHED_POLICY_INT_H
#define THRUM_SCHED_POLICY_INT_H

#include <thrum/policy.h>

extern const thrum_policy thrum__policy_fifo;

#endif
