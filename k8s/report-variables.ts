import type { GroupMember } from './group-member';
import { jobName } from './names';

/** Folder in a pod with the token for its reports. */
export const POD_TOKEN_FOLDER = '/var/run/whetstone';
/** That token's file. */
export const POD_TOKEN_FILE = `${POD_TOKEN_FOLDER}/token`;

/** The address for the reports of one training. */
const reportAddress = (url: string, job: string): string => `${url.replace(/\/+$/, '')}/v1/reports/${job}`;

/**
 * Environment variables with the addresses and tokens for a trainer's reports (docs/reference/protocols.md, section 6).
 * For one training they are an address and a token file. For several they are a JSON object with both by output
 * directory.
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
