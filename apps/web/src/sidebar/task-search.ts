import { useEffect, useState } from 'react';
import type { Api } from '../server/api.ts';
import type { ListedTask } from '../server/directory.ts';

export type FindTasks = (text: string, signal: AbortSignal) => Promise<readonly ListedTask[]>;

export interface TaskSearchResult {
  /** What was found last: it may have been for another text. */
  readonly tasks: readonly ListedTask[];
  /** `none`: there is nothing to look for elsewhere. */
  readonly state: 'none' | 'asking' | 'found' | 'failed';
}

interface Answer {
  /** What was asked for. */
  readonly text: string;
  readonly tasks: readonly ListedTask[];
  readonly isFailed: boolean;
}

const noAnswer: Answer = { text: '', tasks: [], isFailed: false };

/** Whoever types on is not done yet. */
const pauseMs = 250;

/** What the server finds for a text, asked again when the list changes. Without `find`, nothing is asked. */
export function useTaskSearch(
  find: FindTasks | undefined,
  text: string,
  list: readonly ListedTask[],
): TaskSearchResult {
  const [answer, setAnswer] = useState(noAnswer);
  // biome-ignore lint/correctness/useExhaustiveDependencies: where the list changed, what is found may have as well
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

/** So many are shown: who looks for one of more than that says more of it. */
const maxFound = 50;
/** A server looks at a stretch of its tasks for each answer; so often it is asked to go on. */
const maxPages = 20;

/** Tasks whose title, name or id has the text, the last changed first, found by the server among all it has. */
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
