import { type ComponentType, createContext, useEffect, useSyncExternalStore } from 'react';
import type { ChatSource } from '../state/chat-source.ts';

/** The sub-agents whose questions the user answers in their lanes. Each change creates a new set. */
let answering: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};
const current = () => answering;

function change(next: ReadonlySet<string>): void {
  answering = next;
  for (const listener of [...listeners]) listener();
}

/**
 * Returns the sessions of the sub-agents whose questions are shown in their lanes. No other place of the
 * page may show these questions, because a question has one card.
 */
export function useLaneAnswers(): ReadonlySet<string> {
  return useSyncExternalStore(subscribe, current, current);
}

/** Claims the questions of a sub-agent for its lane while `isClaimed` is true. */
export function useClaimedQuestions(session: string, isClaimed: boolean): void {
  useEffect(() => {
    if (!isClaimed) return;
    change(new Set([...answering, session]));
    return () => change(new Set([...answering].filter((one) => one !== session)));
  }, [session, isClaimed]);
}

export interface SubAgentViewProps {
  /** The session with the call that runs the sub-agent. */
  readonly source: ChatSource;
  /** The session of the sub-agent. */
  readonly session: string;
  /** True while the call runs. */
  readonly isRunning: boolean;
}

/**
 * The component that shows the session of a sub-agent in its tool call. It is a context, because this
 * component contains tool calls itself. Default: sub-agents are not shown.
 */
export const SubAgentView = createContext<ComponentType<SubAgentViewProps> | undefined>(undefined);
