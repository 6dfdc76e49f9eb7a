/**
 * Standard modules that a synthesised environment may import: only for computation, without clock, files or processes.
 */
// prettier-ignore
export const ALLOWED_MODULES = [
  '__future__', 'abc', 'bisect', 'calendar', 'collections', 'copy', 'dataclasses', 'datetime', 'decimal', 'enum',
  'fractions', 'functools', 'hashlib', 'heapq', 'itertools', 'json', 'math', 'operator', 'random', 're', 'statistics',
  'string', 'textwrap', 'types', 'typing', 'unicodedata',
] as const;
