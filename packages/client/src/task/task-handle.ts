import type {
  AgentEvent,
  Attempt,
  Batch,
  Item,
  ItemId,
  JsonValue,
  Part,
  PartId,
} from '@millrace/core';
import type { MessageContent } from '../wire/content.ts';
import type { PastRequest } from '../wire/past-request.ts';
import type { SpanInfo } from '../wire/span-info.ts';
import type { Task } from '../wire/task.ts';
import type { TaskDigest } from '../wire/task-digest.ts';
import type { LiveItem } from './live-item.ts';
import type { TaskSnapshot } from './task-snapshot.ts';

export interface Cancelable {
  readonly signal?: AbortSignal | undefined;
}

export interface CommandOptions extends Cancelable {
  /** What makes it count once, also when it is sent again after a reload; a fresh one unless told. */
  readonly key?: string | undefined;
}

export interface SendOptions extends CommandOptions {
  /** `steer` joins the next request of a run that goes on; `follow_up`, unless told, waits for its end. */
  readonly when?: 'steer' | 'follow_up' | undefined;
}

export interface ApproveOptions extends CommandOptions {
  readonly by?: string | undefined;
  /** What the call runs with instead. */
  readonly input?: JsonValue | undefined;
  /** Also for what is asked by the same rule: until that time (ms since 1970), or to the end. */
  readonly until?: number | 'session' | undefined;
}

export interface DenyOptions extends CommandOptions {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** What was sent is on the server's log. */
export interface Sent {
  readonly key: string;
  /** Where; undefined for a sync agent, whose messages have no place in a queue. */
  readonly offset: number | undefined;
}

/**
 * One task, kept in step with the server while somebody listens. Commands reach it whether or not
 * anybody does; leaving ends nothing.
 */
export interface TaskHandle {
  readonly id: string;
  /** The live transcript, as core has it. */
  readonly transcript: readonly Item[];
  /** Ids of the items in order; the same list until one comes or goes. */
  readonly itemIds: readonly ItemId[];
  /** The same object until something changes. */
  snapshot(): TaskSnapshot;
  item(id: ItemId): LiveItem | undefined;
  part(id: PartId): Part | undefined;

  /** Connects, and calls back after each change until the returned function is called. */
  subscribe(listener: () => void, options?: Cancelable): () => void;
  /**
   * What is folded from now on: of a handle that nobody listened to yet, everything, finished turns in
   * short. Ends with the stream, and throws what it fails with.
   */
  events(options?: Cancelable): AsyncIterableIterator<AgentEvent, undefined>;
  /** Resolves with the first snapshot that fits. Rejects when the stream ends or fails before. */
  until(fits: (snapshot: TaskSnapshot) => boolean, options?: Cancelable): Promise<TaskSnapshot>;

  send(input: string | MessageContent, options?: SendOptions): Promise<Sent>;
  /** Takes a message back by the key that `send` gave, where the agent loop has not heard it yet. */
  withdraw(key: string, options?: CommandOptions): Promise<Sent>;
  approve(toolCallId: string, options?: ApproveOptions): Promise<Sent>;
  deny(toolCallId: string, options?: DenyOptions): Promise<Sent>;
  /** Stops what goes on. The task stays, and the next message resumes it. */
  stop(reason?: string, options?: Cancelable): Promise<Task>;
  /** Stops what goes on, and closes the task. */
  cancel(reason?: string, options?: Cancelable): Promise<Task>;
  /** Bytes that a part refers to by their hash. */
  blob(hash: string, options?: Cancelable): Promise<Blob>;

  /** A page of what the log has after an offset, none put together: for those who look moment by moment. */
  records(from: number, options?: Cancelable): Promise<Batch>;
  /** What it came to so far: whether it runs, why it stopped, what it used of which model. */
  digest(options?: Cancelable): Promise<TaskDigest>;
  spans(options?: Cancelable): Promise<readonly SpanInfo[]>;
  /** What an agent loop asked its model in an attempt of a turn, made again from the log. */
  request(at: Attempt, options?: Cancelable): Promise<PastRequest>;

  /** Opens the stream again where it had ended or failed. */
  reconnect(): void;
  /** Nothing comes any more. The task itself goes on. */
  close(): void;
}
