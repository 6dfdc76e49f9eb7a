/** Key of the analyst's answer that a line of a segment records; null where it records none, or is damaged. */
export function keyOfAnswer(line: string): string | null {
  try {
    const record = JSON.parse(line) as { key?: string; call?: { key?: string } };
    return record.call?.key ?? record.key ?? null;
  } catch {
    return null;
  }
}
