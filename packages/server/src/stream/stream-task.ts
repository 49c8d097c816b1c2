import { encodeRetry } from '@millrace/core/streams';
import type { HttpResponse } from '../contract/http.ts';
import { ServerError } from '../contract/server-error.ts';
import type { StreamStart, ViewName } from '../contract/stream.ts';
import type { Task } from '../contract/task.ts';
import type { StreamEnd } from './channel.ts';
import type { FeedRegistry, FeedSubscription } from './feed-registry.ts';
import { headersOf, openingFrame, taskUpdatedFrame } from './frames/control-frames.ts';
import { assertInLog, type Cursor, parseCursor, rewoundCursor } from './frames/cursor.ts';
import type { SessionFeed } from './session-feed.ts';
import { EndCondition, type EndConditionOptions } from './stream-end.ts';
import { type StartPosition, Viewer } from './viewer.ts';

/** The row of the streamed task. */
export interface WatchedTask {
  readonly current: () => Task;
  /** Calls the listener after each change, until the returned function is called. */
  readonly onChange: (listener: (task: Task) => void) => () => void;
}

export interface StreamTaskOptions extends EndConditionOptions {
  /** The text of the query parameter `from`. */
  readonly from?: string | undefined;
  /**
   * The text of the header `Last-Event-ID`. It takes precedence over `from`, because browsers send the old
   * `from` again when they reconnect.
   */
  readonly lastEventId?: string | undefined;
  /** Where the stream starts without a cursor. Default: `first`. */
  readonly start?: StreamStart | undefined;
  readonly response: HttpResponse;
  /** Identifies a caller without full access. One such caller gets only a part of a limit. */
  readonly restricted?: string | undefined;
  /** Called immediately before the response headers are written. From then on, the response is a stream. */
  readonly beforeHead?: (() => void) | undefined;
  /** Additional response headers, such as CORS headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** When this signal is aborted, the client is disconnected with a hint to reconnect. */
  readonly signal?: AbortSignal | undefined;
  readonly task?: WatchedTask | undefined;
}

/**
 * Streams a task to one client, from the client's cursor or from the current state. The stream ends when the
 * client disconnects, or when the task is finished and the client has received everything. It throws only
 * before the first byte is written.
 */
export async function streamTask(options: StreamTaskOptions): Promise<StreamEnd> {
  const { feeds, session, response } = options;
  const view = feeds.view(options.view);
  const cursor = parseCursor(options.lastEventId || options.from);
  const subscription = await feeds.join(session, view, options.restricted);
  try {
    if (cursor !== undefined) await assertCursorInLog(feeds, subscription.feed, cursor);
    const isSettled =
      cursor === undefined ||
      (await subscription.feed.resumesSettled(view, cursor.offset, callerOf(options)));
    const isRecent = cursor === undefined && options.start === 'recent';
    const recent = isRecent ? await subscription.feed.recentStart(view) : undefined;
    if (response.destroyed) return 'left';
    options.beforeHead?.();
    writeHead(options, subscription);
    const start = { cursor: cursor ?? recent, isSettled };
    return await new Promise((resolve) => attachViewer(options, subscription, start, resolve));
  } finally {
    feeds.leave(subscription);
  }
}

/**
 * Throws if the cursor is not in the log. It asks the log and not the feed, because the feed may lag behind a
 * different process that writes.
 */
async function assertCursorInLog(
  { log }: FeedRegistry,
  { history, session, incarnation }: SessionFeed,
  cursor: Cursor,
) {
  const isOwn = cursor.incarnation === undefined || cursor.incarnation === incarnation;
  if (isOwn && cursor.offset <= history.state.through) return;
  const info = await log.info(session);
  // The log was rewound a moment ago, and this feed will end soon.
  if (info?.incarnation !== incarnation) throw feedIsOld(session);
  if (!isOwn) throw rewoundCursor(session);
  assertInLog(session, cursor, info.through);
}

function feedIsOld(session: string): ServerError {
  const message = `The log of task ${session} was rewound a moment ago: connect again`;
  return new ServerError('unavailable', message, { session });
}

function writeHead(options: StreamTaskOptions, { feed }: FeedSubscription): void {
  const { feeds, session, view, response, headers, task } = options;
  const { through } = feed.history.state;
  response.writeHead(200, { ...headersOf(view, through), ...headers });
  const row = task === undefined ? '' : taskUpdatedFrame(view, task.current());
  response.write(`${encodeRetry(feeds.limits.retryMs)}${openingFrame(view, session)}${row}`);
}

/** Returns the name of the client, whose replays share its turns. All clients with full access have the same name. */
function callerOf({ restricted = '' }: StreamTaskOptions): string {
  return restricted;
}

function attachViewer(
  options: StreamTaskOptions,
  { feed, channel }: FeedSubscription,
  start: StartPosition,
  resolve: (end: StreamEnd) => void,
): void {
  const { feeds, view, response, signal, task } = options;
  const { limits, clock } = feeds;
  const stops: (() => void)[] = [];
  const onEnd = (end: StreamEnd) => {
    for (const stop of stops) stop();
    resolve(end);
  };
  const endCondition = new EndCondition(options, feed);
  const endHandlers = { endFrame: () => endCondition.endFrame(), onEnd };
  const replay = (cursor: Cursor, isSettled: boolean) =>
    feed.replay(channel, cursor, isSettled, callerOf(options));
  const source = { channel, replay, limits, clock };
  const viewer = new Viewer(source, response, start, endHandlers);
  const close = () => viewer.disconnect('closing');
  if (signal?.aborted || feed.end === 'failed') return close();
  signal?.addEventListener('abort', close);
  stops.push(() => signal?.removeEventListener('abort', close));
  stops.push(() => endCondition.stop());
  const onTask = (row: Task) => {
    viewer.sendControl(sharedTaskFrame(view, row));
    endCondition.setTask(row, viewer);
  };
  if (task !== undefined) stops.push(task.onChange(onTask));
  if (endCondition.endsWithRun) viewer.watchForEnd(true);
  endCondition.setTask(task?.current(), viewer);
  viewer.resume();
}

const taskFrames = new WeakMap<Task, Map<ViewName, Buffer>>();

/** Returns the frame for a change of the task's row. The frame is encoded once for all viewers. */
function sharedTaskFrame(view: ViewName, task: Task): Buffer {
  const byView = taskFrames.get(task) ?? new Map<ViewName, Buffer>();
  taskFrames.set(task, byView);
  const bytes = byView.get(view) ?? Buffer.from(taskUpdatedFrame(view, task));
  byView.set(view, bytes);
  return bytes;
}
