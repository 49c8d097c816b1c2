import type { LogRecord } from '@millrace/core';
import { lazyView } from '@millrace/react/controls';
import { type ReactNode, Suspense, useState } from 'react';
import { useAccess, useListedTask } from '../app/app-context.ts';
import type { BranchPlace } from './branch-dialog.tsx';

const BranchDialog = lazyView(async () => (await import('./branch-dialog.tsx')).BranchDialog);

/**
 * Returns the function that opens the dialog for a branch, and the dialog. The function is undefined if the
 * user cannot change the session, or if its agent has no loop.
 */
export function useBranchDialog(
  id: string,
): readonly [open: ((record: LogRecord) => void) | undefined, dialog: ReactNode] {
  const [place, setPlace] = useState<BranchPlace>();
  const { isReadOnly } = useAccess();
  const agent = useListedTask(id)?.agents?.[0];
  const isLoop = agent?.registration_metadata?.['kind'] === 'loop';
  if (isReadOnly || !isLoop) return [undefined, null];
  const dialog = place && (
    <Suspense>
      <BranchDialog {...{ id, place }} onClose={() => setPlace(undefined)} />
    </Suspense>
  );
  return [(record) => setPlace({ offset: record.offset, call: callOf(record) }), dialog];
}

/** Returns the call whose execution or result the record is about. */
function callOf({ fact, delta }: LogRecord): BranchPlace['call'] {
  if (fact !== undefined)
    return fact.type.startsWith('tool_execution') && 'toolCallId' in fact && 'name' in fact
      ? { toolCallId: String(fact.toolCallId), name: fact.name }
      : undefined;
  const part = delta.type === 'commit_part' ? delta.part : undefined;
  return part?.kind === 'tool_result'
    ? { toolCallId: part.toolCallId, name: part.name }
    : undefined;
}
