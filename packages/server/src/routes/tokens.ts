import { z } from 'zod';
import { closedObject } from '../contract/closed-object.ts';
import { ServerError } from '../contract/server-error.ts';
import type { Scope, TaskService } from '../contract/service.ts';
import type { TokenInfo } from '../http/access/token-store.ts';
import { type Route, route } from '../http/route.ts';
import { deletedSchema } from './route-schemas.ts';

const name = z.string().min(1).max(1024).nullish();
const maxLifetimeSeconds = 366 * 24 * 3600;

const createTokenBody = closedObject({
  /**
   * The agent or task to which the token gives access. A client may set at most one of these four fields.
   * Without them, the token gives access to everything.
   */
  agent_id: name,
  agent_name: name,
  task_id: name,
  task_name: name,
  /** True if the token can only read. Default: false. */
  read_only: z.boolean().nullish(),
  /**
   * Seconds until the token expires, at most 366 days. Default: the new token expires together with the
   * caller's token.
   */
  expires_in: z.int().min(1).max(maxLifetimeSeconds).nullish(),
  label: z.string().max(256).nullish(),
});

const tokenSchema = z.object({
  /**
   * The id of the token. It is the hash of the token and not secret. A client needs it to revoke the token.
   */
  id: z.string(),
  agent_id: z.string().nullable(),
  task_id: z.string().nullable(),
  read_only: z.boolean(),
  /** The time at which the token expires. Null if it does not expire. */
  expires_at: z.string().nullable(),
  label: z.string().nullable(),
  created_at: z.string(),
  /** The id of the token that created this token. Null if an operator created it. */
  issuer_id: z.string().nullable(),
});

/** The rights of the caller, without the text of its token. */
const accessSchema = z.object({
  scope: z.enum(['all', 'agent', 'task', 'user']).meta({
    description: 'What the caller has access to: everything, one agent, one task, or its own tasks',
  }),
  agent_id: z.string().nullable(),
  task_id: z.string().nullable(),
  read_only: z.boolean(),
  expires_at: z.string().nullable().meta({
    description: 'When the access ends. Null if it does not end',
  }),
  is_token_required: z.boolean().meta({
    description: 'False if everybody who can reach the server has access to everything',
  }),
});

export const tokenRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/access',
    summary: 'Get the rights of the caller',
    reply: accessSchema,
    async handle(_input, { tokens, grant }) {
      const { scope, isReadOnly, expiresAt } = grant;
      return {
        scope: scope.kind,
        agent_id: scope.kind === 'agent' ? scope.agentId : null,
        task_id: scope.kind === 'task' ? scope.taskId : null,
        read_only: isReadOnly,
        expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
        is_token_required: tokens.isRequired,
      };
    },
  }),
  route({
    method: 'POST',
    path: '/tokens',
    summary:
      'Create a token for everything, for one agent or for one task. Its text is returned only here',
    access: 'all',
    body: createTokenBody,
    status: 201,
    reply: tokenSchema.extend({ token: z.string() }),
    async handle({ body }, { tokens, service, grant }) {
      const lifetimeMs = body.expires_in == null ? undefined : body.expires_in * 1000;
      const { scope, changedAt } = await findTarget(body, service);
      const request = {
        scope,
        ...{ label: body.label ?? null, isReadOnly: body.read_only ?? false, lifetimeMs },
      };
      const issued = await tokens.issue(request, grant);
      try {
        // If the agent or the task was deleted while the token was created, the deletion did not revoke this
        // new token. A new agent can already have the name of the deleted agent, so the times of the last
        // change are compared.
        if ((await findTarget(body, service)).changedAt !== changedAt) throw agentChanged();
      } catch (error) {
        await tokens.revoke(issued.id);
        throw error;
      }
      return { ...toTokenReply(issued), token: issued.token };
    },
  }),
  route({
    method: 'GET',
    path: '/tokens',
    summary: 'List the tokens that are valid, without their texts',
    access: 'all',
    query: z.object({
      task_id: z.string().max(1024).optional().meta({
        description: 'Lists only the tokens that give access to this task and nothing else',
      }),
    }),
    reply: z.array(tokenSchema),
    async handle({ query }, { tokens }) {
      return (await tokens.list(query.task_id)).map(toTokenReply);
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

type CreateToken = z.output<typeof createTokenBody>;

/** The agent or the task for which a token is created. */
interface TokenTarget {
  readonly scope: Scope;
  /** The time of the last change of the agent. A successor with the same id has a later time. */
  readonly changedAt?: string | null;
}

async function findTarget(body: CreateToken, { agents, tasks }: TaskService): Promise<TokenTarget> {
  const { agent_id, agent_name, task_id, task_name } = body;
  const given = [agent_id, agent_name, task_id, task_name].filter((one) => one != null);
  if (given.length > 1) {
    const message =
      'Cannot create a token for several things. Send one of agent_id, agent_name, task_id and task_name';
    throw new ServerError('invalid', message);
  }
  if (agent_id != null || agent_name != null) {
    const ref = agent_id != null ? { id: agent_id } : { name: agent_name ?? '' };
    const { id: agentId, updated_at: changedAt } = await agents.get(ref);
    return { scope: { kind: 'agent', agentId }, changedAt };
  }
  if (task_id != null || task_name != null) {
    const ref = task_id != null ? { id: task_id } : { name: task_name ?? '' };
    return { scope: { kind: 'task', taskId: (await tasks.get(ref)).id } };
  }
  return { scope: { kind: 'all' } };
}

function agentChanged(): ServerError {
  const message = 'Cannot create a token: the agent changed at the same time. Try again';
  return new ServerError('conflict', message);
}

function toTokenReply(token: TokenInfo): z.output<typeof tokenSchema> {
  const { id, scope, label, isReadOnly, expiresAt, createdAt, issuerId } = token;
  return {
    id,
    agent_id: scope.kind === 'agent' ? scope.agentId : null,
    task_id: scope.kind === 'task' ? scope.taskId : null,
    read_only: isReadOnly,
    expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    label,
    created_at: new Date(createdAt).toISOString(),
    issuer_id: issuerId,
  };
}
