import { errorText } from '@millrace/react';
import { Button, Skeleton } from '@millrace/react/controls';
import { useCallback, useEffect, useState } from 'react';
import { useApp, useListedTask } from '../app/app-context.ts';
import { taskTitle } from '../app/task-text.ts';
import { SessionFrame } from '../chat/session-frame.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { DiffView } from './diff-view.tsx';
import { FirstDifference } from './first-difference.tsx';
import type { Divergence, TaskDiff } from './task-diff.ts';
import './diff-page.css';

interface DiffPageProps {
  readonly id: string;
  /** The task to compare with. Undefined means the task that this task is a branch of. */
  readonly other: string | undefined;
}

/** The time until the page compares again, in milliseconds. */
const againMs = 2000;

/** The page that compares a branch with its original, or any two tasks. */
export function DiffPage({ id, other }: DiffPageProps) {
  const t = pageLabels();
  const { api } = useApp();
  const listed = useListedTask(id);
  const title = listed === undefined ? t.session : taskTitle(listed);
  const [diff, setDiff] = useState<TaskDiff>();
  // The first difference. It arrives long before the comparison of all turns.
  const [first, setFirst] = useState<Divergence>();
  const [error, setError] = useState<string>();
  const load = useCallback(
    async (signal?: AbortSignal, isFirst = false) => {
      const query = other === undefined ? '' : `?other=${encodeURIComponent(other)}`;
      const path = `/tasks/${encodeURIComponent(id)}`;
      try {
        if (isFirst) {
          const early = await api.get(`${path}/divergence${query}`, signal);
          setFirst(early as unknown as Divergence);
        }
        const found = await api.get(`${path}/diff${query}`, signal);
        setDiff(found as unknown as TaskDiff);
        setError(undefined);
      } catch (reason) {
        if (!signal?.aborted) setError(errorText(reason, t));
      }
    },
    [api, id, other, t],
  );
  useEffect(() => {
    const stop = new AbortController();
    void load(stop.signal, true);
    return () => stop.abort();
  }, [load]);
  const length = diff === undefined ? 0 : diff.a.through + diff.b.through;
  // While one of the sessions grows, the page compares again. It stops when nothing was added.
  useEffect(() => {
    if (length === 0) return;
    const stop = new AbortController();
    const timer = setTimeout(() => void load(stop.signal), againMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [length, load]);
  return (
    <SessionFrame
      id={id}
      title={title}
      subject={t.compareSessions}
      actions={
        <Button size="small" look="quiet" onClick={() => void load()}>
          {t.compareAgain}
        </Button>
      }
    >
      <div className="diff-body">
        {error !== undefined && <p role="alert">{error}</p>}
        {diff === undefined && first !== undefined && <FirstDifference {...first} />}
        {diff === undefined && error === undefined && (
          <Skeleton label={t.loading} bars={['short', 'block', 'block']} />
        )}
        {diff !== undefined && <DiffView diff={diff} />}
      </div>
    </SessionFrame>
  );
}
