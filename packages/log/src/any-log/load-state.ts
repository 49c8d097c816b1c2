import { type Batch, Folder, isCut, isMillraceError, type SessionId } from '@millrace/core';
import { nextTask } from '../contract/clock.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import { requireSessionInfo, unfoldableError } from './read-session.ts';
import { loadSnapshot, loadValue } from './session-snapshots.ts';
import {
  cutKey,
  type FoldedValue,
  type LoadedSession,
  newEntry,
  type SessionFold,
  type StateCache,
  type StateEntry,
} from './state-cache.ts';
import { bytesOf, sizeOf } from './state-size.ts';

/** The fold of a caller that needs only the session state and no value. */
export const noFold: SessionFold<unknown> = { initial: undefined, apply: () => undefined };

/** The number of records between two snapshots during a long load. */
const pagedSpacing = 20_000;

/**
 * Folds a session up to its last record. It starts from the best state that is in memory or in a snapshot.
 */
export async function loadState(
  cache: StateCache,
  session: SessionId,
  fold: SessionFold<unknown>,
): Promise<LoadedSession<unknown>> {
  try {
    const info = await requireSessionInfo(cache.log, session);
    const entry = await entryFor(cache, info, fold);
    const loaded = await foldFrom(cache, entry, info, fold);
    if (loaded !== undefined) return loaded;
  } catch (error) {
    const isOld = isMillraceError(error) && error.code === 'rewound';
    if (!isOld) throw error;
  }
  // The state cannot be continued, so the session is folded again from the first record. The log was rewound,
  // a redaction removed content that the state may contain, or a record changes an item that was not loaded.
  cache.forget(session);
  const info = await requireSessionInfo(cache.log, session);
  const whole = await foldFrom(cache, emptyEntry(info), info, fold);
  if (whole !== undefined) return whole;
  throw unfoldableError(session, 0);
}

/**
 * Returns the state to continue from: the state in memory, otherwise the stored state, otherwise the state
 * before the first record.
 */
async function entryFor(
  cache: StateCache,
  info: SessionInfo,
  fold: SessionFold<unknown>,
): Promise<StateEntry> {
  const { session, incarnation } = info;
  const { snapshots } = cache.log;
  const [whole, cut] = [session, cutKey(session, fold)].map((key) => {
    const entry = cache.get(key);
    return entry?.incarnation === incarnation ? entry : undefined;
  });
  if (cut !== undefined && fold.stored?.needs && knownValue(cut, fold) !== undefined) return cut;
  if (whole !== undefined && knownValue(whole, fold) !== undefined) return whole;
  if (snapshots === undefined || whole === undefined)
    return whole ?? storedEntry(cache, info, fold);
  const value = fold.stored && (await loadValue(snapshots, info, fold.stored));
  // A value without data about old items fits only a state without these items.
  if (value?.cut !== undefined) return storedEntry(cache, info, fold);
  if (value !== undefined) whole.values.set(fold, value);
  return whole;
}

/** Loads the stored state. Returns the state before the first record if there is no usable snapshot. */
async function storedEntry(
  { log, limits }: StateCache,
  info: SessionInfo,
  fold: SessionFold<unknown>,
): Promise<StateEntry> {
  const { snapshots } = log;
  const { session, incarnation, through } = info;
  const { maxSessionBytes, recordsPerSnapshot } = limits;
  if (snapshots === undefined || through < recordsPerSnapshot) return emptyEntry(info);
  let bytes = 0;
  const loaded = await loadSnapshot(snapshots, info, {
    fold: fold.stored,
    onItems: (items) => {
      for (const item of items) bytes += sizeOf(item);
      if (bytes > maxSessionBytes) throw tooLarge(session, bytes, maxSessionBytes);
    },
  });
  if (loaded === undefined) return emptyEntry(info);
  const { state, values: stored } = loaded;
  const entry = { ...newEntry(incarnation, state), stored };
  // The stored value may be older than the state, because callers use this fold less often than other folds.
  const { through: valueThrough = 0 } = knownValue(entry, fold) ?? {};
  const storedThrough = fold.stored ? Math.min(state.through, valueThrough) : state.through;
  return { ...entry, storedThrough };
}

/**
 * Reads the records after the entry, folds them, and keeps the result. Returns undefined if the entry cannot
 * be used, because a record redacts an item or changes an item that was not loaded.
 */
async function foldFrom(
  cache: StateCache,
  entry: StateEntry,
  { session, incarnation, through: end }: SessionInfo,
  fold: SessionFold<unknown>,
): Promise<LoadedSession<unknown> | undefined> {
  const folder = new Folder(entry.state);
  const key = cache.keyOf(entry.state, fold);
  const known = knownValue(entry, fold);
  // A load without a fold has no value, so it needs no earlier records.
  const start = fold === noFold ? entry.state.through : 0;
  let { through, value } = known ?? { through: start, value: fold.initial };
  // The state in memory contains the records up to `keptThrough`. If a later record redacts an item, this
  // state may still contain the removed content, and must not be used.
  const keptThrough = known?.through ?? entry.state.through;
  for (let from = Math.min(through, folder.state.through); from < end; ) {
    const page = await cache.log.read(session, { from, incarnation });
    if (page.through <= from) break;
    if (keptThrough > 0 && hasRedaction(page, keptThrough)) return undefined;
    for (const record of page.records)
      if (record.offset > through) value = fold.apply(value, record);
    through = Math.max(through, page.through);
    if (folder.addBatch(page).outcome === 'gap') {
      // The page may change an old item that was not loaded.
      if (isCut(folder.state.items)) return undefined;
      throw unfoldableError(session, folder.state.through);
    }
    const bytes = bytesOf(folder.state);
    const { maxSessionBytes } = cache.limits;
    if (bytes > maxSessionBytes) throw tooLarge(session, bytes, maxSessionBytes);
    from = page.through;
    if (from >= end) break;
    await nextTask();
    // A long load stores snapshots while it runs. If the process dies, the next load continues from the last
    // snapshot.
    const isFar = folder.state.through >= entry.storedThrough + pagedSpacing;
    if (!isFar || through !== folder.state.through) continue;
    entry.state = folder.state;
    entry.values.set(fold, { through, value });
    await cache.save(key, entry);
  }
  // Keeps the result only if it is not older than the state in memory. A call of `keep` may have stored a
  // newer state during the load.
  const { state } = folder;
  if ((cache.get(key)?.state.through ?? 0) <= state.through) {
    entry.state = state;
    entry.values.set(fold, { through, value });
    cache.put(key, entry);
    await cache.save(key, entry);
  }
  return { state, value, incarnation };
}

/**
 * Returns the value of a fold that belongs to the entry, from memory or from the snapshot. Returns undefined
 * if there is no such value.
 */
function knownValue(
  { values, stored }: StateEntry,
  fold: SessionFold<unknown>,
): FoldedValue | undefined {
  const known = values.get(fold);
  if (known !== undefined || fold.stored === undefined) return known;
  const found = stored.get(fold.stored.name);
  return found?.version === fold.stored.version ? found : undefined;
}

function emptyEntry({ session, incarnation }: SessionInfo): StateEntry {
  return newEntry(incarnation, new Folder(session).state);
}

function hasRedaction({ records }: Batch, after: number): boolean {
  return records.some(({ offset, fact }) => offset > after && fact?.type === 'item_redacted');
}

function tooLarge(session: SessionId, bytes: number, limit: number): LogError {
  const message = `Cannot fold session ${session}: its state needs more than ${Math.round(limit / 2 ** 20)} MiB. Continue in a fork of an earlier record, or raise maxSessionBytes of sessionStates`;
  return new LogError('too_large', message, { session, bytes, limit });
}
