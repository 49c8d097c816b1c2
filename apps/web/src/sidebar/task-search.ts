import { useEffect, useState } from 'react';
import type { Api } from '../server/api.ts';
import type { ListedTask } from '../server/directory.ts';

/** The length from which the messages are searched too. Shorter texts are in almost every session. */
export const minContentLength = 3;

export type FindTasks = (text: string, signal: AbortSignal) => Promise<readonly ListedTask[]>;

export interface TaskSearchResult {
  /** The tasks of the last result. The result may belong to an earlier text. */
  readonly tasks: readonly ListedTask[];
  /** The state of the search. `none` means that no search on the server is necessary. */
  readonly state: 'none' | 'asking' | 'found' | 'failed';
}

interface Answer {
  /** The text that was searched. */
  readonly text: string;
  readonly tasks: readonly ListedTask[];
  readonly isFailed: boolean;
}

const noAnswer: Answer = { text: '', tasks: [], isFailed: false };

/** The search starts when the user has not typed for this time. */
const pauseMs = 250;

/**
 * Searches tasks on the server, and again when the list changes. Without `find`, it sends no
 * request.
 */
export function useTaskSearch(
  find: FindTasks | undefined,
  text: string,
  list: readonly ListedTask[],
): TaskSearchResult {
  const [answer, setAnswer] = useState(noAnswer);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed list can change the result
  useEffect(() => {
    if (find === undefined || text === '') return;
    const controller = new AbortController();
    const search = async () => {
      const tasks = await find(text, controller.signal).catch(() => undefined);
      if (controller.signal.aborted) return;
      setAnswer({ text, tasks: tasks ?? [], isFailed: tasks === undefined });
    };
    const timer = setTimeout(() => void search(), pauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [find, text, list]);
  if (find === undefined || text === '') return { tasks: [], state: 'none' };
  const { tasks, isFailed } = answer;
  if (answer.text !== text) return { tasks, state: 'asking' };
  return { tasks, state: isFailed ? 'failed' : 'found' };
}

/** Maximum number of results. If there are more, the user can type a longer text. */
const maxFound = 50;
/**
 * Maximum number of requests for one search. For each request the server scans only some of its
 * tasks.
 */
const maxPages = 20;

/** Finds tasks on the server whose title, name or id contains the text, newest first. */
export async function findTasks(
  api: Pick<Api, 'page'>,
  text: string,
  signal: AbortSignal,
): Promise<readonly ListedTask[]> {
  const found: ListedTask[] = [];
  const query = new URLSearchParams({ search: text, relationships: 'agents,work' });
  for (let pages = 0; pages < maxPages; pages++) {
    query.set('limit', String(maxFound - found.length));
    const { data, next } = await api.page(`/tasks?${query}`, signal);
    found.push(...(data as unknown as readonly ListedTask[]));
    if (next === undefined || found.length >= maxFound) break;
    query.set('cursor', next);
  }
  return found;
}
