import type { ItemId, SessionId, TraceContext } from '@millrace/core';
import type { Observer } from './observer.ts';
import type { Replayed, ReplayOptions } from './replay.ts';
import type { Run, RunInput } from './run.ts';

export interface AgentRunOptions {
  /** A new one unless told. */
  readonly session?: SessionId | undefined;
  /** Aborts the run. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Leaves the run as a process that dies would, but for its lease, which is given back: nothing more is
   * written, and whoever resumes the session goes on. The result's stop has the cause `left`.
   */
  readonly leave?: AbortSignal | undefined;
  /**
   * What the run is part of, as `traceContext(headers…)` reads it. It is on the log with the run, and
   * goes to observers, to tools as `ctx.trace` and to providers; a run that goes on keeps its own.
   */
  readonly trace?: TraceContext | undefined;
  /** Hear of this run and of its sub-agents' for it, besides those of each agent. */
  readonly observers?: readonly Observer[] | undefined;
}

export interface ForkedRunOptions {
  /** The fork; a new one unless told. */
  readonly into?: SessionId | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly leave?: AbortSignal | undefined;
  readonly trace?: TraceContext | undefined;
  readonly observers?: readonly Observer[] | undefined;
}

export interface Agent<Value = unknown> {
  readonly name: string;
  /** Answers. One agent serves many runs at once, of one session one at a time. */
  run(input: RunInput, options?: AgentRunOptions): Run<Value>;
  /** Goes on with a session: what was cut short, what waits in its queue, what was approved meanwhile. */
  resume(session: SessionId, options?: Omit<AgentRunOptions, 'session'>): Run<Value>;
  /** Answers again, in a fork: all after the last thing that was said to it, or from one of its items on. */
  regenerate(
    session: SessionId,
    options?: ForkedRunOptions & { readonly item?: ItemId },
  ): Run<Value>;
  /** Answers something else than what was said there, in a fork. */
  edit(session: SessionId, item: ItemId, input: RunInput, options?: ForkedRunOptions): Run<Value>;
  /**
   * Runs a recorded session again, by the same loop: what models, tools and people said and decided is
   * taken from the recording, and so are times and ids. Nothing is executed and nothing is sent. Says
   * where this agent would do something else.
   */
  replay(session: SessionId, options?: ReplayOptions): Promise<Replayed>;
}
