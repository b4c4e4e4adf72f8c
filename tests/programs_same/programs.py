"""Small programs that must be the same with Eagleray and without: their output, exit code and signal."""

from __future__ import annotations

import sys
import textwrap

from attrs import evolve, field, frozen

PYTHON = sys.executable


@frozen
class Program:
    """A command and its standard input; `files` are written into its folder first."""

    name: str
    command: tuple[str, ...]
    stdin: bytes = b""
    files: dict[str, str] = field(factory=dict)
    env: dict[str, str] = field(factory=dict)
    post_mortem: bool = False


def script(name: str, text: str, *flags: str, stdin: bytes = b"", **env: str) -> Program:
    """A Python file."""
    # No module of the library has such a name.
    file = f"p_{name}.py"
    return Program(
        name, (PYTHON, *flags, file, "a b", "ä"), stdin, {file: textwrap.dedent(text)}, env
    )


def shell(name: str, text: str, stdin: bytes = b"") -> Program:
    return Program(name, ("sh", "-c", text), stdin)


def failing(name: str, text: str) -> Program:
    """A Python file in a run that stops at failures."""
    return evolve(script(name, text), post_mortem=True)


EXITS = [
    script("exit_none", "import sys; sys.exit()"),
    script("exit_zero", "import sys; print('x'); sys.exit(0)"),
    script("exit_number", "import sys; sys.exit(7)"),
    script("exit_large", "import sys; sys.exit(300)"),
    script("exit_negative", "import sys; sys.exit(-1)"),
    script("exit_text", "import sys; sys.exit('a reason')"),
    script("exit_true", "import sys; sys.exit(True)"),
    failing(
        "exit_foreign_status",
        "import sys\nclass S:\n    def __eq__(self, other): raise ValueError('truth')\n    def __repr__(self): return 'S'\nsys.exit(S())",
    ),
    failing(
        "last_error_of_a_foreign_type",
        "import sys, threading, time\nclass E:\n    @property\n    def __traceback__(self): raise ValueError('no')\nsys.last_value = E()\nthreading.Thread(target=lambda: (time.sleep(0.2), print('joined'))).start()",
    ),
    script("exit_system", "raise SystemExit(3)"),
    script("exit_at_once", "import os; print('lost', end=''); os._exit(9)"),
    script(
        "exit_in_thread",
        "import threading, sys\nt = threading.Thread(target=sys.exit, args=(4,)); t.start(); t.join()",
    ),
    script("error", "def f(n):\n    return 1 // n\nf(0)"),
    script(
        "error_chain",
        "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('später') from e",
    ),
    script("error_group", "raise RuntimeError('a\\nb')"),
    script("error_in_import", "import not_there_at_all"),
    script("error_of_syntax", "x = = 1"),
    script("error_in_recursion", "def f(): f()\nf()"),
    script(
        "error_in_thread",
        "import threading\nt = threading.Thread(target=lambda: 1 // 0, name='t'); t.start(); t.join(); print('end')",
    ),
    script("error_in_atexit", "import atexit\natexit.register(lambda: 1 // 0); print('main')"),
    script(
        "error_in_del",
        "class A:\n    def __del__(self): raise ValueError('d')\na = A(); del a; print('x')",
    ),
    script("assertion", "assert 1 == 2, 'no'"),
    script("interrupt", "raise KeyboardInterrupt"),
    script(
        "own_excepthook",
        "import sys\nsys.excepthook = lambda t, v, b: print('hook', t.__name__, v)\n1 // 0",
    ),
    script(
        "own_unraisablehook",
        "import sys\nsys.unraisablehook = lambda u: print('hook', u.exc_value)\nclass A:\n    def __del__(self): raise ValueError('d')\na = A(); del a",
    ),
    script(
        "own_threading_hook",
        "import threading\nthreading.excepthook = lambda a: print('hook', a.exc_type.__name__)\nt = threading.Thread(target=lambda: 1 // 0); t.start(); t.join()",
    ),
]

SIGNALS = [
    *(
        script(
            f"killed_by_{number}",
            f"import os, signal\nprint('b', flush=True)\nos.kill(os.getpid(), signal.{number})\nimport time; time.sleep(60)",
        )
        for number in ("SIGTERM", "SIGKILL", "SIGABRT", "SIGINT", "SIGHUP", "SIGUSR1", "SIGALRM")
    ),
    script("killed_by_a_fault", "import ctypes; print('b', flush=True); ctypes.string_at(0)"),
    script(
        "faulthandler",
        "import faulthandler, os, signal; faulthandler.enable(); os.kill(os.getpid(), signal.SIGSEGV)",
    ),
    script("faulthandler_dump", "import faulthandler; faulthandler.dump_traceback()"),
    script(
        "signal_handler",
        "import os, signal\nsignal.signal(signal.SIGTERM, lambda n, f: print('got', n))\nos.kill(os.getpid(), signal.SIGTERM)\nprint('on')",
    ),
    script(
        "signal_interrupt_caught",
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    import time; time.sleep(60)\nexcept KeyboardInterrupt:\n    print('caught')",
    ),
    script(
        "signal_dispositions",
        "import signal\nprint([(s.name, str(signal.getsignal(s))[:40]) for s in sorted(signal.valid_signals()) if isinstance(s, signal.Signals) and 'function' not in str(signal.getsignal(s))])\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    ),
    script(
        "signal_masks_of_the_kernel",
        "print(*[l for l in open('/proc/self/status') if l[:6] in ('SigPnd', 'SigBlk', 'SigIgn')])",
    ),
    script(
        "signal_alarm",
        "import signal, time\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm')); signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.05)",
    ),
    script(
        "broken_pipe",
        "import os\nr, w = os.pipe(); os.close(r)\ntry:\n    os.write(w, b'x')\nexcept BrokenPipeError as e:\n    print(e)",
    ),
]

STREAMS = [
    script("input", "print(repr(input('? ')), repr(input()))", stdin=b"y\nzwei\n"),
    script("input_at_its_end", "input('? ')"),
    script(
        "stdin_binary",
        "import sys, hashlib\nd = sys.stdin.buffer.read(); print(len(d), hashlib.md5(d).hexdigest())",
        stdin=bytes(range(256)) * 3000,
    ),
    script(
        "stdin_lines",
        "import sys\nfor line in sys.stdin: print(line.upper(), end='')",
        stdin=b"a\nb\nc",
    ),
    script("stdout_binary", "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 5)"),
    script("stdout_without_newline", "print('half', end='')"),
    script("stdout_carriage_returns", "print('1\\r2\\r\\n3\\033[31m', end='\\r\\n')"),
    script("stdout_long_line", "print('x' * 3_000_000)"),
    script("stdout_many_lines", "for n in range(40000): print(n, 'line')"),
    script("stderr_long", "import sys\nsys.stderr.write('e' * 400_000)"),
    script(
        "both_streams",
        "import sys\nfor n in range(2000): print('o', n); print('e', n, file=sys.stderr)",
    ),
    script(
        "buffering",
        "import sys\nprint(sys.stdout.line_buffering, sys.stderr.line_buffering, sys.stdout.write_through, sys.stdin.encoding, sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors, [s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)])",
    ),
    script("buffered_is_lost_when_killed", "import os\nprint('never'); os.kill(os.getpid(), 9)"),
    script(
        "kinds_of_streams",
        "import os, stat\nprint([oct(stat.S_IFMT(os.fstat(n).st_mode)) for n in (0, 1, 2)], [os.get_blocking(n) for n in (0, 1, 2)])",
    ),
    script("stdout_closed", "import os, sys\nos.close(1); sys.stderr.write('closed')\nos._exit(2)"),
    script(
        "stdout_replaced",
        "import sys, io\nsys.stdout = io.StringIO(); print('x'); sys.__stdout__.write(sys.stdout.getvalue())",
    ),
    script("print_flush", "import os\nprint('a', flush=True); os.write(1, b'b\\n'); print('c')"),
    script(
        "logging",
        "import logging\nlogging.basicConfig(format='%(levelname)s %(message)s %(filename)s:%(lineno)d'); logging.warning('w'); logging.info('i'); logging.getLogger('x').error('e', exc_info=True)",
    ),
    script(
        "warnings",
        "import warnings\nwarnings.warn('w'); warnings.warn('d', DeprecationWarning); print(warnings.filters)",
    ),
    script("warning_of_a_resource", "open('/dev/null'); print('x')", "-X", "dev"),
    script("encoding_error", "print('\\udce4')"),
    script(
        "locale",
        "import locale, os, sys\nprint(locale.setlocale(locale.LC_ALL, ''), locale.getpreferredencoding(), sys.getfilesystemencoding(), os.environ.get('LC_CTYPE'))",
    ),
    script(
        "locale_c",
        "import sys, os\nprint(sys.stdout.encoding, sys.flags.utf8_mode, os.environ.get('LC_CTYPE'), os.environ.get('LC_ALL'))",
        LC_ALL="C",
    ),
    script("unbuffered", "import sys\nprint(sys.stdout.write_through, sys.flags.unbuffered)", "-u"),
]

PROCESSES = [
    script(
        "subprocess",
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(5)'], capture_output=True))",
    ),
    script(
        "subprocess_inherits",
        "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-c', 'import sys; print(input()); sys.exit(6)']))",
        stdin=b"given\n",
    ),
    script(
        "fork",
        "import os\npid = os.fork()\nif pid == 0: os._exit(3)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    ),
    script(
        "fork_exits",
        "import os, sys\npid = os.fork()\nif pid == 0: sys.exit('child')\nprint(os.waitpid(pid, 0)[1])",
    ),
    script(
        "no_children",
        "import os\ntry:\n    os.wait()\nexcept ChildProcessError as e:\n    print(e)",
    ),
    script(
        "exec",
        "import os, sys\nsys.stdout.flush(); os.execv(sys.executable, [sys.executable, '-c', 'import sys; print(sys.argv); sys.exit(8)', 'z'])",
    ),
    script("exec_shell", "import os\nos.execvp('sh', ['sh', '-c', 'echo $$ | wc -l; exit 4'])"),
    script(
        "pool_fork",
        "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    ),
    script(
        "pool_spawn",
        "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as p: print(p.map(abs, [-1, -2]))",
    ),
    script(
        "pool_forkserver",
        "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('forkserver').Pool(1) as p: print(p.map(abs, [-1]))",
    ),
    script(
        "process_fails",
        "import multiprocessing as m\ndef f(): raise ValueError('c')\nif __name__ == '__main__':\n    p = m.get_context('fork').Process(target=f, name='P'); p.start(); p.join(); print(p.exitcode)",
    ),
    script(
        "executor",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as e: print(list(e.map(abs, [-3, 4])))",
    ),
    script(
        "threads",
        "import threading\nprint([t.name for t in threading.enumerate()], threading.active_count())",
    ),
    script(
        "daemon_thread",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(50,), daemon=True).start(); print('end')",
    ),
    script(
        "atexit_order", "import atexit\nfor n in range(3): atexit.register(print, n)\nprint('m')"
    ),
    script(
        "asyncio",
        "import asyncio\nasync def main():\n    p = await asyncio.create_subprocess_exec('echo', 'hi', stdout=-1)\n    print((await p.communicate())[0]); await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))\nasyncio.run(main())",
    ),
    script(
        "asyncio_debug",
        "import asyncio\nasync def main(): asyncio.get_running_loop().call_soon(lambda: 1 // 0); await asyncio.sleep(0.01)\nasyncio.run(main())",
    ),
    script(
        "title",
        "open('/proc/self/comm', 'w').write('named')\nprint(open('/proc/self/comm').read(), open('/proc/self/cmdline').read().split(chr(0))[1:])",
    ),
    shell("shell", "echo out; echo err >&2; exit 3"),
    shell("shell_killed", "kill -9 $$"),
    shell("shell_pipeline", "cat | tr a-z A-Z", stdin=b"some words\n"),
    shell("source_from_a_pipe", f"echo 'print(1)' | {PYTHON} /dev/stdin a"),
    Program("source_of_a_substitution", ("bash", "-c", f"{PYTHON} <(echo 'print(1)') a")),
    shell("shell_runs_python", f"{PYTHON} -c 'print(1)' && {PYTHON} -c 'raise SystemExit(2)'"),
    Program("cat", ("cat",), b"\0\xff\n" * 50000),
    Program("true", ("true",)),
    Program("env_command", ("env", "-i", "A=b", "env")),
]

INTERPRETER = [
    script(
        "argv",
        "import sys\nprint(sys.argv, sys.orig_argv[1:], sys.path[0] == __import__('os').getcwd(), sys.flags, sys._xoptions, sys.warnoptions)",
    ),
    script("optimised", "assert 0\nprint(__debug__, __doc__)", "-O"),
    script(
        "options",
        "import sys\nprint(sys.flags, sys._xoptions, sys.warnoptions)",
        "-X",
        "utf8",
        "-W",
        "error::DeprecationWarning",
        "-B",
        "-s",
    ),
    script("isolated", "import sys\nprint(sys.flags.isolated, sys.argv)", "-I"),
    script("without_site", "import sys\nprint('site' in sys.modules)", "-S"),
    Program(
        "module",
        (PYTHON, "-m", "mod", "x"),
        files={"mod.py": "import sys\nprint(__name__, __package__, __spec__.name, sys.argv[1:])"},
    ),
    Program(
        "package",
        (PYTHON, "-m", "pack"),
        files={
            "pack/__init__.py": "print('init')",
            "pack/__main__.py": "from . import __name__ as n; print(n); raise SystemExit(2)",
        },
    ),
    Program(
        "folder",
        (PYTHON, "app"),
        files={"app/__main__.py": "import sys; print(__name__, sys.argv)"},
    ),
    Program(
        "command", (PYTHON, "-c", "import sys; print(sys.argv, sys.path[0] == ''); 1 // 0", "arg")
    ),
    Program(
        "program_on_stdin", (PYTHON, "-", "x"), b"import sys\nprint(sys.argv, __name__)\n1 // 0\n"
    ),
    Program(
        "zipapp",
        (
            PYTHON,
            "-c",
            "import zipapp, runpy, pathlib\nzipapp.create_archive('z', 'z.pyz'); runpy.run_path('z.pyz', run_name='__main__')",
        ),
        files={"z/__main__.py": "print(__name__, 'zip')"},
    ),
    Program(
        "doctest", (PYTHON, "-m", "doctest", "d.py"), files={"d.py": '"""\n>>> 1 + 1\n3\n"""\n'}
    ),
    Program(
        "unittest",
        (PYTHON, "-m", "unittest", "-q", "u"),
        files={
            "u.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 1)\n    def test_b(self): self.assertTrue(1)\n"
        },
    ),
    Program(
        "own_sitecustomize",
        (PYTHON, "s.py"),
        files={
            "s.py": "import sys; print(sys.modules['sitecustomize'].MINE)",
            "lib/sitecustomize.py": "MINE = 5; print('site')",
        },
        env={"PYTHONPATH": "lib"},
    ),
    Program(
        "own_usercustomize",
        (PYTHON, "s.py"),
        files={"s.py": "print('main')", "lib/usercustomize.py": "print('user')"},
        env={"PYTHONPATH": "lib"},
    ),
    script(
        "main_module",
        "import sys, __main__\nprint(sorted(vars(__main__)), __main__.__spec__, __file__, __builtins__.__name__)",
    ),
    script(
        "settrace",
        "import sys\nseen = []\nsys.settrace(lambda f, e, a: seen.append((f.f_code.co_name, e)))\ndef f(): return 1\nf(); sys.settrace(None); print(seen)",
    ),
    script(
        "setprofile",
        "import sys\nseen = []\nsys.setprofile(lambda f, e, a: seen.append((f.f_code.co_name, e)))\ndef f(): return 1\nf(); sys.setprofile(None); print(seen)",
    ),
    script(
        "trace_is_unset",
        "import sys, threading\nprint(sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile())",
    ),
    script(
        "trace_module",
        "import trace\nt = trace.Trace(count=1, trace=0)\ndef f(n): return n and f(n - 1)\nt.runfunc(f, 3); print(sorted((k[1], v) for k, v in t.results().counts.items()))",
    ),
    script(
        "hooks_are_unset",
        "import sys, threading\nprint(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.breakpointhook is sys.__breakpointhook__, sys.unraisablehook is sys.__unraisablehook__, threading.excepthook is threading.__excepthook__)",
    ),
    script(
        "garbage",
        "import gc\nprint(gc.get_threshold(), gc.isenabled(), gc.get_debug(), gc.callbacks, gc.get_freeze_count())",
    ),
    script(
        "tracemalloc",
        "import tracemalloc\nprint(tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())",
        "-X",
        "tracemalloc=3",
    ),
    script(
        "limits_of_python",
        "import sys\nprint(sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits(), sys.dont_write_bytecode, sys.pycache_prefix)",
    ),
    script(
        "dataclass_and_pickle",
        "import pickle, dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int = 1\nprint(P(), pickle.loads(pickle.dumps(P(4))), P.__module__)",
    ),
    script(
        "source",
        "import inspect\ndef f():\n    'doc'\n    return 1\nprint(inspect.getsource(f), inspect.getsourcefile(f), f.__code__.co_filename, f.__code__.co_consts)",
    ),
    script(
        "frames",
        "import sys, traceback\nprint(sys._getframe().f_back, len(traceback.extract_stack()))",
    ),
    script("help", "import pydoc\nprint(pydoc.render_doc(len, renderer=pydoc.plaintext))"),
    script(
        "random_and_hash",
        "import random\nrandom.seed(1); print(random.random(), hash('a'))",
        PYTHONHASHSEED="1",
    ),
    script(
        "imports",
        "import importlib.metadata as m, importlib.util as u\nprint(u.find_spec('json').origin, m.version('attrs'))",
    ),
]

SURROUNDINGS = [
    script("folder_and_mask", "import os\nprint(os.getcwd()); m = os.umask(0); print(oct(m))"),
    script(
        "limits",
        "import resource\nprint([(n, resource.getrlimit(getattr(resource, n))) for n in dir(resource) if n.startswith('RLIMIT')])",
    ),
    script(
        "scheduling",
        "import os\nprint(os.nice(0), os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), open('/proc/self/oom_score_adj').read())",
    ),
    script(
        "user",
        "import os\nprint(os.getuid(), os.getgroups(), os.getlogin() if os.isatty(0) else '', open('/proc/self/cgroup').read(), sorted(os.listdir('/proc/self/ns')))",
    ),
    script(
        "odd_variable",
        "import os\nprint(os.environb[b'ODD'], os.environ['EMPTY'] == '')",
        ODD="\udcff\n=\u00e4",
        EMPTY="",
    ),
]

ALL = [*EXITS, *SIGNALS, *STREAMS, *PROCESSES, *INTERPRETER, *SURROUNDINGS]
