import type { SessionId, ToolCallPart } from '@millrace/core';
import type { Tool } from './tool.ts';
import type { ParsedToolInput } from './typed-tools.ts';

/** A call that needs a decision by the policy. `name` narrows the type of `input`. */
export type PendingCall<Tools extends Tool = Tool> = Tools extends Tool
  ? {
      /** The name of the tool. */
      readonly name: Tools['name'];
      /** The call as the model made it. */
      readonly call: ToolCallPart;
      readonly tool: Tools;
      /** The validated input that the tool will get. */
      readonly input: ParsedToolInput<Tools>;
      /** One line for the user: what the call is about to do. */
      readonly summary: string;
    }
  : never;

/** The run and step for which a function of the agent is called. */
export interface StepInfo<Context = unknown> {
  /**
   * The `context` of `agent.run` or `agent.resume`. It is not stored on the log. Undefined if the run
   * has none.
   */
  readonly context: Context;
  readonly session: SessionId;
  /** The turn of the session. */
  readonly turn: number;
}
