import type { AskedApproval, Part, SessionId } from '@millrace/core';
import {
  AlertIcon,
  CheckIcon,
  CrossIcon,
  RingIcon,
  ShieldIcon,
  StopIcon,
} from '../../design/icons.tsx';
import type { Labels } from '../../labels/labels.ts';
import { type ChatSource, findResult, isUnfinished } from '../state/chat-source.ts';
import type { CallFacts } from '../state/fact-index.ts';

/** The status of a tool call. */
export type CallStatus =
  | 'writing'
  | 'asking'
  | 'waiting'
  | 'running'
  | 'done'
  | 'failed'
  | 'stopped'
  | 'rejected'
  | 'unanswered';

export interface CallStatusInput {
  /** True while the arguments are streaming. */
  readonly isOpen: boolean;
  readonly isAsked: boolean;
  readonly facts: CallFacts | undefined;
  readonly result: Part | undefined;
  /** True while the result is streaming. */
  readonly isResultOpen: boolean;
  /**
   * True if a missing result may still arrive: a run is in progress, or it waits for an approval or
   * a client.
   */
  readonly isLive: boolean;
}

/** Returns the status of a tool call at the moment that the chat shows. */
export function callStatusIn(source: ChatSource, toolCallId: string, isOpen: boolean): CallStatus {
  const { state, facts } = source;
  const { asked, open } = state;
  const resultId = findResult(state, toolCallId);
  return callStatus({
    isOpen,
    isAsked: asked.some(
      (one) => one.toolCallId === toolCallId || isFormOf(one, toolCallId, state.session),
    ),
    facts: facts.call(toolCallId),
    result: resultId === undefined ? undefined : source.part(resultId),
    isResultOpen: open.some(({ id }) => id === resultId),
    isLive: isUnfinished(source),
  });
}

/** Returns whether a running call of this session shows a form to the user. */
function isFormOf({ from }: AskedApproval, toolCallId: string, session: SessionId): boolean {
  return from?.form !== undefined && from.toolCallId === toolCallId && from.session === session;
}

/**
 * Computes the status of a tool call. A call is done if it has a complete result, or if its
 * execution completed.
 */
export function callStatus(input: CallStatusInput): CallStatus {
  const { isOpen, isAsked, facts, result, isResultOpen, isLive } = input;
  if (isAsked) return 'asking';
  if (facts?.rejected !== undefined) return 'rejected';
  const isExecuting = facts?.startedAt !== undefined && facts.finishedAt === undefined;
  // Before the loop starts the first call of a turn, it opens an empty result for each call. So
  // only a result with text means that the call has started.
  const hasOutput = isResultOpen && result?.kind === 'tool_result' && result.text !== '';
  if (isLive && (isExecuting || hasOutput)) return 'running';
  if ((result !== undefined && !isResultOpen) || facts?.outcome === 'completed') {
    const isError = result?.kind === 'tool_result' && result.isError;
    return !isError ? 'done' : facts?.isStopped ? 'stopped' : 'failed';
  }
  if (isExecuting || hasOutput) return 'stopped';
  // If the user has allowed a call, it will run when a process continues the session, even if no
  // run is open now.
  const isAllowed = facts?.answer?.decision === 'allow';
  if (isLive || isAllowed) return isOpen ? 'writing' : 'waiting';
  // Some agents report calls without results. So a missing result does not mean that the call never
  // ran.
  return 'unanswered';
}

/** The label of each status. */
export const statusLabels = {
  writing: 'writingTheCall',
  asking: 'waitsForYourAnswer',
  waiting: 'waiting',
  running: 'running',
  done: 'callDone',
  failed: 'failed',
  stopped: 'stopped',
  rejected: 'notRun',
  unanswered: 'noResult',
} as const satisfies { readonly [Status in CallStatus]: keyof Labels };

export const isFinalStatus: { readonly [Status in CallStatus]: boolean } = {
  ...{ writing: false, asking: false, waiting: false, running: false },
  ...{ done: true, failed: true, stopped: true, rejected: true, unanswered: true },
};

/** The icon of a status. Screen readers skip it, because there is a text next to it. */
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
    case 'unanswered':
      return <RingIcon />;
    case 'writing':
    case 'waiting':
    case 'running':
      return <span className="spinner" />;
  }
}
