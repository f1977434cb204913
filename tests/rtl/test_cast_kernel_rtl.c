/* test_cast_kernel_rtl.c : runs test_quant_mm_rtl.c on rtl/memory/mm_kernel.sv. */
#include "rtl_vitis.h"
#define main quant_mm_main
#include "test_quant_mm_rtl.c"
#undef main

int main(int argc, char **argv)
{
    const int bad = quant_mm_main(argc, argv);
    CHECK(!constants_differ, "size or burst in %d clocks", constants_differ);
    return bad || constants_differ;
}
