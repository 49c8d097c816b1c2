import type { ChildAttempt, JsonValue, SessionId, Stop, ToolCallId, Usage } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Provider } from '@millrace/providers';

/**
 * The tool call that runs an agent as a sub-agent, as the sub-agent's run sees it. A tool with
 * `startsSession` gets it as `ctx.asParent` and passes it to `agent.run` as `parent`. The sub-agent's
 * questions then go to the caller's user. Its usage counts toward the caller's limits. If the call runs
 * again, the sub-agent's run continues.
 */
export interface ParentCall {
  /** True if an earlier execution of the call was parked, or its process died. */
  readonly isContinued: boolean;
  /** The caller's log. */
  readonly log: Log;
  /** Whether the caller waits for an answer or parks. The sub-agent's run does the same. */
  readonly whileAsking: 'wait' | 'park';
  /** Aborts when the caller's process gives the session up so that another process can continue it. */
  readonly leave: AbortSignal;
  /** Throws `no_price` if the caller has a maximum cost and the price of a provider is unknown. */
  checkPrices(providers: readonly Provider[]): void;
  /**
   * Returns the limit of tokens or costs that the caller has reached, or a caller above it. Undefined if
   * none.
   */
  exceededBudget(): string | undefined;
  /**
   * Writes a question to the caller's log, once. Resolves with the answer if the question already has
   * one.
   */
  ask(question: ChildQuestion): Promise<ChildAnswer | undefined>;
  /** Registers a listener for later answers. It replaces the previous listener. */
  onAnswer(listener: (toolCallId: ToolCallId, answer: ChildAnswer) => void): void;
  /**
   * Records that the question was answered in the sub-agent's session. Has no effect if the caller has
   * already answered it.
   */
  noteAnswer(toolCallId: ToolCallId, answer: ChildAnswer): Promise<void>;
  /** Writes the usage of an attempt to the caller's log. Does nothing if the log already has it. */
  reportUsage(of: ChildAttempt, usage: Usage): Promise<void>;
  /** Called when the sub-agent's run ended. `asked` are the calls that still wait for an answer. */
  end(stop: Stop, asked: readonly ToolCallId[]): void;
}

/** A question of a sub-agent. */
export interface ChildQuestion {
  /** The call in the sub-agent's session. */
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly reason: string | undefined;
  readonly rule: string | undefined;
  /** The text that the question is about, for example the real path of a file. */
  readonly judged: string | undefined;
  /** The names of the agents, from the caller's direct sub-agent down to the agent that asks. */
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
  /** The input that replaces the model's input. */
  readonly input: JsonValue | undefined;
}
