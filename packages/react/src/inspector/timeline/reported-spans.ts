import type { Client, SpanInfo } from '@millrace/client';
import { useEffect, useState } from 'react';

const none: readonly SpanInfo[] = [];

/** Returns the spans that agents reported. The hook fetches them again when `version` changes. */
export function useReportedSpans(
  client: Client,
  taskId: string,
  version: number,
): readonly SpanInfo[] {
  const [spans, setSpans] = useState(none);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version triggers a new request
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    client
      .task(taskId)
      .spans({ signal })
      .then((read) => setSpans(read.length === 0 ? none : read))
      // Spans are optional. If they cannot be fetched, the timeline shows no reported spans.
      .catch(() => {});
    return () => controller.abort();
  }, [client, taskId, version]);
  return spans;
}
