# loss_scale.gp : draws test accuracy over the scale of the loss, mean and range of seeds.
#   FILE=bench/data/scale-resnet20.tsv gnuplot bench/loss_scale/loss_scale.gp >build/loss_scale.svg
# The shell reads FILE: no name runs as a command. awk prints per scale: name (none: 1), mean,
# lowest, highest in %, without seeds that diverged.
all = "awk -F '\\t' '$3 != \"diverged\" { n[$1]++; sum[$1] += $3; if (n[$1] == 1 || $3 < low[$1]) low[$1] = $3; if ($3 > high[$1]) high[$1] = $3 } END { for (s in n) print (s == \"none\" ? 1 : s), 100 * sum[s] / n[s], 100 * low[s], 100 * high[s] }' <\"$FILE\""
constant = "< " . all . " | grep '^[0-9]' | sort -g"
level(s) = real(system(all . " | sed -n 's/^" . s . " \\([0-9.]*\\) .*/\\1/p'"))
has(s) = int(system(all . " | grep -c '^" . s . " ' || :"))
names = "fp32 dynamic adaptive"

set terminal svg size 900,460 background "white" font "sans,12"
set title "Constant scales of the loss in e5m10: mean of seeds, lowest to highest"
set ylabel "test accuracy, %"
set xlabel "scale"
set logscale x 2
set xrange [0.8:10240]
set grid ytics
set key outside right noenhanced
plot constant using 1:2:3:4 with yerrorlines pointtype 7 title "constant", \
     for [i=1:words(names)] (has(word(names, i)) ? level(word(names, i)) : NaN) with lines dashtype 2 title word(names, i)
