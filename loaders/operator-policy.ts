import { type OperatorPolicy, operatorPolicySchema } from '../contracts/config/operator-policy';
import { readYaml } from './read-yaml';
import { problemLines, schemaProblems } from './schema-problems';

/** Reads the operator's policy. @throws Error with a line for each problem: file, field, value and what is allowed. */
export function loadOperatorPolicy(file: string): OperatorPolicy {
  const read = readYaml(file);
  if ('problems' in read) throw new Error(problemLines(file, read.problems));
  const parsed = operatorPolicySchema.safeParse(read.value);
  if (!parsed.success)
    throw new Error(problemLines(file, schemaProblems(parsed.error, read.value, operatorPolicySchema)));
  return parsed.data;
}
