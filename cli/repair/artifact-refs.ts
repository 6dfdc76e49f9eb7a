import { type ArtifactRef, artifactRefSchema } from '../../contracts/artifacts/artifact-ref';

/** What a result names in the store. */
export interface NamedArtifacts {
  artifacts: ArtifactRef[];
  /** Directories of trained adapters. Their sha256 is that of the directory. */
  adapters: { key: string; sha256: string }[];
}

/** Everything that a value refers to in the store, at any depth. Two mentions of one artifact give two entries. */
export function artifactsIn(value: unknown): NamedArtifacts {
  const found: NamedArtifacts = { artifacts: [], adapters: [] };
  collect(value, found);
  return found;
}

function collect(value: unknown, found: NamedArtifacts): void {
  if (typeof value !== 'object' || value === null) return;
  const ref = artifactRefSchema.safeParse(value);
  if (ref.success) {
    found.artifacts.push(ref.data);
    return;
  }
  const { key, sha256, manifest } = value as Record<string, unknown>;
  if (typeof key === 'string' && typeof sha256 === 'string' && typeof manifest === 'object')
    found.adapters.push({ key, sha256 });
  for (const child of Object.values(value)) collect(child, found);
}
