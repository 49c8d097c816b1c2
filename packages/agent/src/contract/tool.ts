import type {
  ExecutionId,
  FilePart,
  FileVersion,
  JsonObject,
  JsonValue,
  MediaPart,
  Metadata,
  RunId,
  SessionId,
  ToolCallId,
  ToolCallPart,
  ToolResultPart,
  TraceContext,
} from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import type { BuiltInTool, ToolProviderOptions } from '@millrace/providers';
import type { Agent } from './agent.ts';
import type { Observer } from './observer.ts';
import type { ParentCall } from './parent-call.ts';
import type { ParsedToolInput, TypedTool } from './typed-tools.ts';

/** A tool that a model can call. Create it with `defineTool`, which applies the defaults. */
export interface Tool extends TypedTool {
  readonly name: string;
  /** The text that explains to the model what the tool does and when to use it. */
  readonly description: string;
  /** JSON Schema of the input, for the model. */
  readonly inputSchema: JsonObject;
  /**
   * Whether the tool changes anything. A tool with `none` may start while the response streams, and its
   * result may be discarded.
   */
  readonly effects: 'none' | 'external';
  /**
   * Decides what happens to a call if the process dies while the tool runs. `repeat`: the tool runs again with
   * the same input and idempotency key. `fail`: the call ends with an error, and the model gets the text
   * that the outcome is unknown. With `repeat` and `startsSession`, the tool gets the same `child` again
   * and has to continue that session.
   */
  readonly afterCrash: 'repeat' | 'fail';
  /** The run stops the tool after this time. Undefined: no timeout. */
  readonly timeoutMs: number | undefined;
  /**
   * Maximum length of the text for the model, in characters. Longer text is clipped, and the full text is
   * stored as a blob.
   */
  readonly maxOutputLength: number;
  /** Maximum number of retries after the tool throws. */
  readonly retries: number;
  /**
   * True if the tool runs a separate session, for a sub-agent. The tool gets the session's id as `child`.
   */
  readonly startsSession: boolean;
  /** Set if the tool hands the session off to another agent. That agent takes over after the turn. */
  readonly handsOff?: HandOff | undefined;
  /** Whether the provider enforces the schema. Default: the provider's own default. */
  readonly strict?: boolean | undefined;
  /**
   * The built-in tool of a provider whose calls this tool answers. The tool gets the input that
   * `BuiltInTool` documents. Default: none.
   */
  readonly answers?: BuiltInTool | undefined;
  /** Further fields of the tool's definition in requests, by provider. Default: none. */
  readonly providerOptions?: ToolProviderOptions | undefined;
  /** Set if a client runs the tool and sends its output. `execute` is then never called. */
  readonly client?: ClientSide | undefined;
  /** Returns one line for the user that says what the call is about to do. */
  summarize(input: unknown): string;
  /** Validates the input. The problem text is written for the model. */
  validate(input: JsonValue): Promise<ValidationResult>;
  /**
   * Runs the tool. It may be an async generator that yields progress texts. If it throws, the call gets
   * an error result.
   */
  execute(input: unknown, context: ToolContext): ToolExecution;
}

/** The part of a tool that a client runs. Create it with `clientTool`. */
export interface ClientSide {
  /** Validates an output. The problem text is written for the client. */
  validate(output: JsonValue): Promise<ValidationResult>;
  /** Returns the recorded result of an execution. Set only in replays. */
  readonly recorded?: ((execution: ExecutionId) => ToolResultPart | undefined) | undefined;
}

/** A hand-off, with the agent that takes over and the reason. */
export interface HandOff {
  /** Returns the agent that takes over. */
  to(): Agent;
  /** Returns the reason for the log, from the tool's input. */
  reason(input: unknown): string | undefined;
}

/** The result of a validation. */
export type ValidationResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** The return value of `execute`. It is a promise, or an async generator that yields progress. */
export type ToolExecution<Return = ToolReturn> = Promise<Return> | AsyncGenerator<string, Return>;

/**
 * The return value of a tool: a text, a full output, or any JSON value. A JSON value is sent to the model
 * as text.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is a tool too
export type ToolReturn = string | ToolOutput | JsonValue | undefined | void;

/** A tool output with a text for the model and optional fields. */
export interface ToolOutput {
  readonly output: {
    /** The text for the model. */
    readonly text: string;
    /** The value for programs. */
    readonly value?: JsonValue | undefined;
    /** Images and documents for the model. The blob that `metadata.wholeOutput` names is not sent. */
    readonly attachments?: readonly (MediaPart | FilePart)[] | undefined;
    readonly isError?: boolean | undefined;
    readonly metadata?: Metadata | undefined;
  };
}

/** The second argument of `execute`: the run's context, the abort signal, ids, blobs and progress. */
export interface ToolContext<Context = unknown> {
  /**
   * The `context` of `agent.run` or `agent.resume`. It is not stored on the log. Sub-agents get the
   * context of their caller. Undefined if the run has none.
   */
  readonly context: Context;
  /** Aborts when the tool has to stop. The run then waits only for a short grace period. */
  readonly signal: AbortSignal;
  readonly session: SessionId;
  readonly runId: RunId;
  readonly turn: number;
  readonly toolCallId: ToolCallId;
  /**
   * Identifies the call. It consists of `session`, `turn` and `toolCallId`, joined by `:`. Every
   * execution of the call has the same key, in every process, also after a retry, a crash or an approval.
   * No other call on the log has this key. Pass it to services that accept an idempotency key.
   */
  readonly idempotencyKey: string;
  /** Identifies one execution of the call. A retry has another id. */
  readonly executionId: ExecutionId;
  /**
   * The session for a sub-agent, if the tool has `startsSession`. If the call runs again after it was
   * interrupted or parked, it gets the same session.
   */
  readonly child: SessionId | undefined;
  /**
   * The object of the `approve` policy's decision, for example the real path of a file. The user was
   * asked about the same path. The tool must refuse to work on anything else. Undefined if the policy
   * returned none.
   */
  readonly judged?: string | undefined;
  /**
   * The value to pass as `parent` to the run of the sub-agent, if the tool has `startsSession`. The
   * sub-agent's questions then reach the caller, its usage counts, and an interrupted run continues.
   */
  readonly asParent?: ParentCall | undefined;
  /** Stores large content beside the log. */
  readonly blobs: BlobStore;
  /** The trace context for outgoing requests. Its parent is the span of this execution. */
  readonly trace?: TraceContext | undefined;
  /**
   * The observers of the run, to pass to sub-agents. The agent's own observers are not included.
   */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * Writes to the log that the tool changes a file, with the content before and after. Resolves when the
   * record is stored. Call it before the change, so that a crash between the two loses nothing. Undefined
   * if no agent runs the tool.
   */
  readonly recordFileChange?: ((change: FileChangeRecord) => Promise<void>) | undefined;
  /** Reports progress to the user. The model gets only the result. */
  update(text: string): void;
}

/** A change of one file by a tool. */
export interface FileChangeRecord {
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** The content before. Undefined if the file did not exist. */
  readonly before: FileVersion | undefined;
  /** The content after. Undefined if the file is deleted. */
  readonly after: FileVersion | undefined;
}

/** A call that the `approve` policy or a guardrail decides about. `name` narrows the type of `input`. */
export type CheckedToolCall<Tools extends Tool = Tool> = Tools extends Tool
  ? {
      /** The name of the tool. */
      readonly name: Tools['name'];
      /** The call as the model made it. */
      readonly call: ToolCallPart;
      readonly tool: Tools;
      /** The validated input that the tool will get. */
      readonly input: ParsedToolInput<Tools>;
      /** One line for the user that says what the call is about to do. */
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
