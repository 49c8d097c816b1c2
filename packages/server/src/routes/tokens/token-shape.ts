import { z } from 'zod';
import type { TokenInfo } from '../../http/token-store.ts';

export const tokenSchema = z.object({
  /** Its hash: no secret, and enough to revoke it by. */
  id: z.string(),
  agent_id: z.string().nullable(),
  task_id: z.string().nullable(),
  label: z.string().nullable(),
  created_at: z.string(),
});

export function tokenOf({ id, scope, label, createdAt }: TokenInfo): z.output<typeof tokenSchema> {
  return {
    id,
    agent_id: scope.kind === 'agent' ? scope.agentId : null,
    task_id: scope.kind === 'task' ? scope.taskId : null,
    label,
    created_at: new Date(createdAt).toISOString(),
  };
}
