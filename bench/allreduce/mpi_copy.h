/* mpi_copy.h : finds out how Open MPI copies between ranks on one machine. With CMA
 * (process_vm_readv) a message is copied once, without it twice. Some containers forbid CMA. */
#ifndef MPI_COPY_H
#define MPI_COPY_H
#include <mpi.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MPI_COPY_BYTES = 96 };

/* Get Open MPI 4's setting after MPI_Init: "cma", "none", ...; "" if there is none. */
static inline void mpi_copy_setting(char word[MPI_COPY_BYTES])
{
    int level, index, verbosity, binding, scope, count, value, n_words, name_bytes = 0,
                                                                        text_bytes = 0;
    MPI_Datatype type;
    MPI_T_enum words;
    MPI_T_cvar_handle setting;
    word[0] = 0;
    if (MPI_T_init_thread(MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return;
    if (MPI_T_cvar_get_index("btl_vader_single_copy_mechanism", &index) == MPI_SUCCESS &&
        MPI_T_cvar_get_info(index, NULL, &name_bytes, &verbosity, &type, &words, NULL, &text_bytes,
                            &binding, &scope) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &setting, &count) == MPI_SUCCESS) {
        int n = MPI_T_cvar_read(setting, &value) == MPI_SUCCESS &&
                        MPI_T_enum_get_info(words, &n_words, NULL, &name_bytes) == MPI_SUCCESS
                    ? n_words
                    : 0;
        for (int i = 0; i < n; i++) {
            int item, word_bytes = MPI_COPY_BYTES;
            char name[MPI_COPY_BYTES];
            if (MPI_T_enum_get_item(words, i, &item, name, &word_bytes) == MPI_SUCCESS &&
                item == value)
                snprintf(word, MPI_COPY_BYTES, "%s", name);
        }
        MPI_T_cvar_handle_free(&setting);
    }
    MPI_T_finalize();
}

/* Returns on rank 0 whether it may read the memory of the last rank,
 * on this machine. Collective. */
static inline int mpi_copy_permitted(void)
{
    int rank, n_ranks, seen = 0;
    volatile int mark = 41;
    struct {
        long long pid, address;
    } last = {getpid(), (long long)&mark};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Bcast(&last, 2, MPI_LONG_LONG, n_ranks - 1, MPI_COMM_WORLD);
    if (rank == 0) {
        struct iovec to = {&seen, sizeof seen}, from = {(void *)last.address, sizeof seen};
        seen = process_vm_readv((pid_t)last.pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof seen;
    }
    MPI_Barrier(MPI_COMM_WORLD); /* keeps mark alive until it is read */
    return seen;
}

/* Collective; rank 0 gets the description. */
static inline void mpi_copy_words(char words[MPI_COPY_BYTES])
{
    char setting[MPI_COPY_BYTES];
    mpi_copy_setting(setting);
    snprintf(words, MPI_COPY_BYTES, "%.30s (process_vm_readv is %spermitted here)",
             setting[0] ? setting : "Open MPI's own choice", mpi_copy_permitted() ? "" : "not ");
}

#endif
