import { ReportInbox } from '../activities/train/reports/report-inbox';
import { createReportEndpoint } from '../activities/train/reports/report-endpoint';
import { ReportTokens } from '../activities/train/reports/report-token';
import type { WorkerConfig } from './config';

/** Where the trainers that this worker started report their progress. */
export interface TrainerReports {
  inbox: ReportInbox;
  tokens: ReportTokens;
  /** Address for trainers on this machine. */
  localUrl: string;
  /** Address for pods. Null: they send no reports. */
  podUrl: string | null;
  /** Stops listening. */
  close(): Promise<void>;
}

/** Starts the endpoint to which the trainers of a jobs worker report. Throws when the address is in use. */
export async function openTrainerReports({
  reports: { host, port, podUrl },
}: Pick<WorkerConfig, 'reports'>): Promise<TrainerReports> {
  const inbox = new ReportInbox();
  const server = createReportEndpoint(inbox);
  await server.listen({ host, port });
  const address = server.server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    inbox,
    tokens: new ReportTokens(),
    localUrl: `http://127.0.0.1:${bound}`,
    podUrl,
    close: async () => server.close(),
  };
}
