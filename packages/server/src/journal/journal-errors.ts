import { type ErrorInfo, isMillraceError } from '@millrace/core';
import { ServerError } from '../contract/server-error.ts';
import type { QueuedCommand } from './journal-state.ts';

/** Converts a log error to an error that names the task. */
export function journalError(taskId: string, error: unknown): unknown {
  if (!isMillraceError(error)) return error;
  switch (error.code) {
    case 'held':
      return new ServerError(
        'conflict',
        `Cannot write to task ${taskId}: another process drives it. Try again when its run is over`,
        { task: taskId },
        { cause: error, details: { held: true } },
      );
    case 'fenced':
      return new ServerError(
        'unavailable',
        `Cannot continue task ${taskId}: another process has taken it over`,
        { task: taskId },
        { cause: error },
      );
    case 'session_closed':
      return new ServerError(
        'bad_state',
        `Cannot write to task ${taskId}: its session is closed`,
        { task: taskId },
        { cause: error },
      );
    default:
      return error;
  }
}

/**
 * Returns the error for a command of an unknown type. A newer version or a different program has queued it.
 * The command is removed without an effect, because it would otherwise stay in the queue forever.
 */
export function unknownCommand({
  key,
  command,
}: Pick<QueuedCommand, 'key' | 'command'>): ErrorInfo {
  const type = JSON.stringify(command['type'] ?? null).slice(0, 200);
  const message = `Cannot handle command ${key}: an agent of this kind has no command of the type ${type}. Submit commands with the routes of the server`;
  return { code: 'unknown_command', message };
}

export function journalClosed(taskId: string): ServerError {
  const message = `Cannot write to task ${taskId}: the server is closing. Try again later`;
  return new ServerError('unavailable', message, { task: taskId });
}

export function turnFinished(taskId: string, turn: number): ServerError {
  const message = `Cannot write to turn ${turn} of task ${taskId}: it is over. Send a message to start another turn`;
  return new ServerError('bad_state', message, { task: taskId, turn });
}
