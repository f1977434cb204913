# tradeoff.gp : draws tradeoff.sh's results: the time of a step by activity, codec and network, and
# speed-up over MB of gradients per GFLOP.
#   FILE=build/tradeoff.tsv BATCH=64 gnuplot bench/allreduce/tradeoff.gp >build/tradeoff.svg
# The shell expands FILE in quotes, and tr removes those of names: no name runs as a command.
# Lines: network, codec, computing, casting, travelling (relative to the network's fp32 step), MB
# per GFLOP, speed-up over the best fp32 row.
rows = "awk -F '\\t' -v batch=\"${BATCH:-64}\" '$2 == \"gflop\" { gflop[$1] = $3; next } " . \
       "{ row[++n] = $0; if ($2 ~ /^fp32/ && $3 > best[$1]) best[$1] = $3; if ($2 == \"fp32\") fp32[$1] = batch / $3 } " . \
       "END { for (i = 1; i <= n; i++) { split(row[i], f, \"\\t\"); one = fp32[f[1]]; if (one && gflop[f[1]]) " . \
       "print f[1], f[2], (batch / f[3] - f[6] - f[7]) / one, f[7] / one, f[6] / one, f[5] / 1e6 / gflop[f[1]], f[3] / best[f[1]] } }' <\"$FILE\" | tr -d \"'\""
codecs = system(rows . " | cut -d' ' -f2 | grep -v '^fp32' | awk '!seen[$1]++'")
by(c) = "< " . rows . " | grep ' " . c . " ' | sort -g -k6"

stats "< " . rows using 6 nooutput
set terminal svg size 1000,900 background "white" font "sans,12"
set multiplot layout 2,1
set style data histograms
set style histogram rowstacked
set boxwidth 0.8
set style fill solid 0.8 noborder
set grid ytics
set key outside right top noenhanced
set yrange [0:*]
set xtics rotate by -60 scale 0 font ",8" noenhanced
set title "Where the time of a step goes; the network's step in fp32 by direct is 1" noenhanced
plot "< " . rows using 3:xtic(stringcolumn(1) . " " . stringcolumn(2)) linecolor rgb "#5080b0" title "computing", \
     "< " . rows using 4 linecolor rgb "#e0a030" title "casting", \
     "< " . rows using 5 linecolor rgb "#b04040" title "travelling"
set title "Speed-up to the best fp32 row"
set logscale x
set xtics add norotate scale 1 font ",12" (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
set xlabel "MB of fp32 gradients per GFLOP of a rank's step"
set xrange [STATS_min * 0.8:STATS_max * 1.25]
set key outside right top noenhanced
set arrow from graph 0, first 1 to graph 1, first 1 nohead dashtype 2 linecolor rgb "black"
plot for [c in codecs] by(c) using 6:7 with linespoints pointtype 7 title c
unset multiplot
