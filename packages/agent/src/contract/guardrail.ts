import type { GuardrailPlace, Item, JsonValue, Part } from '@millrace/core';
import type { CheckedToolCall, StepInfo, Tool } from './tool.ts';

/** The step in which a guardrail checks content, and the signal that ends the check. */
export interface GuardrailStep<Context = unknown> extends StepInfo<Context> {
  /** Aborts when the check takes longer than `timeoutMs`, or when the run stops. */
  readonly signal: AbortSignal;
}

/** The verdict that accepts the content. */
export type PassVerdict = 'pass';

/** The verdict that ends the run with the stop reason `blocked`. */
export interface StopVerdict {
  readonly verdict: 'stop';
  /** The reason, for the log and for `result.guardrail`. */
  readonly reason: string;
}

/**
 * The verdict that asks the user, as an approval does. If the user denies, the run ends as with `stop`.
 * If the user denies a tool call, only that call fails, and the run goes on.
 */
export interface AskVerdict {
  readonly verdict: 'ask';
  /** The reason, which the user sees. */
  readonly reason?: string | undefined;
}

/** The verdict that replaces the content. */
export interface ChangeVerdict<Value> {
  readonly verdict: 'change';
  /** The new content. */
  readonly to: Value;
  /** The reason, for the log. */
  readonly reason?: string | undefined;
}

/** The input that a guardrail checks, before a model gets it. */
export interface CheckedInput {
  /** Everything in the input that a model reads as text. A structured value is JSON here. */
  readonly text: string;
  /** The input, with the changes of the guardrails before this one. */
  readonly item: Item;
  /** The items that the request would have, including the input. */
  readonly items: readonly Item[];
}

/** The answer that a guardrail checks. */
export interface CheckedOutput {
  /** The text of the answer. */
  readonly text: string;
  /** The structured value, if the agent has an `output` schema. It is not validated yet. */
  readonly value?: JsonValue | undefined;
  /** The answer, with the changes of the guardrails before this one. */
  readonly item: Item;
  /** False if the answer has tool calls, because the run then goes on after the answer. */
  readonly isFinal: boolean;
}

interface GuardrailFields {
  /**
   * The name of the guardrail, for the log and for `result.guardrail`. It must be unique within an agent.
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
   * Checks one input. If the verdict is `change`, `to` is a text or a list of parts. To type the context
   * of runs, annotate the second parameter: `GuardrailStep<Desk>`.
   */
  check(
    input: CheckedInput,
    step: GuardrailStep<Context>,
  ): Returns<PassVerdict | StopVerdict | AskVerdict | ChangeVerdict<string | readonly Part[]>>;
}

/** Options of `outputGuardrail`. */
export interface OutputGuardrailOptions<Context = unknown> extends GuardrailFields {
  /**
   * Holds each answer back until the check has passed it. Until then no part of the answer is on the log
   * or shown. The check of a held answer cannot ask the user, because the user could not see the answer.
   * Default: false.
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

/** A new structured value of an answer. */
export interface ChangedValue {
  readonly value: JsonValue;
}

/** Options of `toolGuardrail`. */
export interface ToolGuardrailOptions<Tools extends Tool = Tool, Context = unknown>
  extends GuardrailFields {
  /** The tools whose calls are checked. Default: all tools. */
  readonly tools?: readonly Tools[] | undefined;
  /**
   * Checks one call with valid input, before the `approve` policy decides. If the verdict is `change`,
   * `to` is the new input, which the tool's schema must accept.
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
  /** True if answers are held back until the check has passed them. */
  readonly hold: boolean;
  /**
   * True in a replay of a run in which answers were held back. The replay then writes only the verdicts
   * again.
   */
  readonly wasHeld?: boolean | undefined;
  /** The names of the tools whose calls are checked. Undefined: all tools. */
  readonly tools: readonly string[] | undefined;
  /**
   * Checks the content. The type of `checked` is `never`, because each option function takes another
   * type.
   */
  check(checked: never, step: GuardrailStep<Context>): unknown;
}
