import type { JsonObject } from '@millrace/core';
import type { App } from '../../app/app-context.ts';
import { navigate, routeOf } from '../../app/route.tsx';
import type { ListedTask } from '../../server/directory.ts';

/** A menu or a dialog for sessions of the list. `SessionManager` shows it. */
export type ManageRequest =
  | { readonly kind: 'menu'; readonly task: ListedTask; readonly anchor: HTMLElement }
  | { readonly kind: 'folder'; readonly tasks: readonly ListedTask[] }
  | { readonly kind: 'delete'; readonly tasks: readonly ListedTask[] }
  | { readonly kind: 'archived' };

type Services = Pick<App, 'api' | 'directory'>;

/** Maximum length of a title and of a folder name. */
export const maxNameLength = 200;

/** Number of concurrent requests for an action that changes several sessions. */
const concurrentRequests = 4;

/**
 * Sets metadata fields of sessions. Null removes a field. If a request fails, the other sessions
 * are still changed. The first error is thrown after all requests have ended.
 */
export function changeTasks(app: Services, ids: readonly string[], metadata: JsonObject) {
  return forEachTask(app, ids, (path) => app.api.put(path, { merge_metadata: metadata }));
}

/** Deletes sessions. If one of them is open, the app shows the page for a new session. */
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
