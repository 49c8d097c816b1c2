import type {
  ExecutionId,
  FilePart,
  FileVersion,
  FoldState,
  FormQuestion,
  ItemId,
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
   * The effects of the tool. `none`: the tool changes nothing. `external`: the tool may change something. A
   * tool with `none` may start while the response still streams, and its result may be discarded.
   */
  readonly effects: 'none' | 'external';
  /**
   * The rule for a call whose process dies while the tool runs. `repeat`: the tool runs again with the same
   * input and idempotency key. `fail`: the call ends with an error, and the model gets the text that the
   * outcome is unknown. With `repeat` and `startsSession`, the tool gets the same `child` again and has to
   * continue that session.
   */
  readonly afterCrash: 'repeat' | 'fail';
  /** The time after which the run stops the tool. Undefined means no timeout. */
  readonly timeoutMs: number | undefined;
  /**
   * Maximum length of the text for the model, in characters. Longer text is clipped, and the full text is
   * stored as a blob.
   */
  readonly maxOutputLength: number;
  /** Maximum number of retries after the tool throws. */
  readonly retries: number;
  /**
   * True if the tool runs a sub-agent in a separate session. The tool gets the id of that session as `child`.
   */
  readonly startsSession: boolean;
  /** Set if the tool hands the session off to a different agent. That agent takes over after the turn. */
  readonly handsOff?: HandOff | undefined;
  /**
   * True if the provider should enforce the schema on the model's arguments. Default: the provider's own
   * default.
   */
  readonly strict?: boolean | undefined;
  /**
   * The built-in tool of a provider whose calls this tool answers. The tool gets the input that
   * `BuiltInTool` documents. Default: none.
   */
  readonly answers?: BuiltInTool | undefined;
  /** Additional fields of the tool's definition in requests, by provider. Default: none. */
  readonly providerOptions?: ToolProviderOptions | undefined;
  /**
   * True if the tool also runs calls with a name that no tool of the agent has. Default: such calls get an
   * error.
   */
  readonly runsAnyName?: true | undefined;
  /**
   * True if the tool sends the answers to its forms and changed arguments to a model. Input guardrails then
   * check them before the tool gets them. Default: they check the result of the tool.
   */
  readonly checksAnswers?: true | undefined;
  /** Set if a client runs the tool and sends its output. The run then never calls `execute`. */
  readonly client?: ClientSide | undefined;
  /** Returns one line for the user that describes what the call does. */
  summarize(input: unknown): string;
  /** Validates the input. The text of a problem is addressed to the model. */
  validate(input: JsonValue): Promise<ValidationResult>;
  /**
   * Runs the tool. `execute` may be an async generator that yields progress texts. If it throws, the call
   * gets an error result.
   */
  execute(input: unknown, context: ToolContext): ToolExecution;
}

/** The settings of a tool that a client runs. Create such a tool with `clientTool`. */
export interface ClientSide {
  /** Validates an output. The text of a problem is addressed to the client. */
  validate(output: JsonValue): Promise<ValidationResult>;
  /** Returns the recorded result of an execution. Only replays set this function. */
  readonly recorded?: ((execution: ExecutionId) => ToolResultPart | undefined) | undefined;
}

/** A hand-off, with the agent that takes over and the reason. */
export interface HandOff {
  /** Returns the agent that takes over. */
  to(): Agent;
  /** Returns the reason of the hand-off from the tool's input. The log stores the reason. */
  reason(input: unknown): string | undefined;
}

/** The result of a validation. */
export type ValidationResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** The return value of `execute`: a promise, or an async generator that yields progress texts. */
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
    /** The text that the model gets. */
    readonly text: string;
    /** The structured value that programs read. */
    readonly value?: JsonValue | undefined;
    /**
     * Images and documents for the model. If `metadata.wholeOutput` names a blob, that blob is not sent to
     * the model. An attachment whose metadata has `audience: 'user'` is not sent either.
     */
    readonly attachments?: readonly (MediaPart | FilePart)[] | undefined;
    readonly isError?: boolean | undefined;
    readonly metadata?: Metadata | undefined;
  };
}

/** The second argument of `execute`: the run's context, the abort signal, ids, blobs and progress. */
export interface ToolContext<Context = unknown> {
  /**
   * The `context` option of `agent.run` or `agent.resume`. The log does not store it. Sub-agents get the
   * context of their caller. Undefined if the run has no context.
   */
  readonly context: Context;
  /**
   * Aborts when the tool has to stop. After that, the run waits for the tool only for a short grace period.
   */
  readonly signal: AbortSignal;
  readonly session: SessionId;
  readonly runId: RunId;
  readonly turn: number;
  readonly toolCallId: ToolCallId;
  /**
   * Identifies the call. It consists of `session`, `turn` and `toolCallId`, joined by `:`. All executions of
   * the call have the same key, even after a retry, a crash or an approval, and in different processes. Each
   * call on the log has a different key. Pass it to services that accept an idempotency key.
   */
  readonly idempotencyKey: string;
  /** Identifies one execution of the call. Each retry has a new id. */
  readonly executionId: ExecutionId;
  /**
   * The session for a sub-agent, if the tool has `startsSession`. If the call runs again after an
   * interruption or after parking, it gets the same session.
   */
  readonly child: SessionId | undefined;
  /**
   * The text that the `approve` policy decided on, for example the real path of a file. The question to the
   * user was about the same text. The tool must refuse to work on anything else. Undefined if the policy
   * returned no such text.
   */
  readonly judged?: string | undefined;
  /**
   * The state that the user saw when the user allowed this call, for example a hash of the content of a file. The
   * tool must refuse to run in a different state. Undefined if nobody named a state.
   */
  readonly basis?: string | undefined;
  /**
   * The value to pass as `parent` to the run of the sub-agent, if the tool has `startsSession`. The
   * sub-agent's questions then reach the caller's user, its usage counts toward the caller's limits, and an
   * interrupted run continues.
   */
  readonly asParent?: ParentCall | undefined;
  /** Stores large content outside the log. */
  readonly blobs: BlobStore;
  /** The trace context for outgoing requests. Its parent is the span of this execution. */
  readonly trace?: TraceContext | undefined;
  /** The observers of the run. Pass them to sub-agents. The agent's own observers are not included. */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * Records on the log that the tool changes a file, with the content before and after the change. Resolves
   * when the record is stored. Call it before the change, so that a crash does not lose the record. Undefined
   * if the tool runs outside of an agent.
   */
  readonly recordFileChange?: ((change: FileChangeRecord) => Promise<void>) | undefined;
  /**
   * Asks the user with a form, and resolves with the answer. The question and the answer are on the log, so
   * any client of the session can answer. A sub-agent's question also reaches its caller. The signal ends
   * the wait and closes the form. Rejects with `bad_input` if the form exceeds a limit. Undefined if no agent runs the tool.
   */
  readonly ask?:
    | ((form: FormQuestion, signal?: AbortSignal | undefined) => Promise<FormAnswer>)
    | undefined;
  /**
   * Sends a message to the model, even after the call has ended. Use it for work that continues in the
   * background. The run in progress adds the message to its next request. If there is none, the next run does
   * it. Undefined if the tool runs outside of an agent.
   */
  readonly notify?: ((notice: ToolNotice) => Promise<void>) | undefined;
  /** Returns the state of the session, with its items. Undefined if the tool runs outside of an agent. */
  readonly sessionState?: (() => FoldState) | undefined;
  /**
   * Resolves with true if an input guardrail stopped, changed or has not checked the item. A result must not repeat its
   * content. Call it for each item whose content a result repeats: the input guardrails of a later agent then check a
   * copy of a client's text too. Undefined if the tool runs outside of an agent.
   */
  readonly isWithheld?: ((item: ItemId) => Promise<boolean>) | undefined;
  /** Reports progress to the user. The model gets only the result. */
  update(text: string): void;
}

/** A message of a tool to the model. It becomes an item of the kind `developer`. */
export interface ToolNotice {
  /**
   * The text for the model. It has the rank of an instruction, so it must not contain text of other people or
   * programs, such as the output of a command.
   */
  readonly text: string;
  /** Data about the message for programs, as metadata of the item. Default: none. */
  readonly metadata?: Metadata | undefined;
  /** Idempotency key. A message has no effect if its key was used before in the session. */
  readonly key: string;
}

/**
 * The answer of a user to a form. With `decline` the user refused to answer, and with `cancel` the user
 * dismissed the form, or the answer did not fit the form.
 */
export type FormAnswer =
  | { readonly action: 'accept'; readonly content: JsonObject }
  | { readonly action: 'decline'; readonly reason?: string }
  | {
      readonly action: 'cancel';
      /**
       * The text of an answer that an input guardrail stopped. The tool must return it as its result, so that
       * the guardrail blocks the run. Only tools with `checksAnswers` get it.
       */
      readonly stopped?: string;
    };

/** A change of one file by a tool, or the start or end of a command that changes files. */
export interface FileChangeRecord {
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** The content before the change. Undefined if the file did not exist. */
  readonly before: FileVersion | undefined;
  /** The content after the change. Undefined if the change deletes the file. */
  readonly after: FileVersion | undefined;
  /**
   * `pending`: from now on, the tool can change `path` and any file below it. `recorded`: the log has all
   * changes since `pending`. Default: the record is the change of one file.
   */
  readonly scope?: 'pending' | 'recorded' | undefined;
}

/** A call that the `approve` policy or a guardrail checks. Check `name` to narrow the type of `input`. */
export type CheckedToolCall<Tools extends Tool = Tool> = Tools extends Tool
  ? {
      /** The name of the tool. */
      readonly name: Tools['name'];
      /** The call that the model made, unchanged. */
      readonly call: ToolCallPart;
      readonly tool: Tools;
      /** The validated input that the tool will get. */
      readonly input: ParsedToolInput<Tools>;
      /** One line for the user that describes what the call does. */
      readonly summary: string;
    }
  : never;

/** The run and step for which the loop calls a function of the agent. */
export interface StepInfo<Context = unknown> {
  /**
   * The `context` option of `agent.run` or `agent.resume`. The log does not store it. Undefined if the run
   * has no context.
   */
  readonly context: Context;
  readonly session: SessionId;
  /** The number of the turn in the session. */
  readonly turn: number;
  /**
   * True if a person has allowed exactly this call. The loop sets it only for `approve`, which it calls again
   * after the answer. It is not set for a call that an approval with `until` covers. Default: false.
   */
  readonly isAnswered?: boolean | undefined;
}
