import type { AskedApproval, ItemId, ToolCallPart, ToolResultPart, Usage } from '@millrace/core';
import { useCallback, useMemo } from 'react';
import { usageOf, useActivityText } from '../chat/activity-line.tsx';
import {
  type ChatSource,
  findCall,
  isUnfinished,
  useCallFacts,
  useResult,
  useSourceValue,
} from '../chat/state/chat-source.ts';
import type { CallFacts } from '../chat/state/fact-index.ts';
import { type CallStatus, callStatusIn } from '../chat/tool/call-status.tsx';
import type { AnswerTarget, Session } from './session.ts';

// Hooks without elements, for applications that draw a session themselves.

const selectItemIds = ({ itemIds }: ChatSource) => itemIds;
const selectAsked = ({ state }: ChatSource) => state.asked;

/** Returns the ids of the items. The component renders when an item is added or removed. */
export function useItemIds({ source }: Session): readonly ItemId[] {
  return useSourceValue(source, selectItemIds);
}

/** Returns true while a run is in progress, or waits for an answer. */
export function useIsRunning({ source }: Session): boolean {
  return useSourceValue(source, isUnfinished);
}

/** Returns what the agent does now, in a few words. Empty if no run is in progress. */
export function useActivity({ source }: Session): string {
  return useActivityText(source);
}

/** Returns the tokens and the cost of the session so far. */
export function useUsage({ source }: Session): Usage {
  return useSourceValue(source, usageOf);
}

/** A call that waits for an answer. */
export interface OpenApproval {
  readonly asked: AskedApproval;
  /** The call. Undefined if it is in another log, such as that of a sub-agent. */
  readonly call: ToolCallPart | undefined;
  /** Approves the call. Undefined if the user can only read. */
  readonly approve:
    | ((options?: Parameters<AnswerTarget['approve']>[1]) => Promise<unknown>)
    | undefined;
  /** Denies the call. The model receives the reason. */
  readonly deny: ((options?: Parameters<AnswerTarget['deny']>[1]) => Promise<unknown>) | undefined;
}

/**
 * Returns the calls that wait for an answer. Show the whole input of a call before the user can approve
 * it. `Approvals` does that.
 */
export function useApprovals({ source, commands }: Session): readonly OpenApproval[] {
  const asked = useSourceValue(source, selectAsked);
  return useMemo(
    () =>
      asked.map((one) => {
        const id = findCall(source.state, one);
        const part = id === undefined ? undefined : source.part(id);
        return {
          asked: one,
          call: part?.kind === 'tool_call' ? part : undefined,
          approve: commands && ((options) => commands.approve(one.toolCallId, options)),
          deny: commands && ((options) => commands.deny(one.toolCallId, options)),
        };
      }),
    [source, commands, asked],
  );
}

/** The state of a tool call, with its result as far as it has arrived. */
export interface ToolCallState {
  readonly status: CallStatus;
  readonly result: ToolResultPart | undefined;
  readonly facts: CallFacts | undefined;
}

/** Returns the state of a tool call. The component renders when the state or the result changes. */
export function useToolCall({ source }: Session, toolCallId: string): ToolCallState {
  const facts = useCallFacts(source, toolCallId);
  const part = useResult(source, toolCallId);
  const status = useSourceValue(
    source,
    useCallback((from: ChatSource) => callStatusIn(from, toolCallId, false), [toolCallId]),
  );
  return { status, facts, result: part?.kind === 'tool_result' ? part : undefined };
}
