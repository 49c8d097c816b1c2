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
  else if (diffJson(stored.state, state).length > 0)
    await service.states.update(stored.id, { state, version: stored.version });
}

/**
 * Reports the state of a thread to a client. The rows of the server contain the state. This object contains
 * only what the client has.
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
    if (stored === undefined || diffJson(this.#sent, stored.state).length === 0) return [];
    this.#sent = stored.state;
    return [{ type: 'STATE_SNAPSHOT', snapshot: stored.state }];
  }

  /** Returns the changes since the last event. */
  async changes(): Promise<readonly StateEvent[]> {
    const stored = await readState(this.#owner, this.#context);
    const delta = stored === undefined ? [] : diffJson(this.#sent, stored.state);
    if (stored === undefined || delta.length === 0) return [];
    this.#sent = stored.state;
    return [{ type: 'STATE_DELTA', delta }];
  }
}

async function readState(
  owner: StateOwner,
  { service }: Pick<RouteContext, 'service'>,
): Promise<TaskState | undefined> {
  const page = { limit: 1, pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;
  return (await service.states.list({ ...page, ...owner })).data[0];
}

/** Deeper values are replaced as a whole, so that the recursion is limited. */
const maxDepth = 32;

/** Returns the JSON Patch that changes one value to another. It is empty if the values are equal. */
function diffJson(from: JsonValue, to: JsonValue, path = '', depth = 0): readonly PatchOperation[] {
  if (from === to) return [];
  const replace = [{ op: 'replace', path, value: to } as const];
  if (!isContainer(from) || !isContainer(to) || Array.isArray(from) !== Array.isArray(to))
    return replace;
  if (depth >= maxDepth) return JSON.stringify(from) === JSON.stringify(to) ? [] : replace;
  const [before, after] = [from as JsonObject, to as JsonObject];
  const keys = Object.keys(before);
  const at = (key: string) => `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const changed = keys.flatMap((key) =>
    Object.hasOwn(after, key)
      ? diffJson(before[key] as JsonValue, after[key] as JsonValue, at(key), depth + 1)
      : [],
  );
  // The last elements of a list go first, because a removal moves the elements after it.
  const removed = keys
    .filter((key) => !Object.hasOwn(after, key))
    .toReversed()
    .map((key) => ({ op: 'remove', path: at(key) }) as const);
  const added = Object.keys(after)
    .filter((key) => !Object.hasOwn(before, key))
    .map((key) => ({ op: 'add', path: at(key), value: after[key] as JsonValue }) as const);
  return [...changed, ...removed, ...added];
}

function isContainer(value: JsonValue): value is JsonObject | readonly JsonValue[] {
  return typeof value === 'object' && value !== null;
}
