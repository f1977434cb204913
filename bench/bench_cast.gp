# bench_cast.gp : chart of what `build/bench_cast --json` printed: each row's ratio to memcpy.
#   gnuplot -e "json='build/bench_cast.json'; chart='build/bench_cast.svg'" bench/bench_cast.gp
if (!exists("json")) json = "build/bench_cast.json"
if (!exists("chart")) chart = "build/bench_cast.svg"
rows = "< sed -n 's/.*\"name\":\\(\"[^\"]*\"\\).*\"ratio\":\\([0-9.e+-]*\\).*/\\1 \\2/p' " . json

set terminal svg size 900,640 background "white" font "sans,12"
set output chart
set title "Casts and sums on one core (memcpy of the same fp32 bytes = 1)"
set style fill solid 0.7 noborder
set grid xtics
stats rows using 2 nooutput
set xrange [0:STATS_max * 1.1]
set yrange [STATS_records - 0.4:-0.6]
set xlabel "ratio to memcpy"
set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "black"
set key off
plot rows using ($2 / 2):0:($2 / 2):(0.35):ytic(1) with boxxyerror linecolor rgb "#3070b0", \
     rows using 2:0:(sprintf(" %.2f", $2)) with labels left font ",10"
