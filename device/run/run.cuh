/* run.cuh : declares one function for each slot of dev_run_ops, which dev.h documents, and
 * run_code_here(). */
#ifndef RUN_CUH
#define RUN_CUH
#include "device/run/cu.cuh"

extern "C" const struct dev_run_ops dev_run;

int run_open(int ordinal, int rank_on_node, dev_say *say, struct dev_info *info);
void run_close(void);
int run_count(void);
int run_current(int ordinal);
void run_restore(int before);
int run_device_of(const void *p);

void *run_alloc(size_t bytes);
void run_free(void *p);
void *run_alloc_pinned(size_t bytes);
void run_free_pinned(void *p);
void run_memory(size_t *free_bytes, size_t *all_bytes);
int run_ipc_export(void *p, struct dev_ipc *out);
int run_ipc_import(const struct dev_ipc *in, void **out);
void run_ipc_close(void *p);

int run_stream_open(bool urgent, struct dev_stream **out);
void run_stream_close(struct dev_stream *s);
int run_copy(void *dst, const void *src, size_t bytes, struct dev_stream *s);
int run_zero(void *p, size_t bytes, struct dev_stream *s);
int run_wait(struct dev_stream *s);
int run_event_open(struct dev_event **out);
void run_event_close(struct dev_event *e);
int run_event_record(struct dev_event *e, struct dev_stream *s);
int run_event_wait(struct dev_event *e, struct dev_stream *s);
int run_event_sync(struct dev_event *e);
int run_event_ms(struct dev_event *from, struct dev_event *to, float *ms);
int run_event_done(struct dev_event *e);
void run_event_leave(struct dev_event *e);
int run_graph_begin(struct dev_stream *s);
int run_graph_end(struct dev_stream *s, struct dev_graph **out);
int run_graph_launch(struct dev_graph *g, struct dev_stream *s);
void run_graph_close(struct dev_graph *g);

int run_signal(uint32_t *flag, uint32_t value, struct dev_stream *s);
int run_code_here(void);

#endif
