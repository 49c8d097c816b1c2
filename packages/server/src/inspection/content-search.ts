import { type FoldState, sessionId, toArray } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import type { ContentHit, ContentSearch, ContentSearchResult } from '../contract/inspection.ts';
import type { TasksService } from '../contract/service.ts';
import { type FoundText, TextSearch } from './text-search.ts';

/** Maximum numbers for one request. The cursor of the result continues the search. */
const maxTasks = 50;
const maxRecords = 200_000;
const maxFound = 10;
const maxHitsPerTask = 3;
/** The number of characters that a hit shows before and after the found text. */
const [charactersBefore, charactersAfter] = [60, 120];

/**
 * Finds a text in the messages of tasks, last changed first. One request reads a limited number of tasks and
 * records. `tasks` is the service of the caller, so the search finds nothing that the caller may not read.
 */
export async function searchContent(
  { text, cursor }: ContentSearch,
  { tasks, log }: { readonly tasks: Pick<TasksService, 'list'>; readonly log: Log },
): Promise<ContentSearchResult> {
  const search = new TextSearch(text);
  const data: ContentSearchResult['data'][number][] = [];
  let next: string | null = cursor ?? null;
  let [records, count] = [0, 0];
  for (let read = 0; read < maxTasks && records < maxRecords && data.length < maxFound; read++) {
    // Each page has one task, so the cursor can continue after every task.
    const page = await tasks.list({
      ...{ limit: 1, pageNumber: 1, orderBy: 'updated_at', direction: 'desc' },
      ...(next !== null && { cursor: next }),
    });
    for (const task of page.data) {
      const session = sessionId(task.id);
      const info = await log.info(session);
      if (info === undefined) continue;
      records += info.through;
      count++;
      const hits = await hitsIn(await snapshot(log, session), search);
      if (hits.length > 0) data.push({ task_id: task.id, hits });
    }
    next = page.next;
    if (next === null) break;
  }
  return { data, searched: count, next };
}

/** The kinds of items whose texts are messages. */
const messageKinds: ReadonlySet<string> = new Set(['user', 'assistant', 'notification']);

/** Finds the latest matches in the messages of a session. */
async function hitsIn({ items }: FoldState, search: TextSearch): Promise<ContentHit[]> {
  const hits: ContentHit[] = [];
  for (const { id, kind, parts, redacted } of toArray(items).toReversed()) {
    if (redacted || !messageKinds.has(kind)) continue;
    for (const { part } of parts) {
      if (part?.kind !== 'text') continue;
      const found = await search.find(part.text);
      if (found === undefined) continue;
      hits.push({ item_id: id, kind, ...excerpt(part.text, found) });
      if (hits.length >= maxHitsPerTask) return hits;
    }
  }
  return hits;
}

function excerpt(text: string, { at, length }: FoundText) {
  const end = at + length;
  const before = text.slice(Math.max(0, at - charactersBefore), at).toWellFormed();
  const after = text.slice(end, end + charactersAfter).toWellFormed();
  return {
    before: `${at > charactersBefore ? '…' : ''}${oneLine(before)}`,
    match: oneLine(text.slice(at, end)),
    after: `${oneLine(after)}${end + charactersAfter < text.length ? '…' : ''}`,
  };
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
