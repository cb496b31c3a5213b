/**
 * @file ct_dlpack.h
 * Tensors from and to other libraries by DLPack, in C.
 *
 * The structs are those of dlpack.h, DLPack 1.x (`struct DLManagedTensorVersioned`) and before
 * (`struct DLManagedTensor`); they are only declared here, so that any version of that header can be
 * included beside this one. Scalar types: f32, f64, i32, i64 and bool (kDLBool), in the host's
 * memory (kDLCPU).
 *
 * Memory that came in is never written: a write into such a tensor copies it first.
 */
#ifndef CT_DLPACK_H
#define CT_DLPACK_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/**
 * A tensor over the memory of another library, without a copy. Its deleter is called once, when the
 * last share is freed; if this function fails, @p managed stays the caller's and is untouched.
 *
 * Everything is checked but the size of the buffer, which DLPack does not tell: CT_EDTYPE for a
 * type without a scalar type here, CT_EUNSUPPORTED for another device or major version, CT_ESHAPE,
 * CT_EOVERFLOW and CT_EINVAL for shapes, strides, offsets and pointers that cannot be.
 */
CT_API ct_tensor *ct_from_dlpack(struct DLManagedTensor *managed);
CT_API ct_tensor *ct_from_dlpack_versioned(struct DLManagedTensorVersioned *managed);

/**
 * A dense copy for another library, which may write into it: the old struct cannot say that memory
 * is read-only. To be freed by its deleter. CT_EDTYPE for other scalar types.
 */
CT_API struct DLManagedTensor *ct_to_dlpack(const ct_tensor *t);
/**
 * The tensor as it lies in memory, shared without a copy and marked read-only. To be freed by its
 * deleter, on any thread; the tensor may be written or freed before, which does not show there.
 */
CT_API struct DLManagedTensorVersioned *ct_to_dlpack_versioned(const ct_tensor *t);

/** Whether ct_to_dlpack() and its like exist for a scalar type; false for NULL. */
CT_API bool ct_dlpack_has(const ct_scalar *scalar);

CT_END_DECLS
#endif
