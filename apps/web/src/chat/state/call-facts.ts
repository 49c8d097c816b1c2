import type { AgentEvent, JsonValue } from '@millrace/core';

/** What became of a tool call, besides its result. A new object with each change. */
export interface CallFacts {
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** One line for people. */
  readonly summary?: string;
  /** The session of the sub-agent that it is. */
  readonly child?: string;
  /** The run was stopped while it went on. */
  readonly isStopped?: boolean;
  readonly outcome?: 'completed' | 'discarded' | 'lost';
  readonly rejected?: { readonly code: string; readonly message: string };
  readonly answer?: {
    readonly decision: 'allow' | 'deny';
    readonly reason?: string | undefined;
    readonly by?: string | undefined;
    /** It ran with this instead. */
    readonly input?: JsonValue | undefined;
  };
}

/** What an event adds; undefined where it is not about a call. */
export function callFactsOf(event: AgentEvent): CallFacts | undefined {
  switch (event.type) {
    case 'tool_execution_started': {
      const { time: startedAt, summary, child } = event;
      return { startedAt, summary, ...(child !== undefined && { child }) };
    }
    case 'tool_execution_finished':
      return { finishedAt: event.time, outcome: event.outcome };
    case 'tool_call_rejected':
      return { rejected: { code: event.code, message: event.message } };
    case 'approval_answered': {
      const { decision, reason, by, input } = event;
      return { answer: { decision, reason, by, input } };
    }
    default:
      return undefined;
  }
}
