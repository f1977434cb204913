! pmpi_plain.f90 : is a Fortran MPI program without narrowcast, for test_pmpi.sh.
! It prints the error of its sums: 0, or more if libnarrowcast-pmpi.so narrows them.
program pmpi_plain
    use mpi
    implicit none
    integer, parameter :: n = 20000
    real :: x(n), y(n), true(n)
    integer :: rank, n_ranks, ierr, comm, request, requests(2), r, i, provided
    character(8) :: word
    call MPI_Init_thread(MPI_THREAD_SINGLE, provided, ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    true = 0
    do r = 0, n_ranks - 1
        true = true + [(mod(i * 7919 + r * 104729, 65536) / 1024.0, i = 1, n)]
    end do
    x = [(mod(i * 7919 + rank * 104729, 65536) / 1024.0, i = 1, n)]
    call MPI_Allreduce(x, y, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    call tell("blocking", y)
    y = x
    call MPI_Allreduce(MPI_IN_PLACE, y, n, MPI_REAL, MPI_SUM, comm, ierr)
    call tell("in place", y)
    call MPI_Iallreduce(x, y, n, MPI_REAL4, MPI_SUM, comm, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call tell("non-blocking", y)
    y = x
    if (rank == 0) then
        call MPI_Reduce(MPI_IN_PLACE, y, n, MPI_REAL, MPI_SUM, 0, comm, ierr)
    else
        call MPI_Reduce(x, y, n, MPI_REAL, MPI_SUM, 0, comm, ierr)
        if (any(y /= x)) error stop "a rank other than the root gets sums"
    end if
    call tell_root("to one rank", y)
    call MPI_Ireduce(x, y, n, MPI_REAL, MPI_SUM, 0, comm, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call tell_root("later", y)
    call MPI_Allreduce(x, y, n, MPI_REAL, MPI_MAX, comm, ierr)
    if (any(y < x)) error stop "the largest is less"
    call MPI_Allreduce(x, y, 100, MPI_REAL, MPI_SUM, comm, ierr)
    if (any(y(:100) /= true(:100))) error stop "a short sum is narrow"
    call start_all()
    call get_command_argument(1, word)
    if (word == 'refuse') call refuse()
    call MPI_Comm_free(comm, ierr)
    call MPI_Finalize(ierr)
contains
    subroutine tell(what, sums)
        character(*), intent(in) :: what
        real, intent(in) :: sums(n)
        real :: worst
        worst = maxval(abs(sums - true))
        if (worst > 16.0 * n_ranks) error stop "a wrong sum"
        if (rank == 0) print '(a, a, a)', what, " ", trim(merge("exact ", "narrow", worst == 0))
    end subroutine
    subroutine tell_root(what, sums)
        character(*), intent(in) :: what
        real, intent(in) :: sums(n)
        if (rank == 0) call tell(what, sums)
    end subroutine
    subroutine start_all()
        real :: sent, got
        got = 0
        sent = 7
        call MPI_Recv_init(got, 1, MPI_REAL, 0, 1, MPI_COMM_SELF, requests(1), ierr)
        call MPI_Send_init(sent, 1, MPI_REAL, 0, 1, MPI_COMM_SELF, requests(2), ierr)
        call MPI_Startall(2, requests, ierr)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
        if (got /= 7) error stop "a list of requests is not started"
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
        call MPI_Startall(-1, requests, ierr)
        if (ierr == MPI_SUCCESS) error stop "a negative number of requests is started"
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
        call MPI_Request_free(requests(1), ierr)
        call MPI_Request_free(requests(2), ierr)
    end subroutine
    ! MPI_IN_PLACE as a receive buffer. Open MPI's own Fortran calls crash there.
    subroutine refuse()
        integer :: class, rc
        call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, rc)
        call MPI_Allreduce(x, MPI_IN_PLACE, n, MPI_REAL, MPI_SUM, comm, ierr)
        call MPI_Error_class(ierr, class, rc)
        if (class /= MPI_ERR_BUFFER) error stop "a wrong buffer is taken"
        call MPI_Iallreduce(x, MPI_IN_PLACE, n, MPI_REAL, MPI_SUM, comm, request, ierr)
        call MPI_Error_class(ierr, class, rc)
        if (class /= MPI_ERR_BUFFER) error stop "a wrong buffer is taken later"
        if (rank == 0) then
            call MPI_Reduce(x, MPI_IN_PLACE, n, MPI_REAL, MPI_SUM, 0, comm, ierr)
            call MPI_Error_class(ierr, class, rc)
            if (class /= MPI_ERR_BUFFER) error stop "a wrong buffer of the root is taken"
        end if
    end subroutine
end program
