import type { ErrorInfo, JsonObject, Part, ResponseDetails, Stop, Usage } from '@millrace/core';
import type { Log } from '@millrace/log';

/** Options of the functions that record the runs of other programs. */
export interface DevtoolsOptions {
  /** The log that gets the sessions. The caller must close it. */
  readonly log: Log;
  /**
   * Returns the id of the session of a run. Default: `<trace>-<span>`, or `<trace>` if the run is the whole
   * trace.
   */
  readonly session?: ((run: TracedRun) => string) | undefined;
  /**
   * Metadata of the first message of each session. The terminal agent and its page list sessions whose first
   * message has the field `cwd`, the folder of the session. Default: none.
   */
  readonly metadata?: JsonObject | undefined;
  /**
   * Called if a run was not stored, or was stored without some of its spans. The text contains ids, but no content.
   * Default: these problems are ignored, because they must not stop the program.
   */
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
}

/** The run of another program, for the option `session`. */
export interface TracedRun {
  /** The id of the trace. */
  readonly trace: string;
  /** The id of the span of the run. */
  readonly span: string;
  /** The name of the agent. Undefined if it is not known. */
  readonly agent: string | undefined;
  /** The id of the conversation, as the program reported it. Undefined if it did not. */
  readonly conversation: string | undefined;
}

/** A message of another library, as parts of our items. */
export interface TracedItem {
  readonly kind: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly parts: readonly Part[];
}

/** A finished span of another program. Times are milliseconds since 1970. */
export interface TracedSpan {
  readonly trace: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly error?: ErrorInfo | undefined;
  readonly work: TracedWork;
  /** The number of characters of content, for the limit of the memory. */
  readonly size: number;
}

/** The work of a span. `other` is work without a model, which only connects its children with its parent. */
export type TracedWork = AgentWork | RequestWork | ToolWork | { readonly type: 'other' };

/** The work of an agent: requests, tools and other agents. */
export interface AgentWork {
  readonly type: 'agent';
  readonly name?: string | undefined;
  readonly conversation?: string | undefined;
}

/** A request to a model, with the whole input. */
export interface RequestWork {
  readonly type: 'request';
  readonly provider: string;
  readonly model: string;
  readonly input: readonly TracedItem[];
  readonly output: readonly Part[];
  readonly stop: Stop;
  readonly usage: Usage;
  readonly details?: ResponseDetails | undefined;
  /** The names of the tools that the request offered. */
  readonly tools?: readonly string[] | undefined;
  /** The time of the first content. Undefined if it is not known. */
  readonly firstContentMs?: number | undefined;
}

/** The execution of a tool. */
export interface ToolWork {
  readonly type: 'tool';
  readonly name: string;
  /** The id of the call. Undefined if the program did not report it. */
  readonly callId: string | undefined;
  /** The arguments as text. Undefined if the program did not report them. */
  readonly input: string | undefined;
  /** The result as text. Undefined if the program did not report it. */
  readonly result: string | undefined;
}
