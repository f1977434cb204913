"""vector_tools.py : reads the fields of vectors and compares values."""
from narrowcast_format import bits32, f32


def words(text):
    return [int(word, 16) for word in text.split()]


def floats(text):
    return [f32(word) for word in words(text)]


def ints(text):
    return [int(word) for word in text.split()]


def as_bits(values):
    return [bits32(v) for v in values]


def is_nan(x):
    return x & 0x7FFFFFFF > 0x7F800000


def same_floats(got, expected):
    """R48: a nan's sign and payload are free."""
    return len(got) == len(expected) and all(a == b or (is_nan(a) and is_nan(b)) for a, b in zip(got, expected))


class Failed(Exception):
    pass


def need(got, expected, what=""):
    if got != expected:
        raise Failed("%s: got %r, expected %r" % (what, got, expected))


def refused(call, *args):
    try:
        call(*args)
    except ValueError:
        return 1
    return 0
