# One Makefile, one output folder. `make help` lists what it can do.
B        ?= build
CC       ?= cc
MPICC    ?= mpicc
OPT      ?= -O3 -g
SAN      ?=# address,undefined: rebuild everything with sanitizers
V        ?=# 1: show the commands
NP       ?= 4# ranks of `make run`
ARGS     ?=# more options for `make run`, e.g. ARGS='--format e5m2 --scale aps-tight'
Q         = $(if $(V),,@)
MAKEFLAGS += --jobs=$(shell nproc 2>/dev/null || echo 1)
san      := $(strip $(SAN))

# Bits are promised: no contraction, no reassociation. Names and messages are cut by snprintf on purpose.
WARN     := -std=c11 -Wall -Wextra -Wconversion -Wshadow -Werror -Wno-unknown-warning-option -Wno-format-truncation
FLAGS     = $(OPT) $(WARN) -ffp-contract=off -fno-math-errno -D_GNU_SOURCE -I. -Ihost -Ihost/include -Itests \
            $(if $(san),-fsanitize=$(san) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LIBS      = -lopenblas -lz -lm

# host/app is the program, all else of host/ the library; a test or bench is one file and the library.
SRC      := $(sort $(wildcard host/*/*.c))
LIB      := $(filter-out host/app/%,$(SRC))
APP      := $(filter host/app/%,$(SRC))
TESTS    := $(sort $(wildcard tests/test_*.c))
SCRIPTS  := $(sort $(wildcard tests/test_*.sh)) tests/mutate.sh
BENCH    := $(sort $(wildcard bench/bench_*.c))
ALL_C    := $(sort $(wildcard hls/*.h host/*/*.[ch] tests/*.[ch] bench/*.[ch]))
ALL_SH   := $(sort $(wildcard host/*.sh tests/*.sh bench/*.sh .ci/run))
obj       = $(patsubst %.c,$(B)/o/%.o,$(1))
TEST_BIN := $(TESTS:tests/%.c=$(B)/tests/%)

# Ranks may outnumber cores: yield while waiting, do not pin, one BLAS thread a rank.
MPIENV   := OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
            OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.PHONY: all run test test-long bench lint fmt clean help force
all: $(B)/narrowcast $(TEST_BIN) $(BENCH:bench/%.c=$(B)/%)  ## build everything this machine can build
run: $(B)/narrowcast                    ## train a network on 4 ranks with narrow gradients (NP=, ARGS=)
	$(Q)$(MPIENV) mpirun -q -np $(NP) $< train $(ARGS)
test: all                               ## all tests but the long ones, under 20 minutes on 2 cores
	$(Q)B=$(B) CC=$(CC) tests/run.sh $(TEST_BIN) $(SCRIPTS)
test-long: all                          ## the exhaustive ones too: 2^32 floats, sanitizers on everything (an hour or two)
	$(Q)B=$(B) CC=$(CC) tests/run.sh --long $(TEST_BIN) $(SCRIPTS)
bench: all                              ## what is measured: see bench/README.md
	$(Q)$(MPIENV) $(B)/bench_train
	$(Q)$(MPIENV) mpirun -q -np 4 $(B)/bench_native
	$(Q)$(B)/bench_cast --json >$(B)/bench_cast.json && cat $(B)/bench_cast.json
	$(Q)if command -v gnuplot >/dev/null; then gnuplot -e "json='$(B)/bench_cast.json'; chart='$(B)/bench_cast.svg'" \
	    bench/bench_cast.gp && echo 'chart $(B)/bench_cast.svg'; else echo 'skip  gnuplot: not installed'; fi
lint: all                               ## other compilers' and linters' opinions; a missing tool is one line
	$(Q)tests/deps.sh
	$(Q)if command -v clang >/dev/null; then for f in $(SRC) $(TESTS) $(BENCH); do \
	    OMPI_CC=clang $(MPICC) $(FLAGS) -c $$f -o /dev/null || exit 1; done; \
	    else echo 'skip  clang: not installed'; fi
	$(Q)if command -v shellcheck >/dev/null; then shellcheck -x $(ALL_SH); else echo 'skip  shellcheck: not installed'; fi
	$(Q)if command -v cppcheck >/dev/null; then cppcheck -q --error-exitcode=1 --inline-suppr --enable=warning,portability \
	    --suppress=normalCheckLevelMaxBranches -I. -Ihost -Ihost/include $(LIB) $(APP); else echo 'skip  cppcheck: not installed'; fi
	$(Q)if command -v clang-format >/dev/null; then clang-format --dry-run -Werror $(ALL_C); else echo 'skip  clang-format: not installed'; fi
fmt:                                    ## format all C with clang-format
	$(Q)clang-format -i $(ALL_C)
clean:                                  ## remove $(B)
	$(Q)rm -rf $(B)
help:                                   ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

# --- how things are made ------------------------------------------------------------------------
# Two stamps: what the build needs is here (else it is installed), and the flags are those of last time (else all is rebuilt).
$(B)/installed: host/install.sh
	$(Q)mkdir -p $(@D); CC='$(CC)' MPICC='$(MPICC)' ./$< && touch $@
$(B)/flags: force
	$(Q)mkdir -p $(@D); echo '$(CC) $(MPICC) $(FLAGS) $(LIBS)' | cmp -s - $@ || echo '$(CC) $(MPICC) $(FLAGS) $(LIBS)' > $@
force: ;

$(B)/o/%.o: %.c $(B)/flags | $(B)/installed
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo 'cc    $<')
	$(Q)$(if $(filter host/comm/% tests/%_mpi.c,$<),OMPI_CC='$(CC)' $(MPICC),$(CC)) $(FLAGS) -MMD -MP -c $< -o $@
$(B)/libnarrowcast.a: $(call obj,$(LIB))
	$(Q)rm -f $@; ar rcs $@ $^
$(B)/narrowcast: $(call obj,$(APP)) $(B)/libnarrowcast.a
	$(if $(V),,@echo 'link  $@')
	$(Q)OMPI_CC='$(CC)' $(MPICC) $(FLAGS) $^ $(LIBS) -o $@
$(B)/tests/%: $(B)/o/tests/%.o $(B)/libnarrowcast.a
	$(Q)mkdir -p $(@D); OMPI_CC='$(CC)' $(MPICC) $(FLAGS) $^ $(LIBS) -o $@
$(B)/bench_%: $(B)/o/bench/bench_%.o $(B)/libnarrowcast.a
	$(Q)OMPI_CC='$(CC)' $(MPICC) $(FLAGS) $^ $(LIBS) -o $@
.SECONDARY:
-include $(shell find $(B)/o -name '*.d' 2>/dev/null)
