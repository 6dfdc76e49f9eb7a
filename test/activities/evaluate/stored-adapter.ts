import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import { modelDirectorySha256 } from '../../../store/model-hash';
import type { RunFixture } from '../run-fixture';

/** Writes an adapter's directory into the store. Its weights have a header as the format wants it, and no tensors. */
export async function storedAdapter({ store, folder }: RunFixture, capabilityId: string): Promise<TrainedAdapter> {
  const source = mkdtempSync(join(folder, 'adapter-'));
  const header = Buffer.from(JSON.stringify({ __metadata__: { of: capabilityId } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(join(source, 'adapter_config.json'), '{}');
  writeFileSync(join(source, 'adapter_model.safetensors'), Buffer.concat([length, header]));
  const sha256 = await modelDirectorySha256(source);
  return {
    name: `${capabilityId}@${sha256.slice(0, 12)}`,
    capabilityId,
    sha256,
    key: await store.adoptDirectory('adapters/parcels', capabilityId, sha256, source),
    manifest: { key: 'runs/run-1/training/x/manifest.json', sha256, bytes: 1, mediaType: 'application/json' },
    rollouts: 640,
    seconds: 1,
    finalReward: 1,
  };
}
