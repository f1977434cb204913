# launch.sed : turns k_name<types><<<grid, block, shared, stream>>>(arguments) into a call that the
# emulator's headers define. Keeps a launch's line breaks before <<< and >>>(.
/^ *k_[A-Za-z0-9_]*\(<.*>\)\{0,1\}$/N
/<<</{
    :more
    />>>(/!{
        N
        b more
    }
}
s/\<\(k_[A-Za-z0-9_]*\)\(<[^<;][^;]*[^>;]>\|<[^<>;]>\)\{0,1\}\([ \n]*\)<<<\([^;]*\)>>>(/emu_kernel("\1", \1\2,\3 emu_shape(\4))(/g
s/\(cudaLaunch[A-Za-z]*Kernel\|cudaFunc[A-Za-z]*\)(\(&[^,]*, \)\{0,1\}(\(const \)\{0,1\}void \*)/\1(\2/g
