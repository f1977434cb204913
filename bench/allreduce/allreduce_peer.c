/* allreduce_peer.c : runs MPI_Allreduce of fp32 with each of Open MPI's algorithms, as reference.
 *
 * Each algorithm has a communicator: coll/tuned reads the algorithm, a setting of MPI's tools
 * interface, when it is made. */
#include "allreduce_peer.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void peers_prepare(void)
{
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
}

static void peers_add(struct peers *p, const char *name)
{
    struct peer *peer = &p->peer[p->n++];
    snprintf(peer->name, sizeof peer->name, "%s", name);
    MPI_Comm_dup(MPI_COMM_WORLD, &peer->comm);
}

void peers_open(struct peers *p, const char *only)
{
    int level, index, bytes = 64, verbosity, n_words = 0, binding, scope, count, name_bytes = 64;
    char name[64], text[64];
    MPI_Datatype type;
    MPI_T_enum words;
    MPI_T_cvar_handle setting;
    *p = (struct peers){.n = 0};
    const bool tools = MPI_T_init_thread(MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS;
    if (!tools || MPI_T_cvar_get_index("coll_tuned_allreduce_algorithm", &index) != MPI_SUCCESS ||
        MPI_T_cvar_get_info(index, name, &name_bytes, &verbosity, &type, &words, text, &bytes,
                            &binding, &scope) != MPI_SUCCESS ||
        MPI_T_enum_get_info(words, &n_words, name, &name_bytes) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &setting, &count) != MPI_SUCCESS) {
        if (!only || !strcmp(only, "default"))
            peers_add(p, "default");
        if (tools)
            MPI_T_finalize();
        return;
    }
    for (int i = 0; i < n_words && p->n < PEERS_MAX; i++) {
        int value, word_bytes = PEER_NAME_BYTES;
        char word[PEER_NAME_BYTES];
        if (MPI_T_enum_get_item(words, i, &value, word, &word_bytes) != MPI_SUCCESS)
            continue;
        const char *shown = value == 0 ? "default" : word; /* Open MPI calls it "ignore" */
        if ((!only || strcmp(only, shown) == 0) && MPI_T_cvar_write(setting, &value) == MPI_SUCCESS)
            peers_add(p, shown);
    }
    const int own_choice = 0;
    MPI_T_cvar_write(setting, &own_choice);
    MPI_T_cvar_handle_free(&setting);
    MPI_T_finalize();
}

void peers_close(struct peers *p)
{
    for (int i = 0; i < p->n; i++)
        MPI_Comm_free(&p->peer[i].comm);
}

void peer_run(const struct peer *p, const float *x, float *sum, size_t n)
{
    for (size_t at = 0, k; at < n; at += k) { /* MPI counts are int */
        k = n - at < (size_t)1 << 30 ? n - at : (size_t)1 << 30;
        MPI_Allreduce(x + at, sum + at, (int)k, MPI_FLOAT, MPI_SUM, p->comm);
    }
}
