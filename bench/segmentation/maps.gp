# maps.gp : draws the first predicted label maps in $MAPS, a row for each folder that $ROWS names.
rows = system("printf %s \"$ROWS\"")
file(row, i) = system(sprintf("ls \"$MAPS/%s\"/*.png | sed -n %dp", word(rows, row), i))
columns = 8
set terminal pngcairo size 110 * columns + 40, 124 * words(rows) font "sans,10"
set multiplot layout words(rows), columns margins 0.01, 0.99, 0.01, 0.94 spacing 0.01, 0.04
unset key; unset tics; unset border; unset colorbox
set size ratio -1
do for [row=1:words(rows)] {
    do for [i=1:columns] {
        if (i == 1) { set label 1 word(rows, row) at graph 0, graph 1.07 front } else { unset label 1 }
        plot file(row, i) binary filetype=png with rgbimage
    }
}
unset multiplot
