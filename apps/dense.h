/* SPDX-License-Identifier: MIT
 *
 * The applications that need OpenBLAS and LAPACKE. They are in a module of their own, libthrum-dense.so, which the
 * command loads when it is asked for one of them: OpenBLAS starts threads as soon as it is loaded, and the command does
 * without it where it is not installed.
 */
#ifndef THRUM_APPS_DENSE_H
#define THRUM_APPS_DENSE_H

int app_cholesky(int argc, char **argv);
int app_qr(int argc, char **argv);

#endif
