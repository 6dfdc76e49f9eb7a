/** A part of a run that waits for a person: `identify`, another stage, or the id of a capability. */
interface Waiting {
  key: string;
  /** Type of the failure for which it waits. */
  type: string;
  /** The reason as the run gives it. */
  reason: string;
}

/** The parts of a run that wait because of a failure, from what its progress says that it waits for. */
export function waitingFor(text: string | null): Waiting[] {
  const found: Waiting[] = [];
  for (const line of (text ?? '').split('\n')) {
    const [, key, type] = /^([a-z0-9-]+): ([A-Z]\w+\.[A-Z]\w+):/.exec(line) ?? [];
    if (key !== undefined && type !== undefined) found.push({ key, type, reason: line });
    else if (found.length > 0) (found.at(-1) as Waiting).reason += `\n${line}`;
  }
  return found;
}
