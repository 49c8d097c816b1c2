import { z } from 'zod';
import type { AgentInfo } from '../../contract/task.ts';

/**
 * What a list of tasks can be asked for besides: `work` tells which of them somebody works on, and which of
 * these wait for an approval.
 */
export const listRelationships = { relationships: z.array(z.enum(['agents', 'work'])).optional() };

export const relationshipsQuery = { relationships: z.array(z.enum(['agents'])).optional() };

/** Its agents are told only to whoever asks for them. */
export function withRelationships<T extends { readonly agents: AgentInfo[] | null }>(
  task: T,
  query: { readonly relationships?: readonly ('agents' | 'work')[] | undefined },
): T {
  return query.relationships?.includes('agents') ? task : { ...task, agents: null };
}
