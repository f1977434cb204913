# breakeven.gp : draws breakeven.sh's ratios to MPI's fp32 all-reduce over link speed.
#   FILE=build/breakeven.json gnuplot bench/allreduce/breakeven.gp >build/breakeven.svg
# The shell expands FILE in quotes, and tr removes those of names: no name runs as a command.
number = '\([0-9.e+-]*\)'
# Lines: series, links, ratio; blanks become '_'. MPI's rows are 1.
rows = "sed -n '/\"algo\":\"mpi:/d; s/.*\"label\":\"\\([^\"]*\\)\",\"algo\":\"\\([^\"]*\\)\",\"type\":\"\\([^\"]*\\)\".*\"ratio\":" . \
       number . ",.*/\\2 \\3|\\1|\\4/p' <\"$FILE\" | tr ' |' '_ ' | tr -d \"'\""
series = system(rows . " | cut -d' ' -f1 | sort -u")
of(s) = "< " . rows . " | grep '^" . s . " '"
plain(s) = system("echo '" . s . "' | tr '_' ' '")

set terminal svg size 900,520 background "white" font "sans,12"
set title "Narrow all-reduce against the best fp32 all-reduce of Open MPI (1)"
set ylabel "times faster"
set xlabel "limit of every port, each way"
set yrange [0:*]
set grid ytics
set offsets 0.3, 0.3, 0, 0
set key right top noenhanced
set arrow from graph 0, first 1 to graph 1, first 1 nohead dashtype 2 linecolor rgb "black"
plot for [s in series] of(s) using 0:3:xtic(plain(strcol(2))) with linespoints pointtype 7 title plain(s)
