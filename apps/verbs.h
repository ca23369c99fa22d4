/* SPDX-License-Identifier: MIT
 *
 * The applications as verbs of the command. Each gets its name and arguments, and returns the exit code.
 */
#ifndef THRUM_APPS_VERBS_H
#define THRUM_APPS_VERBS_H

int thrum_cmd_cholesky(int argc, char **argv);
int thrum_cmd_qr(int argc, char **argv);
int thrum_cmd_life(int argc, char **argv);
int thrum_cmd_kmeans(int argc, char **argv);

#endif
