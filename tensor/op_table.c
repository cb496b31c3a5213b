#include "tensor/ct_op.h"

#include "tensor/tensor_impl.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct row {
    const char *name;
    enum ct_op_kind kind;
    int arity;
    const char *doc, *value, *pull[3];
};

#define ROW(id, KIND, n, words, text, ...)                                                         \
    [CT_OP_##id] = {#id, CT_KIND_##KIND, n, text, words, {__VA_ARGS__}},

static const struct row rows[] = {
#define EW1(id, WORD, d0, value, p0, oracle, doc)         ROW(id, MAP, 1, #value, doc, #p0)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc) ROW(id, MAP, 2, #value, doc, #p0, #p1)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc)                                  \
    ROW(id, MAP, 3, #value, doc, #p0, #p1, #p2)
#define CMP(id, WORD, value, oracle, doc)         ROW(id, COMPARE, 2, #value, doc, "FLAT", "FLAT")
#define TST(id, WORD, value, oracle, doc)         ROW(id, TEST, 1, #value, doc, "FLAT")
#define LOGIC1(id, WORD, value, oracle, doc)      ROW(id, LOGIC, 1, #value, doc, "FLAT")
#define LOGIC2(id, WORD, value, oracle, doc)      ROW(id, LOGIC, 2, #value, doc, "FLAT", "FLAT")
#define SEL(id, WORD, value, p1, p2, oracle, doc) ROW(id, SELECT, 3, #value, doc, "FLAT", #p1, #p2)
#define LINEAR(id, doc)                           ROW(id, LINEAR, 0, NULL, doc, NULL)
#define BILINEAR(id, doc)                         ROW(id, BILINEAR, 0, NULL, doc, NULL)
#define GENERAL(id, doc)                          ROW(id, GENERAL, 0, NULL, doc, NULL)
#include "tensor/ops.def"
};

#undef ROW
#define ROW(id, KIND, n, words, text, ...) [CT_OP_##id] = CT_KIND_##KIND,
const unsigned char ct__op_kinds[CT_OP_COUNT] = {
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 ROW(id, MAP, 1, , , )
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         ROW(id, MAP, 2, , , )
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) ROW(id, MAP, 3, , , )
#define CMP(id, WORD, value, oracle, doc)                         ROW(id, COMPARE, 2, , , )
#define TST(id, WORD, value, oracle, doc)                         ROW(id, TEST, 1, , , )
#define LOGIC1(id, WORD, value, oracle, doc)                      ROW(id, LOGIC, 1, , , )
#define LOGIC2(id, WORD, value, oracle, doc)                      ROW(id, LOGIC, 2, , , )
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 ROW(id, SELECT, 3, , , )
#define LINEAR(id, doc)                                           ROW(id, LINEAR, 0, , , )
#define BILINEAR(id, doc)                                         ROW(id, BILINEAR, 0, , , )
#define GENERAL(id, doc)                                          ROW(id, GENERAL, 0, , , )
#include "tensor/ops.def"
};

static_assert(sizeof rows / sizeof *rows == CT_OP_COUNT, "a row for every op");

static const struct row *row_of(enum ct_op op) {
    static const struct row unknown = {"unknown op", CT_KIND_GENERAL, 0, "", NULL, {NULL}};
    return (unsigned)op < CT_OP_COUNT ? &rows[op] : &unknown;
}

const char *ct_op_name(enum ct_op op) {
    return row_of(op)->name;
}

enum ct_op_kind ct_op_kind_of(enum ct_op op) {
    return row_of(op)->kind;
}

int ct_op_arity(enum ct_op op) {
    return row_of(op)->arity;
}

bool ct_op_gives_mask(enum ct_op op) {
    enum ct_op_kind kind = row_of(op)->kind;
    return kind == CT_KIND_COMPARE || kind == CT_KIND_TEST || kind == CT_KIND_LOGIC;
}

bool ct_op_takes_mask(enum ct_op op, int argument) {
    const struct row *row = row_of(op);
    return argument >= 0 && argument < row->arity &&
           (row->kind == CT_KIND_LOGIC || (row->kind == CT_KIND_SELECT && argument == 0));
}

const char *ct_op_doc(enum ct_op op) {
    return row_of(op)->doc;
}

const char *ct_op_value_text(enum ct_op op) {
    return row_of(op)->value;
}

const char *ct_op_pull_text(enum ct_op op, int argument) {
    const struct row *row = row_of(op);
    return argument >= 0 && argument < row->arity ? row->pull[argument] : NULL;
}

enum ct_op ct_op_by_name(const char *name) {
    for (int i = 0; name && i < CT_OP_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (enum ct_op)i;
    return CT_OP_COUNT;
}
