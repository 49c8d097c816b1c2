import { type Client, createClient } from '@millrace/client';
import { createContext, useContext, useSyncExternalStore } from 'react';
import { LiveSources } from '../chat/state/live-sources.ts';
import { Api, readToken } from './api.ts';
import { Directory, type DirectoryState } from './directory.ts';

/** What every part of the page can reach. */
export interface App {
  readonly client: Client;
  readonly sources: LiveSources;
  readonly api: Api;
  readonly directory: Directory;
}

export function createApp(): App {
  const client = createClient({ url: '/', token: readToken });
  const api = new Api();
  return { client, api, sources: new LiveSources(client), directory: new Directory(api) };
}

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === undefined) throw new Error('There is no AppContext around this component');
  return app;
}

export function useDirectory(): DirectoryState {
  const { directory } = useApp();
  return useSyncExternalStore(directory.subscribe, directory.state);
}
