/* A file in a folder of its own, for the parts of suite_safetensors. */
#ifndef CT_SAFETENSORS_FILE_H
#define CT_SAFETENSORS_FILE_H

#include <check.h>
#include <limits.h>

#include "io/ct_safetensors.h"

void add_lies(Suite *suite); /* safetensors_lies.c */

/* Checked fixtures: the folder holds nothing at the end but the file. */
void make_folder(void);
void remove_folder(void);

extern char file_path[PATH_MAX];

void write_file(const void *bytes, size_t count);
/* The whole file, to be freed. */
char *read_file(size_t *count);
void save_file(const char *name, const ct_tensor *t);
ct_safetensors *load_file(void);

#endif
