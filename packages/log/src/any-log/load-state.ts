import { type Batch, Folder, isMillraceError, type SessionId } from '@millrace/core';
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

/** A fold without a value. */
export const noFold: SessionFold<unknown> = { initial: undefined, apply: () => undefined };

/** During a long load, a snapshot is stored once per this many records. */
const pagedSpacing = 20_000;

/** Folds a session to its end, from the best state that is kept or stored. */
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
  // The log was rewound, or content that a kept value may repeat was redacted.
  cache.forget(session);
  const info = await requireSessionInfo(cache.log, session);
  const whole = await foldFrom(cache, emptyEntry(info), info, fold);
  if (whole !== undefined) return whole;
  throw unfoldableError(session, 0);
}

/** The state to continue: a kept one, a stored one, or that before the first record. */
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
  // A value that was stored without old items needs a state without them.
  if (value?.cut !== undefined) return storedEntry(cache, info, fold);
  if (value !== undefined) whole.values.set(fold, value);
  return whole;
}

/** The stored state, or the state before the first record. */
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
  // The value may be older than the state, if the fold is used less often than others.
  const { through: valueThrough = 0 } = knownValue(entry, fold) ?? {};
  const storedThrough = fold.stored ? Math.min(state.through, valueThrough) : state.through;
  return { ...entry, storedThrough };
}

/** Reads the records after the entry. Returns undefined if the entry cannot be used. */
async function foldFrom(
  cache: StateCache,
  entry: StateEntry,
  { session, incarnation, through: end }: SessionInfo,
  fold: SessionFold<unknown>,
): Promise<LoadedSession<unknown> | undefined> {
  const folder = new Folder(entry.state);
  const key = cache.keyOf(entry.state, fold);
  const known = knownValue(entry, fold);
  // Without a fold, there is no value that would need earlier records.
  const start = fold === noFold ? entry.state.through : 0;
  let { through, value } = known ?? { through: start, value: fold.initial };
  // The kept state contains the records up to this offset. If a later record redacts an item, the
  // state may still contain its content, and must not be used.
  const keptThrough = known?.through ?? entry.state.through;
  for (let from = Math.min(through, folder.state.through); from < end; ) {
    const page = await cache.log.read(session, { from, incarnation });
    if (page.through <= from) break;
    if (keptThrough > 0 && hasRedaction(page, keptThrough)) return undefined;
    for (const record of page.records)
      if (record.offset > through) value = fold.apply(value, record);
    through = Math.max(through, page.through);
    if (folder.addBatch(page).outcome === 'gap')
      throw unfoldableError(session, folder.state.through);
    const bytes = bytesOf(folder.state);
    const { maxSessionBytes } = cache.limits;
    if (bytes > maxSessionBytes) throw tooLarge(session, bytes, maxSessionBytes);
    from = page.through;
    if (from >= end) break;
    await nextTask();
    // A process that dies during a long load does not start over.
    const isFar = folder.state.through >= entry.storedThrough + pagedSpacing;
    if (!isFar || through !== folder.state.through) continue;
    entry.state = folder.state;
    entry.values.set(fold, { through, value });
    await cache.save(key, entry);
  }
  // The entry may have been replaced by `keep` meanwhile.
  const { state } = folder;
  if ((cache.get(key)?.state.through ?? 0) <= state.through) {
    entry.state = state;
    entry.values.set(fold, { through, value });
    cache.put(key, entry);
    await cache.save(key, entry);
  }
  return { state, value, incarnation };
}

/** The value that the entry has for a fold, from memory or from its snapshot. */
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
