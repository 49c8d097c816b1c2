import { isClosed } from '../../app/task-words.ts';
import type { LiveSource } from './live-source.ts';
import { useConnection, useTaskRow } from './use-live.ts';

/** Nothing more comes of it, whatever its log said last: its end was told, or it is gone. */
export function useIsOver(live: LiveSource): boolean {
  const { state } = useConnection(live);
  const row = useTaskRow(live);
  return state === 'ended' || state === 'failed' || isClosed(row?.status);
}
