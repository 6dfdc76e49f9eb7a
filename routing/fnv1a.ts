/**
 * 32-bit FNV-1a of a text's UTF-16 code units. A final mix follows, because the last characters hardly change FNV-1a's
 * high bits.
 */
export function fnv1a(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value ^= value >>> 16;
  value = Math.imul(value, 0x7feb352d);
  value ^= value >>> 15;
  return value >>> 0;
}
