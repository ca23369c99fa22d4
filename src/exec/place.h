/* SPDX-License-Identifier: MIT
 *
 * Placing: how jobs get to workers by a policy, and their data to memory nodes. For executors that have a policy or devices.
 *
 *   ready -> pushed to the policy -> popped by a worker -> staged (memory reserved, replicas brought) -> runs -> ended
 *
 * A *place* is a worker that runs codelets: each of the executor's own workers of the first domain, and those of each device,
 * which are the workers of a domain of its own. A place is called when the policy wakes it, by a task that is pinned to its
 * worker (exec/stream.h: thrum__call_worker); that task pops, stages and runs jobs until the policy has nothing for it.
 */
#ifndef THRUM_EXEC_PLACE_H
#define THRUM_EXEC_PLACE_H

#include <thrum/policy.h>

#include "model/job.h"

typedef struct thrum__places thrum__places;

/* What the configuration asks for, read before the executor has threads: the processors' workers that "cpu:N" asks for (0: not
 * said) and one domain for each device, to be added to the configuration's own. */
typedef struct thrum__places_plan thrum__places_plan;

/* 0 with *plan NULL: neither policy nor devices. Else a plan, or an error with a sentence (an unknown policy or kind of device, a
 * bad setting). Opens devices and loads the policy's library. */
int thrum__places_plan_new(const thrum_config *config, thrum__places_plan **plan);
int thrum__places_plan_workers(const thrum__places_plan *plan);
int thrum__places_plan_domains(const thrum__places_plan *plan, const thrum_domain_config **domains);
void thrum__places_plan_free(thrum__places_plan *plan); /* closes what was not taken over */

/* The executor has its workers and threads. `first_domain` is the number of the plan's first domain. Takes the plan over. */
thrum__places *thrum__places_new(thrum_executor *ex, thrum__places_plan *plan, int first_domain);
void thrum__places_free(thrum__places *places); /* nothing is under way */
int thrum__places_nodes(const thrum__places *places);

/* Whether some place can run the codelet: 0 or an error that names it and what there is. */
int thrum__places_can_run(const thrum__places *places, const thrum_codelet *codelet, const void *arg, int worker);

/* The part of a job that belongs here, for this many accesses: in memory of the job's own, to be set up before each push. */
size_t thrum__placing_bytes(const thrum__places *places, uint32_t accesses);
void thrum__placing_init(thrum__job *job, void *memory);

/* The job is ready. Any thread. From then on it is owner->ended that tells of it. FETCH jobs take no worker. */
void thrum__place_push(thrum__places *places, thrum__job *job);

/* The calling worker waits for something: it runs a job meanwhile, if the policy has one for it. False: it has none, or the
 * caller is no place. */
bool thrum__place_help(thrum__places *places);

/* A handle comes and goes: its replicas. 0 or THRUM_ENOMEM. A new one is up to date at home if it has memory there, and nowhere
 * else. Nothing uses it when it goes. */
int thrum__replicas_new(thrum__places *places, thrum_data *data, bool at_home);
void thrum__replicas_free(thrum__places *places, thrum_data *data);
int thrum__replica_state(const thrum_data *data, int node);

#endif
