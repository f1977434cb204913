# mean_ctypes.py : the mean of gradients over ranks, from Python, by ctypes; the library starts MPI.
#
#     mpirun -np 4 python3 mean_ctypes.py     the library on the loader's path (ldconfig, LD_LIBRARY_PATH)
import array
import ctypes
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p, sizeof


class Options(Structure):
    _fields_ = [("size", c_size_t)] + [(n, c_char_p) for n in "format scale sum out_format overflow round algo offload".split()] + [
        ("bucket_bytes", c_size_t), ("deadline_s", c_double), ("seed", c_uint64)] + [
        (n, c_char_p) for n in "device codec xclbin node_sum quantise acc_format".split()] + [
        ("rescale", c_int), ("op", c_char_p), ("type", c_char_p), ("threads", c_int), ("log", c_void_p), ("log_arg", c_void_p),
        ("count_lost", c_int)]


class Layer(Structure):
    _fields_ = [("name", c_char_p), ("n", c_size_t), ("fp32", c_int), ("column", c_size_t), ("stride", c_size_t),
                ("weights", c_void_p), ("reserved", c_void_p * 4)]


class Report(Structure):
    _fields_ = [("sent_bytes", c_uint64), ("code_bytes", c_uint64), ("fp32_bytes", c_uint64), ("codec_s", c_double),
                ("comm_s", c_double), ("offload", c_int), ("path", c_char_p), ("underflow", c_uint64), ("saturated", c_uint64),
                ("reserved", c_uint64 * 5)]


lib = ctypes.CDLL("libnarrowcast.so.0")
lib.nc_options_init.argtypes = [POINTER(Options), c_size_t]
lib.nc_open.argtypes = [POINTER(Options), POINTER(Layer), c_int, POINTER(c_void_p)]
lib.nc_allreduce.argtypes = [c_void_p, POINTER(c_void_p), POINTER(Report)]
lib.nc_rank.argtypes = lib.nc_n_ranks.argtypes = lib.nc_close.argtypes = [c_void_p]
lib.nc_last_error.argtypes, lib.nc_last_error.restype = [c_void_p], c_char_p

options, report, nc = Options(), Report(), c_void_p()
lib.nc_options_init(byref(options), sizeof(options))
options.format, options.scale = b"e4m3", b"aps"
layers = (Layer * 2)(Layer(name=b"weight", n=1000), Layer(name=b"bias", n=10))
if lib.nc_open(byref(options), layers, len(layers), byref(nc)) < 0:
    sys.exit(lib.nc_last_error(None).decode())
rank, n_ranks = lib.nc_rank(nc), lib.nc_n_ranks(nc)
grads = [array.array("f", [float(rank + 1)] * layer.n) for layer in layers]
pointers = (c_void_p * len(grads))(*[g.buffer_info()[0] for g in grads])
if lib.nc_allreduce(nc, pointers, byref(report)) != 0:
    sys.exit(lib.nc_last_error(nc).decode())
lib.nc_close(nc)
if any(x != (n_ranks + 1) / 2 for g in grads for x in g):
    sys.exit("a wrong mean")
if rank == 0:
    print(f"mean {grads[0][0]:g} of {n_ranks} ranks, {report.code_bytes} bytes of codes")
