/**
 * @file ct_safetensors.h
 * Reading and writing safetensors files: 8 bytes of header length, a JSON header, the items.
 */
#ifndef CT_SAFETENSORS_H
#define CT_SAFETENSORS_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** A named tensor. */
struct ct_named_tensor {
    const char *name;
    const ct_tensor *tensor;
};

/**
 * Writes tensors (f32, f64, i64, bool) in the given order to a temporary file beside @p path,
 * syncs and renames: @p path is either the old file or the whole new one. NaNs are written in
 * one canonical form.
 * @p metadata: pairs of key and value, 2 * pairs strings, or NULL.
 * @p digest, unless NULL, receives the SHA-256 (64 hex digits and a zero) of the items' bytes in
 * order.
 */
CT_API ct_status ct_safetensors_save(const char *path, size_t n,
                                     const struct ct_named_tensor *tensors, size_t pairs,
                                     const char *const *metadata, char *digest);

/** The SHA-256 that ct_safetensors_save() gives, without writing. */
CT_API ct_status ct_tensors_digest(size_t n, const struct ct_named_tensor *tensors,
                                   char digest[65]);

/**
 * A regular file read whole, trusting nothing: CT_EFORMAT says what is wrong, CT_EIO what the
 * system refused. Nothing is allocated for a tensor before its bytes are known to be there. F32,
 * F64, I64 and BOOL are read as they are, F16 and BF16 as f32 of the same value; a tensor of
 * another type or of rank over 8 is listed, and asking for it is CT_EUNSUPPORTED. Tensors stand
 * in the order of their bytes.
 */
typedef struct ct_safetensors ct_safetensors;
CT_API ct_safetensors *ct_safetensors_load(const char *path);
CT_API void ct_safetensors_free(ct_safetensors *file);
CT_API size_t ct_safetensors_count(const ct_safetensors *file);
CT_API const char *ct_safetensors_name(const ct_safetensors *file, size_t i);
/** Borrowed; NULL when there is no such name (CT_EINVAL). */
CT_API const ct_tensor *ct_safetensors_get(const ct_safetensors *file, const char *name);
CT_API const ct_tensor *ct_safetensors_at(const ct_safetensors *file, size_t i);
CT_API const char *ct_safetensors_metadata(const ct_safetensors *file, const char *key);

CT_END_DECLS
#endif
