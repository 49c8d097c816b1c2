import type { TaskHandle } from '@millrace/client';
import type { AskedApproval, ToolCallPart } from '@millrace/core';
import { useCallback } from 'react';
import type { ChatSource } from '../state/chat-source.ts';
import { findCall } from '../state/find-call.ts';
import { usePart, useRead } from '../state/use-source.ts';
import { ApprovalCard } from './approval-card.tsx';

const askedOf = ({ state }: ChatSource) => state.asked;

/** The calls that wait for somebody's word, one after the other. */
export function ApprovalDock({
  source,
  handle,
}: {
  readonly source: ChatSource;
  /** Undefined where one looks at the past. */
  readonly handle: TaskHandle | undefined;
}) {
  const asked = useRead(source, askedOf);
  const [first] = asked;
  if (first === undefined) return null;
  return (
    <Asked key={first.toolCallId} {...{ source, handle, asked: first, more: asked.length - 1 }} />
  );
}

interface AskedProps {
  readonly source: ChatSource;
  readonly handle: TaskHandle | undefined;
  readonly asked: AskedApproval;
  readonly more: number;
}

function Asked({ source, handle, asked, more }: AskedProps) {
  const { toolCallId } = asked;
  const read = useCallback((from: ChatSource) => findCall(from.state, toolCallId), [toolCallId]);
  const part = usePart(source, useRead(source, read));
  const call = part?.kind === 'tool_call' ? part : unknownCall(asked);
  return <ApprovalCard asked={asked} call={call} more={more} handle={handle} />;
}

/** Its words are not there, as in a log that was redacted. */
function unknownCall({ toolCallId, name }: AskedApproval): ToolCallPart {
  return { kind: 'tool_call', toolCallId, name, arguments: '' };
}
