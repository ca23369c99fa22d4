/* SPDX-License-Identifier: MIT
 *
 * How handles are made, between the files that make them: data.c (life), layout.c (geometry), cut.c, reduction.c.
 */
#ifndef THRUM_MODEL_DATA_INT_H
#define THRUM_MODEL_DATA_INT_H

#include "model/data.h"

/* A handle of zeros that belongs to the space but is not in its list: NULL without memory, with no sentence. Then
 * filled in, and either it enters the list or it is scrapped, with all that it owns. */
thrum_data *thrum__data_blank(thrum__space *space);
void thrum__data_enter(thrum_data *data);
void thrum__data_scrap(thrum_data *data);

/* Fills in form and size, of a shape that has been checked: 0 or THRUM_ENOMEM, with no sentence. */
int thrum__data_shape(thrum_data *data, const thrum__shape *shape, bool packed);

/* The same for CSR, of which the size is checked here: THRUM_EINVAL if it is beyond what can be counted. */
int thrum__data_shape_sparse(thrum_data *data, size_t rows, size_t values, size_t elem, size_t index_bytes);

/* 0, or THRUM_EINVAL with a sentence that names the argument of `what` that is wrong. */
int thrum__shape_check(const thrum__shape *shape, bool packed, const char *what);

/* The handle has such a form from now on, which it may share with others: 0 or THRUM_ENOMEM, with no sentence. */
int thrum__data_set_form(thrum_data *data, const thrum__form *form);

/* Where the row_start and the columns of CSR begin when it is packed. */
size_t thrum__packed_row_start(const thrum_data *data);
size_t thrum__packed_columns(const thrum_data *data);

#endif
