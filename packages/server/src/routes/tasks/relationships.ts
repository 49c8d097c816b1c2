import { z } from 'zod';
import type { AgentInfo } from '../../wire/agent-info.ts';

export const relationshipsQuery = { relationships: z.array(z.enum(['agents'])).optional() };

/** Its agents are told only to whoever asks for them. */
export function withRelationships<T extends { readonly agents: AgentInfo[] | null }>(
  task: T,
  query: { readonly relationships?: readonly 'agents'[] | undefined },
): T {
  return query.relationships?.includes('agents') ? task : { ...task, agents: null };
}
