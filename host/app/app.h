/* app.h : declares the subcommands of the program `narrowcast`. */
#ifndef APP_H
#define APP_H

#define APP_VERSION "0.1.0"

/* The commit of this build, with "-dirty" if files differed, or "unknown" without git. main() sets
 * it, so that a new commit rebuilds only main.o. */
extern const char *app_commit;

/* Run a subcommand. argv[0] to argv[argc-1] are the arguments after its name. Return 0, a negative
 * errno that a rank has reported, or the exit status after a signal. */
int cmd_train(int argc, char **argv);
int cmd_emulate(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_cast(int argc, char **argv);
int cmd_uncast(int argc, char **argv);
int cmd_reduce(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_card(int argc, char **argv);
int cmd_conform(int argc, char **argv);
int cmd_xclbin(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
