/* SPDX-License-Identifier: MIT
 *
 * thrum: a task runtime. This header includes all others of libthrum.
 */
#ifndef THRUM_THRUM_H
#define THRUM_THRUM_H

#include <thrum/algorithm.h>
#include <thrum/codelet.h>
#include <thrum/data.h>
#include <thrum/device.h>
#include <thrum/error.h>
#include <thrum/event.h>
#include <thrum/executor.h>
#include <thrum/flow.h>
#include <thrum/graph.h>
#include <thrum/loop.h>
#include <thrum/machine.h>
#include <thrum/observer.h>
#include <thrum/options.h>
#include <thrum/pipeline.h>
#include <thrum/policy.h>
#include <thrum/schedule.h>
#include <thrum/scope.h>
#include <thrum/setting.h>
#include <thrum/sim.h>
#include <thrum/terms.h>
#include <thrum/version.h>
#include <thrum/workload.h>

#endif
