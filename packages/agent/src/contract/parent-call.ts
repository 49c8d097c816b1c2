import type {
  ChildAttempt,
  FormQuestion,
  JsonValue,
  SessionId,
  Stop,
  ToolCallId,
  Usage,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Provider } from '@millrace/providers';

/**
 * The tool call that runs an agent as a sub-agent, from the view of the sub-agent's run. A tool with
 * `startsSession` gets it as `ctx.asParent` and passes it to `agent.run` as `parent`. The sub-agent's
 * questions then go to the caller's user. Its usage counts toward the caller's limits. If the call runs
 * again, the sub-agent's run continues.
 */
export interface ParentCall {
  /** True if this call continues an earlier execution that was parked, or whose process died. */
  readonly isContinued: boolean;
  /** The caller's log. */
  readonly log: Log;
  /**
   * Decides what the caller's run does while a call needs an approval. `wait`: the run stays alive. `park`: the
   * run ends, and continues when the session is resumed. The setting also applies to the sub-agent's run.
   */
  readonly whileAsking: 'wait' | 'park';
  /** Aborts when the caller's process gives the session up so that a different process can continue it. */
  readonly leave: AbortSignal;
  /** Throws `no_price` if the caller has a maximum cost and the price of a provider is unknown. */
  checkPrices(providers: readonly Provider[]): void;
  /**
   * Returns the token or cost limit that the caller has reached, or that an agent which called the caller has
   * reached. Returns undefined if no limit is reached.
   */
  exceededBudget(): string | undefined;
  /**
   * Writes a question to the caller's log, only once. Resolves with the answer if the question already has
   * one.
   */
  ask(question: ChildQuestion): Promise<ChildAnswer | undefined>;
  /** Registers a listener for later answers. The new listener replaces the previous one. */
  onAnswer(listener: (toolCallId: ToolCallId, answer: ChildAnswer) => void): void;
  /**
   * Records that the user answered the question in the sub-agent's session. Has no effect if the question
   * already has an answer in the caller's session.
   */
  noteAnswer(toolCallId: ToolCallId, answer: ChildAnswer): Promise<void>;
  /** Writes the usage of an attempt to the caller's log. Does nothing if the log already has that usage. */
  reportUsage(of: ChildAttempt, usage: Usage): Promise<void>;
  /** Called when the sub-agent's run ends. `asked` lists the calls that still wait for an answer. */
  end(stop: Stop, asked: readonly ToolCallId[]): void;
}

/** A question of a sub-agent. */
export interface ChildQuestion {
  /** The id of the call in the sub-agent's session that the question is about. */
  readonly toolCallId: ToolCallId;
  readonly name: string;
  readonly reason: string | undefined;
  readonly rule: string | undefined;
  /** The text that the question is about, for example the real path of a file. */
  readonly judged: string | undefined;
  /**
   * The names of the nested agents. The list starts with the caller's direct sub-agent and ends with the
   * agent that asks.
   */
  readonly agents: readonly string[];
  /** The session of the agent that asks. */
  readonly session: SessionId;
  readonly input: JsonValue;
  /** The form, if a tool asks the user with one. */
  readonly form: FormQuestion | undefined;
}

/** The user's answer to a question of a sub-agent. */
export interface ChildAnswer {
  readonly decision: 'allow' | 'deny';
  readonly reason: string | undefined;
  readonly by: string | undefined;
  /** The input that replaces the model's input, if the user changed it. */
  readonly input: JsonValue | undefined;
  /** The state that the user saw. */
  readonly basis: string | undefined;
}
