import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import type { Scope } from '../contract/service.ts';
import type { TokenInfo } from '../http/access/token-store.ts';
import { type Route, route } from '../http/route.ts';
import { deletedSchema } from './route-schemas.ts';

const createTokenBody = z.object({
  agent_id: z.string().min(1).nullish(),
  task_id: z.string().min(1).nullish(),
  label: z.string().max(256).nullish(),
});

const tokenSchema = z.object({
  /** The hash of the token. It is not secret, and it is enough to revoke the token. */
  id: z.string(),
  agent_id: z.string().nullable(),
  task_id: z.string().nullable(),
  label: z.string().nullable(),
  created_at: z.string(),
});

export const tokenRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/tokens',
    summary:
      'Create a token for everything, for one agent or for one task. Its text is returned only here',
    access: 'all',
    body: createTokenBody,
    status: 201,
    reply: tokenSchema.extend({ token: z.string() }),
    async handle({ body: { agent_id, task_id, label } }, { tokens, service }) {
      if (agent_id != null && task_id != null) {
        const message =
          'Cannot create a token for an agent and a task together. Send one of agent_id and task_id';
        throw new ServerError('invalid', message);
      }
      let scope: Scope = { kind: 'all' };
      if (agent_id != null)
        scope = { kind: 'agent', agentId: (await service.agents.get({ id: agent_id })).id };
      if (task_id != null)
        scope = { kind: 'task', taskId: (await service.tasks.get({ id: task_id })).id };
      const issued = await tokens.issue(scope, label ?? null);
      return { ...toTokenReply(issued), token: issued.token };
    },
  }),
  route({
    method: 'GET',
    path: '/tokens',
    summary: 'List the tokens that are not revoked, without their texts',
    access: 'all',
    reply: z.array(tokenSchema),
    async handle(_input, { tokens }) {
      return (await tokens.list()).map(toTokenReply);
    },
  }),
  route({
    method: 'DELETE',
    path: '/tokens/{token_id}',
    summary: 'Revoke a token',
    access: 'all',
    params: z.object({ token_id: z.string().regex(/^[0-9a-f]{64}$/) }),
    reply: deletedSchema,
    async handle({ params: { token_id: id } }, { tokens }) {
      if (await tokens.revoke(id)) return { id, message: 'The token was revoked' };
      throw new ServerError('not_found', `Cannot revoke token ${id}: it does not exist`);
    },
  }),
];

function toTokenReply({ id, scope, label, createdAt }: TokenInfo): z.output<typeof tokenSchema> {
  return {
    id,
    agent_id: scope.kind === 'agent' ? scope.agentId : null,
    task_id: scope.kind === 'task' ? scope.taskId : null,
    label,
    created_at: new Date(createdAt).toISOString(),
  };
}
