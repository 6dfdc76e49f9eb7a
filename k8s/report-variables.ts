import type { GroupMember } from './group-member';
import { jobName } from './names';

/** Folder in a pod with the token for its reports. */
export const POD_TOKEN_FOLDER = '/var/run/whetstone';

/** Environment variables with the addresses and the token of a trainer's reports (docs/reference/protocols.md, 6). */
export function reportVariables(url: string, members: readonly GroupMember[]): Record<string, string> {
  const reports = members.map(({ capability, directoryKey, directory }) => [
    directory,
    `${url.replace(/\/+$/, '')}/v1/reports/${jobName(capability, directoryKey)}`,
  ]);
  return {
    WHET_REPORTS: JSON.stringify(Object.fromEntries(reports)),
    WHET_REPORT_TOKEN_FILE: `${POD_TOKEN_FOLDER}/token`,
  };
}
