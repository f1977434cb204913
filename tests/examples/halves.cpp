// halves.cpp : sums of doubles in two communicators of the program: even and odd ranks.
//
//     mpicxx halves.cpp $(pkg-config --cflags --libs narrowcast) -o halves && mpirun -np 4 ./halves
#include <mpi.h>
#include <narrowcast.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

struct closer {
    void operator()(nc *c) const { nc_close(c); }
};
using communicator = std::unique_ptr<nc, closer>;

static communicator open_on(MPI_Comm comm, const std::vector<nc_layer> &layers)
{
    nc_options options = nc_options_default();
    options.format = "fp16";
    options.type = "fp64";
    options.op = "sum";
    nc *c = nullptr;
    if (nc_open_on(&comm, &options, layers.data(), static_cast<int>(layers.size()), &c) < 0)
        throw std::runtime_error(nc_last_error(nullptr));
    return communicator(c);
}

static int run()
{
    int rank, n_ranks;
    MPI_Comm half;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    std::vector<nc_layer> layers(1);
    layers[0].name = "all";
    layers[0].n = 100;
    std::vector<double> x(100, rank);
    double *const list[] = {x.data()};
    double want = 0;
    for (int r = rank % 2; r < n_ranks; r += 2)
        want += r;
    {
        const communicator c = open_on(half, layers);
        if (nc_allreduce(c.get(), list, nullptr) != 0)
            throw std::runtime_error(nc_last_error(c.get()));
    }
    MPI_Comm_free(&half);
    for (double got : x)
        if (got != want)
            throw std::runtime_error("a wrong sum");
    if (rank == 0)
        std::printf("sum %g of the even ranks\n", want);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    try {
        const int rc = run();
        MPI_Finalize();
        return rc;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return 1;
}
