import type { JsonObject } from '@millrace/core';

/**
 * A tool that a provider defines and the client runs. The model was trained on its format. A tool with
 * `answers` runs the calls of a built-in tool. Permissions, approvals and the log therefore apply to them as
 * to any other call. If a provider does not have the built-in tool, the request declares the tool as an
 * ordinary function.
 *
 * | name | input of the tool | result for the provider |
 * |---|---|---|
 * | `openai.shell` | `ShellInput` | the text, and `exitCode` and `timedOut` of the value |
 * | `openai.local_shell` | `ShellInput` | the text |
 * | `openai.apply_patch` | `PatchInput` | the text; an error means that nothing was changed |
 * | `openai.computer` | `ComputerInput` | the first picture of the attachments: the screen |
 * | `openai.tool_search` | what the model searches for, by the tool's own schema | `tools` of the value: a list of `ToolDefinition` |
 * | `openai.mcp_approval` | `McpApprovalInput` | an error refuses the call, any other result approves it |
 *
 * If no tool answers a call, the name of the call is the part after the dot. The loop then handles the call
 * like a call of an unknown tool.
 */
export type BuiltInTool =
  | 'openai.shell'
  | 'openai.local_shell'
  | 'openai.apply_patch'
  | 'openai.computer'
  | 'openai.tool_search'
  | 'openai.mcp_approval';

/**
 * A built-in tool that a request must declare. Requests do not declare MCP approvals, because the provider
 * itself asks for them.
 */
export type DeclaredBuiltInTool = Exclude<BuiltInTool, 'openai.mcp_approval'>;

/** The input of a tool that answers `openai.shell` or `openai.local_shell`. */
export interface ShellInput {
  /** One or more commands, one per line. They run in this order. */
  readonly command: string;
  /** The time limit in milliseconds. Default: the limit of the tool. */
  readonly timeout_ms?: number | undefined;
}

/** The input of a tool that answers `openai.apply_patch`: one file, and its change in the V4A format. */
export type PatchInput =
  | { readonly type: 'create_file'; readonly path: string; readonly diff: string }
  | { readonly type: 'update_file'; readonly path: string; readonly diff: string }
  | { readonly type: 'delete_file'; readonly path: string };

/** The input of a tool that answers `openai.computer`. */
export interface ComputerInput {
  /** The actions to perform, in order, in the format of the API: `{ type: 'click', x: 1, y: 2, … }`. */
  readonly actions: readonly JsonObject[];
  /**
   * Safety warnings of the provider. If the result of the call is not an error, it acknowledges the warnings.
   * Default: none.
   */
  readonly pending_safety_checks?: readonly JsonObject[] | undefined;
}

/** The input of a tool that answers `openai.mcp_approval`. It describes the call that waits for approval. */
export interface McpApprovalInput {
  /** The label of the MCP server that the provider calls. */
  readonly server_label: string;
  /** The name of the tool on that server. */
  readonly name: string;
  /** The arguments that the model wrote. Empty if the model did not write an object. */
  readonly arguments: JsonObject;
  /**
   * The arguments as text, if `arguments` does not represent them exactly. This is the case if they are not
   * an object, if a key is repeated, or if a number is rounded. Default: none.
   */
  readonly arguments_text?: string | undefined;
}
