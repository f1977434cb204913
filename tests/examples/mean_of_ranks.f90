! mean_of_ranks.f90 : the mean of gradients over ranks, from Fortran, by ISO C binding.
!
!     mpifort mean_of_ranks.f90 $(pkg-config --cflags --libs narrowcast) -o mean_of_ranks && mpirun -np 4 ./mean_of_ranks
module narrowcast
    use, intrinsic :: iso_c_binding
    implicit none

    type, bind(c) :: nc_options
        integer(c_size_t) :: size
        type(c_ptr) :: format, scale, sum, out_format, overflow, round, algo, offload
        integer(c_size_t) :: bucket_bytes
        real(c_double) :: deadline_s
        integer(c_int64_t) :: seed
        type(c_ptr) :: device, codec, xclbin, node_sum, quantise, acc_format
        integer(c_int) :: rescale
        type(c_ptr) :: op, type
        integer(c_int) :: threads
        type(c_ptr) :: log, log_arg ! a pointer to a function has a pointer's size
    end type

    type, bind(c) :: nc_layer
        type(c_ptr) :: name = c_null_ptr
        integer(c_size_t) :: n = 0
        integer(c_int) :: fp32 = 0
        integer(c_size_t) :: column = 0, stride = 0
        type(c_ptr) :: weights = c_null_ptr
        type(c_ptr) :: reserved(4) = c_null_ptr
    end type

    interface
        subroutine nc_options_init(options, size) bind(c)
            import
            type(nc_options), intent(out) :: options
            integer(c_size_t), value :: size
        end subroutine
        integer(c_int) function nc_open_fortran(comm, options, layers, n_layers, nc) bind(c)
            import
            integer(c_int), value :: comm
            type(nc_options), intent(in) :: options
            integer(c_int), value :: n_layers
            type(nc_layer), intent(in) :: layers(n_layers)
            type(c_ptr), intent(out) :: nc
        end function
        integer(c_int) function nc_allreduce(nc, grads, report) bind(c)
            import
            type(c_ptr), value :: nc
            type(c_ptr), intent(in) :: grads(*)
            type(c_ptr), value :: report
        end function
        subroutine nc_close(nc) bind(c)
            import
            type(c_ptr), value :: nc
        end subroutine
    end interface
end module

program mean_of_ranks
    use mpi
    use narrowcast
    implicit none
    character(kind=c_char, len=5), target :: format = "e4m3" // c_null_char
    character(kind=c_char, len=4), target :: scale = "aps" // c_null_char
    real(c_float), target :: weight(1000), bias(10)
    type(nc_options) :: options
    type(nc_layer) :: layers(2)
    type(c_ptr) :: nc, grads(2)
    integer :: rank, n_ranks, ierr

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, ierr)
    call nc_options_init(options, c_sizeof(options))
    options%format = c_loc(format)
    options%scale = c_loc(scale)
    layers(1)%n = size(weight)
    layers(2)%n = size(bias)
    weight = real(rank + 1, c_float)
    bias = real(2 * (rank + 1), c_float)
    grads = [c_loc(weight), c_loc(bias)]
    if (nc_open_fortran(MPI_COMM_WORLD, options, layers, 2, nc) /= 0) error stop "nc_open_fortran"
    if (nc_allreduce(nc, grads, c_null_ptr) /= 0) error stop "nc_allreduce"
    call nc_close(nc)
    if (any(weight /= (n_ranks + 1) / 2.0) .or. any(bias /= n_ranks + 1)) error stop "a wrong mean"
    if (rank == 0) print '(a, f4.1, a, i0, a)', "mean", weight(1), " of ", n_ranks, " ranks"
    call MPI_Finalize(ierr)
end program
