import type { TaskHandle } from '@millrace/client';
import type { AskedApproval, ToolCallPart } from '@millrace/core';
import { type RefObject, useCallback, useLayoutEffect, useRef } from 'react';
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
  const isFocusLeft = useRef(false);
  useLayoutEffect(() => {
    if (first === undefined && isFocusLeft.current) focusComposer();
    isFocusLeft.current = false;
  }, [first]);
  if (first === undefined) return null;
  const more = asked.length - 1;
  return <Asked key={first.toolCallId} {...{ source, handle, asked: first, more, isFocusLeft }} />;
}

/** A phone would bring up its keyboard for it, and hide half of what one wants to see. */
function focusComposer(): void {
  if (window.matchMedia('(pointer: coarse)').matches) return;
  document.querySelector<HTMLElement>('.composer textarea')?.focus();
}

interface AskedProps {
  readonly source: ChatSource;
  readonly handle: TaskHandle | undefined;
  readonly asked: AskedApproval;
  readonly more: number;
  /** A card that had the focus went, and somebody has to take it. */
  readonly isFocusLeft: RefObject<boolean>;
}

function Asked({ source, handle, asked, more, isFocusLeft }: AskedProps) {
  const { toolCallId } = asked;
  const read = useCallback((from: ChatSource) => findCall(from.state, toolCallId), [toolCallId]);
  const part = usePart(source, useRead(source, read));
  const call = part?.kind === 'tool_call' ? part : unknownCall(asked);
  const card = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = card.current;
    if (isFocusLeft.current) element?.focus();
    isFocusLeft.current = false;
    return () => {
      if (element?.contains(document.activeElement)) isFocusLeft.current = true;
    };
  }, [isFocusLeft]);
  return <ApprovalCard {...{ asked, call, more, handle, card }} />;
}

/** Its words are not there, as in a log that was redacted. */
function unknownCall({ toolCallId, name }: AskedApproval): ToolCallPart {
  return { kind: 'tool_call', toolCallId, name, arguments: '' };
}
