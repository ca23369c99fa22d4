/* SPDX-License-Identifier: MIT
 *
 * Placing: how jobs get to workers by a policy, and their data to memory nodes. For executors that have a policy or
 * devices.
 *
 *   ready -> pushed to the policy -> popped by a worker -> staged (memory reserved, replicas brought) -> runs -> ended
 *
 * A *place* is a worker that runs codelets: each of the executor's own workers of the first domain, and those of each
 * device, which are the workers of a domain of its own. A place is called when the policy wakes it, by a task that is
 * pinned to its worker (exec/stream.h: thrum__call_worker); that task pops, stages and runs jobs until the policy has
 * nothing for it.
 */
#ifndef THRUM_EXEC_PLACE_H
#define THRUM_EXEC_PLACE_H

#include <thrum/policy.h>

#include "model/job.h"

typedef struct thrum__places thrum__places;

/* What the configuration asks for, read before the executor has threads: the processors' workers that "cpu:N" asks for
 * (0: not said) and one domain for each device, to be added to the configuration's own. */
typedef struct thrum__places_plan thrum__places_plan;

/* 0 with *plan NULL: there is nothing to plan. Else a plan, or an error with a sentence (an unknown policy or kind of
 * device, a bad setting, an executor without threads). Opens devices and loads the policy's library. What follows takes
 * NULL too. */
int thrum__places_plan_new(const thrum_config *config, thrum__places_plan **plan);
/* There are a policy or devices: places are to be made. */
bool thrum__places_plan_wanted(const thrum__places_plan *plan);
int thrum__places_plan_workers(const thrum__places_plan *plan);
int thrum__places_plan_domains(const thrum__places_plan *plan, const thrum_domain_config **domains);
void thrum__places_plan_free(thrum__places_plan *plan); /* closes what was not taken over */

/* The executor has its workers. `first_domain` is the number of the plan's first domain. Takes the plan over. NULL with
 * a sentence. */
thrum__places *thrum__places_new(thrum_executor *ex, thrum__places_plan *plan, int first_domain);
/* No job is under way: waits until nothing that is left over touches the places any more. While the workers have
 * threads. */
void thrum__places_stop(thrum__places *places);
void thrum__places_free(thrum__places *places); /* after that. Handles that are left lose their replicas */
int thrum__places_nodes(const thrum__places *places);

/* The ways between nodes that something went over, for the trace: how many, and if `tracks` is not NULL, those, with
 * numbers from `next_number` on. After thrum__places_stop. */
struct thrum__link_track;
size_t thrum__places_link_tracks(const thrum__places *places, struct thrum__link_track *tracks, int next_number);

/* Whether some place can run the codelet: 0 or an error that names it and what there is. */
int thrum__places_can_run(const thrum__places *places, const thrum_codelet *codelet, const void *arg, int worker);

/* The part of a job that belongs here, for this many accesses: in memory of the job's own, to be set up before each
 * push. */
size_t thrum__placing_bytes(const thrum__places *places, uint32_t accesses);
void thrum__placing_init(thrum__job *job, void *memory);

/* The job is ready. Any thread. From then on it is owner->ended that tells of it. FETCH jobs take no worker. */
void thrum__place_push(thrum__places *places, thrum__job *job);

/* The calling worker waits for something: it runs a job meanwhile, if the policy has one for it. False: it has none, or
 * the caller is no place. */
bool thrum__place_help(thrum__places *places);

/* The calling worker is going to sleep in a wait for what belongs to this root, and has come out of it. If it is inside
 * of kernels, what those hold does not come free by itself meanwhile. */
typedef struct thrum__pause {
    struct place *place;
    int suspended;
    const thrum__root *awaited;
} thrum__pause;
thrum__pause thrum__place_pause(thrum__places *places, const thrum__root *awaited);
void thrum__place_resume(const thrum__pause *before);

/* The caller is in a kernel on a device: it holds memory there, so it must not wait for tasks that may need some. */
bool thrum__place_on_device(const thrum__places *places);

/* A handle comes and goes: its replicas. 0 or THRUM_ENOMEM. A new one is up to date at home if it has memory there, and
 * nowhere else. No job uses it when it goes; copies that nobody waits for are waited for, so it must not go in a
 * driver's thread, unless its last job was a fetch that writes: then there are none. */
int thrum__replicas_new(thrum__places *places, thrum_data *data, bool at_home);
void thrum__replicas_free(thrum__places *places, thrum_data *data);
/* As thrum__data_set_name; copies that are under way may be looking at the name. */
int thrum__replicas_rename(thrum__places *places, thrum_data *data, const char *name);
int thrum__replica_state(const thrum_data *data, int node);

#endif
