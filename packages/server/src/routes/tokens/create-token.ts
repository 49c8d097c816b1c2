import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import type { Scope } from '../../contract/service.ts';
import { route } from '../../http/route.ts';
import { tokenOf, tokenSchema } from './token-shape.ts';

const body = z.object({
  agent_id: z.string().min(1).nullish(),
  task_id: z.string().min(1).nullish(),
  label: z.string().max(256).nullish(),
});

export const createToken = route({
  method: 'POST',
  path: '/tokens',
  summary: 'A new token, for all, for one agent or for one task; it is told this once',
  access: 'all',
  body,
  status: 201,
  reply: tokenSchema.extend({ token: z.string() }),
  async handle({ body: { agent_id, task_id, label } }, { tokens, service }) {
    if (agent_id != null && task_id != null) {
      const message = 'Cannot make a token for an agent and a task at once. Name one of them';
      throw new ServerError('invalid', message);
    }
    let scope: Scope = { kind: 'all' };
    if (agent_id != null)
      scope = { kind: 'agent', agentId: (await service.agents.get({ id: agent_id })).id };
    if (task_id != null)
      scope = { kind: 'task', taskId: (await service.tasks.get({ id: task_id })).id };
    const issued = await tokens.issue(scope, label ?? null);
    return { ...tokenOf(issued), token: issued.token };
  },
});
