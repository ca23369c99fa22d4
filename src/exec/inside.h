/* SPDX-License-Identifier: MIT
 *
 * What the layers above may ask about the calling thread.
 */
#ifndef THRUM_EXEC_INSIDE_H
#define THRUM_EXEC_INSIDE_H

#include <thrum/executor.h>

/* Whether the caller is in a task, or in a scope opened outside tasks, of this executor; with NULL: of any. Then
 * thrum_scope_open_on opens a scope that is part of it. */
bool thrum__inside(const thrum_executor *ex);

#endif
