import type { JsonObject, JsonValue } from '@millrace/core';
import type { TaskState } from '../../contract/task.ts';
import type { RouteContext } from '../../http/route.ts';

/** An operation of JSON Patch (RFC 6902). */
type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string };

/** Identifies the state of a thread: the state that an agent has for a task. */
interface StateOwner {
  readonly taskId: string;
  readonly agentId: string;
}

/** An event about the state of a thread. */
type StateEvent =
  | { readonly type: 'STATE_SNAPSHOT'; readonly snapshot: JsonObject }
  | { readonly type: 'STATE_DELTA'; readonly delta: readonly PatchOperation[] };

/** Stores the state that a client sent, if it differs from the stored state. */
export async function storeThreadState(
  { taskId, agentId }: StateOwner,
  state: JsonObject,
  { service }: Pick<RouteContext, 'service'>,
): Promise<void> {
  const stored = await readState({ taskId, agentId }, { service });
  if (stored === undefined)
    await service.states.create({ task_id: taskId, agent_id: agentId, state });
  else if (!isEqual(stored.state, state))
    await service.states.update(stored.id, { state, version: stored.version });
}

/**
 * Reports the state of a thread to a client. The store for rows contains the current state. This object
 * contains the state that the client has.
 */
export class StateReport {
  readonly #owner: StateOwner;
  readonly #context: Pick<RouteContext, 'service'>;
  #sent: JsonObject;

  /** `known` is the state that the client sent. */
  constructor(owner: StateOwner, known: JsonObject, context: Pick<RouteContext, 'service'>) {
    this.#owner = owner;
    this.#sent = known;
    this.#context = context;
  }

  /** Returns the whole state if the client has another one. */
  async start(): Promise<readonly StateEvent[]> {
    const stored = await readState(this.#owner, this.#context);
    if (stored === undefined || isEqual(this.#sent, stored.state)) return [];
    this.#sent = stored.state;
    return [{ type: 'STATE_SNAPSHOT', snapshot: stored.state }];
  }

  /** Returns the changes since the last event, or the whole state if the changes need more space. */
  async changes(): Promise<readonly StateEvent[]> {
    const stored = await readState(this.#owner, this.#context);
    if (stored === undefined || isEqual(this.#sent, stored.state)) return [];
    const { state: snapshot } = stored;
    const maxSize = Math.max(minPatchSize, JSON.stringify(snapshot).length);
    const delta = diffJson(this.#sent, snapshot, maxSize);
    this.#sent = snapshot;
    return [
      delta === undefined ? { type: 'STATE_SNAPSHOT', snapshot } : { type: 'STATE_DELTA', delta },
    ];
  }
}

async function readState(
  owner: StateOwner,
  { service }: Pick<RouteContext, 'service'>,
): Promise<TaskState | undefined> {
  const page = { limit: 1, pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;
  return (await service.states.list({ ...page, ...owner })).data[0];
}

/** A patch of this size is sent even if the state is smaller, so that clients see what changed. */
const minPatchSize = 4096;
/** The size of an operation without its path and its value, in characters. */
const operationSize = 36;

/** Deeper values are compared and replaced as a whole, so that the recursion is limited. */
const maxDepth = 32;

/** Returns whether two values are equal. The order of keys has no meaning. */
function isEqual(one: JsonValue, other: JsonValue, depth = 0): boolean {
  if (one === other) return true;
  if (!isSameContainer(one, other)) return false;
  if (depth >= maxDepth) return JSON.stringify(one) === JSON.stringify(other);
  const [before, after] = [one as JsonObject, other as JsonObject];
  const keys = Object.keys(before);
  const isSame = (key: string) =>
    Object.hasOwn(after, key) &&
    isEqual(before[key] as JsonValue, after[key] as JsonValue, depth + 1);
  return keys.length === Object.keys(after).length && keys.every(isSame);
}

/**
 * Returns the JSON Patch that changes one value to another. Returns undefined if the patch has more than
 * `maxSize` characters: each operation repeats its path, so a patch can be much larger than both values.
 */
function diffJson(
  from: JsonValue,
  to: JsonValue,
  maxSize: number,
): readonly PatchOperation[] | undefined {
  const operations: PatchOperation[] = [];
  let size = 0;
  return compare(from, to, { keys: [], size: 0 }) ? operations : undefined;

  /** Adds an operation. Returns false if the patch is too large. */
  function add(
    op: PatchOperation['op'],
    { keys, size: pathSize }: Place,
    value?: JsonValue,
  ): boolean {
    size += operationSize + pathSize + (value === undefined ? 0 : JSON.stringify(value).length);
    if (size > maxSize) return false;
    const path = keys.map((key) => `/${escapeKey(key)}`).join('');
    operations.push(op === 'remove' ? { op, path } : { op, path, value: value as JsonValue });
    return true;
  }

  function compare(was: JsonValue, is: JsonValue, place: Place): boolean {
    if (was === is) return true;
    if (!isSameContainer(was, is)) return add('replace', place, is);
    const { keys } = place;
    if (keys.length >= maxDepth)
      return JSON.stringify(was) === JSON.stringify(is) || add('replace', place, is);
    const [before, after] = [was as JsonObject, is as JsonObject];
    const at = (key: string): Place => ({
      ...{ keys: [...keys, key], size: place.size + 1 + key.length },
    });
    const known = Object.keys(before);
    const isKept = (key: string) => Object.hasOwn(after, key);
    return (
      known
        .filter(isKept)
        .every((key) => compare(before[key] as JsonValue, after[key] as JsonValue, at(key))) &&
      // The last elements of a list go first, because a removal moves the elements after it.
      known
        .filter((key) => !isKept(key))
        .toReversed()
        .every((key) => add('remove', at(key))) &&
      Object.keys(after)
        .filter((key) => !Object.hasOwn(before, key))
        .every((key) => add('add', at(key), after[key] as JsonValue))
    );
  }
}

/** The keys that lead to a value, and the length of the path without escapes. */
interface Place {
  readonly keys: readonly string[];
  readonly size: number;
}

function escapeKey(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isSameContainer(one: JsonValue, other: JsonValue): boolean {
  return isContainer(one) && isContainer(other) && Array.isArray(one) === Array.isArray(other);
}

function isContainer(value: JsonValue): value is JsonObject | readonly JsonValue[] {
  return typeof value === 'object' && value !== null;
}
