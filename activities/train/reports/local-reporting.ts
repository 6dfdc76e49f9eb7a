import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { GroupMember } from '../../../k8s/group-member';
import { jobName } from '../../../k8s/names';
import { reportVariables } from '../../../k8s/report-variables';
import { replaceFile } from '../../../store';
import type { ReportInbox } from './report-inbox';
import type { ReportTokens } from './report-token';

/** Where trainers of this machine send their reports. */
export interface LocalReports {
  inbox: ReportInbox;
  /** Base address of the report endpoint. */
  url: string;
  tokens: ReportTokens;
}

/**
 * Writes a token file for each training, readable by this user only and good for that training only.
 * @returns environment variables that tell the trainer where to report and with which token.
 */
export async function issueTokens(
  { tokens, url }: LocalReports,
  members: readonly GroupMember[],
): Promise<Record<string, string>> {
  const file = ({ directory }: GroupMember) => join(directory, 'report-token');
  for (const member of members) {
    await replaceFile(file(member), tokens.issue(jobName(member.capability, member.directoryKey)));
    await chmod(file(member), 0o600);
  }
  return reportVariables(url, members, file);
}
