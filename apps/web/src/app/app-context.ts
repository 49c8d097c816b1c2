import { type Client, createClient } from '@millrace/client';
import { randomIds } from '@millrace/core';
import { type LiveSource, LiveSources, useTaskRow } from '@millrace/react';
import { createContext, useContext, useEffect, useSyncExternalStore } from 'react';
import { deliverWith, Outbox } from '../chat/composer/outbox.ts';
import { pageLabels } from '../languages/page-labels.ts';
import { type Access, AccessStore, fullAccess } from '../server/access.ts';
import { Api } from '../server/api.ts';
import { withBase } from '../server/base-path.ts';
import { Directory, type DirectoryState, type ListedTask } from '../server/directory.ts';
import { fetchWithEarlyStream } from '../server/early-stream.ts';
import { readToken } from './browser-storage.ts';
import { taskTitle } from './task-text.ts';

/** The services that every component of the page can use. */
export interface App {
  readonly client: Client;
  readonly sources: LiveSources;
  readonly api: Api;
  readonly directory: Directory;
  readonly outbox: Outbox;
  readonly access: AccessStore;
}

export function createApp(): App {
  const client = createClient({
    url: withBase('/'),
    token: readToken,
    fetch: fetchWithEarlyStream,
    firstRecords: 'recent',
  });
  const api = new Api((path, init) => fetchWithEarlyStream(new URL(path, location.origin), init));
  const sources = new LiveSources(client);
  const directory = new Directory(api);
  const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
  const outbox = new Outbox({
    deliver: deliverWith(sources, () => void directory.refresh()),
    newKey: () => ids.session(),
    now: () => Date.now(),
  });
  return { client, api, sources, directory, outbox, access: new AccessStore(api) };
}

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === undefined) throw new Error('useApp must be used inside AppContext');
  return app;
}

/**
 * Returns a task from the list. If the list does not contain the task, the hook fetches it by its
 * id. It returns undefined until the task arrives.
 */
export function useListedTask(id: string): ListedTask | undefined {
  const { directory } = useApp();
  const { tasks, others, isLoaded } = useDirectory();
  const found = tasks.find((task) => task.id === id) ?? others.get(id);
  const isMissing = isLoaded && found === undefined;
  useEffect(() => {
    if (isMissing) void directory.fetchTask(id);
  }, [directory, id, isMissing]);
  return found;
}

/**
 * Returns the title of a session. It comes from the session's stream, or from the list until the
 * stream has sent it.
 */
export function useTaskTitle(live: LiveSource): string {
  const listed = useListedTask(live.id);
  const task = useTaskRow(live) ?? listed;
  return task === undefined ? pageLabels().session : taskTitle({ ...listed, ...task });
}

/** Returns the rights of the user. Until they are known, the user has all rights. */
export function useAccess(): Access {
  const access = useContext(AppContext)?.access;
  return useSyncExternalStore(access?.subscribe ?? subscribeNever, access?.state ?? fullState);
}

const subscribeNever = () => () => {};
const fullState = () => fullAccess;

export function useDirectory(): DirectoryState {
  const { directory } = useApp();
  return useSyncExternalStore(directory.subscribe, directory.state);
}
