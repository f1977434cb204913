# relgrad_seen.gp : draws relgrad_seen.sh's quantiles by step, histograms and matrices.
# The shell reads the files' names: no name runs as a command.
out = system("printf %s \"$OUT\"")
layers = system("cut -f 2 <\"$QUANTILES\" | awk '!seen[$0]++'")
of(layer) = "< awk -F '\\t' -v layer=" . layer . " '$2 == layer && $3 > 0 { print $1, $3 }' <\"$QUANTILES\""
set terminal svg size 900,560 background "white" font "sans,12"
set output out . "-quantiles.svg"
set title "95 % quantile of |gradient / weight| by layer"
set xlabel "step"
set logscale y
set format y "10^{%T}"
set grid
set key outside right noenhanced
plot for [i=1:words(layers)] of(word(layers, i)) using 1:2 with linespoints linetype (i + 1) / 2 dashtype 1 + (i + 1) % 2 \
    pointtype 7 pointsize 0.4 title word(layers, i)

unset logscale y
set format y
set output out . "-histogram.svg"
set title "conv2: numbers up to the 99 % quantile, in parts of it"
set xlabel "number / 99 % quantile"
set ylabel "share, %"
bins(row) = "< sed -n " . row . "p <\"$BINS\" | tr '\\t' '\\n' | sed 1,2d"
plot for [i=1:3] bins(i) using (-1 + ($0 + 0.5) / 20):(100 * $1) with histeps linewidth 1.5 \
    title word("weight gradient gradient/weight", i)

if (int(system("[ -s \"$MATRICES\" ] && echo 1 || echo 0"))) {
    columns = 1200
    set terminal pngcairo size 1240,900 font "sans,11"
    set output out . "-matrices.png"
    set multiplot layout 3,1
    set palette defined (-1 "#1a9641", 0 "#ffffff", 1 "#d7191c")
    set cbrange [-1:1]
    unset key; unset grid; unset colorbox; unset xlabel; unset ylabel
    set xrange [-0.5:columns - 0.5]
    set yrange [255.5:-0.5]
    do for [i=1:3] {
        set title "conv2, " . word("weights gradients gradient/weight", i) . " in 99 % quantiles: a row for each filter"
        plot "< cat <\"$MATRICES\"" using (int($0) % columns):(int($0) / columns):(column(i)) with image pixels
    }
    unset multiplot
}
