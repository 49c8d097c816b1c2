import type { Clock, RunResult } from '@millrace/agent';
import type { AgentEvent, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { Block } from '../contract/block.ts';

/** The options of a conversation: its session, its agent, and what its owner shows. */
export interface ConversationOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly cwd: string;
  /** The user's home folder, for paths that start with `~`. */
  readonly home?: string | undefined;
  /**
   * Returns the output of commands that the user ran, for the next message. Each output is returned
   * only once.
   */
  readonly takeOutputs: () => readonly string[];
  readonly clock: Clock;
  /** The current agent. Its model can change. */
  readonly built: () => Pick<BuiltAgent, 'agent' | 'mode' | 'extensions' | 'background'> &
    Partial<Pick<BuiltAgent, 'servers'>>;
  /** Returns a new idempotency key for a command. */
  readonly newKey: () => string;
  /** Prints blocks to the scrollback. Pass each block only once. */
  readonly print: (blocks: readonly Block[]) => void;
  /** Called when the live content may have changed. */
  readonly onChange: () => void;
  /** Puts a message back into the prompt, because no run will process it. */
  readonly putBack: (text: string) => void;
  /** Called after a tool call has finished. */
  readonly onCallFinished: () => void;
  /** Called after a run of this process has ended. */
  readonly onRunEnded: (result: RunResult) => void;
  /** Called with each event of the session, after it is folded into `state`. Default: none. */
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  /**
   * Called after the events of a batch. The next events are read when the promise resolves. Default:
   * events are read at once.
   */
  readonly onBatch?: (() => Promise<void>) | undefined;
  /**
   * Returns false if this process must not continue the run of a process that has ended. Default: it
   * continues the run.
   */
  readonly takesOver?: (() => boolean) | undefined;
  /**
   * If true, the end of a background command starts a run while the session is idle. Default: true.
   */
  readonly wakes?: boolean | undefined;
  /**
   * Returns the error if this process must not drive the session, because another program recorded it. Called when the
   * session is opened. Default: this process drives every session.
   */
  readonly findRefusal?: (() => Promise<Error | undefined>) | undefined;
  /**
   * `first`: all events of the session are emitted in order. `recent`: the end of a long session is read first, and
   * its earlier events are not emitted. Default: `first`.
   */
  readonly start?: 'first' | 'recent' | undefined;
  /** The name that the log records for answers to approvals. Default: `you, in the terminal`. */
  readonly answeredBy?: string | undefined;
}
