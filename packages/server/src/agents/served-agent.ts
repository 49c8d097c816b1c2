import type { Agent } from '@millrace/agent';
import type { Content, ContentInput } from '../wire/content.ts';
import type { TaskEvent } from '../wire/task-event.ts';
import type { UpdateInput } from '../wire/update.ts';
import type { HandlerContext } from './handler-context.ts';

/** What a server can serve. */
export type ServedAgent = SyncAgent | AsyncAgent | LoopAgent;

interface Named {
  /** Lower case letters, digits and hyphens. */
  readonly name: string;
  readonly description?: string | undefined;
}

/** Answers each message with a stream of updates, which the server accumulates and keeps. */
export interface SyncAgent extends Named {
  readonly type: 'sync';
  readonly onMessage: (
    content: Content,
    context: HandlerContext,
  ) => AsyncIterable<UpdateInput> | Promise<ContentInput | readonly ContentInput[]>;
}

/** Gets events and streams by itself. The events of one task come in order, one at a time. */
export interface AsyncAgent extends Named {
  readonly type: 'async';
  readonly onTaskCreate?: ((context: HandlerContext) => Promise<void>) | undefined;
  readonly onEvent: (event: TaskEvent, context: HandlerContext) => Promise<void>;
  /** The work that goes on is told by `context.signal` first. */
  readonly onCancel?: ((context: HandlerContext) => Promise<void>) | undefined;
}

/** An agent loop as it is: a message is a run, and what comes meanwhile steers or waits. */
export interface LoopAgent extends Named {
  readonly type: 'loop';
  readonly agent: Agent;
}
