import type { ServerResponse } from 'node:http';
import type { ViewName } from '../contract/stream.ts';
import type { Task } from '../contract/task.ts';
import type { StreamEnd } from './channel.ts';
import type { Feeds, Joined } from './feed-registry.ts';
import { headersOf, opening, taskUpdated } from './frames/control-frames.ts';
import { assertReached, type Cursor, parseCursor } from './frames/cursor.ts';
import { encodeRetry } from './frames/sse.ts';
import type { Feed } from './session-feed.ts';
import { Ending, type EndingOptions } from './stream-end.ts';
import { Viewer } from './viewer.ts';

/** The row of the task that is streamed. */
export interface TaskWatch {
  readonly current: () => Task;
  /** Calls back at each change, until the returned function is called. */
  readonly onChange: (listener: (task: Task) => void) => () => void;
}

export interface StreamTaskOptions extends EndingOptions {
  /** `?from=`, as it came. */
  readonly from?: string | undefined;
  /** The header, as it came. It counts before `from`, which a browser repeats when it comes back. */
  readonly lastEventId?: string | undefined;
  readonly response: ServerResponse;
  /** Called when all is well, right before the head is written: the answer is a stream from then on. */
  readonly beforeHead?: (() => void) | undefined;
  /** Further headers, such as those of CORS. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Aborted when the server closes: the reader is sent away with a hint to come back. */
  readonly signal?: AbortSignal | undefined;
  readonly task?: TaskWatch | undefined;
}

/**
 * Streams a task to one reader, from where it says or with what there is, until it leaves, or the task
 * is over and all was told. Throws before anything is written; resolves when the stream is over.
 */
export async function streamTask(options: StreamTaskOptions): Promise<StreamEnd> {
  const { feeds, session, response } = options;
  const view = feeds.view(options.view);
  const cursor = parseCursor(options.lastEventId || options.from);
  const joined = await feeds.join(session, view);
  try {
    if (cursor !== undefined) await assertKnown(feeds, joined.feed, cursor);
    if (response.destroyed) return 'left';
    options.beforeHead?.();
    writeHead(options, joined);
    return await new Promise((resolve) => watch(options, joined, cursor, resolve));
  } finally {
    feeds.leave(joined);
  }
}

/** The feed may be a moment behind the log, which another process wrote. */
async function assertKnown({ log }: Feeds, { history, session }: Feed, cursor: Cursor) {
  if (cursor.offset <= history.state.through) return;
  const info = await log.info(session);
  assertReached(session, cursor, info?.through ?? 0);
}

function writeHead(options: StreamTaskOptions, { feed }: Joined): void {
  const { feeds, session, view, response, headers, task } = options;
  const { through } = feed.history.state;
  response.writeHead(200, { ...headersOf(view, through), ...headers });
  const row = task === undefined ? '' : taskUpdated(view, task.current());
  response.write(`${encodeRetry(feeds.limits.retryMs)}${opening(view, session)}${row}`);
}

function watch(
  options: StreamTaskOptions,
  { feed, channel }: Joined,
  cursor: Cursor | undefined,
  resolve: (end: StreamEnd) => void,
): void {
  const { feeds, view, response, signal, task } = options;
  const { limits, clock } = feeds;
  const { settles = false } = channel.view;
  const isSettled = cursor === undefined || (settles && feed.history.isSettled(cursor.offset));
  const stops: (() => void)[] = [];
  const onOver = (end: StreamEnd) => {
    for (const stop of stops) stop();
    resolve(end);
  };
  const ending = new Ending(options, feed);
  const ends = { words: () => ending.words(), onOver };
  const source = { channel, replay: feed.replay.bind(feed, channel), limits, clock };
  const viewer = new Viewer(source, response, { cursor, isSettled }, ends);
  const close = () => viewer.sendAway('closing');
  if (signal?.aborted || feed.end === 'failed') return close();
  signal?.addEventListener('abort', close);
  stops.push(() => signal?.removeEventListener('abort', close));
  stops.push(() => ending.stop());
  const onTask = (row: Task) => {
    viewer.say(shared(view, row));
    ending.setTask(row, viewer);
  };
  if (task !== undefined) stops.push(task.onChange(onTask));
  if (ending.endsWithRun) viewer.watchForEnd(true);
  ending.setTask(task?.current(), viewer);
  viewer.look();
}

const frames = new WeakMap<Task, Map<ViewName, Buffer>>();

/** Made once for all who are told of the same change. */
function shared(view: ViewName, task: Task): Buffer {
  const made = frames.get(task) ?? new Map<ViewName, Buffer>();
  frames.set(task, made);
  const bytes = made.get(view) ?? Buffer.from(taskUpdated(view, task));
  made.set(view, bytes);
  return bytes;
}
