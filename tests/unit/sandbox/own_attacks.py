"""Attacks on this very jail: against the language, and, with the language off, against what a process may still do."""

from collections.abc import Mapping

LANGUAGE: Mapping[str, str] = {  # each must be rejected
    "facade_slot": "result = [{'v': str(pl._offered)}]",
    "facade_title_import": "from polars import _title\nresult = [{'v': _title}]",
    "facade_chain": "result = [{'v': str(pl.selectors.builtins)}]",
    "selector_reduce": "import polars.selectors as cs\nresult = [{'v': str(cs.reduce)}]",
    "import_as_dunder": "import math as __builtins__\nresult = [{'v': 1}]",
    "import_list_fromlist": "from time import sleep\nresult = [{'v': 1}]",
    "import_strptime": "import _strptime\nresult = [{'v': str(_strptime)}]",
    "import_re_parser": "import re._parser\nresult = [{'v': 1}]",
    "import_collections_abc": "import collections.abc\nresult = [{'v': 1}]",
    "import_dot_chain": "import polars.selectors.os\nresult = [{'v': 1}]",
    "math_module_attr": "import math\nresult = [{'v': str(math.sys)}]",
    "re_enum_class": "import re\nresult = [{'v': str(re.I.name.format_map)}]",
    "decimal_context": "import decimal\nresult = [{'v': str(decimal.getcontext())}]",
    "collections_namedtuple": "from collections import namedtuple\nresult = [{'v': 1}]",
    "class_subclasses": "result = [{'v': str(int.mro())}]",
    "class_getitem": "result = [{'v': str(list[int])}]",
    "format_unbound_class": "f = str.format\nresult = [{'v': f('{0.real}', 1)}]",
    "format_nested_field": "result = [{'v': '{0:{1.real}}'.format(1, 2)}]",
    "format_index": "result = [{'v': '{0[0]}'.format([1])}]",
    "format_deep_spec": "result = [{'v': '{0:{1:{2.real}}}'.format(1, 2, 3)}]",
    "format_map_attr": "result = [{'v': '{x}'.format_map({'x': 1})}]",
    "star_star_hidden": "result = df.lazy().collect(**{'post_opt_callback': print})",
    "keyword_hidden": "result = df.lazy().collect(post_opt_callback=print)",
    "keyword_private": "result = df.lazy().collect(_eager=True)",
    "aug_attribute": "df.columns += ['x']\nresult = df",
    "aug_on_frame": "df['amount'] += 1\nresult = df",
    "aug_private_key": "d = {}\nd.__dict__['x'] += 1",
    "del_attribute": "del df.columns\nresult = df",
    "walrus_private": "result = [{'v': (_getattr_ := 1)}]",
    "lambda_private": "f = lambda _getattr_: df.x\nresult = [{'v': f(1)}]",
    "except_obj": "try:\n  df.nothing\nexcept Exception as e:\n  result = [{'v': str(e.obj)}]",
    "except_name": "try:\n  nothing\nexcept NameError as e:\n  result = [{'v': e.name}]",
    "except_traceback": "try:\n  1 / 0\nexcept Exception as e:\n  result = [{'v': str(e.with_traceback(None))}]",
    "function_attr": "def f(): return 1\nresult = [{'v': str(f.func_globals)}]",
    "method_self": "result = [{'v': str(df.head.im_self)}]",
    "generator_attr": "g = (i for i in [1])\nresult = [{'v': str(g.gi_yieldfrom)}]",
    "annotation_eval": "x: (y := df._df) = 1\nresult = [{'v': y}]",
    "decorator_call": "@print\ndef f():\n  pass\nresult = [{'v': 1}]",
    "default_private": "def f(a=df._df):\n  return a\nresult = [{'v': str(f())}]",
    "star_import": "from math import *\nresult = [{'v': pi}]",
    "print_to_frame": "print('x', file=df)\nresult = [{'v': 1}]",
    "expr_meta": "result = [{'v': str(pl.col('x').meta.serialize())}]",
    "expr_deserialize": "result = pl.select(pl.Expr.deserialize(b''))",
    "series_to_numpy": "result = [{'v': str(df['amount'].to_numpy())}]",
    "schema_to_python": "result = [{'v': str(df.schema.to_python())}]",
    "dtype_from_python": "result = [{'v': str(pl.Int64.from_python(int))}]",
    "col_private": "result = df.select(pl.col._accessor)",
    "namespace_accessor": "result = [{'v': str(pl.col('x').str._accessor)}]",
}

PREAMBLE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *given):
    answer = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(g) if isinstance(g, int) else g for g in given])
    if answer < 0:
        raise OSError(ctypes.get_errno(), 'refused')
    return answer
parent = os.getppid()
"""
RAW: Mapping[str, str] = {  # with the language off: each must raise, or end its process
    "read_passwd": "open('/etc/passwd').read()",
    "read_canary": "open('/tmp/tieout-jail-test/canary_secret.txt').read()",
    "write_canary": "open('/tmp/tieout-jail-test/pwned_a', 'w').write('x')",
    "make_folder": "os.mkdir('/tmp/tieout-jail-test/pwned_b')",
    "link_canary": "os.symlink('/etc', '/tmp/tieout-jail-test/pwned_c')",
    "remove_canary": "os.unlink('/tmp/tieout-jail-test/canary_secret.txt')",
    "rename_canary": "os.rename('/tmp/tieout-jail-test/canary_secret.txt', '/tmp/tieout-jail-test/pwned_d')",
    "chmod_canary": "os.chmod('/tmp/tieout-jail-test/canary_secret.txt', 0)",
    "truncate_canary": "os.truncate('/tmp/tieout-jail-test/canary_secret.txt', 0)",
    "list_root": "os.listdir('/')",
    "list_descriptors": "os.listdir('/proc/self/fd')",
    "stat_file": "os.stat('/etc/passwd')",
    "own_memory_file": "open('/proc/self/mem', 'rb')",
    "parent_memory_file": "open(f'/proc/{parent}/mem', 'rb')",
    "parent_environment": "open(f'/proc/{parent}/environ', 'rb').read()",
    "parent_descriptors": "os.listdir(f'/proc/{parent}/fd')",
    "openat2": "call(437, -100, b'/etc/passwd', b'\\0' * 24, 24)",
    "polars_read": "pl.read_csv('/etc/passwd')",
    "polars_scan": "pl.scan_csv('/etc/passwd').collect()",
    "polars_write": "df.write_csv('/tmp/tieout-jail-test/pwned_e')",
    "polars_sink": "df.lazy().sink_parquet('/tmp/tieout-jail-test/pwned_f')",
    "process_vm_readv": "call(310, parent, None, 0, None, 0, 0)",
    "ptrace": "call(101, 16, parent, 0, 0)",
    "pidfd_open": "call(434, parent, 0)",
    "pidfd_getfd": "call(438, 3, 0, 0)",
    "kill_parent": "os.kill(parent, 9)",
    "kill_group": "os.kill(0, 9)",
    "kill_all": "os.kill(-1, 9)",
    "tkill_parent": "call(200, parent, 9)",
    "tgkill_parent": "call(234, parent, parent, 9)",
    "sigqueue_parent": "call(129, parent, 9, None)",
    "fork": "os.fork()",
    "vfork": "call(58)",
    "clone_process": "call(56, 17, 0, 0, 0, 0)",
    "clone_namespace": "call(56, 0x10000000 | 0x10900, 0, 0, 0, 0)",
    "clone3": "call(435, b'\\0' * 88, 88)",
    "execve": "os.execv('/bin/true', ['true'])",
    "execveat": "call(322, -100, b'/bin/true', None, None, 0)",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "system": "assert os.system('true') == 0",
    "socket": "import _socket; _socket.socket(2, 1, 0)",
    "socket_unix": "call(41, 1, 1, 0)",
    "socketpair": "call(53, 1, 1, 0, b'\\0' * 8)",
    "netlink": "call(41, 16, 3, 0)",
    "vsock": "call(41, 40, 1, 0)",
    "io_uring": "call(425, 8, b'\\0' * 120)",
    "memfd": "os.memfd_create('x')",
    "hidden_memory": "call(447, 0)",
    "userfaultfd": "call(323, 0)",
    "bpf": "call(321, 0, None, 0)",
    "perf": "call(298, None, 0, 0, 0, 0)",
    "keyring": "call(250, 0, -3, 0, 0, 0)",
    "unshare": "call(272, 0x10000000)",
    "mount": "call(165, b'x', b'/', b'tmpfs', 0, None)",
    "chroot": "call(161, b'/')",
    "setuid": "call(105, 0)",
    "setresuid": "call(117, 0, 0, 0)",
    "personality": "call(135, 0x0400000)",
    "another_filter": "call(317, 1, 0, None)",
    "dumpable_again": "assert libc.prctl(4, 1, 0, 0, 0) == 0",
    "outlive_the_parent": "assert libc.prctl(1, 0, 0, 0, 0) == 0",
    "raise_limits": "import resource; resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))",
    "raise_limits_of_parent": "call(302, parent, 2, None, b'\\0' * 16)",
    "priority": "os.nice(-5)",
    "affinity": "os.sched_setaffinity(0, {0})",
    "x32": "call(0x40000000 | 39)",
    "shared_memory": "import mmap; mmap.mmap(-1, 4096, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)",
    "growing_stack": "import mmap; mmap.mmap(-1, 4096, 0x122)",
    "thread": "import _thread; _thread.start_new_thread(print, ())",
    "clone_thread": "call(56, 0x10F00, 0, 0, 0, 0)",
    "executable_memory": "import mmap; mmap.mmap(-1, 4096, 34, 7)",
    "executable_later": "import mmap; m = mmap.mmap(-1, 4096, 34, 3); "
    "call(10, ctypes.addressof(ctypes.c_char.from_buffer(m)), 4096, 7)",
    "sysv_memory": "call(29, 0, 4096, 0o1777)",
    "message_queue": "call(240, b'x', 0o102, 0o600, None)",
    "nonblocking_reply": "import fcntl; fcntl.fcntl(3, fcntl.F_SETFL, os.O_NONBLOCK)",
    "rewrite_the_code": "[os.pwrite(fd, b'x', 0) for fd in range(4, 8)]",
    "handle_of_a_file": "call(303, -100, b'/etc/passwd', b'\\0' * 16, b'\\0' * 8, 0)",
    "log_of_the_kernel": "call(103, 3, b'\\0' * 100, 100)",
    "terminal": "import fcntl; fcntl.ioctl(0, 0x5412, b'x')",
}

MAPPING = """
import ctypes, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
SIZE, MOST, NOWHERE = 32 << 20, 4 << 30, ctypes.c_void_p(-1).value
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
def mapped(at, rights, flags):
    where = libc.mmap(at, SIZE, rights, flags, -1, 0)
    return None if where == NOWHERE else where
def every(take):
    return [where for where in iter(take, None)][: MOST // SIZE]
def fill(places):
    for where in places:
        if where is not None:
            ctypes.memset(where, 1, SIZE)
reserve = lambda: mapped(None, 1, 0x22)
data = lambda: mapped(None, 3, 0x22)
"""
MEMORY: Mapping[str, str] = {  # with the language off: each takes what it can, beside what RLIMIT_DATA counts
    "data": "fill(every(data))",
    "stacks": "taken = every(lambda: mapped(None, 3, 0x122)); fill(taken + every(data))",
    "reserved_then_writable": "taken = every(reserve)\n"
    "fill(where for where in taken if libc.mprotect(where, SIZE, 3) == 0)",
    "data_then_reserved": "taken = every(data); more = every(reserve); fill(taken)\n"
    "fill(where for where in more if libc.mprotect(where, SIZE, 3) == 0)",
    "reserved_then_replaced": "SIZE = MOST\n"
    "while SIZE and not (taken := reserve()): SIZE -= 32 << 20\n"
    "fill([SIZE and mapped(taken, 3, 0x32)])",
    "longer_stack": "top = ctypes.c_void_p.in_dll(libc, '__libc_stack_end').value & ~4095\n"
    "ctypes.memset(top - 4096 * 256, 1, 1)  # the kernel makes the stack longer, and its end is free\n"
    "found = [libc.mremap(top - 4096 * page, 4096, SIZE, 1) for page in range(120, 200)]\n"
    "fill([where for where in found if where != NOWHERE])\n"
    "fill(every(data))",
}
