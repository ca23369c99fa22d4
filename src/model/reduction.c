/* SPDX-License-Identifier: MIT */
#include "model/reduction.h"

#include "base/alloc.h"
#include "base/fault.h"

int thrum__reduction_set(thrum_data *data, const thrum_codelet *init, const thrum_codelet *combine)
{
    if (!data->reduction && !(data->reduction = thrum__zalloc(sizeof *data->reduction)))
        return THRUM_ENOMEM;
    data->reduction->init = init;
    data->reduction->combine = combine;
    return 0;
}

void thrum__reduction_reset(thrum__reduction *reduction)
{
    thrum__lock_take(&reduction->lock);
    for (size_t i = 0; i < reduction->count; i++)
        reduction->copies[i]->begun = false;
    thrum__lock_give(&reduction->lock);
}

static thrum__private *find(thrum__reduction *reduction, int worker)
{
    thrum__private *found = NULL;
    thrum__lock_take(&reduction->lock);
    for (size_t i = 0; i < reduction->count && !found; i++)
        if (reduction->copies[i]->worker == worker)
            found = reduction->copies[i];
    thrum__lock_give(&reduction->lock);
    return found;
}

static bool make_room_locked(thrum__reduction *reduction)
{
    if (reduction->count < reduction->room)
        return true;
    size_t room = reduction->room ? 2 * reduction->room : 8;
    thrum__private **copies = thrum__alloc(room * sizeof *copies);
    if (!copies)
        return false;
    for (size_t i = 0; i < reduction->count; i++)
        copies[i] = reduction->copies[i];
    thrum__free(reduction->copies);
    reduction->copies = copies;
    reduction->room = room;
    return true;
}

static bool add(thrum__reduction *reduction, thrum__private *copy)
{
    thrum__lock_take(&reduction->lock);
    bool added = make_room_locked(reduction);
    if (added)
        reduction->copies[reduction->count++] = copy;
    thrum__lock_give(&reduction->lock);
    return added;
}

/* Nobody else adds for the same worker between the search and the addition. */
thrum__private *thrum__reduction_copy(thrum_data *data, int worker)
{
    thrum__private *copy = find(data->reduction, worker);
    if (copy)
        return copy;
    copy = thrum__zalloc(sizeof *copy);
    thrum_data *like = copy ? thrum__data_like(data) : NULL;
    if (like) {
        *copy = (thrum__private){.data = like, .worker = worker};
        if (add(data->reduction, copy))
            return copy;
        thrum__data_retire(like);
    }
    thrum__free(copy);
    thrum__fault(THRUM_ENOMEM, "no memory for a worker's copy of a handle that is reduced into");
    return NULL;
}

void thrum__reduction_drop(thrum_data *data)
{
    thrum__reduction *reduction = data->reduction;
    if (!reduction)
        return;
    for (size_t i = 0; i < reduction->count; i++)
        thrum__free(reduction->copies[i]);
    thrum__free(reduction->copies);
    thrum__free(reduction);
    data->reduction = NULL;
}

void thrum__reduction_free(thrum_data *data)
{
    thrum__reduction *reduction = data->reduction;
    for (size_t i = 0; reduction && i < reduction->count; i++)
        thrum__data_retire(reduction->copies[i]->data);
    thrum__reduction_drop(data);
}
