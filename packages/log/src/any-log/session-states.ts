import {
  type Batch,
  Folder,
  type FoldState,
  type ItemState,
  isMillraceError,
  type LogRecord,
  type Part,
  type Sequence,
  type SessionId,
  sessionId,
} from '@millrace/core';
import { nextTask } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { requireSessionInfo, unfoldableError } from './read-session.ts';

/** A fold beside the session state, for example the state of an agent loop. */
export interface SessionFold<T> {
  /** The value before the first record. */
  readonly initial: T;
  /** Returns the value after a record. */
  readonly apply: (value: T, record: LogRecord) => T;
}

/** A folded session. */
export interface LoadedSession<T> {
  readonly state: FoldState;
  readonly value: T;
  /** The incarnation that the offsets of the state belong to. */
  readonly incarnation: string;
}

/** Limits of `sessionStates`. */
export interface SessionStatesOptions {
  /** Approximate memory for all kept states of the log. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Approximate maximum size of one folded session. A larger one is refused. Default: 512 MiB. */
  readonly maxSessionBytes?: number | undefined;
}

interface Entry {
  readonly incarnation: string;
  state: FoldState;
  /** The approximate size of `state`. */
  bytes: number;
  /** The values of other folds, each with the offset of its last record. */
  readonly values: Map<SessionFold<unknown>, { readonly through: number; readonly value: unknown }>;
}

const allStates = new WeakMap<Log, SessionStates>();

/**
 * Returns the kept states of a log. All callers in the process share them. They only save time:
 * without them, every state is folded from the records again.
 *
 * @example const { state } = await sessionStates(log).load(session);
 */
export function sessionStates(log: Log, options?: SessionStatesOptions): SessionStates {
  const known = allStates.get(log) ?? new SessionStates(log);
  allStates.set(log, known);
  if (options !== undefined) known.configure(options);
  return known;
}

/** Keeps the folded states of the most recently used sessions of a log. */
export class SessionStates {
  readonly #log: Log;
  /** In the order of their last use. */
  readonly #entries = new Map<SessionId, Entry>();
  /** The last load of each session. Loads of one session run one after another. */
  readonly #loading = new Map<SessionId, Promise<unknown>>();
  #bytes = 0;
  #maxBytes = 64 * 2 ** 20;
  #maxSessionBytes = 512 * 2 ** 20;

  /** Use `sessionStates(log)`, so that all callers share one instance. */
  constructor(log: Log) {
    this.#log = log;
  }

  /** Changes the limits. Limits that are undefined stay as they are. */
  configure({ maxBytes, maxSessionBytes }: SessionStatesOptions): void {
    this.#maxBytes = maxBytes ?? this.#maxBytes;
    this.#maxSessionBytes = maxSessionBytes ?? this.#maxSessionBytes;
    this.#evict();
  }

  /** Approximate memory of the kept states. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Folds a session to its end. Only records after the kept state are read. It reads in pages and
   * lets other work run in between. Throws `no_session` if the session does not exist, and
   * `too_large` if its state would exceed the limit.
   */
  load(session: string): Promise<LoadedSession<unknown>>;
  load<T>(session: string, fold: SessionFold<T>): Promise<LoadedSession<T>>;
  load(id: string, fold: SessionFold<unknown> = noFold): Promise<LoadedSession<unknown>> {
    const session = sessionId(id);
    const earlier = this.#loading.get(session) ?? Promise.resolve();
    const loaded = earlier.then(() => this.#load(session, fold));
    const settled = loaded.then(
      () => {},
      () => {},
    );
    this.#loading.set(session, settled);
    void settled.then(() => {
      if (this.#loading.get(session) === settled) this.#loading.delete(session);
    });
    return loaded;
  }

  /**
   * Returns the kept state without reading the log. Records may have been added since. Undefined if
   * none is kept, or if the two folds end at different records.
   */
  kept<T>(session: string, fold: SessionFold<T>): LoadedSession<T> | undefined {
    const entry = this.#entries.get(session as SessionId);
    const known = entry?.values.get(fold as SessionFold<unknown>);
    if (entry === undefined || known?.through !== entry.state.through) return undefined;
    return { state: entry.state, value: known.value as T, incarnation: entry.incarnation };
  }

  /** Keeps a state that the caller folded further, for the next `load`. */
  keep<T>(fold: SessionFold<T>, { state, value, incarnation }: LoadedSession<T>): void {
    const { session, through } = state;
    const known = this.#entries.get(session);
    const isSame = known?.incarnation === incarnation;
    if (isSame && known.state.through > through) return;
    const entry = isSame ? known : newEntry(incarnation, state);
    entry.state = state;
    entry.values.set(fold as SessionFold<unknown>, { through, value });
    this.#put(session, entry);
  }

  /** Drops the kept state of a session. */
  forget(session: string): void {
    const entry = this.#entries.get(session as SessionId);
    this.#bytes -= entry?.bytes ?? 0;
    this.#entries.delete(session as SessionId);
  }

  async #load(session: SessionId, fold: SessionFold<unknown>): Promise<LoadedSession<unknown>> {
    try {
      const loaded = await this.#foldFromKept(session, fold);
      if (loaded !== undefined) return loaded;
    } catch (error) {
      const isOld = isMillraceError(error) && error.code === 'rewound';
      if (!isOld) throw error;
    }
    // The log was rewound, or content that a kept value may repeat was redacted.
    this.forget(session);
    const whole = await this.#foldFromKept(session, fold);
    if (whole !== undefined) return whole;
    throw unfoldableError(session, 0);
  }

  /** Returns undefined if the kept state cannot be used. */
  async #foldFromKept(
    session: SessionId,
    fold: SessionFold<unknown>,
  ): Promise<LoadedSession<unknown> | undefined> {
    const { incarnation, through: end } = await requireSessionInfo(this.#log, session);
    const kept = this.#entries.get(session);
    const entry =
      kept?.incarnation === incarnation ? kept : newEntry(incarnation, new Folder(session).state);
    const folder = new Folder(entry.state);
    const known = entry.values.get(fold);
    let { through, value } = known ?? { through: 0, value: fold.initial };
    // The kept state contains the records up to this offset. If a later record redacts an item, the
    // state may still contain its content, and must not be used.
    const keptThrough = known?.through ?? entry.state.through;
    for (let from = Math.min(through, folder.state.through); from < end; ) {
      const page = await this.#log.read(session, { from, incarnation });
      if (page.through <= from) break;
      if (keptThrough > 0 && hasRedaction(page, keptThrough)) return undefined;
      for (const record of page.records)
        if (record.offset > through) value = fold.apply(value, record);
      through = Math.max(through, page.through);
      if (folder.addBatch(page).outcome === 'gap')
        throw unfoldableError(session, folder.state.through);
      const bytes = bytesOf(folder.state);
      if (bytes > this.#maxSessionBytes) throw tooLarge(session, bytes, this.#maxSessionBytes);
      from = page.through;
      if (from < end) await nextTask();
    }
    // The entry may have been replaced by `keep` meanwhile.
    const { state } = folder;
    if ((this.#entries.get(session)?.state.through ?? 0) <= state.through) {
      entry.state = state;
      entry.values.set(fold, { through, value });
      this.#put(session, entry);
    }
    return { state, value, incarnation };
  }

  #put(session: SessionId, entry: Entry): void {
    this.forget(session);
    entry.bytes = bytesOf(entry.state);
    this.#entries.set(session, entry);
    this.#bytes += entry.bytes;
    this.#evict();
  }

  #evict(): void {
    for (const session of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.forget(session);
    }
  }
}

const noFold: SessionFold<unknown> = { initial: undefined, apply: () => undefined };

function newEntry(incarnation: string, state: FoldState): Entry {
  return { incarnation, state, bytes: 0, values: new Map() };
}

function hasRedaction({ records }: Batch, after: number): boolean {
  return records.some(({ offset, fact }) => offset > after && fact?.type === 'item_redacted');
}

const itemBytes = 400;
/** The size of a list of items. Lists share their older links, so each link is measured once. */
const sizes = new WeakMap<Sequence<ItemState>, number>();

function bytesOf({ items, open }: FoldState): number {
  const links: Sequence<ItemState>[] = [];
  let link: Sequence<ItemState> | undefined = items;
  for (; link !== undefined && !sizes.has(link); link = link.before) links.push(link);
  let bytes = (link && sizes.get(link)) ?? 0;
  for (const one of links.toReversed()) {
    for (const item of one.chunk) bytes += sizeOf(item);
    sizes.set(one, bytes);
  }
  return open.reduce((sum, { text }) => sum + 2 * text.length, bytes);
}

function sizeOf({ parts }: ItemState): number {
  return parts.reduce(
    (sum, { part }) => sum + (part === undefined ? 0 : partBytes(part)),
    itemBytes,
  );
}

function partBytes(part: Part): number {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return 2 * part.text.length;
    case 'tool_call':
      return 4 * part.arguments.length;
    case 'tool_result':
      return (part.value === undefined ? 2 : 4) * part.text.length;
    case 'structured':
    case 'custom':
      return 2 * JSON.stringify(part.value).length;
    case 'media':
    case 'file':
      return part.source.type === 'bytes' ? part.source.bytes.length : 0;
  }
}

function tooLarge(session: SessionId, bytes: number, limit: number): LogError {
  const message = `Cannot fold session ${session}: its state needs more than ${Math.round(limit / 2 ** 20)} MiB. Continue in a fork of an earlier record, or raise maxSessionBytes of sessionStates`;
  return new LogError('too_large', message, { session, bytes, limit });
}
