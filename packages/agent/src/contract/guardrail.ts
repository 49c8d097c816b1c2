import type { GuardrailPlace, Item, JsonValue, Part } from '@millrace/core';
import type { CheckedToolCall, StepInfo, Tool } from './tool.ts';

/** The step in which a guardrail checks content, and the signal that aborts the check. */
export interface GuardrailStep<Context = unknown> extends StepInfo<Context> {
  /** Aborts when the check takes longer than `timeoutMs`, or when the run stops. */
  readonly signal: AbortSignal;
}

/** The verdict that accepts the content. */
export type PassVerdict = 'pass';

/** The verdict that ends the run with the stop reason `blocked`. */
export interface StopVerdict {
  readonly verdict: 'stop';
  /** The reason. It is written to the log, and `result.guardrail` contains it. */
  readonly reason: string;
}

/**
 * The verdict that asks the user, like an approval. If the user denies, the run ends as with `stop`. If the
 * user denies a tool call, only that call fails and the run continues.
 */
export interface AskVerdict {
  readonly verdict: 'ask';
  /** The reason for the question. The user sees it. */
  readonly reason?: string | undefined;
}

/** The verdict that replaces the content. */
export interface ChangeVerdict<Value> {
  readonly verdict: 'change';
  /** The new content. */
  readonly to: Value;
  /** The reason for the change. It is written to the log. */
  readonly reason?: string | undefined;
}

/** The input that a guardrail checks, before a model gets it. */
export interface CheckedInput {
  /**
   * The text of the input, as a model reads it. It includes structured values as JSON, the content of attached
   * text files, the names and URLs of other files, and the texts of a caller's options. It does not include
   * what pictures, sound and other documents show: check `item.parts` for them.
   */
  readonly text: string;
  /** The input, after the changes of earlier guardrails. */
  readonly item: Item;
  /** The items that the request would contain, including the input. */
  readonly items: readonly Item[];
}

/** The answer that a guardrail checks. */
export interface CheckedOutput {
  /** The text of the answer. */
  readonly text: string;
  /**
   * The structured value, if the agent has an `output` schema. It has not been validated yet. A summary has no
   * value.
   */
  readonly value?: JsonValue | undefined;
  /** The answer, after the changes of earlier guardrails. */
  readonly item: Item;
  /** False if the answer has tool calls or is the summary of a compaction, because the run then continues. */
  readonly isFinal: boolean;
}

interface GuardrailFields {
  /**
   * The name of the guardrail, which the log and `result.guardrail` contain. It must be unique within an
   * agent.
   */
  readonly name: string;
  /**
   * Maximum duration of a check. A check that takes longer fails, and the run ends with an error.
   * Default: 30 s.
   */
  readonly timeoutMs?: number | undefined;
}

type Returns<Verdict> = Verdict | Promise<Verdict>;

/** Options of `inputGuardrail`. */
export interface InputGuardrailOptions<Context = unknown> extends GuardrailFields {
  /**
   * Checks one input. If the verdict is `change`, `to` is a text or a list of parts. To declare the type of
   * the run's context, annotate the second parameter: `GuardrailStep<Desk>`.
   */
  check(
    input: CheckedInput,
    step: GuardrailStep<Context>,
  ): Returns<PassVerdict | StopVerdict | AskVerdict | ChangeVerdict<string | readonly Part[]>>;
}

/** Options of `outputGuardrail`. */
export interface OutputGuardrailOptions<Context = unknown> extends GuardrailFields {
  /**
   * Holds each answer back until the check passes. Before that, no part of the answer is on the log or
   * visible. The check of a held answer cannot ask the user, because the user cannot see the answer. Default:
   * false.
   */
  readonly hold?: boolean | undefined;
  /**
   * Checks one answer. If the verdict is `change`, `to` is the new text, or `{ value }` for an agent with
   * an `output` schema.
   */
  check(
    output: CheckedOutput,
    step: GuardrailStep<Context>,
  ): Returns<PassVerdict | StopVerdict | AskVerdict | ChangeVerdict<string | ChangedValue>>;
}

/** A new structured value that replaces the value of an answer. */
export interface ChangedValue {
  readonly value: JsonValue;
}

/** Options of `toolGuardrail`. */
export interface ToolGuardrailOptions<Tools extends Tool = Tool, Context = unknown>
  extends GuardrailFields {
  /** The tools whose calls are checked. Default: all tools. */
  readonly tools?: readonly Tools[] | undefined;
  /**
   * Checks one call whose input is valid, before the `approve` policy decides. If the verdict is `change`,
   * `to` is the new input, and the tool's schema must accept it.
   */
  check(
    call: CheckedToolCall<Tools>,
    step: GuardrailStep<Context>,
  ): Returns<PassVerdict | StopVerdict | AskVerdict | ChangeVerdict<JsonValue>>;
}

/**
 * A check of the input, the output or the tool calls of an agent. Create it with `inputGuardrail`,
 * `outputGuardrail` or `toolGuardrail`.
 */
export interface Guardrail<Context = unknown> {
  readonly name: string;
  readonly on: GuardrailPlace;
  readonly timeoutMs: number;
  /** True if answers are held back until the check passes. */
  readonly hold: boolean;
  /** True in a replay of a run that held answers back. The replay then only repeats the recorded verdicts. */
  readonly wasHeld?: boolean | undefined;
  /** The names of the tools whose calls are checked. Undefined means all tools. */
  readonly tools: readonly string[] | undefined;
  /**
   * Checks the content. `checked` has the type `never`, because inputs, outputs and tool calls have different
   * types.
   */
  check(checked: never, step: GuardrailStep<Context>): unknown;
}
