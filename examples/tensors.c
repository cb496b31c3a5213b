/* A walk through the tensor layer: making, looking, views, names, reductions, products, errors. */
#include "cotangent.h"

#include <stdio.h>

static void show(const char *what, ct_tensor *t) {
    char text[2000];
    if (ct_format(t, text, sizeof text) < 0)
        printf("%s: %s: %s\n", what, ct_error()->function, ct_error()->message);
    else
        printf("%s\n%s\n", what, text);
    ct_free(t);
    ct_error_clear();
}

int main(void) {
    // Making. A shape is a rank and its extents; an item of a tensor is a scalar type.
    ct_tensor *count = ct_arange(CT_F64, 0, 12, 1);
    ct_tensor *grid = ct_reshape(count, 2, (int64_t[]){3, 4});
    ct_tensor *t = ct_name_axes(grid, 2, (const char *const[]){"row", "column"});
    show("a table:", ct_copy(t));

    // Views copy no items, and a write never shows in another tensor.
    ct_tensor *back = ct_slice(t, ct_axis_of(t, "column"), 3, CT_END, -2);
    show("every second column, from the last:", ct_copy(back));
    ct_fill(back, -1);
    printf("after filling that view, the table's last item is still %g\n",
           ((const double *)ct_data(t))[11]);

    // Reductions by axis number or name, along one axis or several.
    show("means of the rows:", ct_mean(t, ct_axis_of(t, "column"), false));
    show("the largest item stands at:", ct_argmax(t, CT_ALL, false));

    // Broadcasting, comparisons, choice.
    ct_tensor *mean = ct_mean(t, CT_ALL, false), *above = ct_greater(t, mean);
    show("above the mean:", ct_copy(above));
    show("those items:", ct_masked_select(t, above));

    // Products: matmul in every rank, and Einstein's notation.
    ct_tensor *turned = ct_transpose(grid);
    show("t times its transpose:", ct_matmul(grid, turned));
    show("row sums of squares:", ct_einsum("ij,ij->i", 2, (const ct_tensor *const[]){grid, grid}));

    // Integers are exact: what does not fit is an error, and so is a shape that does not.
    ct_tensor *most = ct_from_i64(CT_I32, INT32_MAX), *one = ct_from_i64(CT_I32, 1);
    show("the largest i32, plus one", ct_add(most, one));
    show("3 x 4 times 3 x 4", ct_matmul(grid, grid));
    show("a name that is none", ct_sum(t, ct_axis_of(t, "colunm"), false));

    ct_tensor *all[] = {count, grid, t, back, mean, above, turned, most, one};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ct_free(all[i]);
    return 0;
}
