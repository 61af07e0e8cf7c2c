/* SPDX-License-Identifier: Apache-2.0 */
/* clp_static.c: provides two functions of LAPACK that otherwise need Fortran's library. CLP's static libraries need
 * LAPACK, and Fortran's library cannot be in a plugin. */

int ilaenv_(const int *what);
void xerbla_(void);

/* As the reference answers DGETRF, which alone asks: blocks of 64. */
int ilaenv_(const int *what) {
    return *what == 1 ? 64 : 1;
}

/* A wrong argument: DGETRF and DGETRS then return an error. */
void xerbla_(void) {}
