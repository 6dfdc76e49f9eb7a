import { z } from 'zod';

/** The form of an agent's name, which is part of ids, paths and search attributes. */
export const AGENT_NAME = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;

/** An agent's name in agent.yaml and gateway.yaml. */
export const agentNameSchema = z
  .string()
  .regex(AGENT_NAME, 'lower-case letters, digits and dashes, 1 to 40 characters');
