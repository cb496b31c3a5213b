/* Storage and descriptors, for the files of tensor/ that make tensors or write into them. */
#ifndef CT_STORAGE_H
#define CT_STORAGE_H

#include "tensor/ct_convert.h"
#include "tensor/tensor_impl.h"

/* --- tensor.c --- */

/* Own storage with one share, or NULL without an error. */
struct ct__storage *ct__new_storage(size_t bytes);
void ct__take_share(struct ct__storage *s);
/* The last share releases what the storage stands for. */
void ct__drop_share(struct ct__storage *s);
/* A descriptor without storage, or NULL without an error. */
ct_tensor *ct__new_descriptor(const ct_scalar *scalar, int rank, const int64_t *shape,
                              size_t count);
/* Gives t a share of s, dense from its first byte. */
void ct__set_dense(ct_tensor *t, struct ct__storage *s);
ct_status ct__fail_memory(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape);
/* Own storage with room for t's items and, where `keep`, their values; t is not touched yet. NULL
   with an error. */
struct ct__storage *ct__detached(const char *who, const ct_tensor *t, bool keep);
/* Puts storage made by ct__detached() in place of t's own. */
void ct__adopt(ct_tensor *t, struct ct__storage *s);

/* --- make.c --- */

/* Sets `count` dense items; nothing is touched where the value does not fit. */
bool ct__fill_items(const ct_scalar *scalar, char *first, size_t count, double value);

/* A tensor for `given` items from an array, which may be NULL where there are none. */
ct_tensor *ct__empty_for(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape,
                         size_t given, const void *items);

/* --- convert.c --- */

/* Converts all items of t, which has some, to dense ones. The types must have a conversion, as
   types without tangents always have. */
ct_status ct__convert(const char *who, const ct_tensor *t, const ct_scalar *target,
                      enum ct_cast_mode mode, char *to);

/* --- foreign.c --- */

/* The lowest and the highest item that a layout with items reaches when index 0 is item `first`;
   false on overflow. */
bool ct__find_reach(int rank, const int64_t *shape, const int64_t *strides, int64_t first,
                    int64_t *low, int64_t *high);
/* Whether all that a descriptor reaches lies in a buffer of this many items. */
bool ct__lies_within(const ct_tensor *t, size_t items);
/* ct_tensor_over() in another's name. */
ct_tensor *ct__tensor_over(const char *who, const ct_scalar *scalar, int rank, const int64_t *shape,
                           const int64_t *strides, int64_t offset, const void *buffer, size_t count,
                           void (*release)(void *context), void *context);

#endif
