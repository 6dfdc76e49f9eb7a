import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { Report } from '../../contracts/artifacts/report';

/** Input of the page: the report, and the artifacts behind its figures. */
export interface ReportDocument {
  report: Report;
  sources: FigureSources;
}

/** Artifacts behind the figures. A stage that made no artifacts has an empty list or null. */
export interface FigureSources {
  /** report.json itself: the source of figures that no other artifact holds. */
  report: ArtifactRef;
  identification: ArtifactRef;
  labels: ArtifactRef;
  evaluation: ArtifactRef | null;
  routing: ArtifactRef | null;
  /** By capability id and attempt number. */
  calibrations: { capabilityId: string; attempt: number; ref: ArtifactRef }[];
  /** By served name of the adapter. */
  manifests: { adapter: string; ref: ArtifactRef }[];
}
