import type { JsonObject } from '@millrace/core';
import type { App } from '../../app/app-context.ts';
import { navigate, routeOf } from '../../app/route.tsx';

type Services = Pick<App, 'api' | 'directory'>;

/** Maximum length of a title and of the name of a folder. */
export const maxNameLength = 200;

/** Number of requests at the same time, when an action changes several sessions. */
const concurrentRequests = 4;

/**
 * Sets fields of the metadata of sessions. Null removes a field. Throws the first error after all
 * requests have ended, because the other sessions are changed anyway.
 */
export function changeTasks(app: Services, ids: readonly string[], metadata: JsonObject) {
  return forEachTask(app, ids, (path) => app.api.put(path, { merge_metadata: metadata }));
}

/** Deletes sessions. If one of them is open, the page for a new session is shown. */
export async function deleteTasks(app: Services, ids: readonly string[]): Promise<void> {
  await forEachTask(app, ids, (path) => app.api.delete(path));
  const route = routeOf(location.href);
  if (route.page === 'task' && ids.includes(route.id)) navigate({ page: 'new' });
}

async function forEachTask(
  { directory }: Services,
  ids: readonly string[],
  send: (path: string) => Promise<unknown>,
): Promise<void> {
  const waiting = [...ids];
  const errors: unknown[] = [];
  const sendNext = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      await send(`/tasks/${encodeURIComponent(id)}`).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: concurrentRequests }, sendNext));
  await directory.refresh();
  if (errors.length > 0) throw errors[0];
}
