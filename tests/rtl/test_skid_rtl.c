/* test_skid_rtl.c : tests the skid buffer. */
#include "rtl_stream.h"

int main(int argc, char **argv)
{
    struct model *m = model_open(argc, argv);
    rtl_check_stream(m, 2, 21, 1000000);
    model_close(m);
    DONE();
}
