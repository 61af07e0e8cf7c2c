/* rank.h: what the files of the rank program share. */
#ifndef COBRE_TEST_MPI_RANK_H
#define COBRE_TEST_MPI_RANK_H

#include "cobre/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank that finds something wrong says so and aborts: its neighbours must not wait for it. */
#define MUST(condition) ((condition) ? (void)0 : wrong(__FILE__, __LINE__, #condition))
#define MUST_OK(call) MUST((call) == COBRE_OK)

_Noreturn void wrong(const char *file, int line, const char *text);

extern cobre_comm *comm;

double now(void); /* since 1970, like the shell's EPOCHREALTIME */
void pause_for(double seconds);

/* Leaves the file EVENT.RANK: process, time, text. */
void happened(const char *event, const char *text);
void happened_on(size_t rank, const char *event, const char *text);
void happened_with_error(const char *event, cobre_status status, double seconds);

/* Is the file NAME, or NAME.RANK, there? Its first line. await: until it is. */
bool ordered(const char *name, bool own, char *line, size_t len);
void await(const char *name, char *line, size_t len);

int go_round(const char *what, size_t times);
int fill_up(void);

#endif
