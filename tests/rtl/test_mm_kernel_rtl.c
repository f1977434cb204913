/* test_mm_kernel_rtl.c : runs test_reduce_mm_rtl.c on rtl/memory/mm_kernel.sv. */
#include "rtl_vitis.h"
#define main reduce_mm_main
#include "test_reduce_mm_rtl.c"
#undef main

int main(int argc, char **argv)
{
    const int bad = reduce_mm_main(argc, argv);
    CHECK(!constants_differ, "size or burst in %d clocks", constants_differ);
    return bad || constants_differ;
}
