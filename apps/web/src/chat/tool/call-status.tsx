import type { Part } from '@millrace/core';
import { AlertIcon, CheckIcon, CrossIcon, ShieldIcon, StopIcon } from '../../design/icons.tsx';
import type { CallFacts } from '../state/fact-index.ts';

export type CallStatus =
  | 'writing'
  | 'asking'
  | 'waiting'
  | 'running'
  | 'done'
  | 'failed'
  | 'stopped'
  | 'rejected';

export interface CallStatusInput {
  /** True while the arguments are streaming. */
  readonly isOpen: boolean;
  readonly isAsked: boolean;
  readonly facts: CallFacts | undefined;
  readonly result: Part | undefined;
  /**
   * True if a run is in progress or waits for an approval, so that a missing result may still
   * arrive.
   */
  readonly isLive: boolean;
}

/** Computes the status of a tool call. */
export function callStatus(input: CallStatusInput): CallStatus {
  const { isOpen, isAsked, facts, result, isLive } = input;
  if (isAsked) return 'asking';
  if (facts?.rejected !== undefined) return 'rejected';
  const isFinished = facts?.finishedAt !== undefined || (result !== undefined && !facts?.startedAt);
  if (isFinished) {
    const isError = result?.kind === 'tool_result' && result.isError;
    return !isError ? 'done' : facts?.isStopped ? 'stopped' : 'failed';
  }
  // Some agents report calls without results. Such calls count as done when the run ends.
  if (!isLive) return 'done';
  if (facts?.startedAt !== undefined) return 'running';
  return isOpen ? 'writing' : 'waiting';
}

export const statusText: { readonly [Status in CallStatus]: string } = {
  writing: 'writing the call',
  asking: 'waits for your answer',
  waiting: 'waiting',
  running: 'running',
  done: 'done',
  failed: 'failed',
  stopped: 'stopped',
  rejected: 'not run',
};

export const isFinalStatus: { readonly [Status in CallStatus]: boolean } = {
  ...{ writing: false, asking: false, waiting: false, running: false },
  ...{ done: true, failed: true, stopped: true, rejected: true },
};

/** The icon of a status. It is hidden from screen readers, because a text is next to it. */
export function StatusIcon({ status }: { readonly status: CallStatus }) {
  return (
    <span className="status-mark" data-status={status} aria-hidden="true">
      <Mark status={status} />
    </span>
  );
}

function Mark({ status }: { readonly status: CallStatus }) {
  switch (status) {
    case 'asking':
      return <ShieldIcon />;
    case 'done':
      return <CheckIcon />;
    case 'failed':
      return <AlertIcon />;
    case 'stopped':
      return <StopIcon />;
    case 'rejected':
      return <CrossIcon />;
    case 'writing':
    case 'waiting':
    case 'running':
      return <span className="spinner" />;
  }
}
