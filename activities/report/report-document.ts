import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { Report } from '../../contracts/artifacts/report';

/** Input of the page: the report, and the artifacts behind its figures. */
export interface ReportDocument {
  report: Report;
  sources: FigureSources;
}

/** Artifacts behind the figures. A stage without artifacts has an empty list or null. */
export interface FigureSources {
  /** report.json itself: the source of figures that no other artifact contains. */
  report: ArtifactRef;
  identification: ArtifactRef;
  labels: ArtifactRef;
  evaluation: ArtifactRef | null;
  routing: ArtifactRef | null;
  /** Keyed by capability id and attempt number. */
  calibrations: { capabilityId: string; attempt: number; ref: ArtifactRef }[];
  /** Keyed by the adapter's served name. */
  manifests: { adapter: string; ref: ArtifactRef }[];
}
