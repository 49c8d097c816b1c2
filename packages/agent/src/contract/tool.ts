import type {
  ExecutionId,
  FilePart,
  JsonObject,
  JsonValue,
  MediaPart,
  Metadata,
  RunId,
  SessionId,
  ToolCallId,
  TraceContext,
} from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import type { Agent } from './agent.ts';
import type { Observer } from './observer.ts';

/** Something that a model can have done. Make one with `defineTool`, which fills in what is not said. */
export interface Tool {
  readonly name: string;
  /** What it does and when to use it, for the model. */
  readonly description: string;
  /** JSON Schema of its input, as the model is told. */
  readonly inputSchema: JsonObject;
  /** `none`: it changes nothing, so it may start while the model still speaks, and its work may be thrown away. */
  readonly effects: 'none' | 'external';
  /** Whether it may run again when nobody knows what became of it. */
  readonly replay: 'safe' | 'never';
  readonly timeoutMs: number | undefined;
  /** Of the text that the model gets. What is longer is clipped, and kept whole beside it. */
  readonly maxOutputLength: number;
  /** How often it is tried again when it throws. */
  readonly retries: number;
  /** It runs a session of its own, whose id it gets as `child`. */
  readonly startsSession: boolean;
  /** Where the session goes on with another agent, after the turn in which it was called. */
  readonly handsOff?: HandOff | undefined;
  /** One line for people: what it is about to do. */
  summarize(input: unknown): string;
  /** The input as the tool takes it, or what is wrong with it, in words that help the model. */
  validate(input: JsonValue): Promise<Validated>;
  /** May be a generator of texts that tell what it does, meanwhile. A throw is a result too: an error. */
  execute(input: unknown, context: ToolContext): Execution;
}

export interface HandOff {
  to(): Agent;
  reason(input: unknown): string | undefined;
}

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

export type Execution = Promise<ToolReturn> | AsyncGenerator<string, ToolReturn>;

/** A text, a result in full, or any JSON, which the model gets as text. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is a tool too
export type ToolReturn = string | ToolOutput | JsonValue | undefined | void;

/** A result in full. */
export interface ToolOutput {
  readonly output: {
    /** What the model reads. */
    readonly text: string;
    /** What a program reads. */
    readonly value?: JsonValue | undefined;
    /** Pictures and documents that the model sees, but for the blob that `metadata.wholeOutput` names. */
    readonly attachments?: readonly (MediaPart | FilePart)[] | undefined;
    readonly isError?: boolean | undefined;
    readonly metadata?: Metadata | undefined;
  };
}

/** What an execution may use, and what it is part of. */
export interface ToolContext {
  /** Aborts when it is to stop. Its result is then not waited for beyond a moment. */
  readonly signal: AbortSignal;
  readonly session: SessionId;
  readonly runId: RunId;
  readonly turn: number;
  readonly toolCallId: ToolCallId;
  readonly executionId: ExecutionId;
  /** The session for a sub-agent, for tools that start one. */
  readonly child: SessionId | undefined;
  readonly blobs: BlobStore;
  /** Under the span of this execution, where the run is part of a trace: for what the tool calls. */
  readonly trace?: TraceContext | undefined;
  /** Those of the run, for what it does by other agents; the agent's own are not among them. */
  readonly observers?: readonly Observer[] | undefined;
  /** Tells what it does, while it does it. Shown to people; the model gets the result alone. */
  update(text: string): void;
}
