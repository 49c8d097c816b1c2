import type { Agent, AgentOptions, Observer, Tool } from '@millrace/agent';
import type { ToolCallPart } from '@millrace/core';
import type {
  AskUserOptions,
  ChangePreview,
  PermissionPolicy,
  PermissionRule,
  PolicyCall,
} from '@millrace/tools';
import type { Chosen } from '../models/chosen.ts';

/** An agent for a folder, and what can be done to it while it is used. */
export interface BuiltAgent {
  readonly agent: Agent;
  readonly chosen: Chosen;
  readonly tools: readonly Tool[];
  /** What could not be had, an MCP server for instance, in sentences for people. To be shown once. */
  readonly problems: readonly string[];
  /** Whether a call needs no asking, by the rules as they are now. */
  allows(call: ToolCallPart): Promise<boolean>;
  /** As it is now: rules may be added while the agent runs. */
  policy(): PermissionPolicy;
  /** Decides on calls from now on, here or, with `always`, in each later session in this project too. */
  remember(rule: PermissionRule, forHowLong: 'session' | 'always'): Promise<void>;
  /** Such calls are asked about again, here and in later sessions. */
  forget(rule: PermissionRule): Promise<void>;
  /** What was decided on once and for all in this project. */
  kept(): Promise<readonly PermissionRule[]>;
  /** What a change of a file would do, for whoever decides on it; undefined where that cannot be said. */
  preview(call: PolicyCall): Promise<ChangePreview | undefined>;
  /** Who answers the questions of the model (`ask_user`). Until somebody does, they count as dismissed. */
  answerBy(ask: AskUserOptions['ask'] | undefined): void;
  /** The same agent with something else about it. It shares tools, rules and servers with this one. */
  with(changes: AgentChanges): BuiltAgent;
  /** Ends its MCP servers, for all that were made from it. */
  close(): Promise<void>;
}

export interface AgentChanges {
  /** Another model, for `/model`. */
  readonly chosen?: Chosen | undefined;
  /** What answers have to be like, for `--output-schema`. */
  readonly output?: AgentOptions['output'];
  readonly observers?: readonly Observer[] | undefined;
}
