import { sessionId } from '@millrace/core';
import { LogError } from '@millrace/log';
import { ServerError } from '../../../contract/server-error.ts';
import type { RouteContext } from '../../../http/route.ts';
import { ensureSession } from '../../../journal/session-lease.ts';
import { readerOf } from '../app-questions.ts';
import type { McpOptions } from '../mcp-options.ts';
import { parseUri } from '../protocol/uris.ts';
import { findOwn } from '../resources.ts';

/** A resource whose changes a client can follow. */
export interface WatchedResource {
  readonly uri: string;
  /** The offset of the newest record of a session. 0 for a resource of the application. */
  readonly through: number;
  /**
   * Yields after each change: the offset of the newest record of a session, or 0. Changes of a session after the
   * offset `from` count. Ends with the signal, or when the session is deleted.
   */
  watch(from: number, signal: AbortSignal): AsyncIterable<number>;
}

/**
 * Finds a resource by its address. Returns undefined if the caller has no such resource, or if its application
 * does not report changes.
 */
export async function findWatched(
  uri: string,
  { resources = [] }: McpOptions,
  context: RouteContext,
): Promise<WatchedResource | undefined> {
  const own = findOwn(uri, resources);
  if (own !== undefined) {
    const { resource, values } = own;
    const reader = readerOf(context);
    if (resource.watch === undefined) return undefined;
    const watch = async function* (_: number, signal: AbortSignal) {
      for await (const _change of resource.watch?.(values, reader, signal) ?? []) yield 0;
    };
    return { uri, through: 0, watch };
  }
  const place = parseUri(uri);
  if (place === undefined || place.hash !== undefined) return undefined;
  const { taskId } = place;
  if (!(await hasTask(taskId, context))) return undefined;
  await ensureSession(context.log, sessionId(taskId));
  const { through = 0 } = (await context.log.info(taskId)) ?? {};
  return { uri, through, watch: (from, signal) => sessionChanges(taskId, from, signal, context) };
}

async function hasTask(id: string, { service }: RouteContext): Promise<boolean> {
  return service.tasks.get({ id }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ServerError && error.code === 'not_found') return false;
      throw error;
    },
  );
}

async function* sessionChanges(
  taskId: string,
  from: number,
  signal: AbortSignal,
  { log }: RouteContext,
): AsyncGenerator<number> {
  try {
    for await (const { through } of log.follow(taskId, { from, signal })) yield through;
  } catch (error) {
    // If the session was deleted or replaced, this counts as a change. The stream of the client continues.
    if (!(error instanceof LogError) || !['no_session', 'rewound'].includes(error.code))
      throw error;
    yield 0;
  }
}
