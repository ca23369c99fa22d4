/* SPDX-License-Identifier: MIT
 *
 * The verbs of the command `thrum`, one file each.
 *
 * argv[0] is the verb, the rest are its arguments. What is returned is the exit code: 0 done, 1 failed, 2 wrong usage.
 * Each verb prints its help for "--help"; `thrum help VERB` is the same thing.
 */
#ifndef THRUM_TOOLS_COMMANDS_H
#define THRUM_TOOLS_COMMANDS_H

int thrum_cmd_info(int argc, char **argv);
int thrum_cmd_graph(int argc, char **argv);
int thrum_cmd_trace(int argc, char **argv);
int thrum_cmd_loop_sim(int argc, char **argv);
int thrum_cmd_sim(int argc, char **argv);
int thrum_cmd_bench(int argc, char **argv);
int thrum_cmd_tour(int argc, char **argv);

#endif
