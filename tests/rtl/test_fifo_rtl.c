/* test_fifo_rtl.c : tests the small FIFO; its depth is not a power of two. */
#include "rtl_stream.h"

int main(int argc, char **argv)
{
    struct model *m = model_open(argc, argv);
    rtl_check_stream(m, 6, 22, 1000000);
    model_close(m);
    DONE();
}
