# bench_codecs.gp : draws `build/bench_codecs DIR --json`: encoding (bars) and decoding (rings)
# relative to memcpy, with bytes per element and L2 error.
#   FILE=build/bench_codecs.json gnuplot bench/codecs/bench_codecs.gp >build/bench_codecs.svg
# The shell reads FILE: no name runs as a command.
number = '\([0-9.e+-]*\)'
# "name" encode decode bytes l2
rows = "< sed -n 's/.*\"name\":\\(\"[^\"]*\"\\).*\"encode\":" . number . ",\"decode\":" . number . ",\"bytes\":" . number . ".*\"l2\":" . number . \
       "[,}].*/\\1 \\2 \\3 \\4 \\5/p' <\"$FILE\""

set terminal svg size 900,560 background "white" font "sans,12"
set title "Codecs on one core, against memcpy of the gradients in fp32\n(bytes an element, error of one step)"
set style fill solid 0.7 noborder
set grid xtics
stats rows using ($2 > $3 ? $2 : $3) nooutput
set xrange [0:STATS_max * 1.4]
set yrange [STATS_records - 0.4:-0.6]
set xlabel "times as fast as memcpy"
set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "black"
set key inside right bottom
plot rows using ($2 / 2):0:($2 / 2):(0.35):ytic(1) with boxxyerror linecolor rgb "#3070b0" title "encode", \
     rows using 3:0 with points pointtype 6 pointsize 0.8 linewidth 1.5 linecolor rgb "#c04020" title "decode", \
     rows using ($2 > $3 ? $2 : $3):0:(sprintf("   %.2f B, %.3g %%", $4, 100 * $5)) with labels left font ",10" notitle
