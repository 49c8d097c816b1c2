import {
  ApplicationFailure,
  uuid4,
  AsyncLocalStorage as WorkflowStorage,
} from '@temporalio/workflow';
import { cloneOf } from './structured-clone.ts';

/**
 * In workflows, this file replaces the platform functions that the SDK imports
 * (`@openai/agents-core/_shims`). Ids come from the workflow's random source. A workflow has no environment,
 * process or socket.
 */

export const randomUUID = (): string => uuid4();
export const AsyncLocalStorage: typeof WorkflowStorage = WorkflowStorage;
export const loadEnv = (): Record<string, string | undefined> => ({});
export const isBrowserEnvironment = (): boolean => false;
export const isTracingLoopRunningByDefault = (): boolean => false;
export const supportsProcessLifecycleEvents = (): boolean => false;

type Listener = (...args: readonly unknown[]) => void;

export class RuntimeEventEmitter {
  readonly #listeners = new Map<string, readonly Listener[]>();

  on(type: string, listener: Listener): this {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
    return this;
  }

  off(type: string, listener: Listener): this {
    const rest = (this.#listeners.get(type) ?? []).filter((other) => other !== listener);
    this.#listeners.set(type, rest);
    return this;
  }

  once(type: string, listener: Listener): this {
    const onceListener = (...args: readonly unknown[]) => {
      this.off(type, onceListener);
      listener(...args);
    };
    return this.on(type, onceListener);
  }

  emit(type: string, ...args: readonly unknown[]): boolean {
    const listeners = this.#listeners.get(type) ?? [];
    for (const listener of listeners) listener(...args);
    return listeners.length > 0;
  }
}

/** The timers for the SDK's tracing, which is off in workflows. */
export const timer: object = {
  setTimeout: (work: () => void, ms: number) => setTimeout(work, ms),
  clearTimeout: (id: number) => clearTimeout(id),
};

class Stream {
  constructor() {
    throw ApplicationFailure.nonRetryable(
      'Cannot stream a run in workflow code: it would do I/O. Run it without `stream`: its models stream to the log in an activity',
      'millrace.stream_in_workflow',
    );
  }
}

class McpServer {
  constructor() {
    throw ApplicationFailure.nonRetryable(
      'Cannot use an MCP server in workflow code: it does I/O. Call it in an activity, from an activityTool(…)',
      'millrace.mcp_in_workflow',
    );
  }
}

export class Readable extends Stream {}
export class ReadableStream extends Stream {}
export class TransformStream extends Stream {}
export class MCPServerStdio extends McpServer {}
export class MCPServerStreamableHttp extends McpServer {}
export class MCPServerSSE extends McpServer {}

/** Globals that the SDK uses but that do not exist in the workflow sandbox. */
const missing = {
  structuredClone: cloneOf,
  // The class must come from the same realm as the existing AbortController.
  AbortSignal: new AbortController().signal.constructor,
};
for (const [name, value] of Object.entries(missing))
  if (!(name in globalThis)) Reflect.set(globalThis, name, value);
