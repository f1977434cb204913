/* info_build.c : what `narrowcast info` says about the build: compiler, backends and libraries,
 * with their versions. */
#include "app/app.h"
#include "app/doctor/info.h"
#include "base/beside.h"
#include "comm/mpi/comm_library.h"
#include "nn/cpu/blas.h"
#include "nn/round/round_ops.h"
#include "offload/wire/wire_plugin.h"
#include "vec/vec.h"
#include <zlib.h>

const char *app_commit = "unknown";

void info_build(struct info *info)
{
    char mpi[160];
    comm_library(mpi, sizeof mpi);
    info_add(info, "narrowcast", APP_VERSION);
    info_add(info, "commit", "%s", app_commit);
#ifdef __clang__
    info_add(info, "compiler", "%s", __VERSION__);
#else
    info_add(info, "compiler", "gcc %s", __VERSION__);
#endif
    info_add(info, "vec backend", "%s", vec_best()->name);
    info_add(info, "MPI", "%s", mpi);
    info_add(info, "CBLAS", "%s", blas_config());
    info_add(info, "wider in fp16-pure", "%s", round_pure_wide);
    info_add(info, "and with CUDA", "%s", round_pure_wide_cuda);
    info_add(info, "zlib", "%s", zlibVersion());
    char fabric[INFO_VALUE], path[PATH_MAX];
    wire_plugin_about(fabric, sizeof fabric);
    info_add(info, "libfabric", "%s", fabric);
    info_add(info, "simulated card", "%s",
             beside("narrowcast-sim", path) == path ? path : "not built");
}
