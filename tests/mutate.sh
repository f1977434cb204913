#!/bin/sh
# mutate.sh : makes mutants of hls/arith/mf.h and philox.h and fails if a test misses one.
#
# A line of the list: a function, the test that must fail, and the sed command that changes the
# function. A mutant that equals the original or does not compile counts as a survivor.
# usage: mutate.sh [long]   long: all mutants; otherwise one in 8
# A checksum of the headers selects the mutants. Environment: B, the build folder; CC, the
# compiler. Exit 1 on any survivor.
cd "$(dirname "$0")/.." || exit 1
case ${1-} in
long) every=1 ;;
*) every=8 ;;
esac
dir=${B:-build}/mutate
n_caught=0 n_survived=0

list()
{
    cat <<'END'
mf_width        test_mf         s/1u + f.e/f.e/
mf_bias         test_mf         s/(f.e - 1)/f.e/
mf_nan          test_mf         s/- 1u;/- 2u;/
mf_special      test_mf         s/<< f.m) - 1u/<< f.m) - 2u/
mf_special      test_mf         s/? nan$/? nan - 1u/
mf_special      test_mf         s/nan + 1u/nan/
mf_max          test_mf         s/- 1u/- 2u/
mf_inf          test_mf         s/mf_special(f) : mf_nan(f)/mf_special(f) : mf_special(f)/
mf_last_not_nan test_mf         s/: mf_max(f)/: mf_nan(f)/
mf_uses_top     test_mf_acc     s/? 1 : 0/? 0 : 0/
mf_unpack       test_mf         s/field != 0u ? frac/field > 1u ? frac/
mf_unpack       test_mf         s/(int)field : 1/(int)field : 0/
mf_unpack       test_mf         s/v.negative = .*/v.negative = 0u;/
mf_unpack       test_mf         s/mag < mf_special/mag <= mf_special/
mf_unpack       test_mf         s/mag > mf_last/mag >= mf_last/
mf_unpack       test_mf         s/MF_NAN : MF_INFINITE/MF_INFINITE : MF_INFINITE/
mf_normalise    test_mf         s/i >= 0/i > 0/
mf_normalise    test_mf         s/int i = 5/int i = 4/
mf_normalise    test_mf         s/v.exp -=/v.exp +=/
mf_pack         test_mf         s/overflow == MF_SATURATE/overflow == MF_INF/
mf_pack         test_mf         s/v.kind == MF_NAN/v.kind == MF_FINITE/
mf_pack         test_mf         s/return sign;/return 0u;/
mf_pack         test_mf         s/top > lowest ? top - lowest : 0/top - lowest/
mf_pack         test_mf         s/binade = 1 << f.e;/;/
mf_pack         test_mf         s/63 - f.m/62 - f.m/
mf_pack         test_mf         s/top < lowest ? lowest - top : 0/0/
mf_pack         test_mf         s/drop < 128/drop < 66/
mf_pack         test_mf         s/(drop - 64)/(drop - 63)/
mf_pack         test_mf         s/rest > half ||/rest >= half ||/
mf_pack         test_mf         s/(kept & 1u) != 0u/(kept \& 1u) == 0u/
mf_pack         test_mf         s/|| (rest == half.*;/;/
mf_pack         test_mf         s/rest == half \&\& (kept/rest == half \&\& f.m != 0 \&\& (kept/
mf_pack         test_mf         s/rest >> 32 > random/rest >> 32 >= random/
mf_pack         test_mf         s/rest >> 32 > random/rest >> 33 > random/
mf_pack         test_mf         s/mag > mf_max/mag >= mf_max/
mf_pack         test_mf         s/round == MF_ZERO ? mf_max(f) : beyond/beyond/
mf_pack         test_mf         s/+ up)/)/
mf_enc          test_mf         s/+= shift/-= shift/
mf_enc          test_mf         s/round, overflow, random/MF_NEAREST, overflow, random/
mf_dec          test_mf         s/+= shift/-= shift/
mf_dec          test_mf         s/MF_NEAREST/MF_ZERO/
mf_dec          test_mf         s/MF_INF,/MF_SATURATE,/
mf_sum          test_mf_add     s/a.kind == b.kind && a.negative != b.negative/0u/
mf_sum          test_mf_add     s/v = b;/v = a;/
mf_sum          test_mf_add     s/v.negative = 0u;/;/
mf_sum          test_mf_add     s/ && a.sig < b.sig/ \&\& a.sig > b.sig/
mf_sum          test_mf_add     s/(small.sig << 38) >>/small.sig >>/
mf_sum          test_mf_add     s/apart < 64 ? \(.*\) : 0u/\1/
mf_sum          test_mf_add     s/high - low/high + low/
mf_sum          test_mf_add     s/v.sig != 0u ? big.negative : 0u/big.negative/
mf_sum          test_mf_add     s/big.exp - 38/big.exp - 37/
mf_add          test_mf_add     s/MF_NEAREST, overflow/MF_ZERO, overflow/
mf_add          test_mf_add     s/MF_NEAREST, overflow/MF_NEAREST, MF_INF/
mf_add          test_mf_acc     s/mf_unpack(f, b)/mf_unpack(f, a)/
mf_holds        test_mf_add     s/from.e + mf_uses_top(from)/from.e/
mf_holds        test_mf_add     s/to.m >= from.m/to.m > from.m/
mf_holds        test_mf_add     s/to.flavour == MF_IEEE && //
mf_e5m2         test_mf_add     s/{5, 2, MF_IEEE}/{5, 2, MF_NO_INF}/
mf_half         test_mf_add     s/{5, 10, MF/{5, 9, MF/
mf_fp32         test_mf         s/{8, 23, MF/{8, 22, MF/
mf_e5m2_drop    test_mf_add     s/? 1u : 0u/? 0u : 0u/
mf_e5m2_drop    test_mf_add     s/half >> 8/(half + 128u) >> 8/
mf_e5m2_trunc_enc test_mf_add   s/MF_NEAREST/MF_ZERO/
mf_e5m2_trunc_enc test_mf_add   s/x_bits, shift/x_bits, 0/
mf_e5m2_trunc_add test_mf_add   s/MF_NEAREST/MF_ZERO/
mf_e5m2_trunc_add test_mf_add   s/(mf_e5m2(), b)/(mf_half(), b)/
mf_exp_up_times test_mf_acc     s/v.sig \*= p;/v.sig = (uint32_t)(v.sig * p);/
mf_exp_up_times test_mf_acc     s/v.sig > 1ull/v.sig >= 1ull/
mf_exp_up_times test_mf_acc     s/+ 63/+ 62/
mf_exp_tight    test_mf_acc     s/v.sig > largest/v.sig >= largest/
mf_exp_tight    test_mf_acc     s/mf_unpack(f, mf_max(f))/mf_unpack(f, mf_inf(f))/
mf_acc_bits     test_mf_acc     s/n_terms - 1u/n_terms/
mf_acc_bits     test_mf_acc     s/ + mf_uses_top(f)//
mf_acc_bits     test_mf_acc     s/i < 32/i < 12/
mf_acc_merge    test_mf_acc     s/(a + b) &/(a | b) \&/
mf_acc_merge    test_mf_acc     s/& ~MF_ACC_SUM/\& 0u/
mf_acc_add      test_mf_acc     s/0u - units : units/units : units/
mf_acc_add      test_mf_acc     s/units) & MF_ACC_SUM/units)/
mf_acc_add      test_mf_acc     s/MF_ACC_NINF : MF_ACC_PINF/MF_ACC_PINF : MF_ACC_NINF/
mf_acc_add      test_mf_acc     s/MF_ACC_NINF | MF_ACC_PINF/MF_ACC_PINF/
mf_acc_round    test_mf_acc     s/>> 61/>> 60/
mf_acc_round    test_mf_acc     s/ - shift//
mf_acc_round    test_mf_acc     s/mf_bias(in)/mf_bias(out)/
mf_acc_round    test_mf_acc     s/0u - acc : acc/~acc : acc/
mf_acc_round    test_mf_acc     s/== 2u/== 1u/
mf_acc_round    test_mf_acc     s/MF_NAN : MF_INFINITE/MF_INFINITE : MF_INFINITE/
mf_acc_round    test_mf_acc     s/!= 0u ? code : 0u/!= 0u ? code : code/
mf_acc_round    test_mf_acc     s/MF_NEAREST, overflow/MF_ZERO, overflow/
philox_rounds   test_philox     s/round < 10/round < 9/
philox_rounds   test_philox     s/c.w\[3\] ^ k1/k1/
philox_key      test_philox     s/{{a, b, c, d}}/{{a, b, c, 0u}}/
philox_u32      test_philox     s/i >> 34/i >> 33/
philox_half     test_philox     s/i >> 35/i >> 34/
philox_half     test_philox     s/(i \& 1u) \* 16u/(~i \& 1u) * 16u/
philox_half     test_philox     s/half, 0u/0u, 0u/
philox_round_u32 test_philox    s/i, 1u/i, 2u/
philox_round_u32 test_philox    s/<< 16 |/<< 16 ^ 1u |/
END
}

build()
{
    ${CC:-cc} -std=c11 -O0 -w -D_GNU_SOURCE -I"$1" -I. -Ihost -Itests/lib tests/*/"$2.c" -o "$1/$2" -lm
}

mkdir -p "$dir/hls/arith" "$dir/sound" || exit 1
first=$(($(cat hls/arith/mf.h hls/arith/philox.h | cksum | cut -d ' ' -f 1) % every + 1))
list | sed -n "$first~${every}p" >"$dir/list"
echo "one mutant in $every, from number $first"
for test in test_mf test_mf_add test_mf_acc test_philox; do
    grep -q " $test " "$dir/list" || continue
    if ! build "$dir/sound" $test || ! timeout 60 "$dir/sound/$test" quick >/dev/null; then
        echo "$test fails without any bug planted"
        exit 1
    fi
done

while read -r function test edit; do
    case $function in philox*) header=philox.h ;; *) header=mf.h ;; esac
    cp hls/arith/*.h "$dir/hls/arith/"
    # up to the next closing brace in column 1
    sed "/^[A-Z]*_FN .*[ *]$function(/,/^}/ $edit" "hls/arith/$header" >"$dir/hls/arith/$header"
    verdict=caught
    if cmp -s "hls/arith/$header" "$dir/hls/arith/$header"; then
        verdict="SURVIVED (nothing changed)"
    elif ! build "$dir" "$test"; then
        verdict="SURVIVED (does not compile)"
    elif timeout 60 "$dir/$test" quick >/dev/null 2>&1; then
        verdict="SURVIVED"
    fi
    printf '%-8s %-18s %-15s %s\n' "$verdict" "$function" "$test" "$edit"
    case $verdict in caught) n_caught=$((n_caught + 1)) ;; *) n_survived=$((n_survived + 1)) ;; esac
done <"$dir/list"
echo "$n_caught caught, $n_survived survived"
[ "$n_survived" -eq 0 ]
