import { sessionId } from '@millrace/core';
import { ServerError } from '../../contract/server-error.ts';
import type { AgentInfo } from '../../contract/task.ts';
import type { RouteContext } from '../../http/route.ts';
import { ensureSession } from '../../journal/session-lease.ts';

/** A chat with an agent. It is stored as a task whose name is the chat id. */
export interface Chat {
  readonly id: string;
  readonly taskId: string;
  readonly agentId: string;
  readonly kind: 'sync' | 'async' | 'loop';
}

interface ChatName {
  readonly agentName: string;
  readonly chatId: string;
}

/** Finds the chat's task. If the chat is new, it creates the task. */
export async function openChat(
  { agentName, chatId }: ChatName,
  { service, trace }: RouteContext,
): Promise<Chat> {
  const agent = await service.agents.get({ name: agentName });
  const { id: taskId } = await service.tasks.create(agent.id, { name: chatId }, { trace });
  return { id: chatId, taskId, agentId: agent.id, kind: kindOf(agent) };
}

/** Finds a chat. Returns undefined if the chat has no messages yet. */
export async function findChat(
  { agentName, chatId }: ChatName,
  { service, log }: RouteContext,
): Promise<Chat | undefined> {
  const agent = await service.agents.get({ name: agentName });
  const task = await service.tasks.get({ name: chatId }).catch(ignoreNotFound);
  if (!task?.agents?.some(({ id }) => id === agent.id)) return undefined;
  await ensureSession(log, sessionId(task.id));
  return { id: chatId, taskId: task.id, agentId: agent.id, kind: kindOf(agent) };
}

/** Returns a chat. Throws `not_found` if the chat has no messages yet. */
export async function requireChat(name: ChatName, context: RouteContext): Promise<Chat> {
  const chat = await findChat(name, context);
  if (chat !== undefined) return chat;
  const { agentName, chatId } = name;
  const message = `Cannot find chat ${chatId} of agent ${agentName}: it has no messages. Send a message first`;
  throw new ServerError('not_found', message);
}

function kindOf({ acp_type, registration_metadata }: AgentInfo): Chat['kind'] {
  if (registration_metadata?.['kind'] === 'loop') return 'loop';
  return acp_type === 'sync' ? 'sync' : 'async';
}

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof ServerError && error.code === 'not_found') return undefined;
  throw error;
}
