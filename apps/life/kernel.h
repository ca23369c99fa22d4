/* SPDX-License-Identifier: MIT
 *
 * Life in three dimensions: one step of a block of cells.
 *
 * A block keeps its cells to itself. What its 26 neighbours need of it are its outermost layers, its six *faces*, each
 * with a handle of its own: so a block that changes its place takes its cells along once, and between blocks only faces
 * travel.
 */
#ifndef THRUM_APPS_LIFE_KERNEL_H
#define THRUM_APPS_LIFE_KERNEL_H

#include <thrum/thrum.h>

#include <stdint.h>

/* A cell that lives goes on if it has from `stay_least` to `stay_most` living neighbours of 26; one that does not
 * begins to live with `born_least` to `born_most` of them. "4555" is (4, 5, 5, 5). */
struct life_rule {
    uint8_t stay_least, stay_most, born_least, born_most;
};

/* A neighbour's place relative to a block: -1, 0 or 1 in x, y and z, not all 0. */
enum { LIFE_NEIGHBOURS = 26 };
struct life_direction {
    int step[3];
};
struct life_direction life_direction(int number);

/* Faces: of axis x the first and the last layer, of y, of z. A face is a matrix over the other two axes in their
 * order. */
enum { LIFE_FACES = 6 };

/* Of the neighbour in this direction, the face in which the cells are that touch the block. */
int life_face_towards(struct life_direction direction);

/* Writes a face of a block of cells, which lie step[axis] apart; lines of the face begin `ld` apart. */
void life_write_face(const uint8_t *cells, const size_t extent[3], const size_t step[3], int face, uint8_t *to,
                     size_t ld);

/* Layers of cells that the kernel has around the one that it changes. */
enum { LIFE_LAYERS = 3 };

/* Accesses: RW cells, SCRATCH of LIFE_LAYERS layers with a rim around (extents + 2), W the six faces after the step, R
 * the 26 neighbours' faces before it, by direction. Argument: a struct life_rule. */
enum {
    LIFE_CELLS,
    LIFE_ROOM,
    LIFE_NEW_FACES,
    LIFE_OLD_FACES = LIFE_NEW_FACES + LIFE_FACES,
    LIFE_ACCESSES = LIFE_OLD_FACES + LIFE_NEIGHBOURS
};
extern const thrum_codelet life_codelet;

/* Cells. */
double life_work(const thrum_buffer *b, int count, const void *arg);

#endif
