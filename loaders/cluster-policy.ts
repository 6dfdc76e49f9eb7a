import { type ClusterPolicy, clusterPolicySchema } from '../contracts/config/cluster-policy';
import { readYaml } from './read-yaml';
import { problemLines, schemaProblems } from './schema-problems';

/** Reads the operator's policy. @throws Error with a line for each problem: file, field, value and what is allowed. */
export function loadClusterPolicy(file: string): ClusterPolicy {
  const read = readYaml(file);
  if ('problems' in read) throw new Error(problemLines(file, read.problems));
  const parsed = clusterPolicySchema.safeParse(read.value);
  if (!parsed.success)
    throw new Error(problemLines(file, schemaProblems(parsed.error, read.value, clusterPolicySchema)));
  return parsed.data;
}
