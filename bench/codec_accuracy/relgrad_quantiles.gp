# relgrad_quantiles.gp : draws relgrad_quantiles.sh's quantiles by step, histogram or matrices: $CHART.
# The shell reads the files' names: no name runs as a command.
chart = system("printf %s \"$CHART\"")
title_of(row) = word("weight gradient gradient/weight", row)
set terminal svg size 900,560 background "white" font "sans,12"

if (chart eq "quantiles") {
    # the k-th layer's name, and its steps and quantiles
    layers = int(system("cut -f 2 <\"$QUANTILES\" | sort -u | wc -l"))
    name(k) = system("cut -f 2 <\"$QUANTILES\" | awk '!seen[$0]++' | sed -n " . k . "p")
    of(k) = "< awk -F '\\t' '!($2 in at) { at[$2] = ++n } at[$2] == " . k . " && $3 > 0 { print $1, $3 }' <\"$QUANTILES\""
    set title "95 % quantile of |gradient / weight| by layer" noenhanced
    set xlabel "step"
    set logscale y
    set format y "10^{%T}"
    set grid
    set key outside right noenhanced
    # a layer's bias in its weights' colour
    plot for [k=1:layers] of(k) using 1:2 with linespoints linetype (k + 1) / 2 dashtype 1 + (k + 1) % 2 \
        pointtype 7 pointsize 0.4 title name(k)
}
if (chart eq "histogram") {
    set title "conv2: numbers up to the 99 % quantile, in parts of it"
    set xlabel "number / 99 % quantile"
    set ylabel "share, %"
    set grid
    set key outside right noenhanced
    bins(row) = "< sed -n " . row . "p <\"$BINS\" | tr '\\t' '\\n' | sed 1,2d"
    plot for [i=1:3] bins(i) using (-1 + ($0 + 0.5) / 20):(100 * $1) with histeps linewidth 1.5 title title_of(i)
}
if (chart eq "matrices") {
    columns = 1200
    set terminal pngcairo size 1240,900 font "sans,11"
    set multiplot layout 3,1
    set palette defined (-1 "#1a9641", 0 "#ffffff", 1 "#d7191c")
    set cbrange [-1:1]
    unset key; unset colorbox
    set xrange [-0.5:columns - 0.5]
    set yrange [255.5:-0.5]
    do for [i=1:3] {
        set title "conv2, " . title_of(i) . " in 99 % quantiles: a row for each filter"
        plot "< cat <\"$MATRICES\"" using (int($0) % columns):(int($0) / columns):(column(i)) with image pixels
    }
    unset multiplot
}
