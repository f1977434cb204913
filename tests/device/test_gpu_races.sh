#!/bin/bash
# test_gpu_races.sh : an emulator that sees each access of kernels (tests/emu/emu_races.cpp) finds two
# planted races and none in all tests of the GPU, nor a host that touches device memory (EMU_STRICT).
# Only with `long` or TESTS='test_gpu_vec ...', which names the tests.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build} cxx=${CXX:-g++}
read -ra tests <<<"${TESTS-}"
[ "${1-}" = long ] || [ ${#tests[@]} -gt 0 ] || { echo 'skip: builds an emulator of its own (make test-long, or TESTS=...)' && exit 77; }
echo 'int main() {}' | "$cxx" -fsanitize=thread --param tsan-distinguish-volatile=1 -x c++ - -o /dev/null 2>/dev/null ||
    { echo "skip: $cxx has no -fsanitize=thread with volatile accesses apart" && exit 77; }
folder=$B/emu/races bad=0
export RACES=1 CXX=$cxx JOBS=2 LEVEL=0 OBJECTS=$folder
tests/emu/build.sh "$folder/selftest.so" tests/emu/selftest_kernels.cu tests/emu/selftest_host.cu || exit 1

# scene NAME WORDS: a scene of the self-test ends with WORDS; none: without an error
scene() {
    local said
    said=$("$B/tests/test_emu" "$folder/selftest.so" "$1" 2>&1)
    case $?:$2 in 0:) return ;; [1-9]*:?*) [[ $said != *"$2"* ]] || return ;; esac
    echo "FAIL $1, wanted '$2': $said" && bad=1
}
scene race 'k_race: race in shared memory: thread 1 of block 0 reads what was written by thread 0 of block 0'
scene race_of_blocks 'k_race_of_blocks: race in global memory: thread 7 of block 1 writes after a write of thread 7 of block 0'
for name in barriers warps atomics; do scene $name ''; done

if [ ${#tests[@]} = 0 ]; then
    tests=(test_gemm_low_gpu)
    for t in "$B"/tests/test_gpu_*; do
        case ${t##*/} in *.* | *_mpi | *_all | test_gpu_run | test_gpu_host_memory) ;; *) tests+=("${t##*/}") ;; esac
    done
fi
tests/emu/build.sh "$folder/libnarrowcast_cuda.so" device/*/*.cu || exit 1
JOBS=2 TEST_TIMEOUT=3600 EMU_STRICT=1 NARROWCAST_CUDA=$folder/libnarrowcast_cuda.so tests/run.sh "${tests[@]/#/$B/tests/}" || bad=1
exit $bad
