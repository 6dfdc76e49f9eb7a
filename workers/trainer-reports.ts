import { ReportInbox } from '../activities/train/reports/report-inbox';
import { createReportEndpoint } from '../activities/train/reports/report-endpoint';
import type { WorkerConfig } from './config';

/** Where the trainers in pods that this worker started report their progress. */
export interface TrainerReports {
  inbox: ReportInbox;
  /** Address for pods. */
  url: string;
  /** Stops listening. */
  close(): Promise<void>;
}

/**
 * Starts the endpoint to which the pods of a jobs worker report. Null where pods cannot reach it. Throws when the
 * address is in use.
 */
export async function openTrainerReports({
  reports: { host, port, podUrl },
}: Pick<WorkerConfig, 'reports'>): Promise<TrainerReports | null> {
  if (podUrl === null) return null;
  const inbox = new ReportInbox();
  const server = createReportEndpoint(inbox);
  await server.listen({ host, port });
  return { inbox, url: podUrl, close: async () => server.close() };
}
