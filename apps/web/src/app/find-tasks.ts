import type { Api } from './api.ts';
import type { ListedTask } from './directory.ts';

/** So many are shown: who looks for one of more than that says more of it. */
const maxFound = 50;
/** A server looks at a stretch of its tasks for each answer; so often it is asked to go on. */
const maxAnswers = 20;

/** Tasks whose title, name or id has the text, the last changed first, found by the server among all it has. */
export async function findTasks(
  api: Pick<Api, 'page'>,
  text: string,
  signal: AbortSignal,
): Promise<readonly ListedTask[]> {
  const found: ListedTask[] = [];
  const query = new URLSearchParams({ search: text, relationships: 'agents,work' });
  for (let answers = 0; answers < maxAnswers; answers++) {
    query.set('limit', String(maxFound - found.length));
    const { data, next } = await api.page(`/tasks?${query}`, signal);
    found.push(...(data as unknown as readonly ListedTask[]));
    if (next === undefined || found.length >= maxFound) break;
    query.set('cursor', next);
  }
  return found;
}
