import type { ChildAttempt, JsonValue, SessionId, Stop, ToolCallId, Usage } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Provider } from '@millrace/providers';

/**
 * The tool call that runs an agent, as the agent's run sees it. A tool with `startsSession` gets it as
 * `ctx.asParent`, and passes it to `agent.run` as `parent`. The run then asks the caller's user, counts
 * toward the caller's usage and limits, and continues where it was if the call runs again.
 */
export interface ParentCall {
  /** True if an earlier execution of the call was parked, or lost with its process. */
  readonly isContinued: boolean;
  /** The caller's log. */
  readonly log: Log;
  /** Whether the caller waits for an answer or parks. The sub-agent does the same. */
  readonly whileAsking: 'wait' | 'park';
  /** Aborts when the caller's process gives up the session without ending the run. */
  readonly leave: AbortSignal;
  /** Throws `no_price` if the caller has a maximum cost and the price of a provider is unknown. */
  checkPrices(providers: readonly Provider[]): void;
  /** The limit of tokens or costs that the caller, or a caller of it, has reached. */
  exceededBudget(): string | undefined;
  /** Writes a question to the caller's log, once. Returns the answer if there is one already. */
  ask(question: ChildQuestion): Promise<ChildAnswer | undefined>;
  /** Called for each later answer. Replaces the listener before it. */
  onAnswer(listener: (toolCallId: ToolCallId, answer: ChildAnswer) => void): void;
  /** The question was answered in the sub-agent's session. Has no effect if the caller answered it. */
  noteAnswer(toolCallId: ToolCallId, answer: ChildAnswer): Promise<void>;
  /** Writes the usage of an attempt to the caller's log, unless the log has it. */
  reportUsage(of: ChildAttempt, usage: Usage): Promise<void>;
  /** The sub-agent's run ended. `asked` are the calls that still wait for an answer. */
  end(stop: Stop, asked: readonly ToolCallId[]): void;
}

/** A question of a sub-agent. */
export interface ChildQuestion {
  /** The call in the sub-agent's session. */
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly reason: string | undefined;
  readonly rule: string | undefined;
  /** What the question is about, for example the real path of a file. */
  readonly judged: string | undefined;
  /** The names of the agents, from the sub-agent to the agent that asks. */
  readonly agents: readonly string[];
  /** The session of the agent that asks. */
  readonly session: SessionId;
  readonly input: JsonValue;
}

/** The answer to a question. */
export interface ChildAnswer {
  readonly decision: 'allow' | 'deny';
  readonly reason: string | undefined;
  readonly by: string | undefined;
  /** Replaces the input of the call. */
  readonly input: JsonValue | undefined;
}
