import type { ItemId, JsonValue, SessionId, ToolCallId, Usage } from '@millrace/core';
import type { Log } from '@millrace/log';

/** A stored session that `diffSessions` reads. The two sessions can be in different logs. */
export interface DiffSource {
  readonly log: Pick<Log, 'read' | 'info'>;
  /** The id of the session. */
  readonly session: string;
}

/**
 * Why two runs went different ways. `request`: the model received something else. `answer`: the model, or
 * its provider, answered something else. `tool_result`: a tool returned something else. `command`: the user
 * or a program sent something else: a message, an answer to a question, an abort. `setting`: the agent
 * decided something else, so its settings or its code differ: the model, the tools, the policy, the limits.
 */
export type DiffCause = 'request' | 'answer' | 'tool_result' | 'command' | 'setting';

/** Options of `diffSessions`. */
export interface DiffOptions {
  /**
   * Maximum number of differences that the result lists. `differenceCount` counts all of them. Default: 100.
   */
  readonly maxDifferences?: number | undefined;
  /**
   * Maximum length of a text in a difference, in UTF-16 units. Of a longer text, the part around the first
   * difference is kept. Default: 16,384.
   */
  readonly maxTextLength?: number | undefined;
}

/** The result of `diffSessions`. */
export interface SessionDiff {
  readonly a: DiffedSession;
  readonly b: DiffedSession;
  /** The first difference. Undefined if both runs are the same. */
  readonly divergence: SessionDifference | undefined;
  /**
   * The differences in the order of the turns, the first one included. Everything after the first
   * difference can be a consequence of it.
   */
  readonly differences: readonly SessionDifference[];
  /** The number of all differences, also of those that are not listed. */
  readonly differenceCount: number;
  /** The turns side by side, aligned by their numbers. */
  readonly turns: readonly TurnComparison[];
  /** The turns whose content was not compared, because an item in one of the sessions is redacted. */
  readonly redactedTurns: readonly number[];
}

/** One of the two sessions, and its totals. */
export interface DiffedSession extends WorkTotals {
  readonly session: SessionId;
  /** The offset of the last record. */
  readonly through: number;
  /** The number of turns. */
  readonly turns: number;
}

/**
 * The time, tokens and costs of a turn or a session. The time between the copied records of a branch and its
 * own records does not count.
 */
export interface WorkTotals {
  /**
   * The time from the start to the end of the turn, in milliseconds. For a session, it is the sum of its
   * turns, without the time between turns.
   */
  readonly durationMs: number;
  /** The time of the requests to models, in milliseconds. */
  readonly modelMs: number;
  /** The time of the tool executions, in milliseconds. Parallel executions count separately. */
  readonly toolMs: number;
  /** The time in which calls waited for an approval, in milliseconds. */
  readonly approvalMs: number;
  /** The number of requests to models, with repeated requests. */
  readonly requests: number;
  /** The number of tool executions. */
  readonly executions: number;
  /** Tokens and costs, with those of sub-agents. */
  readonly usage: Usage;
}

/** The same turn in both sessions. */
export interface TurnComparison {
  readonly turn: number;
  /** True if the turn has no difference. */
  readonly isSame: boolean;
  /** Undefined if the session does not have the turn. */
  readonly a: TurnTotals | undefined;
  readonly b: TurnTotals | undefined;
}

/** A turn of one session. */
export interface TurnTotals extends WorkTotals {
  /** The offset of the first record, with the input before the turn. */
  readonly offset: number;
  /** The offset of the last record. */
  readonly endOffset: number;
  /** The model of the last attempt. */
  readonly model: string | undefined;
}

/** A difference between two sessions. */
export interface SessionDifference {
  readonly cause: DiffCause;
  /** The turn. Input before a turn belongs to this turn. */
  readonly turn: number;
  /** The attempt. It is 0 if the difference does not belong to one attempt. */
  readonly attempt: number;
  /**
   * What differs: `text`, `arguments`, `value`, `inputTokens`, or a field of a fact such as `model`.
   * `presence`: only one session has the record.
   */
  readonly field: string;
  /** The tool call that the difference belongs to. */
  readonly call?: { readonly index: number; readonly name: string } | undefined;
  /** The record of the first session. Undefined if only the second session has such a record. */
  readonly a: DifferenceSide | undefined;
  readonly b: DifferenceSide | undefined;
  /**
   * The changed places of two JSON values: arguments, results of tools, structured output. At most 50 places
   * are listed. Arguments with more than 262,144 characters have no list.
   */
  readonly changes?: readonly ValueChange[] | undefined;
  /** A sentence that describes the difference. */
  readonly message: string;
}

/** The record of one session at which it differs from the other session. */
export interface DifferenceSide {
  readonly offset: number;
  /** The type of the delta or fact. */
  readonly type: string;
  readonly itemId?: ItemId | undefined;
  readonly toolCallId?: ToolCallId | undefined;
  /** The text that differs, for example of an answer or of a tool result. */
  readonly text?: DifferingText | undefined;
  /** The value that differs, if it is not a text. */
  readonly value?: JsonValue | undefined;
}

/** A text that differs from another text. */
export interface DifferingText {
  /** The text, or the part of it around the first difference. */
  readonly text: string;
  /** The position of `text` in the whole text. It is 0 if the text is whole. */
  readonly start: number;
  /** The position of the first difference in the whole text, in UTF-16 units. */
  readonly at: number;
  /** The length of the whole text. */
  readonly length: number;
}

/** A place in a JSON value that differs. */
export interface ValueChange {
  /** The place as a JSON Pointer (RFC 6901). It is empty for the whole value. */
  readonly path: string;
  /** Undefined if only the other value has this place. */
  readonly a: JsonValue | undefined;
  readonly b: JsonValue | undefined;
}
