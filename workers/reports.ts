import { ReportInbox } from '../activities/train/reports/report-inbox';
import { createReportEndpoint } from '../activities/train/reports/report-endpoint';
import { ReportTokens } from '../activities/train/reports/report-token';
import type { WorkerConfig } from './config';

/** Where this worker's trainers report. */
export interface Reports {
  inbox: ReportInbox;
  tokens: ReportTokens;
  /** Address for trainers on this machine. */
  localUrl: string;
  /** Address for pods; null: they send no reports. */
  podUrl: string | null;
  close(): Promise<void>;
}

/** Starts the report endpoint of a jobs worker. */
export async function openReports({
  reports: { host, port, podUrl },
}: Pick<WorkerConfig, 'reports'>): Promise<Reports> {
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
