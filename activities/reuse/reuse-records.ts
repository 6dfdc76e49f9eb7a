import type { z } from 'zod';
import { type ArtifactStore, changeDocument, isStoreError, layout } from '../../store';
import type { ReuseKey } from './content-keys';

/**
 * Looks up an earlier run's result with the same inputs, and reuses it.
 * @param takeOver reads and copies the artifacts that the record names; null if they can no longer be used.
 * @returns null if nothing can be reused: no record, a record of another format, or missing or damaged bytes.
 * @throws the errors of `takeOver` and of the store.
 */
export async function takeReusable<R, T>(
  store: ArtifactStore,
  agent: string,
  key: ReuseKey,
  schema: z.ZodType<R>,
  takeOver: (record: R) => Promise<T | null>,
): Promise<T | null> {
  return unlessLost(async () => {
    const record = schema.safeParse((await store.readDocument(placeOf(agent, key)))?.value);
    return record.success ? takeOver(record.data) : null;
  });
}

/** The records of one kind from an agent's runs. A record that cannot be read is ignored. */
export async function reusableRecords<R>(
  store: ArtifactStore,
  agent: string,
  kind: ReuseKey['kind'],
  schema: z.ZodType<R>,
): Promise<R[]> {
  const folder = layout.reuse(agent);
  const found: R[] = [];
  for (const name of (await store.list(folder)).filter((one) => one.startsWith(`${kind}-`))) {
    const record = await unlessLost(async () =>
      schema.safeParse((await store.readDocument(`${folder}/${name}`))?.value),
    );
    if (record?.success) found.push(record.data);
  }
  return found;
}

/** The value that `read` returns; null if it is missing or damaged. */
export async function unlessLost<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (isLost(error)) return null;
    throw error;
  }
}

/** Saves the record of a result for later runs. Its artifacts must already be in the store. */
export async function keepReusable(
  store: ArtifactStore,
  agent: string,
  key: ReuseKey,
  record: Record<string, unknown>,
): Promise<void> {
  const value = { ...record, dependsOn: key.dependsOn };
  const place = placeOf(agent, key);
  const write = () =>
    changeDocument(store, place, (before) =>
      JSON.stringify(before) === JSON.stringify(value) ? { result: undefined } : { value, result: undefined },
    );
  try {
    await write();
  } catch (error) {
    if (!isLost(error)) throw error;
    await store.remove(place, Number.MAX_SAFE_INTEGER);
    await write();
  }
}

const isLost = (error: unknown): boolean =>
  isStoreError(error) && (error.type === 'Store.Missing' || error.type === 'Store.Corrupt');

const placeOf = (agent: string, { kind, sha256 }: ReuseKey): string =>
  `${layout.reuse(agent)}/${kind}-${sha256.slice(0, 24)}.json`;
