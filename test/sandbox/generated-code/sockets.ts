import type { Attempt } from './attempt';

/** Sockets of every family, and what descriptors can be sent over. */
export const SOCKETS: readonly Attempt[] = [
  {
    kind: 'sockets',
    name: 'a socket of every family and type',
    body: `
return sorted({system_call(41, family, type_, 0) for family in range(48) for type_ in (1, 2, 3, 4, 5, 6, 10)})`,
    expected: "['EPERM']",
    only: 'x64',
  },
  {
    kind: 'sockets',
    name: 'a socket of a family with high bits',
    body: `
return sorted({system_call(call, ctypes.c_ulong((1 << 32) | family), ctypes.c_ulong((1 << 33) | 1), 0,
                           ctypes.create_string_buffer(8)) for call in (41, 53) for family in (1, 2, 16)})`,
    expected: "['EPERM']",
    only: 'x64',
  },
  {
    kind: 'sockets',
    name: 'a pair of every family',
    body: `
pair = ctypes.create_string_buffer(8)
return sorted({system_call(53, family, type_, 0, pair) for family in range(48) for type_ in (1, 2, 5)})`,
    expected: "['EPERM']",
    only: 'x64',
  },
  {
    kind: 'sockets',
    name: 'each socket call on each descriptor of the channel',
    body: `
words = ctypes.create_string_buffer(b"\\1\\0\\0whet-hostile", 128)
size = ctypes.byref(ctypes.c_int(128))
return sorted({answer for number in range(5) for answer in (
    system_call(42, number, words, 16), system_call(43, number, None, None), system_call(288, number, None, None, 0),
    system_call(44, number, b"x", 1, 1, None, 0), system_call(45, number, words, 1, 0x40, None, None),
    system_call(46, number, words, 0), system_call(47, number, words, 0x40), system_call(48, number, 2),
    system_call(49, number, words, 16), system_call(50, number, 1), system_call(51, number, words, size),
    system_call(52, number, words, size), system_call(54, number, 1, 9, words, 4),
    system_call(55, number, 1, 17, words, size), system_call(299, number, words, 1, 0x40, None),
    system_call(307, number, words, 1, 0))})`,
    expected: /^\['EPERM'(, 'ENOTSOCK')?\]$|^\['ENOTSOCK'\]$/,
    only: 'x64',
  },
  {
    kind: 'fd passing',
    name: 'descriptors and credentials with an urgent byte over the channel',
    body: `
rights = (ctypes.c_char * 24).from_buffer_copy(b"\\x14" + bytes(7) + b"\\x01\\0\\0\\0\\x01\\0\\0\\0" + b"\\x04\\0\\0\\0" + bytes(4))
part = (ctypes.c_void_p * 2)(ctypes.cast(ctypes.c_char_p(b"x"), ctypes.c_void_p), 1)
message = (ctypes.c_void_p * 7)(None, 0, ctypes.addressof(part), 1, ctypes.addressof(rights), 20, 0)
return sorted({system_call(46, number, ctypes.byref(message), flags) for number in (3, 4) for flags in (0, 1, 0x4000)})`,
    expected: /^\['EPERM'\]$|^\['ENOTSOCK'\]$/,
    only: 'x64',
  },
];
