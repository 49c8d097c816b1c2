import type { JsonObject, JsonValue } from '@millrace/core';
import type { App } from '../app/app-context.ts';
import type { DirectoryState, ListedTask } from '../server/directory.ts';

interface FakeApp {
  readonly app: App;
  /** The posted requests, in order. */
  readonly posted: readonly (readonly [path: string, body: JsonObject])[];
  /** The put and delete requests, in order. */
  readonly changed: readonly (readonly [method: string, path: string, body?: JsonObject])[];
  /** The ids of tasks that were fetched by id. */
  readonly fetched: readonly string[];
}

interface FakeAppOptions {
  readonly tasks?: readonly ListedTask[];
  readonly post?: (path: string, body: JsonObject) => Promise<JsonValue>;
}

/** Creates the services of the page with a fake server. */
export function fakeApp({ tasks = [], post }: FakeAppOptions = {}): FakeApp {
  const posted: [string, JsonObject][] = [];
  const fetched: string[] = [];
  const changed: [string, string, JsonObject?][] = [];
  const state: DirectoryState = {
    ...{ isLoaded: true, agents: [], tasks, hasMore: false, others: new Map() },
    error: undefined,
  };
  const app = {
    api: {
      post: (path: string, body: JsonObject) => {
        posted.push([path, body]);
        return post?.(path, body) ?? Promise.resolve({});
      },
      put: async (path: string, body: JsonObject) => {
        changed.push(['PUT', path, body]);
        return {};
      },
      delete: async (path: string) => {
        changed.push(['DELETE', path]);
        return {};
      },
      page: async () => ({ data: [], next: undefined }),
    },
    directory: {
      state: () => state,
      subscribe: () => () => {},
      refresh: async () => {},
      fetchTask: async (id: string) => void fetched.push(id),
    },
    outbox: { subscribe: () => () => {}, of: () => none, add: () => true },
  } as unknown as App;
  return { app, posted, changed, fetched };
}

const none = [] as const;

/** Returns a task of a loop agent. */
export function loopTask(id: string): ListedTask {
  const agent = { name: 'builder', registration_metadata: { kind: 'loop' } };
  return { id, agents: [agent], task_metadata: null } as unknown as ListedTask;
}
