# bench_allreduce.gp : draws `build/bench_allreduce --json`: speed, and ratio to MPI's fp32.
#   FILE=build/bench_allreduce.json gnuplot bench/allreduce/bench_allreduce.gp \
#       >build/bench_allreduce.svg
# The shell reads FILE without names' quotes: no name runs as a command.
number = '\([0-9.e+-]*\)'
# Lines: "algo=type", size, algbw, ratio. MPI's rows are one series.
rows = "sed -n 's/.*\"algo\":\"\\([^\"]*\\)\",\"type\":\"\\([^\"]*\\)\".*\"size\":" . number . ",.*\"algbw\":" . number . \
       ",.*\"ratio\":" . number . ",.*/\\1=\\2 \\3 \\4 \\5/p' <\"$FILE\" | sed 's/^mpi:[a-z_]*=/MPI_Allreduce=/' | tr -d \"'\""
series = system(rows . " | cut -d' ' -f1 | sort -u")
of(s) = "< " . rows . " | grep '^" . s . " '"
title_of(s) = system("echo '" . s . "' | tr '=' ' '")

set terminal svg size 900,900 background "white" font "sans,12"
set multiplot layout 2,1
set logscale x 2
set format x "%.0b %BB"
set grid
set key left top noenhanced
set xlabel "fp32 bytes a rank"
set logscale y
set ylabel "fp32 bytes / time, GB/s"
plot for [s in series] of(s) using 2:3 with linespoints pointtype 7 pointsize 0.5 title title_of(s)
unset logscale y
set yrange [0:*]
set ylabel "times faster than MPI's fp32"
plot for [s in series] of(s) using 2:4 with linespoints pointtype 7 pointsize 0.5 title title_of(s)
