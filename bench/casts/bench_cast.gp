# bench_cast.gp : draws `build/bench_cast --json`: ratios to the fastest copy (bars) and to memcpy
# (rings).
#   FILE=build/bench_cast.json gnuplot bench/casts/bench_cast.gp >build/bench_cast.svg
# The shell reads FILE: no name runs as a command.
number = '\([0-9.e+-]*\)'
# "name" ratio ratio_memcpy
rows = "< sed -n 's/.*\"name\":\\(\"[^\"]*\"\\).*\"ratio\":" . number . ",\"ratio_memcpy\":" . number . ".*/\\1 \\2 \\3/p' <\"$FILE\""
fastest = system("sed -n 's/.*\"name\":\"\\([^\"]*\\)\".*\"fastest\":true.*/\\1/p' <\"$FILE\"")

set terminal svg size 900,660 background "white" font "sans,12"
set title "Casts and sums on one core, against copies of the same bytes\n(the fastest copy here: " . fastest . ")" noenhanced
set style fill solid 0.7 noborder
set grid xtics
stats rows using 3 nooutput
set xrange [0:STATS_max * 1.1]
set yrange [STATS_records - 0.4:-0.6]
set xlabel "times as fast as the copy"
set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "black"
set key inside right bottom
plot rows using ($2 / 2):0:($2 / 2):(0.35):ytic(1) with boxxyerror linecolor rgb "#3070b0" title "to the fastest copy", \
     rows using 3:0 with points pointtype 6 pointsize 0.8 linewidth 1.5 linecolor rgb "#c04020" title "to memcpy", \
     rows using 2:0:(sprintf(" %.2f", $2)) with labels left font ",10" notitle
