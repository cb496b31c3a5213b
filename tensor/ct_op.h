/**
 * @file ct_op.h
 * The ops, as an enumeration expanded from the table tensor/ops.def.
 */
#ifndef CT_OP_H
#define CT_OP_H

#include "tensor/ct_api.h"

#include <stdbool.h>

CT_BEGIN_DECLS

/** One enumerator per row of the table: CT_OP_add, CT_OP_exp, ... */
enum ct_op {
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 CT_OP_##id,
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         CT_OP_##id,
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) CT_OP_##id,
#define CMP(id, WORD, value, oracle, doc)                         CT_OP_##id,
#define TST(id, WORD, value, oracle, doc)                         CT_OP_##id,
#define LOGIC1(id, WORD, value, oracle, doc)                      CT_OP_##id,
#define LOGIC2(id, WORD, value, oracle, doc)                      CT_OP_##id,
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 CT_OP_##id,
#define LINEAR(id, doc)                                           CT_OP_##id,
#define BILINEAR(id, doc)                                         CT_OP_##id,
#define GENERAL(id, doc)                                          CT_OP_##id,
#include "tensor/ops.def"
    CT_OP_COUNT
};

/** What kind of op a row is; the kind decides what its row holds and how it is tested. */
enum ct_op_kind {
    CT_KIND_MAP,     /**< elementwise */
    CT_KIND_COMPARE, /**< elementwise, result bool, flat */
    CT_KIND_TEST,    /**< elementwise, one argument, result bool, flat */
    CT_KIND_LOGIC,   /**< elementwise, arguments and result bool, flat */
    CT_KIND_SELECT,  /**< elementwise, the first argument a mask */
    CT_KIND_LINEAR,
    CT_KIND_BILINEAR,
    CT_KIND_GENERAL
};

/** The recorded name: "add", "summed", ... */
CT_API const char *ct_op_name(enum ct_op op);
CT_API enum ct_op_kind ct_op_kind_of(enum ct_op op);
/** Number of arguments of an elementwise op; 0 for structured ones, whose record tells. */
CT_API int ct_op_arity(enum ct_op op);
/** Whether its result is bool, whatever its arguments are: comparisons, tests, logic. */
CT_API bool ct_op_gives_mask(enum ct_op op);
/** Whether an argument of an elementwise op must be bool: a choice's first, all of logic. */
CT_API bool ct_op_takes_mask(enum ct_op op, int argument);
/** One sentence on what it computes. */
CT_API const char *ct_op_doc(enum ct_op op);
/** The value formula in the words of the table; NULL for structured ops. */
CT_API const char *ct_op_value_text(enum ct_op op);
/** The pull of one argument, in the words of the table; NULL for structured ops. */
CT_API const char *ct_op_pull_text(enum ct_op op, int argument);
/** The op of a name, or CT_OP_COUNT. */
CT_API enum ct_op ct_op_by_name(const char *name);

CT_END_DECLS
#endif
