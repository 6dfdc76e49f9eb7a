import { join } from 'node:path';
import { createFile, layout } from '../../../store';
import { fileNames } from '../files';

const folder = (storeRoot: string): string => join(storeRoot, layout.trainingNamespaces);

/** Records that this store has trainings in a namespace. A failure is ignored, because the next call records it. */
export async function rememberNamespace(storeRoot: string, namespace: string): Promise<void> {
  await createFile(join(folder(storeRoot), namespace), '').catch(() => undefined);
}

/** The namespaces in which this store has or had trainings. */
export function usedNamespaces(storeRoot: string): Promise<string[]> {
  return fileNames(folder(storeRoot));
}
