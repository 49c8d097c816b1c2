import type { Client, TaskHandle } from '@millrace/client';
import { useMemo } from 'react';
import { LiveSources } from '../chat/state/live-source.ts';
import type { OutgoingMessage, Session, SessionCommands } from './session.ts';

/** Options of `useTaskSession`. */
export interface TaskSessionOptions {
  /** True if the user can only read the session. Default: false. */
  readonly isReadOnly?: boolean | undefined;
  /**
   * True if a message during a run can join its next request. Set it to false for an agent that is not
   * a loop. Default: true.
   */
  readonly canSteer?: boolean | undefined;
}

/**
 * Returns a task of a Millrace server as a session. The connection is open while a component shows the
 * session, and a few seconds longer.
 */
export function useTaskSession(
  client: Client,
  taskId: string,
  { isReadOnly = false, canSteer = true }: TaskSessionOptions = {},
): Session {
  return useMemo(() => {
    const live = sourcesOf(client).get(taskId);
    const commands = isReadOnly ? undefined : taskCommands(live.handle, canSteer);
    return { source: live, live, commands };
  }, [client, taskId, isReadOnly, canSteer]);
}

const sources = new WeakMap<Client, LiveSources>();

/** Returns the open sessions of a client. All components share them. */
export function sourcesOf(client: Client): LiveSources {
  const known = sources.get(client) ?? new LiveSources(client);
  sources.set(client, known);
  return known;
}

/** Returns the commands of a task. */
export function taskCommands(handle: TaskHandle, canSteer: boolean): SessionCommands {
  return {
    ...{ canSteer, canAttach: true },
    send: (message) => sendToTask(handle, message),
    stop: () => handle.stop(),
    approve: (id, options) => handle.approve(id, options),
    deny: (id, options) => handle.deny(id, options),
    withdraw: (key) => handle.withdraw(key),
    retry: () => handle.retry(),
  };
}

async function sendToTask(handle: TaskHandle, message: OutgoingMessage): Promise<void> {
  const { text, when = 'follow_up', files = [] } = message;
  const upload = message.upload ?? (() => uploadAll(handle, files));
  const attachments = await upload(handle);
  const content =
    attachments.length === 0 ? text : ({ type: 'text', content: text, attachments } as const);
  await handle.send(content, { when });
}

async function uploadAll(handle: TaskHandle, files: readonly File[]) {
  const attachments = [];
  // One after the other, because the server limits uploads at the same time.
  for (const file of files) attachments.push(await handle.upload(file, { name: file.name }));
  return attachments;
}
