import type { GroupMember } from './group-member';
import { jobName } from './names';

/** Where a pod finds the token that it reports with. */
export const POD_TOKEN_FOLDER = '/var/run/whetstone';
export const POD_TOKEN_FILE = `${POD_TOKEN_FOLDER}/token`;

/** Where the reports of one training go. */
export const reportAddress = (url: string, job: string): string => `${url.replace(/\/+$/, '')}/v1/reports/${job}`;

/**
 * Variables that tell a trainer where to report: of one training an address and a token, of several the same for each
 * output directory.
 */
export function reportVariables(
  url: string,
  members: readonly GroupMember[],
  tokenFile: (member: GroupMember) => string,
): Record<string, string> {
  const address = ({ capability, directoryKey }: GroupMember) => reportAddress(url, jobName(capability, directoryKey));
  const [only, ...others] = members;
  if (only !== undefined && others.length === 0)
    return { WHET_REPORT_URL: address(only), WHET_REPORT_TOKEN_FILE: tokenFile(only) };
  const reports = members.map((member) => [member.directory, { url: address(member), tokenFile: tokenFile(member) }]);
  return { WHET_REPORTS: JSON.stringify(Object.fromEntries(reports)) };
}
