import { errorText, VisibleText } from '@millrace/react';
import { Button } from '@millrace/react/controls';
import { useEffect, useState } from 'react';
import { useApp, useListedTask } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { taskTitle } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import type { Api } from '../server/api.ts';
import { minContentLength } from './task-search.ts';

/** A place in a message that contains the searched text. */
interface ContentHit {
  readonly item_id: string;
  readonly kind: string;
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

interface FoundSession {
  readonly task_id: string;
  readonly hits: readonly ContentHit[];
}

interface ContentResult {
  readonly data: readonly FoundSession[];
  readonly searched: number;
  readonly next: string | null;
}

interface Found {
  /** The searched text. */
  readonly text: string;
  readonly sessions: readonly FoundSession[];
  readonly searched: number;
  /** The cursor that continues the search. Null if all sessions were searched. */
  readonly next: string | null;
  readonly error: string | undefined;
}

const pauseMs = 400;
const maxSessions = 50;

interface ContentSearchProps {
  /** The text, without spaces at its ends. */
  readonly text: string;
}

/**
 * The sessions whose messages contain a text. The server searches a part of the sessions for each request,
 * and a button continues with older ones.
 */
export function ContentSearch({ text }: ContentSearchProps) {
  const t = pageLabels();
  const { api } = useApp();
  const { found, isSearching, more } = useContentSearch(api, text);
  if (text.length < minContentLength) return null;
  const isCurrent = found?.text === text;
  const sessions = isCurrent ? found.sessions : [];
  return (
    <section className="content-hits" aria-label={t.inMessages}>
      <h3>{t.inMessages}</h3>
      <ul>
        {sessions.map((session) => (
          <li key={session.task_id}>
            <FoundLink session={session} />
          </li>
        ))}
      </ul>
      <p className="task-list-empty" role="status">
        {statusText(isCurrent ? found : undefined, isSearching)}
      </p>
      {isCurrent && found.next !== null && sessions.length < maxSessions && (
        <Button size="small" look="quiet" disabled={isSearching} onClick={more}>
          {t.searchOlderSessions}
        </Button>
      )}
    </section>
  );
}

function FoundLink({ session: { task_id: id, hits } }: { readonly session: FoundSession }) {
  const t = pageLabels();
  const task = useListedTask(id);
  return (
    <Link to={{ page: 'task', id }} className="task-link content-hit">
      <span className="content-hit-title">{task === undefined ? t.session : taskTitle(task)}</span>
      {hits.slice(0, 1).map(({ item_id, before, match, after }) => (
        <span key={item_id} className="content-hit-text">
          <VisibleText text={before} />
          <mark>
            <VisibleText text={match} />
          </mark>
          <VisibleText text={after} />
        </span>
      ))}
    </Link>
  );
}

function statusText(found: Found | undefined, isSearching: boolean): string {
  const t = pageLabels();
  if (isSearching || found === undefined) return t.searchingMessages;
  if (found.error !== undefined) return t.messagesNotSearched(found.error);
  if (found.sessions.length > 0) return '';
  return t.noMessageHas(found.next === null ? undefined : found.searched);
}

interface SearchState {
  readonly found: Found | undefined;
  readonly isSearching: boolean;
  /** Continues the search with older sessions. */
  readonly more: () => void;
}

function useContentSearch(api: Pick<Api, 'get'>, text: string): SearchState {
  const [found, setFound] = useState<Found>();
  /** The request in progress. Undefined if there is none. The first request of a search has no cursor. */
  const [asked, setAsked] = useState<{ readonly text: string; readonly cursor?: string }>();
  useEffect(() => {
    if (text.length < minContentLength) return;
    const timer = setTimeout(() => setAsked({ text }), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    if (asked === undefined) return;
    const controller = new AbortController();
    void search(api, asked, controller.signal).then((next) => {
      if (controller.signal.aborted) return;
      setFound((before) => (asked.cursor === undefined ? next : joined(before, next)));
      setAsked(undefined);
    });
    return () => controller.abort();
  }, [api, asked]);
  const more = () => {
    if (found?.next != null) setAsked({ text, cursor: found.next });
  };
  return { found, isSearching: asked !== undefined, more };
}

async function search(
  api: Pick<Api, 'get'>,
  { text, cursor }: { readonly text: string; readonly cursor?: string },
  signal: AbortSignal,
): Promise<Found> {
  const query = new URLSearchParams({ text, ...(cursor !== undefined && { cursor }) });
  try {
    const result = (await api.get(`/search?${query}`, signal)) as unknown as ContentResult;
    const { data, searched, next } = result;
    return { text, sessions: data, searched, next, error: undefined };
  } catch (reason) {
    return {
      text,
      sessions: [],
      searched: 0,
      next: cursor ?? null,
      error: errorText(reason, pageLabels()),
    };
  }
}

function joined(before: Found | undefined, next: Found): Found {
  if (before?.text !== next.text) return next;
  const known = new Set(before.sessions.map(({ task_id }) => task_id));
  const added = next.sessions.filter(({ task_id }) => !known.has(task_id));
  const sessions = [...before.sessions, ...added];
  return { ...next, sessions, searched: before.searched + next.searched };
}
