/**
 * @file ct_safetensors.h
 * Reading and writing safetensors files: 8 bytes of header length, a JSON header, the items.
 */
#ifndef CT_SAFETENSORS_H
#define CT_SAFETENSORS_H

#include "io/ct_digest.h"
#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** A named tensor. */
struct ct_named_tensor {
    const char *name;
    const ct_tensor *tensor;
};

/**
 * Writes tensors (f32, f64, i32, i64, bool) in the given order to a temporary file beside @p path,
 * syncs and renames: @p path is either the old file or the whole new one. NaNs are written in
 * one canonical form.
 * @p metadata: pairs of key and value, 2 * pairs strings, or NULL.
 * @p digest, unless NULL, receives the SHA-256 of the items' bytes in order, as text of
 * #CT_SHA256_TEXT_BYTES.
 */
CT_API ct_status ct_safetensors_save(const char *path, size_t n,
                                     const struct ct_named_tensor *tensors, size_t pairs,
                                     const char *const *metadata, char *digest);

/** The SHA-256 that ct_safetensors_save() gives, without writing. */
CT_API ct_status ct_tensors_digest(size_t n, const struct ct_named_tensor *tensors,
                                   char digest[CT_SHA256_TEXT_BYTES]);

/** A file that was read whole. It does not change, so that any number of threads may look at it. */
typedef struct ct_safetensors ct_safetensors;

/**
 * Reads a regular file whole, trusting nothing it says: no tensor is allocated before its bytes are
 * known to be there. F32, F64, I64 and BOOL are read as they are, F16 and BF16 as f32 of the same
 * value. A tensor of another type of the format (integers of other widths, 8-bit floats, C64) or of
 * rank over 8 is listed, checked and left out: asking for it is CT_EUNSUPPORTED. Names, types and
 * ranges of bytes are all checked: each name once, bytes without hole, overlap or remainder.
 *
 * @return The file, or NULL with
 *         CT_EIO      the system refused (no such file, no permission), or it is no regular file;
 *         CT_EFORMAT  it is no such file, or is damaged, or its header is longer than 100,000,000
 *                     bytes; the message says what is wrong;
 *         CT_ENOMEM   no memory;
 *         CT_EINVAL   a NULL path.
 */
CT_API ct_safetensors *ct_safetensors_load(const char *path);
/** Frees the file, its names and its tensors, but for what the caller shares; NULL is accepted. */
CT_API void ct_safetensors_free(ct_safetensors *file);
/** The number of tensors, those left out included; 0 of NULL. */
CT_API size_t ct_safetensors_count(const ct_safetensors *file);
/**
 * The name of tensor i, in the order of their bytes; empty tensors first among those that begin at
 * one byte, and in the order of the header among each other. Borrowed until ct_safetensors_free().
 * NULL with CT_EINDEX for i beyond the last, CT_EINVAL for a NULL file.
 */
CT_API const char *ct_safetensors_name(const ct_safetensors *file, size_t i);
/**
 * Tensor i, in the order of ct_safetensors_name(). Borrowed until ct_safetensors_free(); a
 * ct_copy() of it lives on. NULL with CT_EINDEX for i beyond the last, CT_EUNSUPPORTED for one that
 * was left out, CT_EINVAL for a NULL file.
 */
CT_API const ct_tensor *ct_safetensors_at(const ct_safetensors *file, size_t i);
/** The tensor of a name, as ct_safetensors_at(), but CT_EINVAL when there is no such name. O(count). */
CT_API const ct_tensor *ct_safetensors_get(const ct_safetensors *file, const char *name);
/**
 * The text of a key of the file's metadata. Borrowed until ct_safetensors_free(). NULL when there is
 * none, which is no error: ct_error() stays as it was. NULL with CT_EINVAL for a NULL argument.
 */
CT_API const char *ct_safetensors_metadata(const ct_safetensors *file, const char *key);

CT_END_DECLS
#endif
