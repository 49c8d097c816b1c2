import type { Client } from '@millrace/client';
import { useEffect, useState } from 'react';
import type { Bar } from './bar.ts';
import { spanBars } from './span-bars.ts';

const none: readonly Bar[] = [];

/** What agents traced besides the log. Asked for again when the session has moved on. */
export function useSpans(client: Client, taskId: string, version: number): readonly Bar[] {
  const [bars, setBars] = useState(none);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is why it is asked again
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    client
      .task(taskId)
      .spans({ signal })
      .then((spans) => setBars(spans.length === 0 ? none : spanBars(spans)))
      // They are an addition: what is in the log is shown without them.
      .catch(() => {});
    return () => controller.abort();
  }, [client, taskId, version]);
  return bars;
}
